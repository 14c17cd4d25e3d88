//! Indexes that cannot be made, and rows that cannot be entered: the table and the memory are as before.

use std::time::Duration;

use crate::common::{settled_memory, settles};
use base::SqlState;
use engine::{Config, Database, Session};
use types::SqlType;
use types::Value;
use types::ops::cast::format_value;

const ROWS: i64 = 300_000;

/// What the texts take more once they are read often, chunk by chunk, and whenever somebody has time for it; an index of the
/// table takes three times as much while it is made.
const LATE: usize = 8 << 20;

fn run(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, base::Error> {
    session.execute(sql, &[]).and_then(engine::QueryResult::rows)
}

fn ok(session: &mut Session, sql: &str) -> Vec<Vec<Value>> {
    run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// A table of many rows, and a query of one by a text that indexes are made of.
fn table(database: &Database) -> Session {
    let mut session = database.connect();
    ok(&mut session, "create table t (k bigint, a integer, s text)");
    ok(
        &mut session,
        &format!(
            "insert into t select i, i % 1000, 'a text with a number: ' || i from generate_series(1, {ROWS}) g(i)"
        ),
    );
    // What is done behind a commit is done.
    ok(&mut session, "select * from storage_info('t')");
    session
}

const ONE: &str = "select k from t where s = 'a text with a number: 77777'";

fn is_whole(session: &mut Session) {
    assert_eq!(ok(session, "select count(*), sum(k) from t")[0][0], Value::Int(ROWS));
    assert_eq!(ok(session, ONE), [[Value::Int(77777)]]);
}

fn database() -> Database {
    Database::new(Config { threads: Some(2), memory_limit: Some(1 << 30), ..Config::default() }).unwrap()
}

#[test]
fn an_index_that_meets_a_key_twice_leaves_the_memory_as_before() {
    let database = database();
    let session = &mut table(&database);
    let before = settled_memory(&database);
    // Equal keys that meet in one part of the sort, many of them, and the last two of all.
    let error = run(session, "create unique index on t (a)").unwrap_err();
    assert_eq!(error.state(), SqlState::UNIQUE_VIOLATION);
    settles(&database, before + LATE, "an index with equal keys");
    ok(session, &format!("insert into t select k, a, s from t where k = {ROWS}"));
    let before = settled_memory(&database);
    let error = run(session, "create unique index u on t (k)").unwrap_err();
    assert_eq!(error.state(), SqlState::UNIQUE_VIOLATION);
    assert!(error.render("").contains(&format!("Key (k)=({ROWS}) is duplicated.")), "{}", error.render(""));
    settles(&database, before + LATE, "an index with two equal keys");
    ok(session, "create index u on t (k)");
}

#[test]
fn an_index_that_is_cancelled_leaves_the_memory_as_before() {
    let database = database();
    let session = &mut table(&database);
    let before = settled_memory(&database);
    // At whatever the build is just doing.
    let mut cancelled = 0;
    for wait in [0, 1, 3, 10, 30, 60, 100, 150] {
        let interrupt = session.interrupt_handle();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(wait));
            interrupt.interrupt();
        });
        let made = run(session, "create index stopped on t (s, k)");
        stopper.join().unwrap();
        match made {
            Ok(_) => _ = ok(session, "drop index stopped"),
            Err(error) => {
                assert_eq!(error.state(), SqlState::QUERY_CANCELED, "{error}");
                cancelled += 1;
            }
        }
        is_whole(session);
        settles(&database, before + LATE, "an index that was cancelled");
    }
    assert!(cancelled > 0);
    ok(session, "create index made on t (s)");
    is_whole(session);
}

#[test]
fn an_index_that_finds_no_memory_leaves_it_as_before() {
    let database = database();
    let session = &mut table(&database);
    let before = settled_memory(&database);
    // Too little for keys, for sorting them, for the tree.
    let mut refused = 0;
    for more in [1, 4, 10, 16, 20, 24, 28] {
        ok(session, &format!("set memory_limit = {}", before + (more << 20)));
        match run(session, "create index small on t (s)") {
            Ok(_) => _ = ok(session, "drop index small"),
            Err(error) => {
                assert_eq!(error.state(), SqlState::OUT_OF_MEMORY, "{error}");
                refused += 1;
            }
        }
        ok(session, "set memory_limit = '1GB'");
        is_whole(session);
        settles(&database, before + LATE, "an index without memory");
    }
    assert!(refused > 2, "{refused}");
    ok(session, "create index enough on t (s)");
    is_whole(session);
}

#[test]
fn rows_that_find_no_memory_for_their_keys_are_not_there() {
    let database = database();
    let session = &mut table(&database);
    ok(session, "create index t_s on t (s)");
    ok(session, "create unique index t_k on t (k desc)");
    let more = "insert into t select -i, i, 'another text ' || i::bigint * 7919 from generate_series(1, 300000) g(i)";
    let fails = |session: &mut Session, room: usize| {
        let used = settled_memory(&database);
        ok(session, &format!("set memory_limit = {}", used + room));
        let error = run(session, more).unwrap_err();
        ok(session, "set memory_limit = '1GB'");
        assert_eq!(error.state(), SqlState::OUT_OF_MEMORY, "{error}");
        is_whole(session);
        assert!(ok(session, "select k from t where k < 0").is_empty());
        assert!(ok(session, "select k from t where s > 'another' and s < 'anz'").is_empty());
        settled_memory(&database)
    };
    // Chunks that have lost their rows, and nodes of the trees, are there after the first times.
    let most = fails(session, 8 << 20).max(fails(session, 12 << 20));
    for _ in 0..3 {
        fails(session, 8 << 20);
        settles(&database, most + LATE, "an insertion that failed");
    }
    ok(session, more);
    assert_eq!(ok(session, "select k from t where s = 'another text 7919'"), [[Value::Int(-1)]]);
}

#[test]
fn explain_shows_the_index_of_a_scan_and_of_an_order() {
    let database = database();
    let session = &mut table(&database);
    ok(session, "create index i on t (k)");
    let mut plan = |sql: &str| {
        let lines = ok(session, &format!("explain {sql}"));
        lines.iter().map(|line| format_value(&line[0], SqlType::Text) + "\n").collect::<String>()
    };
    for (sql, shown) in [
        ("select a from t order by k limit 3", "limit 3 by i"),
        ("select a from t order by k desc limit 3 offset 2", "by i"),
        ("select a from t where k = 5", "scan t by i"),
        ("select a from t where k between 5 and 9", "scan t by i"),
    ] {
        let plan = plan(sql);
        assert!(plan.contains(shown), "{sql}:\n{plan}");
    }
    let other = plan("select a from t order by s limit 3");
    assert!(!other.contains("by i"), "{other}");
}
