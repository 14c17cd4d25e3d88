//! What the benchmarks over ten million numbers share: the numbers, and a table of times and memory.

use std::time::Duration;

use base::Result;
use engine::{Config, Database, Session};

const DIGITS: usize = 7;
const RUNS: usize = 3;
const ROWS: u64 = 10u64.pow(DIGITS as u32);

/// A session with the table `numbers`: `columns` of each `id` from 0.
pub(crate) fn session(threads: Option<usize>, columns: &str) -> Result<Session> {
    let mut session = Database::new(Config { threads, ..Config::default() })?.connect();
    let sql = format!("create table numbers as select {columns} from {}", ids(DIGITS));
    session.execute(&sql, &[])?.collect()?;
    Ok(session)
}

/// What FROM makes a power of ten of rows of: each `id` from 0.
pub(crate) fn ids(digits: usize) -> String {
    let all = "(values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))";
    let from = (0..digits).map(|i| format!("{all} d{i}(n)")).collect::<Vec<_>>().join(", ");
    let id = (0..digits).map(|i| format!("d{i}.n * {}", 10u64.pow(i as u32))).collect::<Vec<_>>().join(" + ");
    format!("(select ({id})::bigint id from {from}) ids")
}

/// Prints the best time of each statement and its memory, as `measure` finds them.
pub(crate) fn table(
    session: &mut Session,
    what: &str,
    statements: impl IntoIterator<Item = (&'static str, String)>,
    measure: impl Fn(&mut Session, &str) -> Result<(Duration, usize)>,
) -> Result<()> {
    println!("{ROWS} rows, {} threads, best of {RUNS}", session.database().threads());
    println!("{what:24} {:>10} {:>10} {:>12}", "ms", "ns a row", "MiB");
    for (name, sql) in statements {
        let runs = (0..RUNS).map(|_| measure(session, &sql)).collect::<Result<Vec<_>>>()?;
        let (time, memory) = runs.into_iter().min().expect("at least one run");
        let ns = time.as_nanos() as f64 / ROWS as f64;
        println!("{name:24} {:>10.1} {ns:>10.2} {:>12.1}", time.as_secs_f64() * 1e3, memory as f64 / 1048576.0);
    }
    Ok(())
}
