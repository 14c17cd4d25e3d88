//! Every documented example, of functions, operators, aggregates and window functions, runs through SQL and gives what its row says: folded
//! as a constant, and, over rows, in machine code and in the interpreter.

use base::Result;
use engine::{Config, Database, Session};
use functions::ScalarFunction;
use functions::aggregate::AGGREGATES;
use functions::composed;
use functions::lambda::LAMBDAS;
use functions::window::WINDOWS;
use types::Value;
use types::ops::cast::format_value;

fn session() -> Session {
    let mut session = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap().connect();
    session.execute("create table numbers (x integer)", &[]).unwrap();
    session.execute("insert into numbers values (1), (2), (4), (null)", &[]).unwrap();
    session
}

/// The only column of a query, as texts.
fn values(session: &mut Session, sql: &str) -> Result<Vec<String>> {
    let result = session.execute(sql, &[])?;
    let sql_type = result.columns()[0].sql_type;
    let text = |row: Vec<Value>| match &row[0] {
        Value::Null => "NULL".to_owned(),
        value => format_value(value, sql_type),
    };
    Ok(result.rows()?.into_iter().map(text).collect())
}

#[track_caller]
fn check(session: &mut Session, sql: &str, expected: &str) {
    check_rows(session, sql, &[expected]);
}

#[track_caller]
fn check_rows(session: &mut Session, sql: &str, expected: &[&str]) {
    for compile in ["on", "off"] {
        session.execute(&format!("set compile = {compile}"), &[]).unwrap();
        let found = values(session, sql).unwrap_or_else(|e| panic!("{}", e.render(sql)));
        assert_eq!(found, expected, "{sql} (compile {compile})");
    }
}

#[test]
fn examples_of_scalar_functions_are_true() {
    let session = &mut session();
    for row in ScalarFunction::all().map(ScalarFunction::definition).filter(|row| !row.volatile) {
        let (call, expected) = row.example;
        check(session, &format!("select {call}"), expected);
        // Not constant, so that it is computed at run time.
        check(session, &format!("select case when x = 1 then {call} end from numbers where x = 1"), expected);
    }
}

/// As in PostgreSQL, where a condition of the documents' rows is asked before functions in FROM take them apart.
#[test]
fn documents_are_asked_before_they_are_taken_apart() {
    let session = &mut session();
    session.execute("create table documents (n integer, d jsonb)", &[]).unwrap();
    session.execute("insert into documents values (1, '{\"a\": 1}'), (2, '[1, 2]'), (3, '\"x\"')", &[]).unwrap();
    let elements =
        "select sum(e::integer)::text from documents, jsonb_array_elements(d) e where jsonb_typeof(d) = 'array'";
    check(session, elements, "3");
    let keys = "select string_agg(key, ',') from documents, jsonb_each(d) where jsonb_typeof(d) = 'object'";
    check(session, keys, "a");
}

#[test]
fn examples_of_aggregates_are_true() {
    let session = &mut session();
    for row in AGGREGATES {
        let (call, expected) = row.example;
        check(session, &format!("select {call} from numbers"), expected);
        check(session, &format!("select {call} from numbers group by true"), expected);
    }
}

#[test]
fn examples_of_composed_functions_are_true() {
    let session = &mut session();
    for composed in composed::all() {
        let (call, expected) = composed.example;
        if composed.is_aggregate {
            check(session, &format!("select {call} from numbers"), expected);
            if !call.contains("ORDER BY") {
                check(session, &format!("select distinct {call} over () from numbers"), expected);
            }
            let none = values(session, &format!("select {call} filter (where false) from numbers")).unwrap();
            assert!(none[0] == "NULL" || none[0] == "0", "{call}: {none:?}");
        } else {
            check(session, &format!("select {call}"), expected);
            check(session, &format!("select case when x = 1 then {call} end from numbers where x = 1"), expected);
        }
    }
}

#[test]
fn examples_of_lambdas_are_true() {
    let session = &mut session();
    for lambda in LAMBDAS {
        let (call, expected) = lambda.example;
        check(session, &format!("select {call}"), expected);
        check(session, &format!("select case when x = 1 then {call} end from numbers where x = 1"), expected);
    }
}

#[test]
fn examples_of_window_functions_are_true() {
    let session = &mut session();
    for row in WINDOWS {
        let (call, expected) = row.example;
        check_rows(session, &format!("select {call} from numbers order by x"), &expected);
    }
}

/// The reference of each aggregate and the code that runs give the same, also of nothing.
#[test]
fn references_of_aggregates_are_true() {
    let session = &mut session();
    for row in AGGREGATES.iter().filter(|row| !row.names.is_empty()) {
        let (call, _) = row.example;
        let nothing = if row.least_values == 0 { "0" } else { "NULL" };
        check(session, &format!("select {call} from numbers where x > 7"), nothing);
        let of_one = if row.least_values > 1 { "NULL".to_owned() } else { value_of_one(session, call) };
        check(session, &format!("select {call} from numbers where x = 4"), &of_one);
    }
}

fn value_of_one(session: &mut Session, call: &str) -> String {
    session.execute("set compile = off", &[]).unwrap();
    values(session, &format!("select {call} from (values (4)) as one(x)")).unwrap().remove(0)
}
