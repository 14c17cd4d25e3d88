//! Joins: the share of rows that arrive at probe sides (thesis 4.2, 4.5.2: 97.4% of all in TPC-H, 99.5% in SSB), and what it brings to run
//! independent pipelines side by side (4.4.2).

use std::time::{Duration, Instant};

use base::{Error, Result};
use engine::Session;
use types::Value;

use crate::tpch::{millis, open};
use crate::workload::WorkloadOptions;

/// Runs of each query in each way, in turns; medians count.
const RUNS: usize = 7;

pub(crate) fn run(options: &WorkloadOptions) -> Result<bool> {
    let mut session = open(&options.data)?;
    options.load(&mut session)?;
    let queries = options.queries()?;
    println!(
        "{:>5} {:>12} {:>12} {:>8} {:>12} {:>14}",
        "query", "built", "probing", "share", "in turn ms", "side by side ms"
    );
    let (mut all, mut product) = ((0, 0), 1.0_f64);
    let share = |(built, probing): (u64, u64)| 100.0 * probing as f64 / (built + probing).max(1) as f64;
    for (name, sql) in &queries {
        let rows = joined(&mut session, sql)?;
        let [in_turn, beside] = times(&mut session, sql)?.map(millis);
        println!("{:>5} {:>12} {:>12} {:>7.1}% {in_turn:>12.2} {beside:>14.2}", name, rows.0, rows.1, share(rows));
        all = (all.0 + rows.0, all.1 + rows.1);
        product *= beside / in_turn;
    }
    println!("  all {:>12} {:>12} {:>7.1}%", all.0, all.1, share(all));
    println!("side by side takes {:.3} of the time, in the geometric mean", product.powf(1.0 / queries.len() as f64));
    Ok(true)
}

/// Rows that hash tables are built of, and rows that probe, as EXPLAIN ANALYZE counts them; none without joins.
fn joined(session: &mut Session, sql: &str) -> Result<(u64, u64)> {
    let rows = session.execute(&format!("explain analyze {sql}"), &[])?.rows()?;
    let line = rows.iter().flatten().find_map(|value| match value {
        Value::Str(line) if line.contains("on probe sides") => Some(line.to_string()),
        _ => None,
    });
    let Some(line) = line else { return Ok((0, 0)) };
    let numbers: Vec<u64> = line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [_, probing, built, ..] => Ok((built, probing)),
        _ => Err(Error::internal(format!("EXPLAIN ANALYZE says of joins: {line}"))),
    }
}

/// Medians of a query's times, its pipelines in turn and side by side.
fn times(session: &mut Session, sql: &str) -> Result<[Duration; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..RUNS {
        for (bushy, times) in ["off", "on"].iter().zip(&mut times) {
            session.execute(&format!("set bushy_parallelism = {bushy}"), &[])?;
            let begin = Instant::now();
            session.execute(sql, &[])?.collect()?;
            times.push(begin.elapsed());
        }
    }
    session.execute("reset bushy_parallelism", &[])?;
    Ok(times.map(|mut times| {
        times.sort_unstable();
        times[RUNS / 2]
    }))
}
