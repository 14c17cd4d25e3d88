//! Limits and interruptions: memory, cancellation, LIMIT; and that nothing is left behind.

mod common;

use std::time::{Duration, Instant};

use base::SqlState;
use common::{settled_memory, settles};
use engine::{Config, Database, Session};

fn database(memory: usize) -> Database {
    Database::new(Config { threads: Some(2), memory_limit: Some(memory), ..Config::default() }).unwrap()
}

/// A table of 2^n rows.
fn numbers(session: &mut Session, n: u32) {
    session.execute("create table numbers as select 0 as i, 'a text of some length' as t", &[]).unwrap();
    for bit in 0..n {
        let sql = format!("insert into numbers select i + {}, t || i from numbers", 1u64 << bit);
        session.execute(&sql, &[]).unwrap_or_else(|e| panic!("{e:?}"));
    }
}

fn count(session: &mut Session, sql: &str) -> usize {
    session.execute(sql, &[]).and_then(|r| r.rows()).unwrap_or_else(|e| panic!("{sql}: {e:?}")).len()
}

#[test]
fn a_query_over_its_memory_limit_names_the_operator_and_gives_everything_back() {
    let database = database(256 << 20);
    let session = &mut database.connect();
    numbers(session, 17);
    let before = settled_memory(&database);
    session.execute("set query_memory_limit = '2MB'", &[]).unwrap();
    for (sql, operator) in [
        ("select count(*) from numbers a join numbers b on a.i = b.i and a.t <> b.t || 'x'", "hash join"),
        ("select i, count(*), min(t) from numbers group by i", "aggregation"),
        ("select * from numbers order by t, i", "sort"),
    ] {
        for compile in ["on", "off"] {
            session.execute(&format!("set compile = {compile}"), &[]).unwrap();
            let error = session.execute(sql, &[]).and_then(|r| r.rows()).expect_err(sql);
            assert_eq!(error.state().0, "53200", "{sql}: {error}");
            assert!(error.message().contains(operator), "{sql}: {error}");
            settles(&database, before, sql);
        }
    }
    session.execute("reset all", &[]).unwrap();
    assert_eq!(count(session, "select i from numbers where i = 77"), 1);
}

#[test]
fn an_interrupt_ends_the_query_and_not_the_session() {
    let database = database(1 << 30);
    let mut session = database.connect();
    numbers(&mut session, 14);
    let interrupt = session.interrupt_handle();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        interrupt.interrupt();
    });
    let begin = Instant::now();
    // A cross product that would take minutes.
    let sql = "select count(*) from numbers a, numbers b, numbers c where a.i + b.i < c.i";
    let error = session.execute(sql, &[]).and_then(|r| r.rows()).unwrap_err();
    stopper.join().unwrap();
    assert_eq!(error.state().0, "57014", "{error}");
    assert!(begin.elapsed() < Duration::from_secs(60));
    assert_eq!(count(&mut session, "select i from numbers where i < 10"), 10);
}

#[test]
fn a_limit_stops_early_and_counts_exactly() {
    let database = database(1 << 30);
    let session = &mut database.connect();
    numbers(session, 17);
    assert_eq!(count(session, "select i from numbers limit 1000"), 1000);
    assert_eq!(count(session, "select i from numbers limit 10 offset 131070"), 2);
    assert_eq!(count(session, "select i from numbers limit 0"), 0);
    assert_eq!(count(session, "select * from (select i from numbers order by i desc limit 3) x limit 2"), 2);
}

#[test]
fn a_dropped_result_stops_its_query() {
    let database = database(1 << 30);
    let session = &mut database.connect();
    numbers(session, 16);
    let before = settled_memory(&database);
    let mut result = session.execute("select a.i, b.t from numbers a, numbers b", &[]).unwrap();
    assert!(result.next_chunk().unwrap().is_some());
    drop(result);
    settles(&database, before, "a dropped result");
    assert_eq!(count(session, "select 1"), 1);
}

#[test]
fn sessions_run_at_once() {
    let database = database(1 << 30);
    numbers(&mut database.connect(), 15);
    std::thread::scope(|scope| {
        for k in 0..4 {
            let mut session = database.connect();
            scope.spawn(move || {
                for _ in 0..5 {
                    let sql = format!("select a.i from numbers a join numbers b on a.i = b.i + {k} order by 1");
                    assert_eq!(count(&mut session, &sql), (1 << 15) - k);
                }
            });
        }
    });
}

#[test]
fn expressions_of_thousands_of_terms_work_or_are_refused() {
    let list =
        |n: usize, item: &dyn Fn(usize) -> String, between: &str| (0..n).map(item).collect::<Vec<_>>().join(between);
    let cases = [
        format!("select concat({}) from (values (1)) v(x)", list(3000, &|_| "x".into(), ", ")),
        format!(
            "select case {} else 7 end from (values (-1)) v(x)",
            list(3500, &|i| format!("when x = {i} then {i}"), " ")
        ),
        format!("select x in ({}) from (values (-1)) v(x)", list(1000, &|i| format!("x + {}", i + 1), ", ")),
        format!("select {} from (values (1)) v(x)", list(2000, &|_| "x".into(), " + ")),
        format!("select {}1{}", "(".repeat(3000), ")".repeat(3000)),
        format!("select concat({}) from (values (1)) v(x)", list(1000, &|_| "x".into(), ", ")),
        format!("select coalesce({}) from (values (1)) v(x)", list(1000, &|_| "nullif(x, 1)".into(), ", ")),
        format!("select coalesce({}) from (values (1)) v(x)", list(20_000, &|_| "nullif(x, 1)".into(), ", ")),
        format!(
            "select case {} end from (values (-1)) v(x)",
            list(100, &|i| format!("when x = {i} then {}", list(500, &|_| "x".into(), " + ")), " ")
        ),
    ];
    // A view's text is not the statement's.
    let view = cases[1].clone();
    // A thread with a small stack, as programs have them.
    let run = move || {
        let mut session = database(1 << 30).connect();
        session.execute(&format!("create view v as {view}"), &[]).unwrap();
        assert_eq!(count(&mut session, "select * from v"), 1);
        for sql in &cases {
            let mut session = database(1 << 30).connect();
            match session.execute(sql, &[]).and_then(|r| r.rows()) {
                Ok(rows) => assert_eq!(rows.len(), 1),
                Err(e) => assert!(e.state().0.starts_with("540"), "{e:?}"),
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn views_over_views_end_in_a_result_or_an_error() {
    let list = |n: usize, each: &dyn Fn(usize) -> String| (0..n).map(each).collect::<Vec<_>>().join(", ");
    // A thread with a small stack, as programs have them.
    let run = move || {
        let session = &mut database(1 << 30).connect();
        let execute = |session: &mut Session, sql: &str| session.execute(sql, &[]).and_then(|r| r.rows());
        execute(session, "create table t as select 1 as x").unwrap();
        execute(session, &format!("create view a as select 1 as x from {}", list(30, &|i| format!("t t{i}")))).unwrap();
        execute(session, &format!("create view b as select 1 as x from {}", list(30, &|i| format!("a a{i}")))).unwrap();
        assert_eq!(execute(session, "select count(*) from b").unwrap().len(), 1);
        execute(session, "create view v0 as select x from t").unwrap();
        for i in 1..=12 {
            let below = i - 1;
            let sql = format!("create view v{i} as select l.x from v{below} l join v{below} r on l.x = r.x");
            match execute(session, &sql) {
                Ok(_) => assert!(i <= 10, "{i}"),
                Err(error) => assert!(i > 10 && matches!(error.state().0, "54001" | "42P01"), "{i}: {error}"),
            }
        }
        assert_eq!(execute(session, "select * from v8").unwrap().len(), 1);
        assert_eq!(count(session, "select x from t"), 1);
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn long_texts_and_statements_are_within_the_limit() {
    let database = database(100 << 20);
    let session = &mut database.connect();
    session.execute("create table t as select 1 as n, 'some text' as x", &[]).unwrap();
    let before = settled_memory(&database);
    let sums = (0..4_000).map(|i| format!("sum(n + {i})")).collect::<Vec<_>>().join(", ");
    for sql in [
        "select length(repeat('a', 1000000000))",
        "select length(repeat(x, 100000000)) from t",
        "select length(rpad(x, 1000000000, 'ab')) from t",
        "select length(upper(repeat(x || 'b', 20000000))) from t where n = 1",
        "select length(replace(repeat(x, 1000000), 'e', repeat('xy', 100))) from t",
        "select n from t where n = length(repeat('a', 1000000000))",
        "create table u as select repeat('a', 1000000000) as y",
        &format!("select {sums} from t"),
    ] {
        for compile in ["on", "off"] {
            session.execute(&format!("set compile = {compile}"), &[]).unwrap();
            let error = session.execute(sql, &[]).and_then(|r| r.rows()).expect_err(sql);
            assert_eq!(error.state(), SqlState::OUT_OF_MEMORY, "{error}");
            settles(&database, before, "the statement");
        }
    }
    assert_eq!(count(session, "select length(repeat(x, 1000000)) from t"), 1);
    settles(&database, before, "the last");
}

#[test]
fn long_matches_and_replacements_can_be_stopped() {
    let database = database(4 << 30);
    for sql in [
        // A literal that is found at each character, in a pattern that then fails late.
        "select count(*) from t where repeat(x, 1000000) like '%' || repeat('a_', 20000) || 'b_a%'",
        "select length(translate(repeat(x, 10000000), repeat('bcdefghij', 3000), 'x')) from t",
        "select length(translate(repeat('a', 100000000), repeat('bcdefghij', 3000), 'x'))",
    ] {
        let mut session = database.connect();
        session.execute("create or replace view t as select 'aaaaaaaaaa' as x", &[]).unwrap();
        let interrupt = session.interrupt_handle();
        let call = interrupt.begin();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            interrupt.interrupt();
        });
        let begin = Instant::now();
        let error = session.execute_in(&call, sql, &[]).and_then(|r| r.rows()).expect_err(sql);
        assert_eq!(error.state(), SqlState::QUERY_CANCELED, "{sql}: {error}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{sql}: {:?}", begin.elapsed());
        stopper.join().unwrap();
    }
}

/// A pipe that nobody writes to, and a device that never ends.
#[test]
fn reading_what_does_not_end_can_be_stopped() {
    let pipe = std::env::temp_dir().join(format!("engine-limits-{}.fifo", std::process::id()));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let database = database(1 << 40);
    for source in [format!("read_csv('{}')", pipe.display()), format!("read_parquet('{}')", pipe.display())] {
        let mut session = database.connect();
        let interrupt = session.interrupt_handle();
        let call = interrupt.begin();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(100));
            interrupt.interrupt();
        });
        let error = session.execute_in(&call, &format!("select * from {source}"), &[]).unwrap_err();
        assert_eq!(error.state(), SqlState::QUERY_CANCELED, "{source}: {error}");
        stopper.join().unwrap();
    }
    std::fs::remove_file(&pipe).unwrap();
    let small = self::database(64 << 20);
    let error = small.connect().execute("select * from read_csv('/dev/zero')", &[]).unwrap_err();
    assert_eq!(error.state(), SqlState::OUT_OF_MEMORY, "{error}");
    settles(&small, 0, "the query");
}

#[test]
fn the_time_to_plan_does_not_double_with_each_level() {
    let mut exists = "exists (select 1)".to_owned();
    let mut compared = "x".to_owned();
    for i in 0..60 {
        exists = format!("exists (select 1 from (values ({i})) v{i}(x) where {exists})");
        compared = format!("(1 = (select {compared}::int))");
    }
    let mut session = database(1 << 30).connect();
    for condition in [exists, compared] {
        assert_eq!(count(&mut session, &format!("select x from (values (true)) v(x) where {condition}")), 1);
    }
}

#[test]
fn texts_made_for_what_a_join_delivers_go_while_it_delivers() {
    let database = database(96 << 20);
    let session = &mut database.connect();
    numbers(session, 11);
    // A gigabyte of texts, of few batches.
    let sql = "select a.t || b.i || repeat('x', 200) || c.i from numbers a, numbers b, (values (1), (2)) c(i) \
               where a.i < 1024 and length(a.t || c.i) > 0";
    let mut result = session.execute(sql, &[]).unwrap();
    let mut rows = 0;
    while let Some(chunk) = result.next_chunk().unwrap_or_else(|e| panic!("{e:?}")) {
        for row in (0..chunk.rows()).step_by(97) {
            let types::Value::Str(text) = &chunk.row(row)[0] else { panic!("a text") };
            let end = text.rsplit_once('x').unwrap().1;
            assert!(text.starts_with("a text of some length") && matches!(end, "1" | "2"), "{text}");
        }
        rows += chunk.rows();
    }
    assert_eq!(rows, 1024 * 2048 * 2);
}
