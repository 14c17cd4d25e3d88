//! CH-benCHmark: its queries alone, TPC-C's transactions alone, and both at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use base::{Error, Result};
use engine::Session;
use testkit::workload::chbenchmark::{QUERIES, load};
use testkit::workload::drive;
use testkit::workload::tpcc::MIX;

use super::report;
use super::tpcc::{TpccOptions, conditions};

pub(crate) fn run(options: &TpccOptions) -> Result<bool> {
    let (database, scale, mut terminals) = options.loaded()?;
    let mut session = database.connect();
    load(&mut session)?;
    let options = &options.options;
    let mut transactions = || {
        let begin = Instant::now();
        let tally = drive(&mut terminals, &MIX, options.time(), u64::MAX)?;
        Ok::<_, Error>((tally, begin.elapsed().as_secs_f64()))
    };
    let over = |begin: Instant| begin.elapsed() >= options.time();

    let begin = Instant::now();
    let alone = rounds(&mut session, &|| over(begin))?;
    let (tally, seconds) = transactions()?;
    println!("transactions alone");
    let rate_alone = report(&MIX, &tally, seconds);
    let ended = AtomicBool::new(false);
    let (beside, at_once) = std::thread::scope(|scope| {
        let queries = scope.spawn(|| rounds(&mut session, &|| ended.load(Ordering::Relaxed)));
        let result = transactions();
        ended.store(true, Ordering::Relaxed);
        (queries.join(), result)
    });
    let beside = beside.unwrap_or_else(|_| Err(Error::internal("the queries have panicked")))?;
    let (tally, seconds) = at_once?;
    println!("transactions beside the queries");
    let rate = report(&MIX, &tally, seconds);

    println!("{:>6} {:>12} {:>12} {:>8}", "query", "alone, ms", "beside, ms", "ratio");
    for (number, (alone, beside)) in alone.iter().zip(&beside).enumerate() {
        println!("{:>6} {alone:>12.2} {beside:>12.2} {:>8.2}", number + 1, beside / alone);
    }
    let mean = |times: &[f64]| (times.iter().map(|time| time.ln()).sum::<f64>() / times.len() as f64).exp();
    let (alone, beside) = (mean(&alone), mean(&beside));
    println!("{:>6} {alone:>12.2} {beside:>12.2} {:>8.2}   geometric mean", "all", beside / alone);
    println!("transactions: {rate:.0} a second of {rate_alone:.0}, {:.2}", rate / rate_alone);
    conditions(&mut session, &scale)
}

/// Runs all queries again and again until it is over, at least once; the median of each one's times, in milliseconds.
fn rounds(session: &mut Session, is_over: &dyn Fn() -> bool) -> Result<Vec<f64>> {
    let mut times = vec![Vec::new(); QUERIES.len()];
    loop {
        for (query, times) in QUERIES.iter().zip(&mut times) {
            let begin = Instant::now();
            session.execute(query, &[])?.collect()?;
            times.push(begin.elapsed().as_secs_f64() * 1e3);
        }
        if is_over() {
            break;
        }
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    Ok(times.into_iter().map(median).collect())
}
