//! Changes of many rows, by several workers: wholly or not at all, whatever ends them.

use std::time::Duration;

use crate::common::{settled_memory, settles};
use base::SqlState;
use engine::{Config, Database, Session};
use types::Value;

const ROWS: i64 = 400_000;

fn database() -> Database {
    Database::new(Config { threads: Some(2), memory_limit: Some(512 << 20), ..Config::default() }).unwrap()
}

fn run(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, base::Error> {
    session.execute(sql, &[]).and_then(engine::QueryResult::rows)
}

fn ok(session: &mut Session, sql: &str) -> Vec<Vec<Value>> {
    run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn changed(session: &mut Session, sql: &str) -> String {
    session.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}")).tag().to_string()
}

fn number(session: &mut Session, sql: &str) -> i64 {
    match ok(session, sql)[0][0] {
        Value::Int(n) => n,
        Value::Decimal(d) => d as i64,
        ref other => panic!("{other:?}"),
    }
}

/// A table of many chunks, and the sums that tell whether it is as it was.
fn table(session: &mut Session) -> Vec<Vec<Value>> {
    ok(session, "create table t (k bigint, a int not null, b bigint, s text)");
    let rows = format!(
        "select i, i % 1000, i % 7, 'a text that is not short ' || i % 5000 from generate_series(1, {ROWS}) g(i)"
    );
    ok(session, &format!("insert into t {rows}"));
    sums(session)
}

fn sums(session: &mut Session) -> Vec<Vec<Value>> {
    ok(session, "select count(*), sum(k), sum(a), sum(b), sum(length(s)), min(s), max(s) from t")
}

/// Reads texts so often that they lie as they would rather.
fn warm(session: &mut Session) {
    for _ in 0..5 {
        sums(session);
        ok(session, "select max(s || 'x') from t");
    }
}

#[test]
fn all_rows_change_by_parts_and_at_once() {
    let database = database();
    let session = &mut database.connect();
    table(session);
    assert_eq!(changed(session, "update t set b = b + 1 where k % 10 = 3"), format!("UPDATE {}", ROWS / 10));
    assert_eq!(
        changed(session, "update t set b = b + k, s = s || '!' where k % 4 = 1"),
        format!("UPDATE {}", ROWS / 4)
    );
    assert_eq!(changed(session, "update t set b = b + 1"), format!("UPDATE {ROWS}"));
    let expected = "select sum(i % 7 + 1 + case when i % 10 = 3 then 1 else 0 end + case when i % 4 = 1 then i else 0 end) \
        from generate_series(1, 400000) g(i)";
    let expected = number(session, expected);
    assert_eq!(number(session, "select sum(b)::bigint from t"), expected);
    assert_eq!(number(session, "select count(*) from t where s like '%!'"), ROWS / 4);
    assert_eq!(changed(session, "delete from t where k % 3 = 0"), format!("DELETE {}", ROWS / 3));
    assert_eq!(changed(session, "delete from t"), format!("DELETE {}", ROWS - ROWS / 3));
    assert_eq!(number(session, "select count(*) from t"), 0);
    assert_eq!(changed(session, "delete from t"), "DELETE 0");
    ok(session, "insert into t values (1, 1, 1, 'one')");
    assert_eq!(changed(session, "truncate t"), "TRUNCATE TABLE");
    assert_eq!(number(session, "select count(*) from t"), 0);
}

#[test]
fn deleting_all_is_taken_back_and_hides_nothing_from_others() {
    let database = database();
    let (mut a, mut b) = (database.connect(), database.connect());
    let before = table(&mut a);
    ok(&mut a, "delete from t where k % 1000 = 7");
    let less = sums(&mut a);
    ok(&mut b, "begin isolation level repeatable read");
    assert_eq!(sums(&mut b), less);
    ok(&mut a, "begin");
    ok(&mut a, "insert into t values (0, 0, 0, 'own')");
    assert_eq!(changed(&mut a, "delete from t"), format!("DELETE {}", ROWS - ROWS / 1000 + 1));
    assert_eq!(number(&mut a, "select count(*) from t"), 0);
    ok(&mut a, "rollback");
    assert_eq!(sums(&mut a), less);
    ok(&mut a, "delete from t");
    assert_eq!(sums(&mut b), less);
    ok(&mut b, "commit");
    assert_eq!(number(&mut b, "select count(*) from t"), 0);
    assert_ne!(before, less);
}

#[test]
fn an_error_on_the_way_leaves_nothing() {
    let database = database();
    let session = &mut database.connect();
    let before = table(session);
    let memory = settled_memory(&database);
    for (sql, state) in [
        ("update t set b = 100 / (k - 399999)", "22012"),
        ("update t set a = case when k = 399999 then null else a + 1 end", "23502"),
        ("delete from t where 100 / (k - 399999) < 1000", "22012"),
        ("update t set a = a * 1000000000", "22003"),
    ] {
        assert_eq!(run(session, sql).expect_err(sql).state(), SqlState(state), "{sql}");
        assert_eq!(sums(session), before, "{sql}");
    }
    // In a block, what came before a savepoint stays.
    ok(session, "begin");
    ok(session, "update t set b = b + 1 where k <= 1000");
    let changed = sums(session);
    ok(session, "savepoint here");
    assert!(run(session, "update t set b = b / (k - 399999)").is_err());
    ok(session, "rollback to here");
    assert_eq!(sums(session), changed);
    ok(session, "rollback");
    assert_eq!(sums(session), before);
    ok(session, "drop table t");
    settles(&database, memory / 4, "a table that is gone");
}

#[test]
fn what_a_row_on_its_way_to_another_partition_cannot_take_along_is_refused() {
    let session = &mut database().connect();
    for sql in [
        "create table spread (k int, a int[], b int) partition by list (k)",
        "create table spread_1 partition of spread for values in (1)",
        "create table spread_2 partition of spread for values in (2)",
        "insert into spread values (1, '{1,2}', 3)",
    ] {
        ok(session, sql);
    }
    for sql in
        ["update spread set k = 2, a[1] = 9 where k = 1", "update spread set k = 2, (a, b) = (select '{9}'::int[], 9)"]
    {
        assert_eq!(run(session, sql).expect_err(sql).state(), SqlState("0A000"), "{sql}");
    }
    ok(session, "update spread set k = 2, (b) = row(4) where k = 1");
    assert_eq!(number(session, "select count(*) from spread_2 where a = '{1,2}' and b = 4"), 1);
    assert_eq!(number(session, "select count(*) from spread"), 1);
}

#[test]
fn memory_that_is_too_little_leaves_nothing() {
    let database =
        Database::new(Config { threads: Some(2), memory_limit: Some(40 << 20), ..Config::default() }).unwrap();
    let session = &mut database.connect();
    let before = table(session);
    // Whatever is done about it, it does not become small.
    let longer = "update t set s = md5(k::text) || md5((k + 1)::text) || md5((k * 3)::text) || md5((k * 5)::text)
                  || md5((k * 7)::text) || md5((k * 11)::text)";
    let mut fails = || {
        assert_eq!(run(session, longer).unwrap_err().state(), SqlState("53200"));
        assert_eq!(sums(session), before);
        warm(session);
        settled_memory(&database)
    };
    // Sidecars are there after the first time, and empty; how many chunks have been frozen by then differs.
    let most = fails().max(fails());
    for _ in 0..3 {
        fails();
        settles(&database, most + (3 << 20), "a change that failed");
    }
    assert_eq!(changed(session, "update t set b = 0 where k <= 1000"), "UPDATE 1000");
    let unlimited = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap();
    let session = &mut unlimited.connect();
    let before = table(session);
    ok(session, "set query_memory_limit = '4MB'");
    assert_eq!(run(session, longer).unwrap_err().state(), SqlState("53200"));
    ok(session, "reset query_memory_limit");
    assert_eq!(sums(session), before);
}

#[test]
fn a_change_that_is_stopped_leaves_nothing() {
    let database = database();
    let session = &mut database.connect();
    let before = table(session);
    let interrupt = session.interrupt_handle();
    let mut stopped = 0;
    for wait in [0, 1, 2, 4, 8, 15, 30, 60] {
        let handle = interrupt.clone();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(wait));
            handle.interrupt();
        });
        ok(session, "begin");
        let result = run(session, "update t set b = b + 1, s = s || '.'");
        stopper.join().unwrap();
        if let Err(error) = result {
            assert_eq!(error.state(), SqlState("57014"));
            stopped += 1;
        }
        ok(session, "rollback");
        assert_eq!(sums(session), before);
    }
    assert!(stopped > 0);
}

#[test]
fn who_comes_second_changes_nothing() {
    let database = database();
    let (mut a, mut b) = (database.connect(), database.connect());
    let before = table(&mut a);
    ok(&mut a, "begin isolation level repeatable read");
    ok(&mut b, "begin isolation level repeatable read");
    ok(&mut a, "update t set b = -1 where k = 300000");
    assert_eq!(run(&mut b, "update t set b = b + 1").unwrap_err().state(), SqlState("40001"));
    ok(&mut b, "rollback");
    ok(&mut b, "begin isolation level repeatable read");
    assert_eq!(run(&mut b, "delete from t").unwrap_err().state(), SqlState("40001"));
    ok(&mut b, "rollback");
    ok(&mut a, "rollback");
    assert_eq!(sums(&mut a), before);
    // A statement alone waits, and is run again.
    ok(&mut a, "begin");
    ok(&mut a, "update t set b = b + 1 where k = 300000");
    let waiter = std::thread::spawn(move || {
        assert_eq!(changed(&mut b, "update t set b = b + 1"), format!("UPDATE {ROWS}"));
    });
    std::thread::sleep(Duration::from_millis(100));
    ok(&mut a, "commit");
    waiter.join().unwrap();
    let expected = number(&mut a, "select sum(i % 7 + 1)::bigint + 1 from generate_series(1, 400000) g(i)");
    assert_eq!(number(&mut a, "select sum(b)::bigint from t"), expected);
}

#[test]
fn what_is_returned_is_in_the_order_of_the_rows() {
    let database = database();
    let session = &mut database.connect();
    table(session);
    let rows = ok(session, "update t set b = k * 2 where k % 100 = 1 returning k, b");
    assert_eq!(rows.len() as i64, ROWS / 100);
    let of = |n: i64| vec![Value::Int(n * 100 + 1), Value::Int(2 * (n * 100 + 1))];
    assert!(rows.iter().enumerate().all(|(n, row)| *row == of(n as i64)));
    let rows = ok(session, "delete from t where k % 100 = 1 returning b");
    assert!(rows.iter().enumerate().all(|(n, row)| row[0] == of(n as i64)[1]));
}

#[test]
fn memory_comes_back_after_a_change_of_everything() {
    let database = database();
    let session = &mut database.connect();
    let empty = settled_memory(&database);
    table(session);
    warm(session);
    ok(session, "update t set b = b + 1");
    // Folded, and with nothing beside.
    let memory = settled_memory(&database);
    for _ in 0..3 {
        ok(session, "begin");
        ok(session, "update t set b = b + 1, s = s || 'x'");
        ok(session, "rollback");
    }
    settles(&database, memory + (4 << 20), "changes that were rolled back");
    ok(session, "delete from t");
    ok(session, "drop table t");
    settles(&database, empty, "a table that is gone");
}
