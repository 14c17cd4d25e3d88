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

fn run(session: &mut Session, sql: &str) {
    session.execute(sql, &[]).and_then(|r| r.collect()).unwrap_or_else(|e| panic!("{sql}: {e}"));
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

#[test]
fn a_primary_key_is_looked_up() {
    let mut session = session();
    run(&mut session, "create table wide (a integer, b text, c bigint, primary key (a, b))");
    run(&mut session, "insert into wide select x / 10, 'b' || x % 10, x from generate_series(0, 199999) g(x)");
    let mut rows = |sql: &str| text_rows(session.execute(sql, &[]).unwrap()).unwrap().concat();
    let plan = rows("explain select c from wide where a = 3 and b = 'b4'").concat();
    assert!(plan.contains("lookup wide"), "{plan}");
    let plan = rows("explain select c from wide where a = 3").concat();
    assert!(plan.contains("scan wide"), "{plan}");
    assert_eq!(rows("select c from wide where a = 3 and b = 'b4'"), ["34"]);
    assert_eq!(
        rows("select c from wide where a in (20, 3, 3, 99999) and b in ('b4', 'b1') order by c"),
        ["31", "34", "201", "204"]
    );
    assert_eq!(rows("select c from wide where a = 3 and b = 'b4' and c > 34"), [""; 0]);
    assert_eq!(rows("select c from wide where a = 3 and b is null"), [""; 0]);
    assert_eq!(rows("select c from wide where b = 'b4' and a = 3 and a = 4"), [""; 0]);
    assert_eq!(rows("select s from t where k = 7 or k = 9 order by k"), ["row 7", "row 9"]);
    assert_eq!(rows("select s from t where k in (1, null, 5)"), ["row 1", "row 5"]);
    assert_eq!(rows("select s from t where k = 3000000000"), [""; 0]);
    assert_eq!(rows("select s from t where k = 7.0"), ["row 7"]);
}

#[test]
fn lookups_see_what_their_transaction_sees() {
    let mut session = session();
    let mut other = session.fork();
    run(&mut session, "begin isolation level repeatable read");
    let get = |session: &mut Session, k: i32| {
        let sql = format!("select s from t where k = {k}");
        text_rows(session.execute(&sql, &[]).unwrap()).unwrap().concat()
    };
    assert_eq!(get(&mut session, 7), ["row 7"]);
    run(&mut other, "update t set s = 'new' where k = 7");
    run(&mut other, "update t set k = 500 where k = 8");
    run(&mut other, "delete from t where k = 9");
    run(&mut other, "insert into t values (8, 'other')");
    assert_eq!((get(&mut session, 7), get(&mut session, 8)), (vec!["row 7".into()], vec!["row 8".to_owned()]));
    assert_eq!((get(&mut session, 9), get(&mut session, 500)), (vec!["row 9".into()], Vec::new()));
    assert_eq!((get(&mut other, 7), get(&mut other, 8)), (vec!["new".into()], vec!["other".to_owned()]));
    assert_eq!((get(&mut other, 9), get(&mut other, 500)), (Vec::new(), vec!["row 8".to_owned()]));
    run(&mut session, "commit");
    assert_eq!(get(&mut session, 7), ["new"]);
}

#[test]
fn point_lookups_of_kept_plans_see_what_has_changed() {
    let mut session = session();
    let mut other = session.fork();
    let both = session.prepare("select k, s, k as again from t where k = $1", &[]).unwrap();
    let get = |session: &mut Session, k: i64| {
        text_rows(session.run(&both, &[(Value::Int(k), SqlType::Integer)]).unwrap()).unwrap().concat()
    };
    assert_eq!(get(&mut session, 7), ["7", "row 7", "7"]);
    assert_eq!(get(&mut session, 8), ["8", "row 8", "8"]);
    run(&mut other, "update t set s = 'new' where k = 7");
    run(&mut other, "delete from t where k = 8");
    assert_eq!(get(&mut session, 7), ["7", "new", "7"]);
    assert_eq!(get(&mut session, 8), [""; 0]);
    assert_eq!(get(&mut session, 1 << 40), [""; 0]);
    run(&mut session, "begin");
    run(&mut session, "update t set s = 'mine' where k = 7");
    assert_eq!(get(&mut session, 7), ["7", "mine", "7"]);
    assert_eq!(get(&mut other, 7), ["7", "new", "7"]);
    run(&mut session, "rollback");
    assert_eq!(get(&mut session, 7), ["7", "new", "7"]);
}

#[test]
fn an_index_is_tried_and_forgotten_with_its_definition() {
    let mut session = session();
    run(&mut session, "create table u (a integer not null, b text)");
    run(&mut session, "insert into u select x, 'b' || x % 100 from generate_series(0, 19999) g(x)");
    let rows = |session: &mut Session, sql: &str| text_rows(session.execute(sql, &[]).unwrap()).unwrap().concat();
    let join = "select count(*) from t join u on t.k = u.a where t.k in (3, 4)";
    let find = "select count(*) from u where b = 'b7' and a < 1000";
    let before = (rows(&mut session, join), rows(&mut session, find));
    run(&mut session, "create unique index on u (a)");
    run(&mut session, "create index u_ba on u (b, a)");
    let plan = rows(&mut session, &format!("explain {find}")).concat();
    assert!(plan.contains("scan u by u_ba"), "{plan}");
    let plan = rows(&mut session, "explain select b from u where a = 17").concat();
    assert!(plan.contains("lookup u"), "{plan}");
    assert_eq!((rows(&mut session, join), rows(&mut session, find)), before);
    assert_eq!(rows(&mut session, "select b from u where a = 17"), ["b17"]);
    run(&mut session, "drop index u_a_idx");
    run(&mut session, "insert into u select a, 'again' from u where a < 10");
    assert_eq!(rows(&mut session, join), ["4"], "what was unique is so no more");
    assert_eq!(rows(&mut session, "select count(*) from u where a = 3"), ["2"]);
}
