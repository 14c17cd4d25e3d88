//! Random queries through every way of running them; or, with `--print`, the script for another system.

use std::process::ExitCode;

use clap::Parser;
use engine::rows::text_rows;
use engine::{Config, Database};
use testkit::differential::{Step, run, script};
use testkit::postgres::Postgres;
use testkit::{logic, peer};

/// Random queries through every way of running them.
#[derive(Parser)]
struct Arguments {
    /// How many queries.
    #[arg(long, default_value_t = 10_000)]
    queries: usize,
    /// Another seed, other queries.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the statements, one a line, instead of running them: `S` setup, `Q` query, `D` drop, then a tab.
    #[arg(long)]
    print: bool,
    /// With `--print`: also our answers after each query: `R` a row, its fields separated by tabs; `E` an error.
    #[arg(long)]
    answers: bool,
    /// Statements of another kind, beside PostgreSQL.
    #[arg(long)]
    postgresql: bool,
    /// Queries whose answers must fit each other; with `--print`: all statements, as a script.
    #[arg(long)]
    logic: bool,
    /// With `--logic`: only this round.
    #[arg(long)]
    round: Option<u64>,
}

/// Compares answers with each other.
fn logic(arguments: &Arguments) -> ExitCode {
    let mut watch = |statement: &str| {
        if arguments.print {
            println!("{statement}");
        } else if statement.starts_with("-- ") {
            eprintln!("{statement}");
        }
    };
    let report = match arguments.round {
        Some(round) => {
            logic::run_round(arguments.seed, round, logic::CHECKS_PER_ROUND, logic::Report::default(), &mut watch)
        }
        None => logic::run(arguments.seed, arguments.queries, &mut watch),
    };
    match report {
        Ok(report) => {
            report.differences.iter().for_each(|d| println!("{d}\n"));
            let logic::Report { checks, statements, failed, too_long, differences } = report;
            println!(
                "{checks} checks, {statements} statements, {failed} failed on their data, {too_long} took too long, {} differences",
                differences.len()
            );
            if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error:?}");
            ExitCode::FAILURE
        }
    }
}

/// Compares with PostgreSQL.
fn beside_postgresql(arguments: &Arguments) -> ExitCode {
    let Some(server) = Postgres::start() else {
        println!("skipped: PostgreSQL is not installed (Debian: apt-get install postgresql)");
        return ExitCode::SUCCESS;
    };
    match server.and_then(|server| peer::run(&server, arguments.seed, arguments.queries)) {
        Ok(report) => {
            report.differences.iter().for_each(|d| println!("{d}\n"));
            let (statements, failed, differences) = (report.statements, report.failed, report.differences.len());
            println!("{statements} statements, {failed} with an error on both sides, {differences} differences");
            if differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.logic {
        return logic(&arguments);
    }
    if arguments.postgresql {
        return beside_postgresql(&arguments);
    }
    if arguments.print {
        let mut session = match Database::new(Config::default()) {
            Ok(database) => database.connect(),
            Err(error) => {
                eprintln!("{error:?}");
                return ExitCode::FAILURE;
            }
        };
        for step in script(arguments.seed, arguments.queries) {
            let (kind, sql) = match &step {
                Step::Setup(sql) => ('S', sql),
                Step::Query(sql) => ('Q', sql),
                Step::Drop(sql) => ('D', sql),
            };
            println!("{kind}\t{sql}");
            if arguments.answers {
                match session.execute(sql, &[]).and_then(text_rows) {
                    Ok(rows) => rows.iter().for_each(|row| println!("R\t{}", row.join("\t"))),
                    Err(error) => println!("E\t{} {}", error.state().0, error.to_string().replace('\n', " ")),
                }
            }
        }
        return ExitCode::SUCCESS;
    }
    let progress = |done: usize| {
        if done.is_multiple_of(500) {
            eprintln!("{done} queries");
        }
    };
    match run(arguments.seed, arguments.queries, progress) {
        Ok(report) => {
            report.differences.iter().for_each(|d| println!("{d}\n"));
            let (failed, too_long, differences) = (report.failed, report.too_long, report.differences.len());
            println!(
                "{} queries, {failed} with an error on all sides, {too_long} took too long, {differences} differences",
                report.queries
            );
            if differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error:?}");
            ExitCode::FAILURE
        }
    }
}
