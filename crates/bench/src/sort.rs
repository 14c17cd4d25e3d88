//! How long ORDER BY takes for each row, and how much memory: one key, two keys, text, and a top-10.

use std::time::{Duration, Instant};

use base::Result;
use engine::{Config, Database, Session};

/// Digits of the number of rows.
const DIGITS: usize = 7;
const RUNS: usize = 3;

const STATEMENTS: [(&str, &str); 6] = [
    ("one key", "select * from numbers order by random"),
    ("one key of few values", "select * from numbers order by few"),
    ("two keys", "select * from numbers order by few desc, random"),
    ("text", "select label from numbers order by label"),
    ("top 10", "select * from numbers order by random limit 10"),
    ("top 10 of text", "select * from numbers order by label limit 10"),
];

pub(crate) fn run(threads: Option<usize>) -> Result<bool> {
    let mut session = Database::new(Config { threads, ..Config::default() })?.connect();
    load(&mut session)?;
    let rows = 10u64.pow(DIGITS as u32);
    println!("{rows} rows, {} threads, best of {RUNS}", session.database().threads());
    println!("{:24} {:>10} {:>10} {:>12}", "order by", "ms", "ns a row", "MiB");
    for (what, sql) in STATEMENTS {
        let runs = (0..RUNS).map(|_| measure(&mut session, sql)).collect::<Result<Vec<_>>>()?;
        let (time, memory) = runs.into_iter().min().expect("at least one run");
        let ns = time.as_nanos() as f64 / rows as f64;
        println!("{what:24} {:>10.1} {ns:>10.2} {:>12.1}", time.as_secs_f64() * 1e3, memory as f64 / 1048576.0);
    }
    Ok(true)
}

fn load(session: &mut Session) -> Result<()> {
    let digits = "(values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))";
    let from = (0..DIGITS).map(|i| format!("{digits} d{i}(n)")).collect::<Vec<_>>().join(", ");
    let id = (0..DIGITS).map(|i| format!("d{i}.n * {}", 10u64.pow(i as u32))).collect::<Vec<_>>().join(" + ");
    // Multiplying by a large odd number spreads the ids over 32 bits.
    let random = "id * 2654435761::bigint % 4294967296::bigint";
    let sql = format!(
        "create table numbers as select id, {random} random, {random} / 65536 % 1000 few, \
         'a label of number ' || ({random})::text as label from (select ({id})::bigint id from {from}) ids"
    );
    session.execute(&sql, &[])?.collect().map(drop)
}

/// Time, and memory in use when the first rows arrive, when all of them are sorted.
fn measure(session: &mut Session, sql: &str) -> Result<(Duration, usize)> {
    let before = session.database().memory_used();
    let start = Instant::now();
    let mut result = session.execute(sql, &[])?;
    let mut memory = None;
    while result.next_chunk()?.is_some() {
        memory.get_or_insert_with(|| session.database().memory_used());
    }
    Ok((start.elapsed(), memory.unwrap_or(before).saturating_sub(before)))
}
