//! How long the smallest statements take, end to end in the process.

use std::time::{Duration, Instant};

use base::Result;
use engine::{Config, Database};

/// Statements of one shape share their code, which is cached by the fingerprint of the IR; these shapes differ.
const COLD: usize = 50;
const CACHED: usize = 2000;

pub(crate) fn run() -> Result<bool> {
    let mut session = Database::new(Config::default())?.connect();
    session.execute("SELECT 1", &[])?.collect()?;
    let mut time = |sql: &str| -> Result<Duration> {
        let start = Instant::now();
        session.execute(sql, &[])?.collect()?;
        Ok(start.elapsed())
    };
    let cold =
        (2..COLD + 2).map(|n| time(&format!("SELECT {}", vec!["1"; n].join(" + ")))).collect::<Result<Vec<_>>>()?;
    let wide =
        (2..COLD + 2).map(|n| time(&format!("SELECT {}", vec!["1"; n].join(", ")))).collect::<Result<Vec<_>>>()?;
    let cached = (0..CACHED).map(|n| time(&format!("SELECT {n}"))).collect::<Result<Vec<_>>>()?;
    report("SELECT 1 + 1 + ..., each for the first time", cold);
    report("SELECT 1, 1, ..., each for the first time", wide);
    report("SELECT 1, code from the cache", cached);
    Ok(true)
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e6;
    println!("{what:45} median {:8.1} us   99% {:8.1} us   worst {:8.1} us", at(0.5), at(0.99), at(1.0));
}
