//! How long the smallest statements take, end to end in the process.

use std::time::{Duration, Instant};

use base::Result;
use engine::{Config, Database, PreparedStatement, Session};
use types::{SqlType, Value};

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
    point_queries()?;
    prepared()?;
    Ok(true)
}

/// Rows of the table of the point queries, in the order of their keys.
const ROWS: usize = 100_000;
/// Point queries, each with a literal that was never seen.
const POINTS: usize = 1000;

/// Lookups by a literal: kept plans bind it as an argument. `SET compile = on` has each statement planned.
fn point_queries() -> Result<()> {
    let database = Database::new(Config::default())?;
    let mut session = database.connect();
    let run = |session: &mut Session, sql: &str| session.execute(sql, &[])?.collect().map(drop);
    for (table, rows) in [("few", 1000), ("many", ROWS)] {
        let digits = "select a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d as k";
        let from =
            ["a", "b", "c", "e", "f"].map(|n| format!("(values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) {n}(d)"));
        let from = from.join(", ");
        run(&mut session, &format!("create table {table} (id integer, name text)"))?;
        run(
            &mut session,
            &format!(
                "insert into {table} select k, 'row ' || k from ({digits} from {from}) x where k < {rows} order by k"
            ),
        )?;
    }
    for table in ["few", "many"] {
        for (how, setting) in [("kept plan", "reset all"), ("planned anew", "set compile = on")] {
            run(&mut session, setting)?;
            run(&mut session, &format!("select name from {table} where id = 0"))?;
            let times = (1..=POINTS).map(|n| {
                // A statement that runs for the first time: its literal was never seen.
                let sql = format!("select name from {table} where id = {}", n % 1000);
                let start = Instant::now();
                session.execute(&sql, &[])?.collect()?;
                Ok(start.elapsed())
            });
            report(&format!("point query, {table} rows, {how}"), times.collect::<Result<Vec<_>>>()?);
        }
    }
    Ok(())
}

/// Prepared statements of one row: SELECT, UPDATE and DELETE by the primary key, and INSERT.
fn prepared() -> Result<()> {
    const EACH: usize = 100_000;
    let mut session = Database::new(Config::default())?.connect();
    let mut run = |sql: &str| session.execute(sql, &[])?.collect().map(drop);
    run("create table keyed (k bigint primary key, name text, n bigint not null default 0)")?;
    run("insert into keyed select x, 'row ' || x from generate_series(0, 999999) g(x)")?;
    let select = session.prepare("select name from keyed where k = $1", &[])?;
    let insert = session.prepare("insert into keyed values ($1, $2)", &[])?;
    let renamed = session.prepare("update keyed set name = $1 where k = $2", &[])?;
    let counted = session.prepare("update keyed set n = n + $1 where k = $2", &[])?;
    let delete = session.prepare("delete from keyed where k = $1", &[])?;
    let mut all = |what: &str, statement: &PreparedStatement, parameters: &dyn Fn(i64) -> Vec<(Value, SqlType)>| {
        let begin = Instant::now();
        for n in 0..EACH as i64 {
            session.run(statement, &parameters(n))?.collect()?;
        }
        let each = begin.elapsed().as_secs_f64() * 1e6 / EACH as f64;
        println!("{what:45} mean   {each:8.2} us   {:8.0} a second", 1e6 / each);
        Ok::<(), base::Error>(())
    };
    let key = |k: i64| (Value::Int(k), SqlType::BigInt);
    all("prepared, by the primary key", &select, &|n| vec![key(n * 7919 % 1_000_000)])?;
    all("prepared, insert", &insert, &|n| vec![key(1_000_000 + n), (Value::str("new"), SqlType::Text)])?;
    let scattered = |n: i64| key(n * 7919 % 1_000_000);
    all("prepared, update of a text by the key", &renamed, &|n| {
        vec![(Value::str("other"), SqlType::Text), scattered(n)]
    })?;
    all("prepared, update of a number by the key", &counted, &|n| vec![key(n), scattered(n)])?;
    all("prepared, delete by the key", &delete, &|n| vec![key(1_000_000 + n)])
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e6;
    println!("{what:45} median {:8.1} us   99% {:8.1} us   worst {:8.1} us", at(0.5), at(0.99), at(1.0));
}
