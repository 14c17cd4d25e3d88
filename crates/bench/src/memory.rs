//! Bytes that groups, sorts and joins take for each row that they keep, by the query's peak. Neither the build nor the machine
//! matters, the number of workers a little.

use base::Result;
use engine::rows::text_rows;
use engine::{Config, Database, Session};

/// Digits of the number of rows.
const DIGITS: usize = 6;

/// What is kept, and the query that keeps all rows of `t`: `id` is unique and spread, `label` is a text of 24 bytes.
const STATEMENTS: &[(&str, &str)] = &[
    ("groups: bigint, count", "select count(*) from (select id, count(*) from t group by id) g"),
    (
        "groups: bigint, sum, min",
        "select count(*), max(s + m) from (select id, sum(n) s, min(n) m from t group by id) g",
    ),
    ("groups: two keys, avg", "select count(*), max(a) from (select id, n, avg(n) a from t group by id, n) g"),
    ("groups: text, count", "select count(*) from (select label, count(*) from t group by label) g"),
    ("distinct: bigint", "select count(*) from (select distinct id from t) g"),
    ("sort: bigint", "select id from t order by id offset 999999"),
    ("sort: bigint, another column", "select n from t order by id offset 999999"),
    ("sort: two keys, text", "select label from t order by n, id offset 999999"),
    ("sort: text", "select label from t order by label offset 999999"),
    ("join: bigint", "select count(*) from t a join t b on a.id = b.id"),
    ("join: bigint, two columns", "select count(*), sum(a.n + b.n) from t a join t b on a.id = b.id"),
    ("join: text", "select count(*) from t a join t b on a.label = b.label"),
];

pub(crate) fn run(threads: Option<usize>) -> Result<bool> {
    let mut session = Database::new(Config { threads, ..Config::default() })?.connect();
    let rows = 10u64.pow(DIGITS as u32);
    let digits = "(values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))";
    let from = (0..DIGITS).map(|i| format!("{digits} d{i}(n)")).collect::<Vec<_>>().join(", ");
    let number = (0..DIGITS).map(|i| format!("d{i}.n * {}", 10u64.pow(i as u32))).collect::<Vec<_>>().join(" + ");
    let spread = "i * 2654435761::bigint % 4294967296::bigint";
    let sql = format!(
        "create table t as select {spread} id, i % 1000 n, 'a label of ' || lpad(({spread})::text, 13, '0') label \
         from (select ({number})::bigint i from {from}) ids"
    );
    session.execute(&sql, &[])?.collect()?;
    println!("{rows} rows, {} threads", session.database().threads());
    println!("{:30} {:>10} {:>12}", "kept", "peak MiB", "bytes a row");
    for (what, sql) in STATEMENTS {
        let peak = peak(&mut session, sql)?;
        println!("{what:30} {:>10.1} {:>12.1}", peak, peak * 1048576.0 / rows as f64);
    }
    Ok(true)
}

/// The query's peak in MiB.
fn peak(session: &mut Session, sql: &str) -> Result<f64> {
    let lines = text_rows(session.execute(&format!("explain analyze {sql}"), &[])?)?;
    let found = lines.iter().flatten().filter_map(|line| line.split("peak memory ").nth(1)).next_back();
    let number = found.and_then(|text| text.split(' ').next()).and_then(|n| n.parse().ok());
    number.ok_or_else(|| base::Error::internal("EXPLAIN ANALYZE shows no peak"))
}
