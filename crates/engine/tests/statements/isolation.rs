//! Anomalies between transactions, after Hermitage (Martin Kleppmann): for each level, which of them can happen.
//!
//! In READ COMMITTED a statement waits for the transaction that it collides with; at the other levels it fails at once.

use std::thread;
use std::time::Duration;

use base::SqlState;
use engine::{Config, Database, Session};
use types::Value;

const FAILURE: SqlState = SqlState("40001");

fn database() -> Database {
    Database::new(Config { threads: Some(2), ..Config::default() }).unwrap()
}

fn run(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, base::Error> {
    session.execute(sql, &[]).and_then(engine::QueryResult::rows)
}

fn ok(session: &mut Session, sql: &str) -> Vec<Vec<Value>> {
    run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn fails(session: &mut Session, sql: &str) {
    assert_eq!(run(session, sql).expect_err(sql).state(), FAILURE, "{sql}");
    // Nothing more can be done in it.
    assert_eq!(run(session, "select 1").unwrap_err().state(), SqlState("25P02"));
    ok(session, "rollback");
}

fn numbers(session: &mut Session, sql: &str) -> Vec<i64> {
    let number = |value: &Value| if let Value::Int(n) = value { *n } else { panic!("{value:?}") };
    ok(session, sql).iter().flatten().map(number).collect()
}

/// Two sessions in transactions of that level, over (1, 10), (2, 20).
fn two(level: &str) -> (Database, Session, Session) {
    let database = database();
    let mut first = database.connect();
    ok(&mut first, "create table test (id int primary key, value int)");
    ok(&mut first, "insert into test values (1, 10), (2, 20)");
    let mut second = database.connect();
    for session in [&mut first, &mut second] {
        ok(session, &format!("begin isolation level {level}"));
        // Their moment is that of their beginning.
        ok(session, "select 1");
    }
    (database, first, second)
}

const ALL: [&str; 3] = ["read committed", "repeatable read", "serializable"];
const SNAPSHOTS: [&str; 2] = ["repeatable read", "serializable"];

#[test]
fn nothing_is_seen_of_what_is_rolled_back_or_not_yet_done() {
    // G1a, G1b
    for level in ALL {
        let (_database, mut a, mut b) = two(level);
        ok(&mut a, "update test set value = 101 where id = 1");
        assert_eq!(numbers(&mut b, "select value from test order by id"), [10, 20], "{level}");
        ok(&mut a, "update test set value = 11 where id = 1");
        ok(&mut a, "insert into test values (3, 30)");
        ok(&mut a, "delete from test where id = 2");
        assert_eq!(numbers(&mut b, "select value from test order by id"), [10, 20], "{level}");
        assert_eq!(numbers(&mut a, "select value from test order by id"), [11, 30], "{level}");
        ok(&mut a, "rollback");
        assert_eq!(numbers(&mut b, "select value from test order by id"), [10, 20], "{level}");
        ok(&mut b, "commit");
    }
}

#[test]
fn read_committed_sees_each_commit_and_snapshots_none() {
    // Fuzzy reads, read skew (G-single), phantoms (PMP).
    for level in ALL {
        let (database, mut a, _b) = two(level);
        assert_eq!(numbers(&mut a, "select value from test order by id"), [10, 20]);
        let mut other = database.connect();
        ok(&mut other, "update test set value = value + 2");
        ok(&mut other, "insert into test values (3, 30)");
        let expected: &[i64] = if level == "read committed" { &[12, 22, 30] } else { &[10, 20] };
        assert_eq!(numbers(&mut a, "select value from test order by id"), expected, "{level}");
        ok(&mut a, "commit");
    }
}

#[test]
fn lost_updates_are_refused() {
    // P4
    for level in SNAPSHOTS {
        let (_database, mut a, mut b) = two(level);
        ok(&mut a, "update test set value = 11 where id = 1");
        fails(&mut b, "update test set value = 11 where id = 1");
        ok(&mut a, "commit");
        let (_database, mut a, mut b) = two(level);
        ok(&mut a, "update test set value = 11 where id = 1");
        ok(&mut a, "commit");
        fails(&mut b, "update test set value = 12 where id = 1");
        let (_database, mut a, mut b) = two(level);
        ok(&mut a, "delete from test where id = 1");
        ok(&mut a, "commit");
        fails(&mut b, "update test set value = 12 where id = 1");
    }
}

#[test]
fn read_committed_waits_and_goes_on_with_what_is_there_then() {
    // G0, P4 as PostgreSQL has them.
    for end in ["commit", "rollback"] {
        let (database, mut a, mut b) = two("read committed");
        ok(&mut a, "update test set value = value + 1 where id = 1");
        let waiting = thread::spawn(move || {
            ok(&mut b, "update test set value = value * 2 where id = 1");
            ok(&mut b, "commit");
        });
        thread::sleep(Duration::from_millis(100));
        assert!(!waiting.is_finished());
        ok(&mut a, end);
        waiting.join().unwrap();
        let expected = if end == "commit" { 22 } else { 20 };
        assert_eq!(numbers(&mut database.connect(), "select value from test where id = 1"), [expected]);
    }
}

#[test]
fn two_that_wait_for_each_other_are_told() {
    let (database, mut a, mut b) = two("read committed");
    ok(&mut a, "update test set value = 11 where id = 1");
    ok(&mut b, "update test set value = 22 where id = 2");
    let other = thread::spawn(move || {
        let result = run(&mut b, "update test set value = 21 where id = 1");
        let _ = run(&mut b, if result.is_ok() { "commit" } else { "rollback" });
        result.is_ok()
    });
    thread::sleep(Duration::from_millis(50));
    let result = run(&mut a, "update test set value = 12 where id = 2");
    let own = match &result {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.state(), SqlState("40P01"));
            false
        }
    };
    ok(&mut a, if own { "commit" } else { "rollback" });
    let other = other.join().unwrap();
    assert!(own != other, "exactly one is given up");
    let expected: &[i64] = if own { &[11, 12] } else { &[21, 22] };
    assert_eq!(numbers(&mut database.connect(), "select value from test order by id"), expected);
}

#[test]
fn a_statement_alone_waits_for_a_transaction() {
    let (database, mut a, _b) = two("serializable");
    ok(&mut a, "update test set value = 11 where id = 1");
    let mut alone = database.connect();
    let waiting = thread::spawn(move || {
        ok(&mut alone, "update test set value = value + 100");
        ok(&mut alone, "insert into test values (7, 70)");
    });
    thread::sleep(Duration::from_millis(50));
    ok(&mut a, "insert into test values (8, 80)");
    ok(&mut a, "commit");
    waiting.join().unwrap();
    let mut session = database.connect();
    assert_eq!(numbers(&mut session, "select value from test order by id"), [111, 120, 70, 180]);
    // One that waits can be stopped.
    ok(&mut a, "begin");
    ok(&mut a, "delete from test where id = 7");
    ok(&mut session, "set statement_timeout = '80ms'");
    let error = run(&mut session, "update test set value = 0 where id = 7").unwrap_err();
    assert_eq!(error.state(), SqlState::QUERY_CANCELED);
    ok(&mut a, "rollback");
}

#[test]
fn write_skew_is_refused_when_serializable() {
    // G2-item
    for level in SNAPSHOTS {
        let (_database, mut a, mut b) = two(level);
        for session in [&mut a, &mut b] {
            assert_eq!(numbers(session, "select sum(value) from test where id in (1, 2)"), [30]);
        }
        ok(&mut a, "update test set value = 11 where id = 1");
        ok(&mut b, "update test set value = 21 where id = 2");
        ok(&mut a, "commit");
        if level == "serializable" {
            assert_eq!(run(&mut b, "commit").unwrap_err().state(), FAILURE);
        } else {
            ok(&mut b, "commit");
        }
    }
}

#[test]
fn write_skew_by_rows_that_were_not_there_is_refused_when_serializable() {
    // G2, and the thesis's case of two tables.
    for level in SNAPSHOTS {
        let (_database, mut a, mut b) = two(level);
        for session in [&mut a, &mut b] {
            assert_eq!(ok(session, "select * from test where value % 3 = 0").len(), 0);
        }
        ok(&mut a, "insert into test values (3, 30)");
        ok(&mut b, "insert into test values (4, 42)");
        ok(&mut a, "commit");
        let end = run(&mut b, "commit");
        assert_eq!(end.is_err(), level == "serializable");
        // A transaction that could not commit is over.
        assert_eq!(ok(&mut b, "select * from test where value % 3 = 0").len(), if end.is_ok() { 2 } else { 1 });
    }
}

#[test]
fn a_fekete_reader_makes_no_cycle_of_its_own() {
    // G2-two-edges: readers alone are always serialised at their moment.
    let (database, mut a, mut b) = two("serializable");
    ok(&mut a, "update test set value = value + 5 where id = 2");
    ok(&mut b, "select * from test");
    ok(&mut a, "commit");
    ok(&mut b, "select * from test");
    ok(&mut b, "commit");
    let mut c = database.connect();
    assert_eq!(numbers(&mut c, "select value from test order by id"), [10, 25]);
}

#[test]
fn aggregates_and_empty_results_are_read_too() {
    for read in [
        "select count(*) from test",
        "select max(value) from test",
        "select 1 where exists (select * from test where id = 77)",
        "select * from test where value > 1000000000",
        "select * from (values (1)) v(x) where x not in (select value from test)",
    ] {
        let (_database, mut a, mut b) = two("serializable");
        ok(&mut a, read);
        ok(&mut a, "update test set value = 19 where id = 1");
        ok(&mut b, "insert into test values (77, 2000000000)");
        ok(&mut b, "commit");
        let end = run(&mut a, "commit");
        // What was not read is no reason.
        assert!(end.is_err(), "{read}");
    }
    let (_database, mut a, mut b) = two("serializable");
    ok(&mut a, "select * from test where id = 1");
    ok(&mut a, "update test set value = 19 where id = 1");
    ok(&mut b, "insert into test values (77, 2000000000)");
    ok(&mut b, "commit");
    ok(&mut a, "commit");
}

#[test]
fn transfers_never_change_the_sum() {
    const ACCOUNTS: i64 = 3000;
    let database = database();
    let mut session = database.connect();
    ok(&mut session, "create table account (id int primary key, owner text, balance bigint)");
    ok(
        &mut session,
        &format!(
            "insert into account select i, 'owner of account number ' || i, 100 from generate_series(1, {ACCOUNTS}) g(i)"
        ),
    );
    let writers: Vec<_> = (0..3)
        .map(|writer: i64| {
            let database = database.clone();
            thread::spawn(move || {
                let mut session = database.connect();
                let (mut done, mut refused) = (0, 0);
                for i in 0..150 {
                    let (from, to) = ((i * 7 + writer * 13) % 50 + 1, (i * 11 + writer) % 50 + 1000);
                    let level = ["serializable", "repeatable read", "read committed"][(i % 3) as usize];
                    ok(&mut session, &format!("begin isolation level {level}"));
                    let moved =
                        run(&mut session, &format!("update account set balance = balance - 1 where id = {from}"))
                            .and_then(|_| {
                                run(
                                    &mut session,
                                    &format!(
                                        "update account set balance = balance + 1, owner = owner || '!' where id = {to}"
                                    ),
                                )
                            })
                            .and_then(|_| run(&mut session, if i % 10 == 9 { "rollback" } else { "commit" }));
                    match moved {
                        Ok(_) => done += 1,
                        Err(error) => {
                            assert!(error.state() == FAILURE || error.state() == SqlState("40P01"), "{error}");
                            let _ = run(&mut session, "rollback");
                            refused += 1;
                        }
                    }
                }
                assert!(done > 20, "{done} done, {refused} refused");
            })
        })
        .collect();
    while writers.iter().any(|writer| !writer.is_finished()) {
        assert_eq!(numbers(&mut session, "select sum(balance)::bigint from account"), [100 * ACCOUNTS]);
        assert_eq!(numbers(&mut session, "select count(*) from account where owner like 'owner%'"), [ACCOUNTS]);
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert_eq!(numbers(&mut session, "select sum(balance)::bigint from account"), [100 * ACCOUNTS]);
}

#[test]
fn results_of_a_transaction_that_was_rolled_back_are_errors_and_disturb_nobody() {
    let database = database();
    let (mut a, mut b) = (database.connect(), database.connect());
    ok(&mut a, "create table big (n bigint, s text)");
    ok(&mut a, "insert into big select i, 'text that is long enough ' || i from generate_series(1, 1000) g(i)");
    ok(&mut a, "begin");
    ok(&mut a, "insert into big select i, 'another text that is long ' || i from generate_series(1, 300000) g(i)");
    ok(&mut a, "update big set n = -n where n % 7 = 0");
    let mut open = a.execute("select n, s from big", &[]).unwrap();
    open.next_chunk().unwrap().unwrap();
    ok(&mut a, "rollback");
    ok(&mut b, "insert into big select -5, 'written where the others were' from generate_series(1, 70000) g(i)");
    assert_eq!(open.next_chunk().unwrap_err().state(), SqlState("25000"));
    drop(open);
    assert_eq!(numbers(&mut b, "select count(*) from big"), [71_000]);
    assert_eq!(
        numbers(&mut b, "select count(*) from big where n = -5 and s = 'written where the others were'"),
        [70_000]
    );
    assert_eq!(numbers(&mut b, "select sum(n)::bigint from big where n > 0"), [500_500]);
    // A session that goes away in a transaction leaves nothing either.
    ok(&mut a, "begin");
    ok(&mut a, "delete from big");
    drop(a);
    ok(&mut b, "update big set n = 0 where n = 1");
    assert_eq!(numbers(&mut b, "select count(*) from big"), [71_000]);
}

#[test]
fn memory_comes_back() {
    let database = database();
    let mut session = database.connect();
    ok(&mut session, "create table t (id int primary key, n bigint, s text)");
    ok(
        &mut session,
        "insert into t select i, i, 'a text of some length, number ' || i from generate_series(1, 20000) g(i)",
    );
    ok(&mut session, "update t set n = 1, s = 'a text of some length, changed'");
    let before = database.memory_used();
    for i in 0..30 {
        ok(&mut session, &format!("update t set n = {i}"));
        ok(&mut session, "begin");
        ok(&mut session, "update t set s = s || '.' where id < 5000");
        ok(&mut session, "delete from t where id > 15000");
        ok(&mut session, "rollback");
    }
    let after = database.memory_used();
    assert!(after < before + before / 4 + (1 << 20), "{before} bytes before, {after} after");
    ok(&mut session, "set query_memory_limit = '1MB'");
    assert_eq!(run(&mut session, "update t set s = s || s").unwrap_err().state(), SqlState::OUT_OF_MEMORY);
    ok(&mut session, "reset query_memory_limit");
    assert_eq!(numbers(&mut session, "select count(*) from t where s like '%changed'"), [20_000]);
}

/// Sessions over a table of parents, 1 to 3, and one of children of 1.
fn family() -> (Database, Session, Session) {
    let database = database();
    let mut first = database.connect();
    ok(&mut first, "create table p (id int primary key, x int)");
    ok(&mut first, "create table c (pid int references p on delete cascade, y int)");
    ok(&mut first, "insert into p values (1, 0), (2, 0), (3, 0)");
    ok(&mut first, "insert into c values (1, 0)");
    let second = database.connect();
    (database, first, second)
}

#[test]
fn a_row_is_not_referenced_and_deleted_at_the_same_time() {
    for level in ALL {
        for deletes_first in [true, false] {
            let (_database, mut a, mut b) = family();
            ok(&mut a, &format!("begin isolation level {level}"));
            ok(&mut b, &format!("begin isolation level {level}"));
            ok(&mut a, "insert into c values (2, 1)");
            ok(&mut b, "delete from p where id = 2");
            let (first, second) = if deletes_first { (&mut b, &mut a) } else { (&mut a, &mut b) };
            ok(first, "commit");
            assert_eq!(run(second, "commit").expect_err(level).state(), FAILURE, "{level}");
            let orphans = "select count(*) from c where not exists (select 1 from p where p.id = c.pid)";
            assert_eq!(numbers(&mut a, orphans), [0], "{level}");
            // What does not collide goes on: other rows, and other columns of the same.
            ok(&mut a, &format!("begin isolation level {level}"));
            ok(&mut b, &format!("begin isolation level {level}"));
            ok(&mut a, "insert into c values (1, 7)");
            ok(&mut b, "update p set x = 9 where id = 1");
            ok(&mut b, "delete from p where id = 3");
            ok(&mut b, "commit");
            ok(&mut a, "commit");
            assert_eq!(numbers(&mut a, "select count(*) from c where pid = 1"), [2]);
        }
    }
}

#[test]
fn a_foreign_key_waits_for_those_who_change_its_table() {
    let database = database();
    let mut a = database.connect();
    ok(&mut a, "create table p (id int primary key)");
    ok(&mut a, "insert into p values (1), (2)");
    ok(&mut a, "begin");
    ok(&mut a, "delete from p where id = 1");
    let mut b = database.connect();
    thread::scope(|scope| {
        let made = scope.spawn(move || {
            ok(&mut b, "create table c (pid int references p)");
            ok(&mut b, "create index on p (id)");
            run(&mut b, "insert into c values (1)").unwrap_err().state()
        });
        thread::sleep(Duration::from_millis(100));
        ok(&mut a, "commit");
        assert_eq!(made.join().unwrap(), SqlState::FOREIGN_KEY_VIOLATION);
    });
}

#[test]
fn deferred_keys_are_unique_for_all() {
    for level in ALL {
        for key in ["unique", "primary key"] {
            let database = database();
            let (mut a, mut b) = (database.connect(), database.connect());
            ok(&mut a, &format!("create table t (k int {key} deferrable initially deferred, x int)"));
            ok(&mut a, "insert into t values (1, 0), (2, 0)");
            ok(&mut a, &format!("begin isolation level {level}"));
            ok(&mut b, &format!("begin isolation level {level}"));
            ok(&mut a, "insert into t values (3, 1)");
            ok(&mut b, "insert into t values (3, 2)");
            ok(&mut b, "update t set k = 4 where k = 2");
            ok(&mut a, "commit");
            // Its last statement may see the row.
            let late = if level == "read committed" { SqlState::UNIQUE_VIOLATION } else { FAILURE };
            assert_eq!(run(&mut b, "commit").expect_err(level).state(), late, "{level}");
            assert_eq!(numbers(&mut a, "select k from t order by k"), [1, 2, 3], "{level}");
            // Tried again, it finds the row; other keys do not collide, nor do rows that have gone meanwhile.
            assert_eq!(run(&mut b, "insert into t values (3, 2)").unwrap_err().state(), SqlState::UNIQUE_VIOLATION);
            ok(&mut a, &format!("begin isolation level {level}"));
            ok(&mut b, &format!("begin isolation level {level}"));
            ok(&mut a, "insert into t values (5, 1), (1, 1)");
            ok(&mut b, "insert into t values (6, 2), (5, 2)");
            ok(&mut a, "delete from t where x = 1 and k = 1");
            ok(&mut b, "delete from t where x = 2 and k = 5");
            ok(&mut b, "commit");
            ok(&mut a, "commit");
            assert_eq!(numbers(&mut a, "select k from t order by k"), [1, 2, 3, 5, 6], "{level}");
        }
    }
}
