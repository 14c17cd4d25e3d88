//! The same rows bit for bit, whatever the number of workers and however rows are cut into morsels: random queries over a table of several morsels, full of
//! values of which the order of evaluation could show. Text has all bits of a double but those of a NaN.

use std::time::Duration;

use base::Random;
use engine::rows::text_rows;
use engine::{Config, Database, Session};

/// A table of 120,000 rows, computed from their numbers: `h` is a hash of the number, of 24 bits.
const ROWS: &str = "
    CREATE TABLE n AS SELECT a.i * 10000 + b.i * 100 + c.i AS i
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11)) a(i), digits b, digits c";
const TABLE: &str = "
    CREATE TABLE d AS SELECT
        i, h % 7 AS g, h % 50000 AS k,
        CASE h % 40
            WHEN 0 THEN CAST('-0' AS double precision) WHEN 1 THEN 0 WHEN 2 THEN 5e-324 WHEN 3 THEN 1e300
            WHEN 4 THEN -1e300 WHEN 5 THEN 1e-300 WHEN 6 THEN NULL
            ELSE CAST(h AS double precision) / 7 * (CASE WHEN h % 2 = 0 THEN 1e6 ELSE -1e-6 END) END AS x,
        CASE h % 5000 WHEN 17 THEN CAST('NaN' AS double precision) WHEN 18 THEN CAST('Infinity' AS double precision)
            ELSE h / CAST(3 AS double precision) END AS s,
        CAST(h AS real) / 3 AS r,
        CASE h % 3 WHEN 0 THEN INTERVAL '1 month' WHEN 1 THEN INTERVAL '30 days' ELSE INTERVAL '720 hours' END AS v,
        CASE h % 2 WHEN 0 THEN CAST('-0' AS double precision) ELSE 0 END AS z,
        CAST(h AS decimal(12, 2)) / 100 AS m,
        CAST(h % 1000 AS text) AS t
    FROM (SELECT i, (CAST(i AS bigint) * 7919 + 104729) * 31337 % 16777213 AS h FROM n) q";

fn session(config: Config, settings: &[&str]) -> Session {
    let mut session = Database::new(config).unwrap().connect();
    let digits = (0..100).map(|i| format!("({i})")).collect::<Vec<_>>().join(", ");
    for sql in ["CREATE TABLE digits (i integer)", &format!("INSERT INTO digits VALUES {digits}"), ROWS, TABLE] {
        session.execute(sql, &[]).unwrap().collect().unwrap();
    }
    settings.iter().for_each(|s| drop(session.execute(s, &[]).unwrap().collect().unwrap()));
    session
}

fn workers(threads: usize) -> Config {
    Config { threads: Some(threads), ..Config::default() }
}

const NUMBERS: &[&str] = &["x", "s", "r", "m", "k", "x * 2", "CAST(k AS double precision) / 3"];
const FLOATS: &[&str] = &["x", "s", "r", "exp(s / 1e8)", "ln(s + 1)", "sin(s)"];

fn aggregate(random: &mut Random) -> String {
    match random.index(7) {
        0 => format!("avg({})", random.pick(NUMBERS)),
        1 => format!("{}({})", random.pick(&["var_pop", "var_samp", "stddev_samp"]), random.pick(&["s", "r", "k"])),
        2 => format!("{}({})", random.pick(&["min", "max"]), random.pick(&["x", "s", "v", "z", "t"])),
        3 => format!("sum({}) FILTER (WHERE k % 3 = 0)", random.pick(FLOATS)),
        4 => format!("sum(DISTINCT {})", random.pick(NUMBERS)),
        _ => format!("sum({})", random.pick(&[NUMBERS, FLOATS].concat())),
    }
}

fn query(random: &mut Random) -> String {
    let from = random.pick(&["d", "d WHERE k % 11 < 4", "(SELECT a.* FROM d a JOIN d b ON a.i = b.k) j"]);
    let list = (0..1 + random.index(3)).map(|_| aggregate(random)).collect::<Vec<_>>().join(", ");
    match random.index(8) {
        0 => format!("SELECT {list} FROM {from}"),
        1 => format!("SELECT {0}, {list} FROM {from} GROUP BY {0}", random.pick(&["z", "v", "t", "g, z", "k"])),
        // Ties go by the rest of the row.
        2 | 3 => {
            let keys = random.pick(&["z", "v", "z, g", "g, v DESC", "t, x", "s DESC"]);
            format!("SELECT z, v, x, t, k FROM d ORDER BY {keys} LIMIT {}", 1 + random.index(3000))
        }
        4 => format!("SELECT DISTINCT {} FROM {from}", random.pick(&["z", "v", "z, v", "x", "g, t"])),
        _ => format!("SELECT {0}, {list} FROM {from} GROUP BY {0}", random.pick(&["g", "k", "t", "k % 20000"])),
    }
}

/// The rows, in an order of their own where the query gives none, or the error.
fn outcome(session: &mut Session, sql: &str) -> Result<Vec<Vec<String>>, String> {
    let mut rows = session.execute(sql, &[]).and_then(text_rows).map_err(|e| e.state().0.to_string())?;
    if !sql.contains(" ORDER BY ") {
        rows.sort();
    }
    Ok(rows)
}

#[test]
fn results_depend_neither_on_workers_nor_on_morsels() {
    let zero = Some(Duration::ZERO);
    let mut one = session(workers(1), &[]);
    let mut others: Vec<(&str, Session)> = vec![
        ("two workers", session(workers(2), &[])),
        ("seven workers and small morsels", session(Config { morsel_rows: Some(1_500), ..workers(7) }, &[])),
        ("one worker and a morsel", session(Config { morsel_rows: Some(1 << 30), ..workers(1) }, &[])),
        ("rests that change hands", session(Config { slice: zero, steps: Some(700), ..workers(3) }, &[])),
    ];
    let mut random = Random(1);
    let mut failed = 0;
    for number in 0..40 {
        let sql = query(&mut random);
        let expected = outcome(&mut one, &sql);
        failed += usize::from(expected.is_err());
        for (name, session) in &mut others {
            let actual = outcome(session, &sql);
            if actual != expected {
                let (a, b) = (expected.unwrap_or_default(), actual.clone().unwrap_or_default());
                let first = a.iter().zip(&b).find(|(a, b)| a != b);
                panic!("query {number} with {name}: {sql}\n{} rows, {} rows; {first:?} {actual:.0?}", a.len(), b.len());
            }
        }
    }
    assert!(failed < 10, "{failed} queries fail");
}

#[test]
fn compiled_and_interpreted_sums_have_the_same_bits() {
    let (mut compiled, mut interpreted) = (session(workers(2), &[]), session(workers(2), &["SET compile = off"]));
    for sql in [
        "SELECT sum(x), avg(x), sum(r), avg(r), sum(s) FILTER (WHERE s < 1e300), var_samp(r) FROM d",
        "SELECT g, sum(x), avg(r), stddev_pop(k), min(z), max(v) FROM d GROUP BY g",
        "SELECT z, v, count(*), sum(ln(k + 1)) FROM d GROUP BY z, v",
    ] {
        assert_eq!(outcome(&mut compiled, sql), outcome(&mut interpreted, sql), "{sql}");
    }
}
