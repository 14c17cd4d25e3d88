//! How queries are cut decides nothing but who gets a turn.

use std::time::Duration;

use engine::{Config, Database, Session};
use scheduler::Topology;

const TABLES: &[&str] = &[
    "create table numbers as select a.i * 100 + b.i as n, (a.i * 7 + b.i) % 13 as g, 'text of row ' || (a.i + b.i) as t
     from tens a, tens b",
    "create table large as select x.n * 10000 + y.n as n, y.g as g from numbers x, numbers y where x.n % 80 = 3",
];

fn session(config: Config) -> Session {
    let mut session = Database::new(config).unwrap().connect();
    session.execute("create table tens (i integer)", &[]).unwrap();
    let rows: Vec<String> = (0..100).map(|i| format!("({i})")).collect();
    session.execute(&format!("insert into tens values {}", rows.join(", ")), &[]).unwrap();
    TABLES.iter().for_each(|sql| drop(session.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e:?}"))));
    session
}

fn rows(session: &mut Session, sql: &str) -> Vec<String> {
    let rows = session.execute(sql, &[]).and_then(|result| result.rows()).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    rows.iter().map(|row| format!("{row:?}")).collect()
}

/// Queries with every kind of source and match.
const QUERIES: &[&str] = &[
    "select count(*), sum(n), min(t), max(t) from numbers where n % 3 = 1",
    "select g, count(*), sum(n) from large group by g",
    "select n % 1000 as k, count(*) from large group by k",
    "select x.n, y.n from numbers x join numbers y on x.n = y.n * 3 where y.g = 2",
    "select count(*), sum(x.n + y.i) from numbers x, tens y where x.n + y.i < 5000",
    "select count(*) from tens x, tens y, tens z where x.i + y.i + z.i = 100",
    "select x.i, y.n from tens x left join numbers y on x.i = y.g and y.n < 300",
    "select count(*), count(x.n), count(y.i) from numbers x full join tens y on x.n = y.i + 9950",
    "select n from numbers where n in (select i from tens) and n not in (select g from numbers)",
    "select i, exists (select 1 from numbers where g = i and n > 50) from tens",
    "select i, (select max(n) from numbers where g = i) from tens",
    "select upper(x.t) || y.i from numbers x, tens y where x.n < 40 and y.i < 40",
    "select * from numbers order by g, n desc",
    "select * from numbers order by t, n limit 30 offset 7",
    "select n from large except select n from large where n > 1000000",
];

#[test]
fn nothing_depends_on_how_a_query_is_cut() {
    let mut usual = session(Config { threads: Some(2), ..Config::default() });
    let expected: Vec<Vec<String>> = QUERIES.iter().map(|sql| rows(&mut usual, sql)).collect();
    let zero = Some(Duration::ZERO);
    let configs = [
        Config { threads: Some(1), slice: zero, ..Config::default() },
        Config { threads: Some(3), slice: zero, morsel_rows: Some(700), ..Config::default() },
        Config { threads: Some(4), topology: Some(Topology::parse("4x2").unwrap()), ..Config::default() },
    ];
    for config in configs {
        let mut cut = session(config.clone());
        for (sql, expected) in QUERIES.iter().zip(&expected) {
            let (mut found, mut expected) = (rows(&mut cut, sql), expected.clone());
            if !sql.contains("order by") {
                found.sort();
                expected.sort();
            }
            assert!(found == expected, "{sql}, {config:?}: {} rows instead of {}", found.len(), expected.len());
        }
    }
}

#[test]
fn a_scan_yields_between_batches() {
    let mut session = session(Config { threads: Some(1), slice: Some(Duration::ZERO), ..Config::default() });
    let mut result = session.execute("select sum(n) from large", &[]).unwrap();
    while result.next_chunk().unwrap().is_some() {}
    let stages = result.stages();
    let scan = stages.iter().max_by_key(|stage| stage.rows).unwrap();
    assert!(scan.rows >= 1 << 20, "{scan:?}");
    // After each batch of 1,024 rows, but not after the last one of a morsel.
    assert!(scan.yields + scan.morsels >= scan.rows / 1024, "{scan:?}");
}

#[test]
fn progress_counts_rows_and_never_goes_back() {
    let mut session = session(Config { threads: Some(2), ..Config::default() });
    let mut result = session.execute("select n % 100000 as k, count(*) from large group by k", &[]).unwrap();
    let mut last = 0.0;
    loop {
        let progress = result.progress();
        assert!(progress.fraction >= last && progress.fraction <= 1.0, "{progress:?} after {last}");
        last = progress.fraction;
        if let Some(None) = result.poll_chunk(Duration::from_micros(200)).unwrap() {
            break;
        }
    }
    assert!(result.progress().rows >= 1 << 20);
}
