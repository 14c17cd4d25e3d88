//! Random transactions of several sessions at once, and whether their isolation level allows what they saw.

use std::process::ExitCode;

use clap::Parser;
use testkit::history::check::check;
use testkit::history::{Level, Workload, run};

/// Histories of random transactions, each of several thousand, at all levels.
#[derive(Parser)]
struct Arguments {
    /// Seed of the first one.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Transactions in all.
    #[arg(long, default_value_t = 100_000)]
    transactions: u64,
    /// Sessions at once.
    #[arg(long, default_value_t = 8)]
    sessions: usize,
    /// How they are kept apart; all of these in turn, if none is named.
    #[arg(long, value_parser = CONTROLS)]
    control: Option<String>,
}

/// How transactions may be kept apart; most histories are for the first.
const CONTROLS: [&str; 5] = ["mvcc", "serial", "two_phase_locking", "timestamp_ordering", "partitioned"];

/// Transactions of a history.
const EACH: u64 = 10_000;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let (mut committed, mut all, mut wrong) = (0, 0, Vec::new());
    for (round, seed) in (0..arguments.transactions.div_ceil(EACH)).zip(arguments.seed..) {
        let level =
            [Level::Serializable, Level::Snapshot, Level::Serializable, Level::ReadCommitted][round as usize % 4];
        const IN_TURN: [&str; 8] =
            ["mvcc", "two_phase_locking", "mvcc", "serial", "mvcc", "timestamp_ordering", "mvcc", "partitioned"];
        let named = CONTROLS.iter().find(|control| arguments.control.as_deref() == Some(**control)).copied();
        let control = named.unwrap_or(IN_TURN[round as usize / 4 % 8]);
        // The others are serializable whatever they are asked for.
        let allowed = if control == "mvcc" { level } else { Level::Serializable };
        let workload = Workload { seed, transactions: EACH, sessions: arguments.sessions, level, control };
        let history = match run(&workload) {
            Ok(history) => history,
            Err(error) => {
                eprintln!("{workload:?}: {error}");
                return ExitCode::FAILURE;
            }
        };
        all += history.len();
        committed += history.iter().filter(|t| t.committed).count();
        wrong.extend(check(&history, allowed).into_iter().map(|what| format!("{workload:?}: {what}")));
    }
    wrong.iter().for_each(|what| println!("{what}\n"));
    println!("{all} transactions, {committed} committed, {} that are wrong", wrong.len());
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
