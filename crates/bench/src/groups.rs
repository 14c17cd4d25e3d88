//! Numbers of groups around the size of a worker's directory: neither time nor memory may jump there.

use std::time::{Duration, Instant};

use base::Result;
use engine::rows::text_rows;
use engine::{Config, Database, Session};

const RUNS: usize = 5;
/// Half of the directory's slots are 131,072.
const GROUPS: [u32; 6] = [1_000, 100_000, 120_000, 140_000, 200_000, 1_000_000];

pub(crate) fn run(threads: Option<usize>) -> Result<bool> {
    let mut session = Database::new(Config { threads, ..Config::default() })?.connect();
    let digits = (0..100).map(|i| format!("({i})")).collect::<Vec<_>>().join(", ");
    execute(&mut session, &format!("CREATE TABLE n AS SELECT i FROM (VALUES {digits}) v(i)"))?;
    execute(
        &mut session,
        "CREATE TABLE r AS SELECT (a.i * 1000000 + b.i * 10000 + c.i * 100 + d.i) * CAST(7919 AS bigint) % 16777213 AS h \
         FROM n a, n b, n c, n d WHERE a.i < 6",
    )?;
    for groups in GROUPS {
        let sql = format!("SELECT count(*), max(s) FROM (SELECT h % {groups} AS g, sum(h) AS s FROM r GROUP BY 1) q");
        let mut best = Duration::MAX;
        for _ in 0..RUNS {
            let start = Instant::now();
            execute(&mut session, &sql)?;
            best = best.min(start.elapsed());
        }
        let explained = text_rows(session.execute(&format!("EXPLAIN ANALYZE {sql}"), &[])?)?;
        let memory = explained.iter().flatten().filter_map(|line| line.split("peak memory ").nth(1)).next_back();
        let millis = best.as_secs_f64() * 1e3;
        println!("6M rows in {groups:9} groups: {millis:7.1} ms, {}", memory.unwrap_or("memory unknown"));
    }
    Ok(true)
}

fn execute(session: &mut Session, sql: &str) -> Result<()> {
    session.execute(sql, &[])?.collect().map(drop)
}
