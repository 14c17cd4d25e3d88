//! How queries are cut decides nothing but who gets a turn.

use std::time::Duration;

use base::SqlState;
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
        // Batches pause after a few candidates of a match.
        Config { threads: Some(2), slice: zero, steps: Some(500), ..Config::default() },
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
fn a_batch_pauses_after_so_many_candidates() {
    const STEPS: u64 = 1000;
    let zero = Some(Duration::ZERO);
    let mut session = session(Config { threads: Some(1), slice: zero, steps: Some(STEPS), ..Config::default() });
    // More rows than are run by the caller itself, which reports nothing.
    session.execute("create table many as select n from large where n % 40 = 0", &[]).unwrap();
    let candidates = 100 * session.execute("select n from many", &[]).unwrap().rows().unwrap().len() as u64;
    assert!(candidates >= 3_000_000);
    for compile in ["on", "off"] {
        session.execute(&format!("set compile = {compile}"), &[]).unwrap();
        for sql in [
            // Pairs that come to something, pairs of which none does, and partners that are only counted.
            "select count(*) from many x, tens y where x.n + y.i < 5000",
            "select count(*) from many x, tens y where (x.n + y.i) % 3 = 5",
            "select count(*) from many x where not exists (select 1 from tens y where x.n + y.i < 0)",
            "select count(*) from many x left join tens y on x.n + y.i < 0",
        ] {
            let mut result = session.execute(sql, &[]).unwrap();
            while result.next_chunk().unwrap().is_some() {}
            let yields: u64 = result.stages().iter().map(|stage| stage.yields).sum();
            // The steps are counted anew for each batch, and looked at after as many candidates as a batch has tuples.
            assert!(yields >= candidates / (2 * STEPS + 1024), "{sql}, {compile}: {yields}");
        }
    }
}

#[test]
fn a_short_query_gets_its_turn_beside_a_long_join() {
    for compile in ["on", "off"] {
        let mut long = session(Config { threads: Some(1), ..Config::default() });
        let mut short = long.database().connect();
        long.execute(&format!("set compile = {compile}"), &[]).unwrap();
        // 10^12 pairs, of which none is wanted.
        let mut join = long.execute("select count(*) from large x, large y where x.n + y.n = -1", &[]).unwrap();
        assert!(join.poll_chunk(Duration::from_millis(20)).unwrap().is_none());
        // Too many rows to be run by the caller itself.
        assert_eq!(short.execute("select max(n) from large where n % 3 = 1", &[]).unwrap().rows().unwrap().len(), 1);
        assert!(join.poll_chunk(Duration::ZERO).unwrap().is_none());
        long.interrupt_handle().interrupt();
        let end = loop {
            match join.poll_chunk(Duration::from_secs(60)) {
                Ok(None) => {}
                Ok(Some(_)) => panic!("the join has ended"),
                Err(error) => break error,
            }
        };
        assert_eq!(end.state(), SqlState::QUERY_CANCELED);
    }
}

#[test]
fn a_batch_goes_on_behind_a_limit_that_has_ended() {
    // The limit lets rows pass that are then joined, in batches that pause.
    let zero = Some(Duration::ZERO);
    let sql = "select count(*), sum(y.i) from (select n from numbers limit 700) x, tens y where x.n + y.i >= 0";
    for steps in [1, 50, 5000] {
        let mut session = session(Config { threads: Some(2), slice: zero, steps: Some(steps), ..Config::default() });
        assert_eq!(rows(&mut session, sql), ["[Int(70000), Int(3465000)]"], "{steps}");
    }
}

#[test]
fn a_table_keeps_the_order_of_what_fills_it() {
    let zero = Some(Duration::ZERO);
    let mut session = session(Config { threads: Some(3), slice: zero, steps: Some(300), ..Config::default() });
    let all = rows(&mut session, "select n from numbers where n % 10 < 9");
    session
        .execute("create table kept as select n from numbers x where exists (select 1 from tens y where x.n % 10 < y.i % 10)", &[])
        .unwrap();
    assert_eq!(rows(&mut session, "select n from kept"), all);
    let found =
        rows(&mut session, "select n from numbers x where exists (select 1 from tens y where x.n % 10 < y.i % 10)");
    assert_eq!(found, all);
}

#[test]
fn a_piece_of_a_file_goes_on_where_a_batch_has_paused() {
    let path = std::env::temp_dir().join(format!("engine-morsels-{}.csv", std::process::id()));
    let text: String = (0..6000).map(|n| format!("{n},text of row {n} of the file\n")).collect();
    std::fs::write(&path, text).unwrap();
    let zero = Some(Duration::ZERO);
    for steps in [1000, 100_000] {
        let mut session = session(Config { threads: Some(2), slice: zero, steps: Some(steps), ..Config::default() });
        let from = format!("read_csv('{}', header := false) f(n, t)", path.display());
        let sql = format!("select count(*), sum(n * i), max(t || i) from {from}, tens where n + i >= 0");
        let expected = "[Int(600000), Decimal(89085150000), Str(\"text of row 999 of the file99\")]";
        let mut result = session.execute(&sql, &[]).unwrap();
        let found: Vec<String> = std::iter::from_fn(|| result.next_chunk().unwrap())
            .flat_map(|chunk| (0..chunk.rows()).map(move |row| format!("{:?}", chunk.row(row))))
            .collect();
        assert_eq!(found, [expected]);
        let yields: u64 = result.stages().iter().map(|stage| stage.yields).sum();
        assert!(yields >= 600_000 / (2 * steps + 1024), "{yields}");
    }
    std::fs::remove_file(path).unwrap();
}

/// Checks that the rows are the numbers from 0, and counts how often something yielded.
fn yields_in_order(session: &mut Session, sql: &str) -> u64 {
    let mut result = session.execute(sql, &[]).unwrap();
    let mut next = 0usize;
    while let Some(chunk) = result.next_chunk().unwrap() {
        (0..chunk.rows()).for_each(|row| assert_eq!(chunk.row(row)[0], types::Value::Int((next + row) as i64)));
        next += chunk.rows();
    }
    assert_eq!(next, 304_400, "{sql}");
    result.stages().iter().map(|stage| stage.yields).sum()
}

#[test]
fn a_piece_of_a_file_yields_and_its_rows_keep_their_order() {
    let path = std::env::temp_dir().join(format!("engine-pieces-{}.csv", std::process::id()));
    // Long records first: of the pieces behind them, many fewer rows are expected than there are.
    let long = (0..4400).map(|n| format!("{n},\"{}\"\n", "x".repeat(1000)));
    let text: String = long.chain((4400..304_400).map(|n| format!("{n},\"\"\n"))).collect();
    std::fs::write(&path, &text).unwrap();
    let from = format!("read_csv('{}', header := false) f(n, t)", path.display());
    let zero = Some(Duration::ZERO);
    for threads in [1, 3] {
        let mut session = session(Config { threads: Some(threads), slice: zero, ..Config::default() });
        let yields = yields_in_order(&mut session, &format!("select n from {from}"));
        // After each batch of records and of rows.
        assert!(yields > 2 * 304_400 / 1024, "{yields}");
        for make in ["create table loaded as select n, t from", "create table computed as select n + 0 as n from"] {
            session.execute(&format!("{make} {from}"), &[]).unwrap();
        }
        for table in ["loaded", "computed"] {
            yields_in_order(&mut session, &format!("select n from {table}"));
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_limit_ends_a_cross_join() {
    let mut session = session(Config { threads: Some(2), ..Config::default() });
    assert_eq!(rows(&mut session, "select 1 from numbers a, numbers b, numbers c limit 5").len(), 5);
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
