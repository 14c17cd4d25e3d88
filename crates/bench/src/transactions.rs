//! Workloads of transactions: how many a second of each kind, how long they take, and what holds afterwards.

pub(crate) mod chbenchmark;
pub(crate) mod smallbank;
pub(crate) mod tpcc;
pub(crate) mod ycsb;

use std::time::Instant;

use base::Result;
use engine::{Config, Database};
use testkit::workload::{Kind, Tally};

/// How one is run.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Sessions, each with a thread.
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// Seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// The level of isolation.
    #[arg(long, default_value = "serializable")]
    isolation: String,
    /// How transactions are kept apart: mvcc, serial, partitioned, two_phase_locking or timestamp_ordering.
    #[arg(long, default_value = "mvcc")]
    control: String,
}

impl Options {
    fn database(&self) -> Result<Database> {
        let mut config = Config::default();
        config.settings.set("default_transaction_isolation", &self.isolation)?;
        config.settings.set("concurrency_control", &self.control)?;
        Database::new(config)
    }

    fn time(&self) -> std::time::Duration {
        std::time::Duration::from_secs(self.seconds)
    }
}

/// Runs something that takes a while, and says how long.
fn timed<T>(what: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let begin = Instant::now();
    let result = run()?;
    println!("{what} in {:.1} s", begin.elapsed().as_secs_f64());
    Ok(result)
}

/// What became of transactions, as a table. Returns how many a second there were.
fn report(mix: &[Kind], tally: &Tally, seconds: f64) -> f64 {
    println!("{:>20} {:>12} {:>10} {:>12} {:>10}", "", "done", "a second", "mean, us", "given up");
    for ((name, share), count) in mix.iter().zip(tally) {
        if *share == 0 {
            continue;
        }
        let mean = count.time.as_secs_f64() * 1e6 / (count.done + count.given_up).max(1) as f64;
        let a_second = count.done as f64 / seconds;
        println!("{name:>20} {:>12} {a_second:>10.0} {mean:>12.1} {:>10}", count.done, count.given_up);
    }
    let all: u64 = tally.iter().map(|count| count.done).sum();
    println!("{:>20} {all:>12} {:>10.0}", "all", all as f64 / seconds);
    all as f64 / seconds
}
