//! What a session asks of the service: how long its statements may take, how many workers they have, what share.

mod common;

use std::time::{Duration, Instant};

use base::SqlState;
use common::{settled_memory, settles};
use engine::{Config, Database, Session};
use types::Value;

fn database() -> Database {
    Database::new(Config { threads: Some(2), ..Config::default() }).unwrap()
}

fn run(session: &mut Session, sql: &str) {
    session.execute(sql, &[]).and_then(|r| r.rows()).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// Digits and as many rows as their powers.
fn fill(session: &mut Session) {
    run(session, "create table d as select * from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) v(i)");
    run(
        session,
        "create table t as select a.i + b.i * 10 + c.i * 100 + e.i * 1000 + f.i * 10000 as x from d a, d b, d c, d e, d f",
    );
}

#[track_caller]
fn times_out(session: &mut Session, sql: &str) {
    let begin = Instant::now();
    let error = session.execute(sql, &[]).and_then(|r| r.rows()).expect_err(sql);
    assert_eq!(error.state(), SqlState::QUERY_CANCELED, "{sql}: {error}");
    assert!(error.message().contains("statement timeout"), "{sql}: {error}");
    assert!(begin.elapsed() < Duration::from_secs(10), "{sql}: {:?}", begin.elapsed());
}

#[test]
fn statements_end_when_their_time_is_over() {
    let database = database();
    let mut session = database.connect();
    fill(&mut session);
    let before = settled_memory(&database);
    run(&mut session, "set statement_timeout = 50");
    times_out(&mut session, "select count(*) from t a, t b, t c where a.x + b.x + c.x = -1");
    times_out(&mut session, "create table u as select a.x from t a, t b, t c where a.x + b.x + c.x < 0");
    // On the client's own thread.
    times_out(&mut session, "select length(translate(repeat('a', 100000000), repeat('bcdefghij', 3000), 'x'))");
    // In planning.
    let nested = (0..40).fold("select 1".to_string(), |q, n| {
        format!("select x from t where x not in (select x from t where x = {n}) and x not in ({q})")
    });
    let joins = (0..60).map(|n| format!("t t{n}")).collect::<Vec<_>>().join(" natural join ");
    run(&mut session, "set statement_timeout = 1");
    for sql in [nested, format!("select * from {joins}")] {
        let error = session.execute(&sql, &[]).and_then(|r| r.rows()).map(drop);
        assert!(error.is_err_and(|e| e.state() == SqlState::QUERY_CANCELED));
    }
    run(&mut session, "set statement_timeout = 0");
    run(&mut session, "select count(*) from t a, d where a.x >= 0");
    settles(&database, before, "what was stopped");
}

#[test]
fn fetching_counts_and_each_statement_of_a_script_has_its_own_time() {
    let database = database();
    let mut session = database.connect();
    fill(&mut session);
    run(&mut session, "set statement_timeout = '1s'");
    let mut result = session.execute("select a.x from t a, t b", &[]).unwrap();
    assert!(result.next_chunk().unwrap().is_some());
    std::thread::sleep(Duration::from_millis(1200));
    let end = loop {
        match result.next_chunk() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the result has ended"),
            Err(error) => break error,
        }
    };
    assert!(end.message().contains("statement timeout"), "{end}");
    drop(result);
    // Four times 400 ms.
    let script = "select 1; select 2; select 3; select 4";
    session
        .run_script(script, |_, result| {
            std::thread::sleep(Duration::from_millis(400));
            result.rows().map(drop)
        })
        .unwrap();
    // A timeout stops its statement, not the call.
    let mut seen = 0;
    let script =
        "set statement_timeout = 1000; select count(*) from t a, t b, t c where a.x + b.x + c.x = -1; select 1";
    let error = session.run_script(script, |_, result| {
        seen += 1;
        match result.rows() {
            Err(e) if e.message().contains("statement timeout") => Ok(()),
            other => other.map(drop),
        }
    });
    assert_eq!((error.map_err(|e| e.to_string()), seen), (Ok(()), 3));
}

#[test]
fn an_interrupt_is_no_timeout() {
    let database = database();
    let mut session = database.connect();
    fill(&mut session);
    run(&mut session, "set statement_timeout = '1h'");
    let interrupt = session.interrupt_handle();
    let mut result = session.execute("select a.x from t a, t b, t c where a.x + b.x + c.x = -1", &[]).unwrap();
    interrupt.interrupt();
    let error = result.next_chunk().unwrap_err();
    assert!(error.message().contains("user request"), "{error}");
}

#[test]
fn settings_of_service_have_no_part_in_results() {
    let database = database();
    let mut session = database.connect();
    fill(&mut session);
    let sql = "select x % 7, count(*), sum(x) from t group by 1 order by 1";
    let expected = session.execute(sql, &[]).unwrap().rows().unwrap();
    for setting in ["worker_limit = 1", "priority = 1", "priority = 10000", "statement_timeout = '1h'"] {
        run(&mut session, &format!("set {setting}"));
        let kept = database.runs_of_kept_plans();
        assert_eq!(session.execute(sql, &[]).unwrap().rows().unwrap(), expected, "{setting}");
        assert_eq!(database.runs_of_kept_plans(), kept + 1, "{setting}");
    }
}

/// Keeps a million rows, which are 50 to 60 MiB.
const LARGE: &str = "select a.x, d.i from t a, d order by a.x * 7 % 1000, a.x, d.i offset 999990";

#[test]
fn queries_that_do_not_fit_together_run_one_after_the_other() {
    let limit = 100 << 20;
    let database = Database::new(Config { threads: Some(2), memory_limit: Some(limit), ..Config::default() }).unwrap();
    fill(&mut database.connect());
    let expected = database.connect().execute(LARGE, &[]).unwrap().rows().unwrap();
    std::thread::scope(|scope| {
        let client = || {
            let mut session = database.connect();
            run(&mut session, "set admission_timeout = '1h'");
            session.execute(LARGE, &[]).and_then(|r| r.rows())
        };
        let clients: Vec<_> = (0..6).map(|_| scope.spawn(client)).collect();
        for client in clients {
            assert_eq!(client.join().unwrap().map_err(|e| e.to_string()), Ok(expected.clone()));
        }
    });
}

#[test]
fn open_results_are_not_waited_for() {
    let limit = 160 << 20;
    let database = Database::new(Config { threads: Some(2), memory_limit: Some(limit), ..Config::default() }).unwrap();
    let mut session = database.connect();
    fill(&mut session);
    run(&mut session, "set admission_timeout = '1h'");
    let sorted = "select a.x, d.i, 'a text that is not short ' || a.x from t a, d order by a.x * 7 % 1000, d.i";
    let mut open = session.execute(sorted, &[]).unwrap();
    assert!(open.next_chunk().unwrap().is_some());
    // The same thread reads nothing of it meanwhile; whether there is memory enough is another matter.
    let other = session.fork().execute("select count(*) from (select x from t order by x offset 10) s", &[]).unwrap();
    assert_eq!(other.rows().unwrap().len(), 1);
    let own = session.execute(LARGE, &[]).and_then(|r| r.rows());
    assert!(own.is_ok() || own.is_err_and(|e| e.state() == SqlState::OUT_OF_MEMORY));
}

#[test]
fn who_waits_for_memory_is_queued() {
    let limit = 100 << 20;
    let database = Database::new(Config { threads: Some(2), memory_limit: Some(limit), ..Config::default() }).unwrap();
    fill(&mut database.connect());
    let state = |session: &mut Session| {
        let sql = "select state from running_queries() where not own_session and query like '%order by a.x%'";
        session.execute(sql, &[]).and_then(|r| r.rows()).unwrap()
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut session = database.connect();
                    run(&mut session, "set admission_timeout = '1h'");
                    session.execute(LARGE, &[]).and_then(|r| r.rows()).map(|rows| rows.len())
                })
            })
            .collect();
        let mut looks = database.connect();
        let mut queued = false;
        while !clients.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            queued |= state(&mut looks).contains(&vec![Value::str("queued")]);
        }
        clients.into_iter().for_each(|client| assert!(client.join().unwrap().is_ok()));
        assert!(queued);
    });
    let longest = "select max(queued_ms) from query_history() where query like '%order by a.x%'";
    let longest = database.connect().execute(longest, &[]).and_then(|r| r.rows()).unwrap();
    assert!(matches!(longest[0][0], Value::Float(ms) if ms > 1.0), "{longest:?}");
}

#[test]
fn who_waits_for_a_row_holds_no_memory_back() {
    let limit = 100 << 20;
    let database = Database::new(Config { threads: Some(2), memory_limit: Some(limit), ..Config::default() }).unwrap();
    let mut first = database.connect();
    fill(&mut first);
    run(&mut first, "create table r (k integer primary key, s text)");
    run(&mut first, "insert into r values (1, 'one')");
    run(&mut first, "set admission_timeout = '1h'");
    run(&mut first, "begin isolation level read committed");
    run(&mut first, "update r set s = 'first' where k = 1");
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let mut session = database.connect();
            run(&mut session, "begin isolation level read committed");
            let update = format!("update r set s = 'second' from ({LARGE}) large where k = 1");
            run(&mut session, &update);
            run(&mut session, "commit");
        });
        // It has its memory, and waits for the row.
        std::thread::sleep(std::time::Duration::from_millis(500));
        let begin = std::time::Instant::now();
        let large = first.execute(LARGE, &[]).and_then(|r| r.rows());
        assert!(large.is_ok() && begin.elapsed() < std::time::Duration::from_secs(5), "{:?}", begin.elapsed());
        assert!(!second.is_finished());
        run(&mut first, "commit");
        second.join().unwrap();
    });
    let left = database.connect().execute("select s from r", &[]).and_then(|r| r.rows()).unwrap();
    assert_eq!(left, [[Value::str("second")]]);
}
