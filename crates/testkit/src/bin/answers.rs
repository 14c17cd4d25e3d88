//! Writes PostgreSQL's answers into sqllogictest files: `answers crates/testkit/slt/casts.slt`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use testkit::postgres::Postgres;
use testkit::slt::beside::write_answers;

/// Writes PostgreSQL's answers into sqllogictest files.
#[derive(Parser)]
struct Arguments {
    /// The files to rewrite.
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let server = match Postgres::start() {
        None => Err("PostgreSQL is not installed".to_owned()),
        Some(server) => server.map_err(|e| e.to_string()),
    };
    let written = server.and_then(|server| arguments.files.iter().try_for_each(|file| write_answers(&server, file)));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
