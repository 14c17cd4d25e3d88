//! Prepared statements through the library: types of parameters, kept plans, changes of tables.

use engine::rows::text_rows;
use engine::{Config, Database, Session};
use types::{SqlType, Value};

fn session() -> Session {
    let mut session = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap().connect();
    session.execute("create table t (k integer primary key, s text)", &[]).unwrap();
    session.execute("insert into t select x, 'row ' || x from generate_series(1, 100) g(x)", &[]).unwrap();
    session
}

#[test]
fn a_prepared_query_is_planned_once() {
    let mut session = session();
    let by_key = session.prepare("select s from t where k = $1", &[]).unwrap();
    assert_eq!(by_key.parameter_types(), [SqlType::Integer]);
    assert_eq!(by_key.columns().len(), 1);
    let before = session.database().runs_of_kept_plans();
    for k in 1..=10 {
        let result = session.run(&by_key, &[(Value::Int(k), SqlType::Integer)]).unwrap();
        assert_eq!(text_rows(result).unwrap(), [[format!("row {k}")]].map(Vec::from));
    }
    assert_eq!(session.database().runs_of_kept_plans() - before, 9);
}

#[test]
fn execute_neither_parses_nor_plans_the_statement() {
    let mut session = session();
    session.execute("prepare p as select s from t where k = $1", &[]).unwrap();
    let before = session.database().runs_of_kept_plans();
    for k in 1..=10 {
        let rows = text_rows(session.execute(&format!("execute p({k})"), &[]).unwrap()).unwrap();
        assert_eq!(rows, [[format!("row {k}")]].map(Vec::from));
    }
    assert_eq!(session.database().runs_of_kept_plans() - before, 9);
}

#[test]
fn prepared_changes_run_with_their_parameters() {
    let mut session = session();
    let insert = session.prepare("insert into t values ($1, $2)", &[]).unwrap();
    assert_eq!(insert.parameter_types(), [SqlType::Integer, SqlType::Text]);
    let new = |k| [(Value::Int(k), SqlType::Integer), (Value::str("new"), SqlType::Text)];
    session.run(&insert, &new(101)).unwrap();
    assert_eq!(session.run(&insert, &new(101)).unwrap_err().state().0, "23505");
    let rows = text_rows(session.execute("select s from t where k > 100", &[]).unwrap()).unwrap();
    assert_eq!(rows, [["new".to_owned()]].map(Vec::from));
}

#[test]
fn positions_of_errors_are_not_of_a_text_that_the_client_did_not_send() {
    let mut session = session();
    session.execute("prepare p as select 1 / (k - $1) from t", &[]).unwrap();
    let error = session.execute("execute p(7)", &[]).and_then(text_rows).unwrap_err();
    assert_eq!((error.state().0, error.position()), ("22012", None));
    let other = session.fork().execute("execute p(7)", &[]).unwrap_err();
    assert_eq!(other.state().0, "26000", "a session has statements of its own");
}
