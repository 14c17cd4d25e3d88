//! `morsel`: the shell of MorselDB.
//!
//! Statements come from a terminal, from `-c`, from files or from standard input; each way ends in
//! [`Shell::run_text`](shell::Shell::run_text). Exit codes: 0, 1 after an error in a statement, 2 for wrong usage.

mod arguments;
mod interactive;
mod output;
mod render;
mod run;
mod script;
mod shell;
mod signal;
mod terminal;

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;
use shell::{Ended, Shell};

#[global_allocator]
static ALLOCATOR: allocator::MiMalloc = allocator::MiMalloc;

fn main() -> ExitCode {
    allocator::prepare();
    let arguments = Arguments::parse();
    base::panics::quiet_hook();
    // Before any other thread starts: they inherit that signals are the listener's.
    let signals = match signal::Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            eprintln!("morsel: the system grants no thread: {error}");
            return ExitCode::FAILURE;
        }
    };
    let interactive = arguments.interactive
        || (arguments.command.is_empty() && arguments.files.is_empty() && std::io::stdin().is_terminal());
    let mut shell = match Shell::new(&arguments, signals, interactive) {
        Ok(shell) => shell,
        Err(message) => {
            eprintln!("morsel: {message}");
            return ExitCode::from(2);
        }
    };
    match run(&mut shell, &arguments, interactive) {
        Ok(()) if shell.failed() => ExitCode::FAILURE,
        Ok(()) | Err(Ended::Quit) => ExitCode::SUCCESS,
        Err(Ended::Failed) => ExitCode::FAILURE,
        // Whoever read our output has seen enough.
        Err(Ended::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Ended::Output(error)) => {
            eprintln!("morsel: cannot write: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(shell: &mut Shell, arguments: &Arguments, interactive: bool) -> Result<(), Ended> {
    for command in &arguments.command {
        shell.run_text(command)?;
    }
    for file in &arguments.files {
        shell.run_file(file)?;
    }
    if interactive {
        interactive::run(shell)?;
    } else if arguments.command.is_empty() && arguments.files.is_empty() {
        run_stdin(shell)?;
    }
    shell.finish()
}

/// Runs each statement as soon as it has arrived.
fn run_stdin(shell: &mut Shell) -> Result<(), Ended> {
    let mut input = std::io::stdin().lock();
    let (mut text, mut done) = (String::new(), 0);
    loop {
        let before = text.len();
        match input.read_line(&mut text) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                eprintln!("morsel: cannot read standard input: {error}");
                return Err(Ended::Failed);
            }
        }
        if before == 0 && text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        // Only these can complete anything: a long statement is not looked through again for each of its lines.
        let line = text.get(before..).unwrap_or_default().trim_start();
        if line.contains(';') || line.starts_with(['.', '\\']) {
            done = shell.run_complete(&text, done)?;
        }
    }
    shell.run_rest(&text, done)
}
