//! What exact sums of doubles cost (decision 12), beside plain ones that depend on the order: the arithmetic alone, in
//! alternating runs, and whole queries beside ones that count.

use std::hint::black_box;
use std::time::{Duration, Instant};

use base::{Error, Result};
use engine::{Config, Database, Session};
use types::ops::hash::hash_u64;
use types::ops::sum::Pair;

const VALUES: usize = 10_000_000;
const BATCH: usize = 1024;
const GROUPS: usize = 100_000;
const RUNS: usize = 7;

pub(crate) fn run() -> Result<bool> {
    let values: Vec<f64> = (0..VALUES as u64).map(|i| (hash_u64(i) >> 11) as f64 / (1u64 << 40) as f64).collect();
    let groups: Vec<u32> = (0..VALUES as u64).map(|i| (hash_u64(i + 7) % GROUPS as u64) as u32).collect();
    let [plain, exact] = alternate([&mut || _ = black_box(plain(&values)), &mut || _ = black_box(in_batches(&values))]);
    report("without keys", plain, exact);
    let [plain, exact] = alternate([&mut || _ = black_box(plain_groups(&values, &groups)), &mut || {
        _ = black_box(exact_groups(&values, &groups))
    }]);
    report("by 100,000 groups", plain, exact);
    queries()
}

/// The best time of each, in turns: what else the machine does meets all alike.
fn alternate<const N: usize>(mut work: [&mut dyn FnMut(); N]) -> [Duration; N] {
    let mut best = [Duration::MAX; N];
    for _ in 0..RUNS {
        for (work, best) in work.iter_mut().zip(&mut best) {
            let start = Instant::now();
            work();
            *best = start.elapsed().min(*best);
        }
    }
    best
}

fn report(what: &str, plain: Duration, exact: Duration) {
    let ns = |time: Duration| time.as_secs_f64() * 1e9 / VALUES as f64;
    let ratio = exact.as_secs_f64() / plain.as_secs_f64();
    println!("{what:30} plain {:6.2} ns   exact {:6.2} ns   ratio {ratio:.2}", ns(plain), ns(exact));
}

/// One addition after the other, as code that keeps its sum in a register.
fn plain(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |sum, x| sum + x)
}

fn in_batches(values: &[f64]) -> Pair {
    let mut sum = Pair::default();
    for batch in values.chunks(BATCH) {
        let lanes = runtime::sum::sum_of(batch).expect("values of one size");
        lanes.iter().flat_map(|lane| [lane.high, lane.low]).for_each(|x| assert!(sum.add(x)));
    }
    sum
}

/// A group's row, as long as the engine's.
#[derive(Clone, Copy, Default)]
#[repr(align(16))]
struct Row {
    _hash_and_key: [u64; 2],
    sum: f64,
}

/// The same with an exact sum.
#[derive(Clone, Copy, Default)]
#[repr(align(16))]
struct ExactRow {
    _hash_and_key: [u64; 2],
    sum: Pair,
}

fn plain_groups(values: &[f64], groups: &[u32]) -> Vec<Row> {
    let mut rows = vec![Row::default(); GROUPS];
    for (x, &group) in values.iter().zip(groups) {
        rows[group as usize].sum += x;
    }
    rows
}

fn exact_groups(values: &[f64], groups: &[u32]) -> Vec<ExactRow> {
    let mut rows = vec![ExactRow::default(); GROUPS];
    for (x, &group) in values.iter().zip(groups) {
        assert!(rows[group as usize].sum.add(*x), "values of one size");
    }
    rows
}

fn queries() -> Result<bool> {
    let mut session = Database::new(Config { threads: Some(1), ..Config::default() })?.connect();
    let digits = (0..100).map(|i| format!("({i})")).collect::<Vec<_>>().join(", ");
    for sql in [
        &format!("CREATE TABLE n AS SELECT i FROM (VALUES {digits}) v(i)"),
        "CREATE TABLE s AS SELECT (a.i * 10007 + b.i * 101 + c.i * 1009 + d.i) % 100000 AS g, \
         CAST(a.i * 1000000 + b.i * 10000 + c.i * 100 + d.i AS double precision) / 7 AS x \
         FROM n a, n b, n c, n d WHERE d.i < 10",
    ] {
        session.execute(sql, &[])?.collect()?;
    }
    let mut failure = None;
    for keys in ["", " GROUP BY g"] {
        let mut times = ["count(x)", "sum(CAST(g AS bigint))", "sum(x)"].map(|aggregate| {
            let sql = format!("SELECT max(v) FROM (SELECT {aggregate} AS v FROM s{keys}) q");
            (aggregate, sql, Duration::MAX)
        });
        for _ in 0..RUNS {
            for (_, sql, best) in &mut times {
                match time(&mut session, sql) {
                    Ok(time) => *best = time.min(*best),
                    Err(error) => failure = Some(error),
                }
            }
        }
        for (aggregate, _, best) in times {
            println!("SELECT {aggregate} FROM s{keys}, 10M rows, 1 thread: {:.1} ms", best.as_secs_f64() * 1e3);
        }
    }
    failure.map_or(Ok(true), Err::<bool, Error>)
}

fn time(session: &mut Session, sql: &str) -> Result<Duration> {
    let start = Instant::now();
    session.execute(sql, &[])?.collect()?;
    Ok(start.elapsed())
}
