//! Statements end to end, on tables made by SQL.

use base::Result;
use engine::{Config, Database, Session};
use types::ops::cast::format_value;

fn session() -> Session {
    Database::new(Config { threads: Some(2), ..Config::default() }).unwrap().connect()
}

/// The rows of a query as text: values joined by `|`, rows sorted unless `ordered`.
fn run(session: &mut Session, sql: &str) -> Result<Vec<String>> {
    let result = session.execute(sql, &[])?;
    let types: Vec<_> = result.columns().iter().map(|c| c.sql_type).collect();
    let rows = result.rows()?;
    let text = |row: Vec<types::Value>| {
        let values: Vec<String> = row
            .iter()
            .zip(&types)
            .map(|(v, &t)| if v.is_null() { "NULL".into() } else { format_value(v, t) })
            .collect();
        values.join("|")
    };
    Ok(rows.into_iter().map(text).collect())
}

#[track_caller]
fn check(session: &mut Session, sql: &str, expected: &[&str]) {
    for compile in ["on", "off"] {
        session.execute(&format!("set compile = {compile}"), &[]).unwrap();
        let mut rows = run(session, sql).unwrap_or_else(|e| panic!("{sql}: {}", e.render(sql)));
        if !sql.contains("order by") {
            rows.sort();
        }
        assert_eq!(rows, expected, "{sql} (compile {compile})");
    }
}

#[test]
fn constants() {
    let s = &mut session();
    check(s, "select 1", &["1"]);
    check(s, "select 1 + 2 * 3, 'a' || 'b', null, true", &["7|ab|NULL|true"]);
    check(s, "values (1, 'x'), (2, null)", &["1|x", "2|NULL"]);
    check(s, "select date '1998-12-01' - interval '90' day", &["1998-09-02 00:00:00"]);
    check(s, "select 1 where false", &[]);
    check(s, "select round(0.70710678::double precision, 6), round(1234.5::double precision, -2)", &["0.707107|1200"]);
    check(s, "select 0.1 + 0.2, 10 / 4, 10.0 / 4, 7 % 3", &["0.3|2|2.5000000000000000|1"]);
}

fn with_tables() -> Session {
    let mut s = session();
    for sql in [
        "create table t (a integer not null, b text, c decimal(10,2))",
        "insert into t values (1, 'one', 1.50), (2, 'two', null), (3, null, 3.25), (2, 'zwei', 10)",
        "create table u (a integer, d date)",
        "insert into u values (2, date '2020-02-29'), (3, null), (null, date '2021-01-01'), (5, date '1999-12-31')",
    ] {
        s.execute(sql, &[]).unwrap_or_else(|e| panic!("{}", e.render(sql)));
    }
    s
}

#[test]
fn scans_and_filters() {
    let s = &mut with_tables();
    check(s, "select a from t where a > 1 and c is not null", &["2", "3"]);
    check(s, "select b from t where b like 't%' or b is null", &["NULL", "two"]);
    check(s, "select a, c * 2 from t where c between 1 and 4", &["1|3.00", "3|6.50"]);
    check(s, "select a, b from t order by a desc, b nulls first limit 2", &["3|NULL", "2|two"]);
    check(
        s,
        "select case when c > 2 then 'big' when c > 0 then 'small' end from t order by a, b",
        &["small", "NULL", "big", "big"],
    );
}

#[test]
fn joins() {
    let s = &mut with_tables();
    check(s, "select t.a, b, d from t join u on t.a = u.a", &["2|two|2020-02-29", "2|zwei|2020-02-29", "3|NULL|NULL"]);
    check(s, "select t.a, u.a from t left join u on t.a = u.a order by 1, 2", &["1|NULL", "2|2", "2|2", "3|3"]);
    check(
        s,
        "select t.a, u.a from t right join u on t.a = u.a order by 2, 1",
        &["2|2", "2|2", "3|3", "NULL|5", "NULL|NULL"],
    );
    check(
        s,
        "select t.a, u.a from t full join u on t.a = u.a and d is not null order by 1, 2",
        &["1|NULL", "2|2", "2|2", "3|NULL", "NULL|3", "NULL|5", "NULL|NULL"],
    );
    check(s, "select a from u where exists (select 1 from t where t.a = u.a)", &["2", "3"]);
    check(s, "select a from u where not exists (select 1 from t where t.a = u.a)", &["5", "NULL"]);
    check(s, "select a from t where a in (select a from u)", &["2", "2", "3"]);
    check(s, "select a from t where a not in (select a from u)", &[]);
    check(s, "select a from t where a not in (select a from u where a is not null)", &["1"]);
    check(
        s,
        "select a, (select max(d) from u where u.a = t.a) from t where a < 3",
        &["1|NULL", "2|2020-02-29", "2|2020-02-29"],
    );
    check(s, "select t.a, u.a from t, u where t.a < u.a and u.a < 4", &["1|2", "1|3", "2|3", "2|3"]);
}

#[test]
fn grouping() {
    let s = &mut with_tables();
    check(
        s,
        "select a, count(*), count(b), sum(c), avg(c) from t group by a order by a",
        &["1|1|1|1.50|1.5000000000000000", "2|2|2|10.00|10.0000000000000000", "3|1|0|3.25|3.2500000000000000"],
    );
    check(s, "select count(*), sum(t.a), min(b), max(b), min(d) from t, u where false", &["0|NULL|NULL|NULL|NULL"]);
    check(s, "select count(distinct a), count(*) from t", &["3|4"]);
    check(s, "select a from t group by a having count(*) > 1", &["2"]);
    check(s, "select distinct a from t", &["1", "2", "3"]);
    check(s, "select count(*) filter (where a > 1), sum(a) filter (where a > 5) from t", &["3|NULL"]);
    check(s, "select stddev(a), var_pop(a) from t", &["0.816496580927726|0.5"]);
}

#[test]
fn rows_without_columns_are_counted() {
    let s = &mut with_tables();
    // The common input of both aggregates is materialised without any column.
    check(s, "select count(distinct 'x') from (select a from t group by a) g having count(*) < 1", &[]);
    check(s, "select count(distinct 'x'), count(*) from (select a from t group by a) g", &["1|3"]);
    check(s, "select count(*) from (select 1 from t order by b limit 3) x", &["3"]);
}

#[test]
fn set_operations() {
    let s = &mut with_tables();
    check(s, "select a from t union all select a from u", &["1", "2", "2", "2", "3", "3", "5", "NULL"]);
    check(s, "select a from t union select a from u", &["1", "2", "3", "5", "NULL"]);
    check(s, "select a from t intersect select a from u", &["2", "3"]);
    check(s, "select a from t except select a from u", &["1"]);
    check(s, "select a from t except all select a from u", &["1", "2"]);
}

#[test]
fn errors_have_states_and_the_session_goes_on() {
    let s = &mut with_tables();
    for (sql, state) in [
        ("select x from t", "42703"),
        ("select 1 / 0", "22012"),
        ("select 1 / (a - a) from t", "22012"),
        ("select a + 2147483647 from t", "22003"),
        ("selec 1", "42601"),
        ("insert into t values (null, 'x', 1)", "23502"),
        ("select cast(b as integer) from t", "22P02"),
        ("select (select a from t)", "21000"),
        ("select * from nowhere", "42P01"),
        ("create table t (a integer)", "42P07"),
    ] {
        for compile in ["on", "off"] {
            s.execute(&format!("set compile = {compile}"), &[]).unwrap();
            let error = run(s, sql).expect_err(sql);
            assert_eq!(error.state().0, state, "{sql}: {error}");
        }
    }
    check(s, "select count(*) from t", &["4"]);
}

#[test]
fn a_common_table_expression_is_read_twice() {
    let s = &mut with_tables();
    check(
        s,
        "with x as (select a, count(*) as n from t group by a) select x.a, y.n from x join x y on x.a = y.n order by 1",
        &["1|1", "1|1", "2|2"],
    );
}

#[test]
fn assignments_check_lengths() {
    let s = &mut session();
    s.execute("create table v (a varchar(3), b char(3))", &[]).unwrap();
    s.execute("insert into v select x, x from (values ('abc'), ('a  '), ('é')) as t (x)", &[]).unwrap();
    check(s, "select a, length(b), b = 'a' from v", &["a  |1|true", "abc|3|false", "é|1|false"]);
    let error = run(s, "insert into v select x, 'a' from (values ('abcd')) as t (x)").unwrap_err();
    assert_eq!(error.state().0, "22001", "{error:?}");
    check(s, "select count(*) from v", &["3"]);
}

#[test]
fn primary_keys_and_defaults() {
    let s = &mut session();
    s.execute("create table k (id integer primary key, n integer default 7)", &[]).unwrap();
    s.execute("insert into k (id) values (1), (2)", &[]).unwrap();
    assert_eq!(run(s, "insert into k values (3, 1), (1, 2)").unwrap_err().state().0, "23505");
    check(s, "select id, n from k", &["1|7", "2|7"]);
}

#[test]
fn rows_that_are_refused_are_shown() {
    let s = &mut session();
    let long = "a".repeat(70);
    s.execute("create schema x", &[]).unwrap();
    s.execute(
        "create table x.c (a integer not null check (a > 0), b text, d integer generated always as (a + 1) stored)",
        &[],
    )
    .unwrap();
    let error = run(s, &format!("insert into x.c values (0, '{long}')")).unwrap_err();
    assert_eq!(error.message(), "new row for relation \"c\" violates check constraint \"c_a_check\"");
    let detail = format!("Failing row contains (0, {}..., 1).", "a".repeat(64));
    assert_eq!((error.state().0, error.get_detail()), ("23514", Some(detail.as_str())));
    let error = run(s, "insert into x.c (b) values ('x')").unwrap_err();
    assert_eq!((error.state().0, error.get_detail()), ("23502", Some("Failing row contains (null, x, null).")));
    // A file's rows are asked as well, and fill no column that is computed.
    let path = std::env::temp_dir().join(format!("morsel-checked-{}.csv", std::process::id()));
    std::fs::write(&path, "3,x\n4,y\n").unwrap();
    run(s, &format!("copy x.c from '{}'", path.display())).unwrap();
    check(s, "select * from x.c", &["3|x|4", "4|y|5"]);
    std::fs::write(&path, "3,x\n0,y\n").unwrap();
    let error = run(s, &format!("copy x.c from '{}'", path.display())).unwrap_err();
    assert_eq!(error.state().0, "23514");
    let error = run(s, &format!("copy x.c (a, d) from '{}'", path.display())).unwrap_err();
    assert_eq!(error.state().0, "42P10");
    std::fs::remove_file(path).unwrap();
    check(s, "select count(*) from x.c", &["2"]);
}

#[test]
fn parameters_are_as_many_as_placeholders() {
    let s = &mut session();
    let one = (types::Value::Int(1), types::SqlType::Integer);
    for (sql, given, state) in [("select $1", 2, "08P01"), ("select 1", 1, "08P01"), ("select $2", 1, "42P02")] {
        let error = s.execute(sql, &vec![one.clone(); given]).unwrap_err();
        assert_eq!(error.state().to_string(), state, "{sql}");
    }
    assert!(s.execute("with w as (select $1) select 1", &[one]).is_ok());
}

/// Functions of that length are compiled in another way than short ones.
#[test]
fn hundreds_of_aggregates_are_computed_each() {
    let mut session = session();
    const COLUMNS: i64 = 400;
    let list = |of: &dyn Fn(i64) -> String| (0..COLUMNS).map(of).collect::<Vec<_>>().join(", ");
    let values = list(&|c| format!("i * {} + {c} AS c{c}", c % 7));
    session
        .execute(&format!("CREATE TABLE wide AS SELECT i, {values} FROM generate_series(1, 3000) AS g(i)"), &[])
        .unwrap();
    let aggregates = list(&|c| format!("sum(c{c} + i), max(c{c} - i)"));
    let sum = |least: i64, step: i64, c: i64| {
        let all = (least..=3000).step_by(step as usize);
        let (sum, most) =
            (all.clone().map(|i| i * (c % 7) + c + i).sum::<i64>(), all.map(|i| i * (c % 7) + c - i).max());
        format!("{sum}|{}", most.unwrap())
    };
    let rows = run(&mut session, &format!("SELECT {aggregates} FROM wide")).unwrap();
    assert_eq!(rows, [(0..COLUMNS).map(|c| sum(1, 1, c)).collect::<Vec<_>>().join("|")]);
    let grouped = format!("SELECT {aggregates} FROM wide GROUP BY i % 3 ORDER BY i % 3");
    let rows = run(&mut session, &grouped).unwrap();
    let wanted = |least| (0..COLUMNS).map(|c| sum(least, 3, c)).collect::<Vec<_>>().join("|");
    assert_eq!(rows, [wanted(3), wanted(1), wanted(2)]);
}
