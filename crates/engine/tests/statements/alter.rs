//! Tables that are altered while others read and write them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use base::SqlState;
use engine::{Config, Database, Session};
use types::Value;

const FAILURE: SqlState = SqlState("40001");

fn database() -> Database {
    let database = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap();
    ok(&mut database.connect(), "create table t (a int, b int)");
    ok(&mut database.connect(), "insert into t values (1, 10), (2, 20)");
    database
}

fn run(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, base::Error> {
    session.execute(sql, &[]).and_then(engine::QueryResult::rows)
}

fn ok(session: &mut Session, sql: &str) -> Vec<Vec<Value>> {
    run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn number(session: &mut Session, sql: &str) -> i64 {
    match ok(session, sql)[0][0] {
        Value::Int(n) => n,
        ref other => panic!("{other:?}"),
    }
}

fn state(session: &mut Session, sql: &str) -> SqlState {
    run(session, sql).expect_err(sql).state()
}

#[test]
fn who_has_written_before_the_columns_changed_cannot_commit() {
    for change in ["alter table t add c int default 5", "alter table t add check (a < 100)"] {
        let database = database();
        let (mut writer, mut other) = (database.connect(), database.connect());
        for write in ["insert into t values (3, 30)", "update t set b = 0", "delete from t"] {
            ok(&mut writer, "begin");
            ok(&mut writer, write);
            ok(&mut other, "begin");
            ok(&mut other, change);
            // It may come to nothing.
            ok(&mut other, "rollback");
            ok(&mut writer, "rollback");
        }
        ok(&mut writer, "begin");
        ok(&mut writer, "insert into t values (101, 30)");
        ok(&mut other, change);
        assert_eq!(state(&mut writer, "commit"), FAILURE, "{change}");
        assert_eq!(number(&mut writer, "select count(*) from t where a < 100"), 2);
    }
}

#[test]
fn a_statement_that_writes_meanwhile_waits_and_finds_the_new_columns() {
    let database = database();
    let mut altering = database.connect();
    ok(&mut altering, "begin");
    ok(&mut altering, "alter table t add c int default 5");
    assert_eq!(number(&mut database.connect(), "select count(*) from t"), 2);
    thread::scope(|scope| {
        let writer = scope.spawn(|| ok(&mut database.connect(), "insert into t (a) values (3)"));
        thread::sleep(std::time::Duration::from_millis(50));
        assert!(!writer.is_finished());
        ok(&mut altering, "commit");
        writer.join().unwrap();
    });
    assert_eq!(number(&mut altering, "select sum(c)::bigint from t"), 15);
}

#[test]
fn who_sees_an_older_moment_does_not_see_an_empty_table() {
    let database = database();
    let mut reader = database.connect();
    ok(&mut reader, "begin isolation level repeatable read");
    ok(&mut reader, "select 1");
    let mut open = database.connect();
    let result = open.execute("select a from t", &[]).unwrap();
    ok(&mut database.connect(), "alter table t drop column b");
    assert_eq!(result.rows().unwrap().len(), 2);
    assert_eq!(state(&mut reader, "select * from t"), FAILURE);
    ok(&mut reader, "rollback");
    assert_eq!(ok(&mut reader, "select * from t").len(), 2);
}

#[test]
fn of_two_that_alter_one_is_first() {
    let database = database();
    let (mut a, mut b) = (database.connect(), database.connect());
    ok(&mut a, "begin");
    ok(&mut b, "begin");
    ok(&mut a, "alter table t add c int");
    assert_eq!(state(&mut b, "alter table t add d int"), FAILURE);
    ok(&mut b, "rollback");
    ok(&mut a, "commit");
    ok(&mut b, "alter table t add d int");
    assert_eq!(ok(&mut b, "select * from t")[0].len(), 4);
}

#[test]
fn what_was_read_of_a_table_that_is_another_now_may_be_out_of_date() {
    let database = database();
    ok(&mut database.connect(), "create table log (n bigint)");
    let (mut a, mut b) = (database.connect(), database.connect());
    ok(&mut a, "begin");
    ok(&mut a, "insert into log select count(*) from t");
    ok(&mut b, "alter table t add c int");
    ok(&mut b, "insert into t values (3, 30, 3)");
    assert_eq!(state(&mut a, "commit"), FAILURE);
}

#[test]
fn no_row_is_lost_between_the_old_columns_and_the_new_ones() {
    let database = database();
    let over = AtomicBool::new(false);
    let written: i64 = thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let (mut session, mut rows) = (database.connect(), 0);
                    while !over.load(Ordering::Relaxed) {
                        ok(&mut session, "insert into t (a) values (7)");
                        rows += 1;
                    }
                    rows
                })
            })
            .collect();
        let mut session = database.connect();
        let altered = (0..10).try_for_each(|round| {
            run(&mut session, &format!("alter table t add column c{round} int default {round}"))?;
            run(&mut session, "alter table t add constraint positive check (a > 0)")?;
            run(&mut session, "alter table t drop constraint positive").map(drop)
        });
        // The writers end whatever has become of that.
        over.store(true, Ordering::Relaxed);
        altered.unwrap();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert_eq!(number(&mut database.connect(), "select count(*) from t"), written + 2);
    assert_eq!(number(&mut database.connect(), "select count(*) from t where c9 = 9"), written + 2);
}

#[test]
fn what_does_not_hold_leaves_everything_as_it_was() {
    let database = database();
    let mut session = database.connect();
    let error = run(&mut session, "alter table t add c int default 1, add check (a > 1)").unwrap_err();
    assert_eq!(error.message(), "check constraint \"t_a_check\" of relation \"t\" is violated by some row");
    assert_eq!(ok(&mut session, "select * from t")[0].len(), 2);
    ok(&mut session, "insert into t values (1, 1)");
    let error = run(&mut session, "alter table t add primary key (a)").unwrap_err();
    assert_eq!(
        (error.message(), error.get_detail()),
        ("could not create unique index \"t_pkey\"", Some("Key (a)=(1) is duplicated."))
    );
    ok(&mut session, "insert into t values (1, 1)");
}
