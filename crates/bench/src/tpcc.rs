//! TPC-C: transactions a second of each kind, and whether the conditions hold afterwards.

use std::time::{Duration, Instant};

use base::Result;
use engine::{Config, Database};
use testkit::tpcc::{KINDS, PROCEDURES, Scale, drive, load, violations};

/// How it is run.
#[derive(clap::Args)]
pub(crate) struct TpccOptions {
    /// Warehouses: about 80 MB each.
    #[arg(long, default_value_t = 1)]
    warehouses: i64,
    /// Sessions, each with a thread.
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// Seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// The level of isolation.
    #[arg(long, default_value = "serializable")]
    isolation: String,
}

pub(crate) fn run(options: &TpccOptions) -> Result<bool> {
    let mut config = Config::default();
    config.settings.set("default_transaction_isolation", &options.isolation)?;
    let database = Database::new(config)?;
    let (mut session, scale) = (database.connect(), Scale::of(options.warehouses));
    let begin = Instant::now();
    load(&mut session, &scale)?;
    session.run_script(PROCEDURES, |_, result| result.collect().map(drop))?;
    println!("loaded {} warehouses in {:.1} s", options.warehouses, begin.elapsed().as_secs_f64());
    let (begin, time) = (Instant::now(), Duration::from_secs(options.seconds));
    let tally = drive(&database, &scale, options.workers, time, u64::MAX)?;
    let seconds = begin.elapsed().as_secs_f64();
    println!("{:>14} {:>12} {:>10} {:>12} {:>10}", "", "done", "a second", "mean, us", "given up");
    for ((name, _), count) in KINDS.iter().zip(&tally) {
        let mean = count.time.as_secs_f64() * 1e6 / (count.done + count.given_up).max(1) as f64;
        println!(
            "{name:>14} {:>12} {:>10.0} {mean:>12.1} {:>10}",
            count.done,
            count.done as f64 / seconds,
            count.given_up
        );
    }
    let all: u64 = tally.iter().map(|count| count.done).sum();
    println!("{:>14} {all:>12} {:>10.0}", "all", all as f64 / seconds);
    let broken = violations(&mut session, &scale)?;
    broken.iter().for_each(|(number, count)| println!("condition {number} does not hold: {count}"));
    Ok(broken.is_empty())
}
