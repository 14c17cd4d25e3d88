//! `running_queries()` and its kin, from another session while statements run and after they have ended.

use std::time::{Duration, Instant};

use base::SqlState;
use engine::{Config, Database, Session};
use types::Value;

/// Longer than any test waits.
const SLOW: &str = "select count(*) from numbers a, numbers b where a.i + b.i = -1";

fn database() -> Database {
    Database::new(Config { threads: Some(2), ..Config::default() }).unwrap()
}

/// A table of 2^n rows.
fn numbers(session: &mut Session, n: u32) {
    session.execute("create table numbers as select 0 as i, 'a text of some length' as t", &[]).unwrap();
    for bit in 0..n {
        let sql = format!("insert into numbers select i + {}, t || i from numbers", 1u64 << bit);
        session.execute(&sql, &[]).unwrap();
    }
}

fn rows(session: &mut Session, sql: &str) -> Vec<Vec<Value>> {
    session.execute(sql, &[]).and_then(|r| r.rows()).unwrap_or_else(|e| panic!("{sql}: {e:?}"))
}

fn texts(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    engine::rows::text_rows(session.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e:?}"))).unwrap()
}

/// Waits until a query of one boolean says so.
#[track_caller]
fn until(session: &mut Session, sql: &str) {
    let begin = Instant::now();
    while rows(session, sql) != [[Value::Bool(true)]] {
        assert!(begin.elapsed() < Duration::from_secs(60), "{sql}: {:?}", texts(session, "from running_queries()"));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn another_session_sees_how_far_a_query_is() {
    let database = database();
    let (mut one, mut two) = (database.connect(), database.connect());
    numbers(&mut one, 15);
    let result = one.execute(SLOW, &[]).unwrap();
    until(
        &mut two,
        "select count(*) = 1 from running_queries() where not own_session and state = 'running' and morsels > 0 \
         and progress between 0 and 1 and remaining_ms > 0 and worker_ms > 0 and elapsed_ms > 0 and rows_read > 0 \
         and pipelines_done between 1 and pipelines - 1 and memory > 0 and peak_memory >= memory and rows = 0 \
         and query like 'select count(*) from numbers a%' and started <= now()",
    );
    let sql = "select p.pipeline, p.state, p.morsels > 0, p.worker_ms > 0, p.rows <= p.total_rows from running_pipelines() p \
               join running_queries() using (query_id) where not own_session order by 1";
    let expected = [["0", "done", "true", "true", "true"], ["1", "running", "true", "true", "true"]];
    assert_eq!(texts(&mut two, sql)[..2], expected);
    // Any SQL: a join of views, a subquery, a view over them.
    rows(&mut two, "create view busy as select query_id from running_queries() where not own_session");
    let sql = "select count(*) from running_queries() r join busy b using (query_id) \
               where r.session_id not in (select session_id from running_queries() where own_session)";
    assert_eq!(texts(&mut two, sql), [["1"]]);
    drop(result);
    assert_eq!(texts(&mut two, "select count(*) from busy"), [["0"]]);
    let sql = "select state, error, rows, execution_ms > 0, worker_ms > 0, morsels > 0, peak_memory > 0 \
               from query_history() where query like 'select count(*) from numbers a%'";
    assert_eq!(texts(&mut two, sql), [["closed", "NULL", "0", "true", "true", "true", "true"]]);
}

#[test]
fn a_statement_sees_itself_being_planned() {
    let mut session = database().connect();
    let sql = "select query, state, own_session, progress, remaining_ms from running_queries()";
    assert_eq!(texts(&mut session, sql), [[sql, "planning", "true", "0", "NULL"]]);
}

#[test]
fn the_history_tells_how_statements_ended() {
    let database = database();
    let (mut one, mut two) = (database.connect(), database.connect());
    rows(&mut one, "create table t as select 1 as a");
    rows(&mut one, "insert into t values (2), (3)");
    rows(&mut one, "select a from t where a > 1");
    // By its kept plan.
    rows(&mut one, "select a from t where a > 2");
    one.execute("select 1 / (a - 1) from t", &[]).and_then(|r| r.rows()).unwrap_err();
    one.execute("select", &[]).unwrap_err();
    one.execute("select b from t", &[]).unwrap_err();
    one.run_script("select 1; show threads", |_, result| result.collect().map(|_| ())).unwrap();
    one.run_script("select 1; selec", |_, _| Ok(())).unwrap_err();
    drop(one.execute("select a, count(*) from t group by a", &[]).unwrap());
    let sql = "select query, state, error, rows, compiling_ms is null, execution_ms is null from query_history() \
               where not own_session order by query_id";
    let expected = [
        ["create table t as select 1 as a", "finished", "NULL", "1", "false", "false"],
        ["insert into t values (2), (3)", "finished", "NULL", "2", "false", "false"],
        ["select a from t where a > 1", "finished", "NULL", "2", "false", "false"],
        ["select a from t where a > 2", "finished", "NULL", "1", "false", "false"],
        ["select 1 / (a - 1) from t", "failed", SqlState::DIVISION_BY_ZERO.0, "0", "false", "false"],
        ["select", "failed", SqlState::SYNTAX_ERROR.0, "0", "true", "true"],
        ["select b from t", "failed", SqlState::UNDEFINED_COLUMN.0, "0", "true", "true"],
        ["select 1", "finished", "NULL", "1", "false", "false"],
        ["show threads", "finished", "NULL", "1", "true", "true"],
        ["select 1; selec", "failed", SqlState::SYNTAX_ERROR.0, "0", "true", "true"],
        ["select a, count(*) from t group by a", "closed", "NULL", "0", "false", "false"],
    ];
    assert_eq!(texts(&mut two, sql), expected);
    let sql = "select count(*) from query_history() where total_ms + 0.001 < \
               planning_ms + coalesce(compiling_ms, 0) + coalesce(execution_ms, 0) or queued_ms + waiting_ms > total_ms";
    assert_eq!(texts(&mut two, sql), [["0"]]);
}

#[test]
fn the_history_is_as_long_as_it_is_set() {
    let mut session = database().connect();
    assert_eq!(texts(&mut session, "show query_history_size"), [["1000"]]);
    rows(&mut session, "set query_history_size = 3");
    (0..5).for_each(|i| assert_eq!(texts(&mut session, &format!("select {i}")), [[i.to_string()]]));
    let expected = [["select 2"], ["select 3"], ["select 4"]];
    assert_eq!(texts(&mut session, "select query from query_history() order by query_id"), expected);
    rows(&mut session, "set query_history_size = 0");
    assert!(rows(&mut session, "select * from query_history()").is_empty());
    rows(&mut session, "reset query_history_size");
    assert_eq!(texts(&mut session, "show query_history_size"), [["1000"]]);
    let error = session.execute("set query_history_size = 10001", &[]).unwrap_err();
    assert_eq!(error.state(), SqlState::INVALID_PARAMETER_VALUE);
}

#[test]
fn waiting_for_the_client_is_told_apart() {
    let database = database();
    let (mut one, mut two) = (database.connect(), database.connect());
    numbers(&mut one, 12);
    // More than what may wait for its client.
    let mut result = one.execute("select a.t || b.t from numbers a, numbers b", &[]).unwrap();
    result.next_chunk().unwrap().unwrap();
    until(&mut two, "select count(*) = 1 from running_queries() where state = 'waiting' and rows > 0");
    std::thread::sleep(Duration::from_millis(20));
    drop(result);
    let sql = "select waiting_ms >= 20 from query_history() where query like '%||%' order by query_id desc limit 1";
    assert_eq!(texts(&mut two, sql), [["true"]]);
}

#[test]
fn memory_is_told_by_who_has_it() {
    let database = database();
    let (mut one, mut two) = (database.connect(), database.connect());
    rows(&mut one, "create table keyed (k int primary key, t text)");
    numbers(&mut one, 15);
    rows(&mut one, "insert into keyed select i, t from numbers");
    let of_tables = "select name, part from memory_usage() where owner = 'table' and bytes > 0 and charged and query_id is null \
                     and part = 'keys'";
    assert_eq!(texts(&mut two, of_tables), [["public.keyed", "keys"]]);
    let sql = "select sum(bytes) > 100000, count(distinct name) from memory_usage() where owner = 'table'";
    assert_eq!(texts(&mut two, sql), [["true", "2"]]);
    let result = one.execute(SLOW, &[]).unwrap();
    until(
        &mut two,
        "select count(*) = 1 from memory_usage() m join running_queries() q using (query_id) \
         where not own_session and owner = 'query' and part = 'hash join' and bytes > 0 and charged",
    );
    drop(result);
    let sql = "select count(*) from memory_usage() m join running_queries() q using (query_id) where not own_session";
    assert_eq!(texts(&mut two, sql), [["0"]]);
    // Not all systems tell the process's.
    let sql = "select owner, part from memory_usage() where owner not in ('table', 'query') and name is null and not charged \
               and part not like '%resident' order by 1, 2";
    let expected = [
        ["database", "kept plans"],
        ["database", "machine code"],
        ["process", "free extents"],
        ["process", "recycled areas"],
    ];
    assert_eq!(texts(&mut two, sql), expected);
    let sql = "select bytes between 100000 and (select bytes from memory_usage() where part = 'limit') \
               from memory_usage() where part = 'charged'";
    assert_eq!(texts(&mut two, sql), [["true"]]);
}

#[test]
fn workers_are_seen_at_their_queries_and_parked() {
    let database = database();
    let (mut one, mut two) = (database.connect(), database.connect());
    numbers(&mut one, 15);
    let result = one.execute(SLOW, &[]).unwrap();
    until(
        &mut two,
        "select count(*) > 0 from workers() w join running_queries() q using (query_id) \
         join running_pipelines() p on p.query_id = q.query_id and p.pipeline = w.pipeline and p.name = w.name \
         where not own_session and w.state = 'running' and w.morsels > 0 and w.rows > 0 and w.busy_ms > 0 and w.idle_ms >= 0",
    );
    drop(result);
    until(
        &mut two,
        "select count(*) = 2 from workers() where state = 'parked' and query_id is null and pipeline is null and name is null",
    );
    assert_eq!(texts(&mut two, "select worker, node >= 0 from workers() order by 1"), [["0", "true"], ["1", "true"]]);
    rows(&mut one, "set threads = 1");
    until(&mut two, "select count(*) = 1 from workers() where state = 'inactive' and worker = 1");
}
