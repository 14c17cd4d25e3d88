//! The index beside others: nanoseconds of lookups, inserts and removals by protocol, operations a second of one worker and of
//! several, and memory (Figures 2.8, 3.7 and, of texts, 3.8); a reader beside a writer by skew (3.9); scans; one counter (2.12);
//! instructions and misses (the table of 3.5.1); code (3.5.4); and machines with more cores, simulated.
//!
//! Each measurement has a process of its own, so that none works in the memory that another left, and they take turns.

mod code;
mod contenders;
mod counter;
mod instructions;
mod keys;
mod measure;
mod simulate;

use std::process::Command;

use base::{Error, Result, SqlState};
use clap::Args;

use crate::plot::{Chart, PlotOption};
use contenders::CONTENDERS;
use keys::Kind;

/// Options of `bench index`.
#[derive(Args, Clone, Debug)]
pub(crate) struct IndexOptions {
    /// Keys of the integer sets.
    #[arg(long, default_value_t = 10_000_000)]
    keys: usize,
    /// Kinds of keys: dense, sparse, genome, titles, urls.
    #[arg(long, value_delimiter = ',', default_value = "dense,sparse")]
    kind: Vec<Kind>,
    /// Contenders; by default all.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Workers.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    workers: Vec<usize>,
    /// Rounds, of which the best counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// A reader beside a writer instead, by skew.
    #[arg(long)]
    contention: bool,
    /// Scans of 100 rows instead, from random keys on.
    #[arg(long)]
    ranges: bool,
    /// One counter instead, incremented by all workers.
    #[arg(long)]
    counter: bool,
    /// Instructions and misses of an operation instead, by valgrind's simulator.
    #[arg(long)]
    instructions: bool,
    /// Lines and bytes of code instead, by protocol.
    #[arg(long)]
    code: bool,
    /// Ten cores with twenty threads instead, simulated.
    #[arg(long)]
    simulate: bool,
    #[command(flatten)]
    plot: PlotOption,
    /// Run one measurement in this process.
    #[arg(long, hide = true)]
    inside: bool,
}

impl IndexOptions {
    /// The contenders that are asked for.
    fn names(&self) -> Vec<&'static str> {
        let is_asked = |name: &&str| self.only.is_empty() || self.only.iter().any(|only| only == name);
        CONTENDERS.into_iter().filter(is_asked).collect()
    }

    /// A picture, if one is asked for.
    fn draw(&self, title: &str, names: &[&str], charts: &[Chart]) -> Result<()> {
        self.plot.write(title, names, charts, false)
    }
}

pub(crate) fn run(options: &IndexOptions) -> Result<bool> {
    if options.inside {
        measure::inside(options)?;
    } else if options.counter {
        counter::run(options)?;
    } else if options.instructions {
        instructions::run(options)?;
    } else if options.code {
        code::run()?;
    } else if options.simulate {
        simulate::run(options)?;
    } else if options.contention {
        contention(options)?;
    } else {
        by_workers(options)?;
    }
    Ok(true)
}

/// What one measurement gives: of insertions, lookups and removals, or of scanned rows, nanoseconds of processor time each, and
/// nanoseconds between two of them by the clock; then bytes a key. Of contention nanoseconds between two lookups and between
/// two updates, by skew. Less is better.
#[derive(Clone, Default)]
struct Figures(Vec<f64>);

impl Figures {
    fn improve(&mut self, other: &Self) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(mine, other)| *mine = mine.min(*other));
    }
}

/// Figures by kind of keys and number of workers, each of all contenders that have some.
fn by_workers(options: &IndexOptions) -> Result<()> {
    let names = options.names();
    let operations: &[&str] = if options.ranges { &["row"] } else { &["insert", "lookup", "remove"] };
    let headings = |unit: &str| operations.iter().map(|of| format!("{of:>8} {unit}")).collect::<String>();
    println!("{:8} {:>2} {:16}{}{}    bytes", "keys", "", "", headings(" ns"), headings("M/s"));
    let mut charts = Vec::new();
    for kind in &options.kind {
        let name_of = |operation: &&str| format!("{} {operation}, M/s", kind.name());
        let none = || vec![Vec::new(); names.len()];
        let mut of_kind: Vec<_> = operations.iter().map(|of| Chart { name: name_of(of), lines: none() }).collect();
        for &workers in &options.workers {
            for (at, figures) in best(options, *kind, workers, &names)?.into_iter().enumerate() {
                let Some((bytes, times)) = figures.0.split_last() else { continue };
                print!("{:8} {workers:2} {:16}", kind.name(), names[at]);
                times.chunks(2).for_each(|of| print!("{:11.1} ", of[0]));
                for (of, chart) in times.chunks(2).zip(&mut of_kind) {
                    print!("{:11.2} ", 1e3 / of[1]);
                    chart.lines[at].push((workers as f64, 1e3 / of[1]));
                }
                println!("{bytes:8.1}");
            }
        }
        charts.extend(of_kind);
    }
    options.draw("Operations by workers", &names, &charts)
}

/// Figure 3.9.
fn contention(options: &IndexOptions) -> Result<()> {
    let names = options.names();
    println!("{:16} {:>6} {:>14} {:>14}", "", "skew", "lookups, M/s", "updates, M/s");
    let chart = |name: &str| Chart { name: format!("{name}, M/s by skew"), lines: vec![Vec::new(); names.len()] };
    let mut charts = [chart("lookups"), chart("updates")];
    for (at, figures) in best(options, Kind::Dense, 2, &names)?.into_iter().enumerate() {
        for (skew, pair) in measure::SKEWS.into_iter().zip(figures.0.chunks(2)) {
            let rates = [1e3 / pair[0], 1e3 / pair[1]];
            println!("{:16} {skew:6.2} {:14.2} {:14.2}", names[at], rates[0], rates[1]);
            charts.iter_mut().zip(rates).for_each(|(chart, rate)| chart.lines[at].push((skew, rate)));
        }
    }
    options.draw("A reader beside a writer", &names, &charts)
}

/// The best figures of some rounds, in which the contenders take turns.
fn best(options: &IndexOptions, kind: Kind, workers: usize, names: &[&str]) -> Result<Vec<Figures>> {
    let mut best = vec![Figures::default(); names.len()];
    for _ in 0..options.rounds.max(1) {
        for (name, best) in names.iter().zip(&mut best) {
            if let Some(figures) = outside(options, kind, workers, name)? {
                best.improve(&figures);
            }
        }
    }
    Ok(best)
}

/// What another process is told, to make one measurement.
fn arguments(options: &IndexOptions, kind: Kind, workers: usize, name: &str) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["index", "--inside", "--only", name, "--kind", kind.name()].map(Into::into).into();
    arguments.extend(["--workers".into(), workers.to_string(), "--keys".into(), options.keys.to_string()]);
    let flags = [(options.contention, "--contention"), (options.ranges, "--ranges")];
    arguments.extend(flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag.into()));
    arguments
}

fn failed(what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::IO_ERROR, format!("bench index: {what}"))
}

/// One measurement, in another process.
fn outside(options: &IndexOptions, kind: Kind, workers: usize, name: &str) -> Result<Option<Figures>> {
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    let output = command.args(arguments(options, kind, workers, name)).output().map_err(failed)?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    Ok((!figures.is_empty()).then_some(Figures(figures)))
}
