//! Dot commands, and psql's names for them. Each is defined once, in [`COMMANDS`]: help and completion come from there.

mod schema;

pub use schema::quoted;

use std::io::Write;
use std::path::Path;

use clap::ValueEnum;
use types::Chunk;

use super::{Ended, Keep, Shell};
use crate::output::Output;
use crate::render::Mode;

/// What a command comes to: its error is shown as a failed statement's is.
type Outcome = Result<Result<(), String>, Ended>;

/// A command.
pub struct Command {
    /// Its name, with the dot.
    pub name: &'static str,
    alias: &'static str,
    arguments: &'static str,
    help: &'static str,
    run: fn(&mut Shell, &[String]) -> Outcome,
}

/// All commands, by name.
pub const COMMANDS: &[Command] = &[
    Command { name: ".echo", alias: "", arguments: "[on|off]", help: "show statements before they run", run: echo },
    Command { name: ".exit", alias: "", arguments: "", help: "leave the shell", run: quit },
    Command { name: ".headers", alias: "\\t", arguments: "[on|off]", help: "show names of columns", run: headers },
    Command { name: ".help", alias: "\\?", arguments: "", help: "show this", run: help },
    Command { name: ".maxrows", alias: "", arguments: "N", help: "most rows of a table; 0: all", run: max_rows },
    Command { name: ".mode", alias: "", arguments: "[MODE]", help: "how results look", run: mode },
    Command { name: ".null", alias: "", arguments: "[TEXT]", help: "how NULL looks", run: null },
    Command {
        name: ".output",
        alias: "\\o",
        arguments: "[FILE]",
        help: "results go to a file, or back here",
        run: output,
    },
    Command { name: ".quit", alias: "\\q", arguments: "", help: "leave the shell", run: quit },
    Command { name: ".read", alias: "\\i", arguments: "FILE", help: "run a script", run: read },
    Command {
        name: ".schema",
        alias: "",
        arguments: "[TABLE]",
        help: "show definitions of tables",
        run: schema::schema,
    },
    Command {
        name: ".tables",
        alias: "\\dt",
        arguments: "[PATTERN]",
        help: "list tables and views, or those that match: * and ? stand for others",
        run: tables,
    },
    Command { name: ".timer", alias: "\\timing", arguments: "[on|off]", help: "show times", run: timer },
    Command { name: ".types", alias: "", arguments: "[on|off]", help: "show types of columns in box mode", run: types },
    Command { name: ".width", alias: "", arguments: "N", help: "width of tables; 0: the terminal's", run: width },
    Command { name: "\\d", alias: "", arguments: "[TABLE]", help: "list tables, or columns of a table", run: describe },
    Command {
        name: "\\restrict",
        alias: "\\unrestrict",
        arguments: "KEY",
        help: "nothing: around what is in a dump of PostgreSQL",
        run: nothing,
    },
    Command {
        name: "\\x",
        alias: "",
        arguments: "",
        help: "switch between tables and one value a line",
        run: expanded,
    },
];

/// Runs the command of a line.
pub fn run(shell: &mut Shell, line: &str) -> Outcome {
    let words = match words(line.trim().trim_end_matches(';')) {
        Ok(words) => words,
        Err(message) => return Ok(Err(message)),
    };
    let Some((name, arguments)) = words.split_first() else { return Ok(Ok(())) };
    match COMMANDS.iter().find(|c| c.name == name || (!c.alias.is_empty() && c.alias == name)) {
        Some(command) => (command.run)(shell, arguments),
        None => Ok(Err(format!("unknown command \"{name}\": .help lists all"))),
    }
}

/// Words of a line; those in quotes may have blanks.
fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut chars) = (Vec::new(), line.chars().peekable());
    while let Some(&c) = chars.peek() {
        if c.is_whitespace() {
            chars.next();
        } else if c == '\'' || c == '"' {
            chars.next();
            let mut word = String::new();
            loop {
                match chars.next() {
                    Some(end) if end == c => break,
                    Some(other) => word.push(other),
                    None => return Err(format!("the quote {c} is never closed")),
                }
            }
            words.push(word);
        } else {
            let mut word = String::new();
            while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
                word.push(c);
            }
            words.push(word);
        }
    }
    Ok(words)
}

/// The value of an on/off argument; none given: the other one.
fn switch(arguments: &[String], now: bool) -> Result<bool, String> {
    match arguments.first().map(String::as_str) {
        None => Ok(!now),
        Some("on" | "yes" | "true" | "1") => Ok(true),
        Some("off" | "no" | "false" | "0") => Ok(false),
        Some(other) => Err(format!("\"{other}\" is neither on nor off")),
    }
}

fn set(place: &mut bool, arguments: &[String]) -> Outcome {
    Ok(switch(arguments, *place).map(|value| *place = value))
}

fn number(arguments: &[String]) -> Result<usize, String> {
    let text = arguments.first().map_or("", String::as_str);
    text.parse().map_err(|_| "a whole number is needed".to_string())
}

fn echo(shell: &mut Shell, arguments: &[String]) -> Outcome {
    set(&mut shell.echo, arguments)
}
fn headers(shell: &mut Shell, arguments: &[String]) -> Outcome {
    set(&mut shell.style.headers, arguments)
}
fn types(shell: &mut Shell, arguments: &[String]) -> Outcome {
    set(&mut shell.style.types, arguments)
}
fn timer(shell: &mut Shell, arguments: &[String]) -> Outcome {
    set(&mut shell.timer, arguments)
}
fn nothing(_shell: &mut Shell, _arguments: &[String]) -> Outcome {
    Ok(Ok(()))
}
fn quit(_shell: &mut Shell, _arguments: &[String]) -> Outcome {
    Err(Ended::Quit)
}
fn max_rows(shell: &mut Shell, arguments: &[String]) -> Outcome {
    Ok(number(arguments).map(|n| shell.max_rows = Some(n)))
}
fn width(shell: &mut Shell, arguments: &[String]) -> Outcome {
    Ok(number(arguments).map(|n| shell.width = (n > 0).then_some(n)))
}
fn null(shell: &mut Shell, arguments: &[String]) -> Outcome {
    shell.style.null = arguments.first().cloned();
    Ok(Ok(()))
}

fn help(shell: &mut Shell, _arguments: &[String]) -> Outcome {
    for command in COMMANDS {
        let usage = format!("{} {}", command.name, command.arguments);
        let alias = if command.alias.is_empty() { String::new() } else { format!("  ({})", command.alias) };
        writeln!(shell.output, "{usage:<20} {}{alias}", command.help)?;
    }
    let modes: Vec<String> = Mode::value_variants().iter().map(|m| name_of(*m)).collect();
    writeln!(shell.output, "Modes: {}.", modes.join(", "))?;
    writeln!(shell.output, "Statements end with a semicolon. Ctrl-C stops the running one, Ctrl-D leaves.")?;
    Ok(Ok(()))
}

fn name_of(mode: Mode) -> String {
    mode.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default()
}

fn mode(shell: &mut Shell, arguments: &[String]) -> Outcome {
    let Some(name) = arguments.first() else {
        writeln!(shell.output, "{}", name_of(shell.style.mode))?;
        return Ok(Ok(()));
    };
    let modes = || Mode::value_variants().iter().map(|m| name_of(*m)).collect::<Vec<_>>().join(", ");
    Ok(Mode::from_str(name, true)
        .map(|mode| shell.style.mode = mode)
        .map_err(|_| format!("there is no mode \"{name}\", but these: {}", modes())))
}

fn expanded(shell: &mut Shell, _arguments: &[String]) -> Outcome {
    shell.style.mode = if shell.style.mode == Mode::Line { Mode::Box } else { Mode::Line };
    Ok(Ok(()))
}

/// What a command that would read or write a file comes to in a safe shell.
fn refused(shell: &Shell) -> Option<Outcome> {
    shell.safe.then(|| Ok(Err("the shell runs in safe mode: commands leave files alone".into())))
}

fn output(shell: &mut Shell, arguments: &[String]) -> Outcome {
    if let Some(refused) = refused(shell) {
        return refused;
    }
    shell.output.flush()?;
    let opened = match arguments.first() {
        None => Ok(Output::standard()),
        Some(path) => Output::file(Path::new(path)).map_err(|e| format!("{path}: {e}")),
    };
    Ok(opened.map(|output| shell.output = output))
}

fn read(shell: &mut Shell, arguments: &[String]) -> Outcome {
    if let Some(refused) = refused(shell) {
        return refused;
    }
    match arguments.first() {
        Some(path) => shell.run_file(Path::new(path)).map(Ok),
        None => Ok(Err("which file?".into())),
    }
}

fn tables(shell: &mut Shell, arguments: &[String]) -> Outcome {
    const NAME: usize = 1;
    let like = |pattern: &str, chunk: &Chunk, row| matches(pattern.as_bytes(), chunk.column(NAME).str(row).as_bytes());
    let keep = arguments.first().map(|pattern| move |chunk: &Chunk, row| like(pattern, chunk, row));
    let keep = keep.as_ref().map(|k| k as &Keep<'_>);
    Ok(shell.print_some("SHOW TABLES", keep)?.map_err(|e| e.render("SHOW TABLES")))
}

/// Whether a name matches a pattern in which `*` stands for any text and `?` for any character.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=name.len()).any(|from| matches(rest, &name[from..])),
        (Some((b'?', rest)), Some((_, name))) => matches(rest, name),
        (Some((a, rest)), Some((b, name))) => a.eq_ignore_ascii_case(b) && matches(rest, name),
        _ => false,
    }
}

fn describe(shell: &mut Shell, arguments: &[String]) -> Outcome {
    let Some(name) = arguments.first() else { return tables(shell, arguments) };
    let sql = format!("DESCRIBE {name}");
    Ok(shell.print(&sql)?.map_err(|e| e.render(&sql)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_quotes() {
        assert_eq!(words(".read 'a b'  c").unwrap(), [".read", "a b", "c"]);
        assert!(words(".read 'a").is_err());
    }

    #[test]
    fn patterns_match_names() {
        for (pattern, name, expected) in
            [("a*", "abc", true), ("a*", "ba", false), ("*b?", "Abc", true), ("*", "", true), ("a", "ab", false)]
        {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn names_are_unique_and_sorted() {
        assert!(COMMANDS.is_sorted_by_key(|c| c.name));
        let mut all: Vec<&str> = COMMANDS.iter().flat_map(|c| [c.name, c.alias]).filter(|n| !n.is_empty()).collect();
        let before = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), before);
    }
}
