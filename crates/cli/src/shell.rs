//! The shell's state, and how it runs scripts.

pub mod commands;

use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use std::path::Path;

use ::io::pretty::text::harmless;
use base::Result as SqlResult;
use engine::{Config, Database, QueryResult, Session};
use types::ops::date::Zone;
use types::{Chunk, Column, ColumnBuilder};

use crate::arguments::{Arguments, readable};
use crate::output::Output;
use crate::render::{self, Heading, Mode, Style};
use crate::run::{self, Watch};
use crate::script::{Item, next_item};
use crate::signal::Signals;
use crate::terminal;

/// Rows of a table that an interactive shell shows, unless `.maxrows` says otherwise.
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

/// Whether a row of a chunk is shown.
pub type Keep<'a> = dyn Fn(&Chunk, usize) -> bool + 'a;

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
    /// Most rows of a table that `.maxrows` set; 0: all.
    pub max_rows: Option<usize>,
    /// Whether times are shown.
    pub timer: bool,
    /// Whether statements are shown.
    pub echo: bool,
    interactive: bool,
    /// Whether commands leave files alone.
    pub safe: bool,
    /// Whether the statements after a failed one run.
    go_on: bool,
    failed: bool,
    depth: usize,
    signals: Signals,
}

impl Shell {
    /// A shell as the arguments say; the error is about them.
    pub fn new(arguments: &Arguments, signals: Signals, interactive: bool) -> Result<Self, String> {
        let settings = arguments.settings()?;
        let database = Database::new(Config { settings, ..Config::default() }).map_err(|e| readable(&e))?;
        let session = database.connect();
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
                max_rows: 0,
                width: None,
                terminal: false,
                zone: Zone::utc(),
            },
            width: None,
            max_rows: None,
            timer: arguments.timer || interactive,
            echo: arguments.echo,
            interactive,
            safe: arguments.safe,
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
            Err(error) => self.fail(&error.shifted(range.start).render(script)),
        }
    }

    /// Runs a statement and prints its result.
    pub fn print(&mut self, sql: &str) -> Result<SqlResult<()>, Ended> {
        self.print_some(sql, None)
    }

    /// Runs a statement and prints those rows of its result that shall be kept, or all.
    pub fn print_some(&mut self, sql: &str, keep: Option<&Keep<'_>>) -> Result<SqlResult<()>, Ended> {
        let call = self.session.interrupt_handle().begin();
        self.signals.begin(call.clone());
        let mut watch = Watch::new();
        let result = match run::start(&mut self.session, &call, sql, &mut watch) {
            Ok(mut result) => self.print_rows(&mut result, keep, &mut watch),
            Err(error) => Ok(Err(error)),
        };
        self.signals.end();
        watch.clear();
        self.session.take_notices().iter().for_each(|notice| eprintln!("{notice}"));
        let flushed = self.output.flush();
        let result = result?;
        flushed?;
        if self.timer && !self.interactive {
            eprintln!("Time: {}", run::readable(watch.elapsed()));
        }
        Ok(result)
    }

    /// How results look where they go now: files get all of them.
    fn style(&self) -> Style {
        let terminal = self.output.is_terminal();
        let usual = if self.interactive && self.output.is_standard() { INTERACTIVE_ROWS } else { 0 };
        Style {
            width: self.width.or_else(|| terminal.then(terminal::columns).flatten()),
            max_rows: self.max_rows.unwrap_or(usual),
            terminal,
            ..self.style.clone()
        }
    }

    fn print_rows(
        &mut self,
        result: &mut QueryResult,
        keep: Option<&Keep<'_>>,
        watch: &mut Watch,
    ) -> Result<SqlResult<()>, Ended> {
        if !result.has_rows() {
            let tag = result.tag().to_string();
            self.footer(tag, watch)?;
            return Ok(Ok(()));
        }
        let style = Style { zone: result.zone().clone(), ..self.style() };
        let headings = result.columns().iter().map(|c| Heading { name: c.name.clone(), sql_type: c.sql_type });
        let mut renderer = render::renderer(&style, headings.collect());
        let at_once = !style.mode.is_table() && style.terminal;
        let mut rows = 0;
        loop {
            match run::next(result, watch) {
                Ok(Some(chunk)) => {
                    if at_once {
                        watch.clear();
                    }
                    let chunk = keep.map_or_else(|| chunk.clone(), |keep| picked(&chunk, keep));
                    rows += chunk.rows() as u64;
                    renderer.chunk(&mut self.output, &chunk)?;
                }
                Ok(None) => break,
                Err(error) => return Ok(Err(error)),
            }
        }
        watch.clear();
        renderer.end(&mut self.output)?;
        self.footer(format!("{} row{}", run::grouped(rows), if rows == 1 { "" } else { "s" }), watch)?;
        Ok(Ok(()))
    }

    /// Says to somebody who looks what a statement came to.
    fn footer(&mut self, text: String, watch: &Watch) -> io::Result<()> {
        match self.timer {
            _ if !self.interactive || !self.output.is_standard() => Ok(()),
            true => writeln!(self.output, "{text} ({})", run::readable(watch.elapsed())),
            false => writeln!(self.output, "{text}"),
        }
    }

    /// Shows an error. Ends the script, unless it shall go on.
    pub fn fail(&mut self, message: &str) -> Result<(), Ended> {
        self.output.flush()?;
        // Messages quote data.
        match io::stderr().is_terminal() {
            true => eprintln!("{}", harmless(message.to_string())),
            false => eprintln!("{message}"),
        }
        self.failed = true;
        let goes_on = self.go_on || (self.interactive && self.depth == 0);
        if goes_on { Ok(()) } else { Err(Ended::Failed) }
    }
}

/// The rows of a chunk that shall be kept.
fn picked(chunk: &Chunk, keep: &Keep<'_>) -> Chunk {
    let rows: Vec<usize> = (0..chunk.rows()).filter(|&row| keep(chunk, row)).collect();
    let column = |c: &Column| {
        let mut builder = ColumnBuilder::new(c.sql_type(), rows.len());
        rows.iter().for_each(|&row| builder.push_value(&c.value(row)));
        builder.finish()
    };
    Chunk::new(rows.len(), chunk.columns().iter().map(column).collect())
}

/// A script without the byte order mark that some editors put before it.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
