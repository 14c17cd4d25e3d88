//! Window functions over 10 million rows of two numbers, as in the thesis (5.6): `a` with 100 values, `b` unique; with how
//! long each phase takes.

use std::time::{Duration, Instant};

use base::Result;
use engine::{Config, Database, Session};

const DIGITS: usize = 7;
const RUNS: usize = 3;

/// What is measured: windows whose results are summed, so that each row's is used and nothing is fetched.
const STATEMENTS: [(&str, &str, &str); 14] = [
    ("rank, 100 partitions", "rank()", "partition by a order by b"),
    ("rank, 1 partition", "rank()", "order by b"),
    ("rank, 10M partitions", "rank()", "partition by b order by a"),
    ("dense_rank", "dense_rank()", "partition by a order by b"),
    ("lag", "lag(b)", "partition by a order by b"),
    ("sum, fixed frame", "sum(a)", "order by b rows between 1000 preceding and current row"),
    ("sum, variable frame", "sum(a)", "order by b rows between (b % 10000) preceding and current row"),
    ("sum, cumulative", "sum(a)", "partition by a order by b"),
    ("sum, whole partition", "sum(b)", "partition by a"),
    ("min, fixed frame", "min(a)", "order by b rows between 1000 preceding and current row"),
    ("max, variable frame", "max(b)", "order by b rows between (b % 10000) preceding and current row"),
    ("sum of doubles", "sum(b::double)", "order by b rows between 1000 preceding and current row"),
    ("range frame", "count(*)", "order by b range between 1000 preceding and 1000 following"),
    (
        "median, 1000 rows",
        "percentile_disc(0.5) within group (order by a)",
        "order by b rows between 1000 preceding and current row",
    ),
];

pub(crate) fn run(threads: Option<usize>, only: Option<&str>) -> Result<bool> {
    let mut session = Database::new(Config { threads, ..Config::default() })?.connect();
    load(&mut session)?;
    let rows = 10u64.pow(DIGITS as u32);
    println!("{rows} rows, {} threads, best of {RUNS}", session.database().threads());
    println!("{:24} {:>10} {:>10} {:>12}", "window", "ms", "ns a row", "MiB");
    for (what, function, over) in STATEMENTS.into_iter().filter(|(what, ..)| only.is_none_or(|o| what.contains(o))) {
        let sql = format!("select sum(w) from (select {function} over ({over}) w from numbers)");
        let runs = (0..RUNS).map(|_| measure(&mut session, &sql)).collect::<Result<Vec<_>>>()?;
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
    // A factor without a common divisor permutes the ids.
    let sql = format!(
        "create table numbers as select id * 2654435761::bigint % 4294967291::bigint % 100 a, id * 7368787 % 10000000 b \
         from (select ({id})::bigint id from {from}) ids"
    );
    session.execute(&sql, &[])?.collect().map(drop)
}

/// Time, and the most memory that was in use meanwhile.
fn measure(session: &mut Session, sql: &str) -> Result<(Duration, usize)> {
    let before = session.database().memory_used();
    let start = Instant::now();
    let mut result = session.execute(sql, &[])?;
    let mut memory = before;
    while result.next_chunk()?.is_some() {
        memory = memory.max(session.database().memory_used());
    }
    Ok((start.elapsed(), memory.saturating_sub(before)))
}
