//! The shell's state, and how it runs scripts.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use base::{Error, Result as SqlResult};
use engine::{Config, Database, QueryResult, Session};

use crate::arguments::Arguments;
use crate::lexer::{Item, next_item};
use crate::output::Output;
use crate::render::{self, Heading, Mode, Style};
use crate::run::{self, Watch};
use crate::signal::Signals;
use crate::{commands, terminal};

/// Rows of a table that an interactive shell shows.
const INTERACTIVE_ROWS: usize = 100;
/// Scripts that read scripts that ...
const MAX_DEPTH: usize = 32;

/// Why the shell ends.
#[derive(Debug)]
pub enum Ended {
    /// Its user wants that.
    Quit,
    /// A statement failed; the error has been shown.
    Failed,
    /// Results cannot be written.
    Output(io::Error),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// A shell: one session and how its results look.
pub struct Shell {
    /// The session.
    pub session: Session,
    /// Where results go.
    pub output: Output,
    /// How results look.
    pub style: Style,
    /// The width that `.width` set; none: the terminal's.
    pub width: Option<usize>,
    /// Whether times are shown.
    pub timer: bool,
    /// Whether statements are shown.
    pub echo: bool,
    interactive: bool,
    /// Whether the statements after a failed one run.
    go_on: bool,
    failed: bool,
    depth: usize,
    signals: Signals,
}

impl Shell {
    /// A shell as the arguments say; the error is about them.
    pub fn new(arguments: &Arguments, signals: Signals, interactive: bool) -> Result<Self, String> {
        if arguments.threads.is_some_and(|n| n == 0 || n > 1024) {
            return Err("--threads is a whole number from 1 to 1024".into());
        }
        let config = Config { threads: arguments.threads, ..Config::default() };
        let database = Database::new(config).map_err(|e| e.message().to_string())?;
        let mut session = database.connect();
        let memory = arguments.memory_limit.iter().map(|size| ("memory_limit", size.as_str()));
        for (name, value) in memory.chain(arguments.settings.iter().map(|(n, v)| (n.as_str(), v.as_str()))) {
            set(&mut session, name, value).map_err(|e| match e.get_hint() {
                Some(hint) => format!("{} ({hint})", e.message()),
                None => e.message().to_string(),
            })?;
        }
        if interactive {
            signals.set_interactive();
        }
        Ok(Self {
            session,
            output: Output::standard(),
            style: Style {
                mode: arguments.mode.unwrap_or(Mode::Box),
                headers: !arguments.no_headers,
                types: interactive,
                null: arguments.null.clone(),
                max_rows: if interactive { INTERACTIVE_ROWS } else { 0 },
                width: None,
            },
            width: None,
            timer: arguments.timer || interactive,
            echo: arguments.echo,
            interactive,
            go_on: arguments.go_on,
            failed: false,
            depth: 0,
            signals,
        })
    }

    /// Whether a statement has failed, in a shell that is not interactive.
    pub fn failed(&self) -> bool {
        self.failed && !self.interactive
    }

    /// Writes what is left to write.
    pub fn finish(&mut self) -> Result<(), Ended> {
        Ok(self.output.flush()?)
    }

    /// Runs a script of statements and commands; the last statement needs no semicolon.
    pub fn run_text(&mut self, text: &str) -> Result<(), Ended> {
        let done = self.run_complete(text, 0)?;
        self.run_rest(text, done)
    }

    /// Runs what is complete after byte `from`; returns where the rest begins.
    pub fn run_complete(&mut self, text: &str, mut from: usize) -> Result<usize, Ended> {
        loop {
            match next_item(text, from) {
                (Item::End, _) | (Item::Statement { complete: false, .. }, _) => return Ok(from),
                (Item::Statement { range, .. }, next) => {
                    self.run_statement(text, range)?;
                    from = next;
                }
                (Item::Command(range), next) => {
                    self.run_command(&text[range])?;
                    from = next;
                }
            }
        }
    }

    /// Runs the statement without semicolon that the script ends with, if there is one.
    pub fn run_rest(&mut self, text: &str, from: usize) -> Result<(), Ended> {
        match next_item(text, from) {
            (Item::Statement { range, .. }, _) => self.run_statement(text, range),
            _ => Ok(()),
        }
    }

    /// Runs a script from a file.
    pub fn run_file(&mut self, path: &Path) -> Result<(), Ended> {
        let text = match std::fs::read(path).map(String::from_utf8) {
            Ok(Ok(text)) => text,
            Ok(Err(_)) => return self.fail(&format!("{}: not UTF-8", path.display())),
            Err(error) => return self.fail(&format!("{}: {error}", path.display())),
        };
        if self.depth >= MAX_DEPTH {
            return self.fail(&format!("{}: scripts read each other too deeply", path.display()));
        }
        self.depth += 1;
        let result = self.run_text(without_mark(&text));
        self.depth -= 1;
        result
    }

    fn run_command(&mut self, line: &str) -> Result<(), Ended> {
        if self.echo {
            writeln!(self.output, "{line}")?;
        }
        let result = commands::run(self, line);
        self.output.flush()?;
        match result {
            Ok(Ok(())) => Ok(()),
            Ok(Err(message)) => self.fail(&message),
            Err(ended) => Err(ended),
        }
    }

    fn run_statement(&mut self, script: &str, range: Range<usize>) -> Result<(), Ended> {
        let sql = &script[range.clone()];
        if self.echo {
            writeln!(self.output, "{};", sql.trim_end())?;
        }
        match self.print(sql)? {
            Ok(()) => Ok(()),
            Err(error) => self.fail(&shifted(error, range.start).render(script)),
        }
    }

    /// Runs a statement and prints its result.
    pub fn print(&mut self, sql: &str) -> Result<SqlResult<()>, Ended> {
        self.signals.begin(self.session.interrupt_handle());
        let mut watch = Watch::new(self.signals.clone());
        let result = match run::start(&mut self.session, sql, &mut watch) {
            Ok(mut result) => self.print_rows(&mut result, &mut watch),
            Err(error) => Ok(Err(error)),
        };
        self.signals.end();
        watch.clear();
        let flushed = self.output.flush();
        let result = result?;
        flushed?;
        if self.timer && !self.interactive {
            eprintln!("Time: {}", run::readable(watch.elapsed()));
        }
        Ok(result)
    }

    fn print_rows(&mut self, result: &mut QueryResult, watch: &mut Watch) -> Result<SqlResult<()>, Ended> {
        if !result.has_rows() {
            if self.interactive {
                let tag = result.tag().to_string();
                self.footer(tag, watch)?;
            }
            return Ok(Ok(()));
        }
        let width = self.width.or_else(|| self.output.is_terminal().then(terminal::columns).flatten());
        let style = Style { width, ..self.style.clone() };
        let headings = result.columns().iter().map(|c| Heading { name: c.name.clone(), sql_type: c.sql_type });
        let mut renderer = render::renderer(&style, headings.collect());
        let at_once = !style.mode.is_table() && self.output.is_terminal();
        loop {
            match run::next(result, watch) {
                Ok(Some(chunk)) => {
                    if at_once {
                        watch.clear();
                    }
                    renderer.chunk(&mut self.output, &chunk)?;
                }
                Ok(None) => break,
                Err(error) => return Ok(Err(error)),
            }
        }
        watch.clear();
        renderer.end(&mut self.output)?;
        if self.interactive {
            let rows = result.delivered();
            self.footer(format!("{} row{}", run::grouped(rows), if rows == 1 { "" } else { "s" }), watch)?;
        }
        Ok(Ok(()))
    }

    fn footer(&mut self, text: String, watch: &Watch) -> io::Result<()> {
        match self.timer {
            true => writeln!(self.output, "{text} ({})", run::readable(watch.elapsed())),
            false => writeln!(self.output, "{text}"),
        }
    }

    /// Shows an error. Ends the script, unless it shall go on.
    pub fn fail(&mut self, message: &str) -> Result<(), Ended> {
        self.output.flush()?;
        eprintln!("{message}");
        self.failed = true;
        let goes_on = self.go_on || (self.interactive && self.depth == 0);
        if goes_on { Ok(()) } else { Err(Ended::Failed) }
    }
}

/// Changes a setting.
fn set(session: &mut Session, name: &str, value: &str) -> SqlResult<()> {
    let (name, value) = (name.replace('"', "\"\""), value.replace('\'', "''"));
    session.execute(&format!("SET \"{name}\" = '{value}'"), &[]).map(drop)
}

/// The error of a statement that starts at byte `start` of a script.
fn shifted(error: Error, start: usize) -> Error {
    let mut out = Error::new(error.state(), error.message());
    out = out.at(error.position().map(|p| p.saturating_add(start as u32)));
    if let Some(detail) = error.get_detail() {
        out = out.detail(detail);
    }
    if let Some(hint) = error.get_hint() {
        out = out.hint(hint);
    }
    out
}

/// A script without the byte order mark that some editors put before it.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
