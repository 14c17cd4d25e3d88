//! How long statements take before they run: binding, optimising, lowering and compiling, over empty tables; and how
//! soon an interrupt ends the hard ones.

use std::time::{Duration, Instant};

use base::Result;
use engine::{Config, Database, Session};
use tpch::{QUERIES, SCHEMA};

use crate::tpch::millis;

/// When the interrupt comes.
const PATIENCE: Duration = Duration::from_millis(5);

pub(crate) fn run() -> Result<bool> {
    // Two databases, as code that one has cached would be no measure for the other.
    let mut sessions = [empty()?, empty()?];
    println!("{:24} {:>10} {:>10} {:>10} {:>12}", "milliseconds", "optimised", "lowered", "first run", "interrupted");
    for query in QUERIES {
        report(&mut sessions, &format!("Q{}", query.number), query.sql)?;
    }
    for (name, sql) in hard() {
        report(&mut sessions, &name, &sql)?;
    }
    Ok(true)
}

fn empty() -> Result<Session> {
    let mut session = Database::new(Config::default())?.connect();
    session.run_script(SCHEMA, |_, result| result.collect().map(|_| ()))?;
    session.execute("CREATE TABLE t (a integer, b integer)", &[])?.collect()?;
    Ok(session)
}

/// Statements that are long, or nest deeply.
fn hard() -> Vec<(String, String)> {
    let list =
        |n: usize, each: &dyn Fn(usize) -> String, between: &str| (0..n).map(each).collect::<Vec<_>>().join(between);
    let outer = |n: usize| {
        let joins = list(n, &|i| format!(" LEFT JOIN t t{i} ON t{i}.a = t.a"), "");
        format!("SELECT count(*) FROM t{joins}")
    };
    let not_in = |n: usize| {
        let open = list(n, &|_| "SELECT a FROM t WHERE a NOT IN (".to_owned(), "");
        format!("{open}SELECT a FROM t{}", ")".repeat(n))
    };
    let tables = |n: usize| {
        let names = list(n, &|i| format!("t t{i}"), ", ");
        format!("SELECT count(*) FROM {names} WHERE {}", list(n - 1, &|i| format!("t{i}.a = t{}.a", i + 1), " AND "))
    };
    let cases = [
        ("800 aggregates", format!("SELECT {} FROM t", list(800, &|i| format!("sum(a + {i})"), ", "))),
        (
            "800 grouped aggregates",
            format!("SELECT {} FROM t GROUP BY b", list(800, &|i| format!("sum(a + {i})"), ", ")),
        ),
        ("1,600 expressions", format!("SELECT {} FROM t", list(1_600, &|i| format!("a + {i}"), ", "))),
        ("250 left joins", outer(250)),
        ("20 nested NOT IN", not_in(20)),
        ("100 tables in a chain", tables(100)),
        ("40 x 40 tables", format!("SELECT {}", list(40, &|_| format!("({})", tables(40)), ", "))),
        ("1,000 branches", list(1_000, &|i| format!("SELECT {i}"), " UNION ALL ")),
    ];
    cases.map(|(name, sql)| (name.to_owned(), sql)).into()
}

fn report([timed, stopped]: &mut [Session; 2], name: &str, sql: &str) -> Result<()> {
    let mut time = |sql: &str| -> Result<Duration> {
        let start = Instant::now();
        timed.execute(sql, &[])?.collect()?;
        Ok(start.elapsed())
    };
    let optimised = time(&format!("EXPLAIN (OPTIMIZED) {sql}"))?;
    let lowered = time(&format!("EXPLAIN (PIPELINES) {sql}"))?;
    let first = time(sql)?;
    let times = [optimised, lowered, first, interrupted(stopped, sql)].map(millis);
    println!("{name:24} {:10.2} {:10.2} {:10.2} {:12.2}", times[0], times[1], times[2], times[3]);
    Ok(())
}

/// How long a statement goes on after an interrupt; nothing if it has ended by then.
fn interrupted(session: &mut Session, sql: &str) -> Duration {
    let handle = session.interrupt_handle();
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(PATIENCE);
            handle.interrupt();
        });
        // An error is what is asked for; a result in time is as good.
        let ended = session.execute(sql, &[]).and_then(|result| result.collect());
        drop(ended);
        start.elapsed().saturating_sub(PATIENCE)
    })
}
