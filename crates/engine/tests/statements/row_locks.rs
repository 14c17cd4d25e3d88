//! SELECT ... FOR UPDATE among several sessions: who waits for whom, who fails, and what is seen afterwards.

use std::thread;
use std::time::Duration;

use base::SqlState;
use engine::{Config, Database, Session};
use types::Value;

const FAILURE: SqlState = SqlState("40001");
const LOCKED: SqlState = SqlState("55P03");
const STRENGTHS: [&str; 4] = ["key share", "share", "no key update", "update"];

fn run(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, base::Error> {
    session.execute(sql, &[]).and_then(engine::QueryResult::rows)
}

fn ok(session: &mut Session, sql: &str) -> Vec<i64> {
    let number = |value: &Value| if let Value::Int(n) = value { *n } else { panic!("{value:?}") };
    run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}")).iter().flatten().map(number).collect()
}

fn state(session: &mut Session, sql: &str) -> Option<SqlState> {
    run(session, sql).err().map(|error| error.state())
}

/// Sessions over (1, 10), (2, 20), (3, 30).
fn sessions() -> (Database, Session, Session) {
    let database = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap();
    let mut first = database.connect();
    ok(&mut first, "create table test (id int primary key, value int)");
    ok(&mut first, "insert into test values (1, 10), (2, 20), (3, 30)");
    let second = database.connect();
    (database, first, second)
}

#[test]
fn locks_exclude_each_other_as_in_postgresql() {
    for (held, one) in STRENGTHS.iter().enumerate() {
        for (wanted, other) in STRENGTHS.iter().enumerate() {
            let (_database, mut a, mut b) = sessions();
            ok(&mut a, "begin");
            ok(&mut a, &format!("select value from test where id = 1 for {one}"));
            ok(&mut b, "begin");
            let end = state(&mut b, &format!("select value from test where id = 1 for {other} nowait"));
            assert_eq!(end, (held + wanted >= 3).then_some(LOCKED), "{one}, {other}");
        }
    }
}

#[test]
fn who_changes_rows_minds_their_locks() {
    for (held, strength) in STRENGTHS.iter().enumerate() {
        for (change, least) in [
            ("update test set value = 0 where id = 1", 1),
            ("update test set id = 7 where id = 1", 0),
            ("delete from test where id = 1", 0),
            ("insert into test values (1, 0) on conflict (id) do update set value = 1", 1),
        ] {
            let (_database, mut a, mut b) = sessions();
            ok(&mut a, "begin");
            ok(&mut a, &format!("select value from test where id = 1 for {strength}"));
            ok(&mut b, "begin");
            ok(&mut b, "select 1");
            assert_eq!(state(&mut b, change), (held >= least).then_some(FAILURE), "{strength}, {change}");
            ok(&mut b, "rollback");
            ok(&mut a, "update test set value = value + 1 where id = 1");
            ok(&mut a, "commit");
            ok(&mut b, change);
        }
    }
}

#[test]
fn changed_rows_are_locked() {
    let (_database, mut a, mut b) = sessions();
    ok(&mut a, "begin");
    ok(&mut a, "update test set value = 11 where id = 1");
    ok(&mut a, "delete from test where id = 2");
    ok(&mut b, "begin isolation level read committed");
    assert_eq!(ok(&mut b, "select id from test for update skip locked"), [3]);
    assert_eq!(ok(&mut b, "select id from test order by id for key share skip locked"), [1, 3]);
    assert_eq!(state(&mut b, "select id from test for share nowait"), Some(LOCKED));
}

#[test]
fn who_begins_with_a_lock_waits_and_sees_the_newest_row() {
    for level in ["read committed", "repeatable read", "serializable"] {
        let (_database, mut a, mut b) = sessions();
        ok(&mut a, "begin");
        assert_eq!(ok(&mut a, "select value from test where id = 1 for update"), [10]);
        let level = level.to_owned();
        let waiting = thread::spawn(move || {
            ok(&mut b, &format!("begin isolation level {level}"));
            let seen = ok(&mut b, "select value from test where id = 1 for update");
            ok(&mut b, "update test set value = value * 2 where id = 1");
            ok(&mut b, "commit");
            (b, seen)
        });
        thread::sleep(Duration::from_millis(50));
        ok(&mut a, "update test set value = 11 where id = 1");
        ok(&mut a, "commit");
        let (mut b, seen) = waiting.join().unwrap();
        assert_eq!(seen, [11]);
        assert_eq!(ok(&mut b, "select value from test where id = 1"), [22]);
    }
}

#[test]
fn a_statement_alone_waits_too() {
    let (_database, mut a, mut b) = sessions();
    ok(&mut a, "begin");
    ok(&mut a, "delete from test where id = 1");
    let waiting = thread::spawn(move || ok(&mut b, "select id from test order by id for share"));
    thread::sleep(Duration::from_millis(50));
    ok(&mut a, "commit");
    assert_eq!(waiting.join().unwrap(), [2, 3]);
}

#[test]
fn a_row_that_has_changed_since_the_snapshot_cannot_be_locked() {
    for level in ["repeatable read", "serializable"] {
        let (_database, mut a, mut b) = sessions();
        ok(&mut a, &format!("begin isolation level {level}"));
        ok(&mut a, "select value from test where id = 3");
        ok(&mut b, "update test set value = 11 where id = 1");
        assert_eq!(state(&mut a, "select value from test where id = 1 for update"), Some(FAILURE));
    }
}

#[test]
fn queues_pass_over_what_others_have() {
    let (database, mut a, mut b) = sessions();
    let mut c = database.connect();
    let take = "select id from test order by id for update skip locked limit 1";
    // Where it is serializable, all have read all rows.
    for (session, id) in [(&mut a, 1), (&mut b, 2), (&mut c, 3)] {
        ok(session, "begin isolation level read committed");
        assert_eq!(ok(session, take), [id]);
        ok(session, &format!("delete from test where id = {id}"));
    }
    let mut d = database.connect();
    assert!(ok(&mut d, take).is_empty());
    ok(&mut b, "rollback");
    assert_eq!(ok(&mut d, take), [2]);
    ok(&mut a, "commit");
    ok(&mut c, "commit");
    assert_eq!(ok(&mut d, "select id from test"), [2]);
}

#[test]
fn locks_behind_a_savepoint_go_with_it() {
    let (_database, mut a, mut b) = sessions();
    ok(&mut a, "begin");
    ok(&mut a, "select value from test where id = 1 for update");
    ok(&mut a, "savepoint p");
    ok(&mut a, "select value from test where id in (1, 2) for update");
    assert_eq!(ok(&mut b, "select id from test order by id for update skip locked"), [3]);
    ok(&mut a, "rollback to p");
    assert_eq!(ok(&mut b, "select id from test order by id for update skip locked"), [2, 3]);
    ok(&mut a, "rollback");
    assert_eq!(ok(&mut b, "select id from test order by id for update nowait"), [1, 2, 3]);
}

#[test]
fn two_that_wait_for_each_other_are_noticed() {
    let (_database, mut a, mut b) = sessions();
    for (session, id) in [(&mut a, 1), (&mut b, 2)] {
        ok(session, "begin isolation level read committed");
        ok(session, &format!("select value from test where id = {id} for update"));
    }
    let one = thread::spawn(move || {
        let end = state(&mut a, "select value from test where id = 2 for update");
        drop(a);
        end
    });
    let other = state(&mut b, "update test set value = 0 where id = 1");
    drop(b);
    let ends = [one.join().unwrap(), other];
    assert!(ends.contains(&Some(SqlState::DEADLOCK)) && ends.contains(&None), "{ends:?}");
}

/// Jobs of a queue, taken in the three ways that people write: each is done once, and nobody is told to try again.
#[test]
fn every_job_of_a_queue_is_taken_once() {
    const JOBS: usize = 240;
    const WAYS: [&str; 3] = [
        "update jobs set taken = taken + 1 where id = (select id from jobs where taken = 0 order by id for update skip locked limit 1)
            returning id",
        "delete from jobs where id in (select id from jobs where taken = 0 order by id limit 2 for update skip locked)
            returning id",
        "with next as (select id from jobs where taken = 0 order by id limit 1 for update skip locked)
            update jobs set taken = taken + 1 from next where jobs.id = next.id returning jobs.id",
    ];
    let (database, mut a, _) = sessions();
    ok(&mut a, "create table jobs (id int primary key, taken int not null default 0)");
    ok(&mut a, &format!("insert into jobs select generate_series(1, {JOBS})"));
    let workers: Vec<_> = WAYS
        .iter()
        .chain(&WAYS)
        .map(|way| {
            let mut session = database.connect();
            ok(&mut session, "set default_transaction_isolation = 'read committed'");
            thread::spawn(move || {
                let mut taken = Vec::new();
                loop {
                    ok(&mut session, "begin");
                    let jobs = ok(&mut session, way);
                    ok(&mut session, "commit");
                    if jobs.is_empty() {
                        return taken;
                    }
                    taken.extend(jobs);
                }
            })
        })
        .collect();
    let mut taken: Vec<i64> = workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
    taken.sort_unstable();
    assert_eq!(taken, (1..=JOBS as i64).collect::<Vec<_>>());
    assert_eq!(ok(&mut a, "select count(*) from jobs where taken <> 1"), [0]);
}

#[test]
fn a_row_behind_many_that_are_locked_is_found() {
    let (_database, mut a, mut b) = sessions();
    ok(&mut a, "create table jobs (id int primary key, kind int)");
    ok(&mut a, "insert into jobs select x, x % 3 from generate_series(1, 1000) g(x)");
    for (held, rows, found) in [
        (30, "limit 1", vec![31]),
        (200, "limit 2", vec![201, 202]),
        (200, "limit 1 offset 2", vec![203]),
        (999, "limit 5", vec![1000]),
        (1000, "limit 5", vec![]),
        (1000, "limit 0", vec![]),
    ] {
        ok(&mut a, "begin");
        ok(&mut a, &format!("select id from jobs where id <= {held} for update"));
        let select = format!("select id from jobs order by id {rows} for update skip locked");
        assert_eq!(ok(&mut b, &select), found, "{held} {rows}");
        let within = format!("select id from ({select}) j order by id");
        assert_eq!(ok(&mut b, &within), found, "{held} {rows}");
        ok(&mut a, "rollback");
    }
}

#[test]
fn no_update_is_lost_between_a_lock_and_a_change() {
    const TIMES: usize = 40;
    for level in ["read committed", "serializable"] {
        let (database, mut a, _) = sessions();
        let sessions: Vec<_> = (0..4).map(|_| database.connect()).collect();
        let threads: Vec<_> = sessions
            .into_iter()
            .map(|mut session| {
                thread::spawn(move || {
                    for _ in 0..TIMES {
                        ok(&mut session, &format!("begin isolation level {level}"));
                        let value = ok(&mut session, "select value from test where id = 1 for update")[0];
                        ok(&mut session, &format!("update test set value = {} where id = 1", value + 1));
                        ok(&mut session, "commit");
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(ok(&mut a, "select value from test where id = 1"), [10 + 4 * TIMES as i64], "{level}");
    }
}

#[test]
fn a_locked_table_is_not_changed_by_others() {
    let (_database, mut a, mut b) = sessions();
    assert_eq!(state(&mut a, "lock table test"), Some(SqlState("25P01")));
    ok(&mut a, "begin");
    ok(&mut a, "lock table test in share row exclusive mode");
    ok(&mut b, "begin");
    assert_eq!(state(&mut b, "lock table test nowait"), Some(LOCKED));
    ok(&mut b, "rollback");
    ok(&mut b, "begin isolation level repeatable read");
    ok(&mut b, "lock table test in row exclusive mode");
    // Readers are not shut out.
    ok(&mut b, "select * from test");
    ok(&mut b, "insert into test values (77, 0)");
    assert_eq!(state(&mut b, "commit"), Some(FAILURE));
    ok(&mut a, "commit");
    ok(&mut b, "insert into test values (78, 0)");
}

#[test]
fn a_block_that_begins_with_a_lock_waits_for_it() {
    let (database, mut a, _b) = sessions();
    ok(&mut a, "begin");
    ok(&mut a, "lock table test");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut session = database.connect();
            ok(&mut session, "begin");
            ok(&mut session, "lock table test");
            let count = ok(&mut session, "select count(*) from test where id = 90");
            ok(&mut session, "commit");
            count
        });
        thread::sleep(Duration::from_millis(20));
        ok(&mut a, "insert into test values (90, 0)");
        ok(&mut a, "commit");
        assert_eq!(waiting.join().unwrap(), [1]);
    });
}
