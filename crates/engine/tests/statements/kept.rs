//! Kept plans: a statement has the same rows, errors and positions with and without them.

use engine::rows::text_rows;
use engine::{Config, Database, Session};
use types::{SqlType, Value};

fn database() -> Database {
    Database::new(Config { threads: Some(2), ..Config::default() }).unwrap()
}

fn run(session: &mut Session, sql: &str) {
    session.execute(sql, &[]).and_then(|r| r.collect()).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// Rows, or SQLSTATE, message and position.
fn outcome(session: &mut Session, sql: &str, parameters: &[(Value, SqlType)]) -> String {
    match session.execute(sql, parameters).and_then(text_rows) {
        Ok(rows) => format!("{rows:?}"),
        Err(e) => format!("{} {} {:?}", e.state(), e.message(), e.position()),
    }
}

/// A session that keeps plans, and one that does not.
fn pair(setup: &[&str]) -> (Session, Session) {
    let database = database();
    let (mut keeps, mut plans) = (database.connect(), database.connect());
    setup.iter().for_each(|sql| run(&mut keeps, sql));
    // Who says how plans are to be made has them made.
    run(&mut plans, "set compile = on");
    (keeps, plans)
}

const TABLE: &str = "create table t (i integer, b bigint, s smallint, d decimal(8, 2), f double precision, r real, \
     x text, v varchar(5), c char(5), day date, at timestamp, ok boolean)";
const ROWS: &str = "insert into t values \
     (1, 10, 1, 1.50, 0.5, 0.5, 'one', 'one', 'one', '2020-01-01', '2020-01-01 10:00:00', true), \
     (2, 20, 2, 2.00, 1e300, 1.5, 'it''s', 'two', 'two', '2020-02-01', '2020-02-01 00:00:00', false), \
     (-3, 3000000000, -3, -3.25, -0.0, 0.1, 'drei', 'three', 'three', '2021-01-01', '2021-01-01 10:00:00', true), \
     (null, null, null, null, null, null, null, null, null, null, null, null)";

#[test]
fn values_of_every_kind_are_compared_as_if_planned_anew() {
    let (mut keeps, mut plans) = pair(&[TABLE, ROWS]);
    let columns = ["i", "b", "s", "d", "f", "r", "x", "v", "c", "day", "at", "ok", "i + 1", "t.i"];
    let literals = [
        "1",
        "2",
        "3",
        "0",
        "-3",
        "32767",
        "32768",
        "99999",
        "3000000000",
        "99999999999999999999",
        "1.5",
        "1.50",
        "2.0",
        "2.00",
        "0.1",
        "123456.78",
        "1234567.89",
        "1.555",
        "'1'",
        "'one'",
        "'it''s'",
        "'two  '",
        "'three'",
        "'a longer text than the others'",
        "''",
        "'2020-01-01'",
        "'2020-02-01 00:00:00'",
        "'tomorrow-ish'",
        "'t'",
        "null",
        "1e2",
        "'1.5'",
        "'x'",
    ];
    for op in ["=", "<>", "<", ">="] {
        for column in columns {
            for literal in literals {
                for sql in [
                    format!("select i, d from t where {column} {op} {literal}"),
                    format!("select count(*) from t where {literal} {op} {column} or i is null"),
                ] {
                    assert_eq!(outcome(&mut keeps, &sql, &[]), outcome(&mut plans, &sql, &[]), "{sql}");
                }
            }
        }
    }
}

#[test]
fn literals_that_are_no_arguments_keep_statements_apart() {
    let (mut keeps, mut plans) = pair(&[TABLE, ROWS]);
    for n in ["1", "2", "3"] {
        for sql in [
            format!("select i from t order by i desc limit {n}"),
            format!("select i, b from t order by {n}"),
            format!("select {n}, i from t where i = {n}"),
            format!("select -i * {n} from t where i > -{n}"),
            format!("select i from t where i = 5 % {n} or i between {n} and 2"),
            format!("select i from t where i in ({n}, 2) and b > {n}"),
            format!("select i from t where i in ({n}, null, 9999999999) or d in ({n}, {n}.5, 1.555)"),
            format!("select i, i in ({n}, 2), x not in ('one', 'two{n}') from t where r in ({n}, 0.5)"),
            format!("select i from t where f in ({n}, {n}.5) or s in ({n}, 70000) or b not in ({n}0, 5)"),
            format!("select a.i from t a join t b on a.i = b.i where a.b in ({n}0, 20)"),
            format!("select i > {n}, count(*) from t group by i > {n} order by 1"),
            format!("select substr(x, {n}) from t where x like '%{n}%' or x = 'one'"),
            format!("select i from t where (select max(i) from t where i < {n}) = i"),
            format!("select a.i from t a join t b on a.i = b.i where a.b = {n}0"),
            format!("select date '2020-01-0{n}' - day from t where day = '2020-01-0{n}'"),
            format!("select i / (i - {n}) from t where b < 5{n}"),
            format!("with w as (select i from t where i >= {n}) select * from w where i <= {n}"),
            format!("values ({n}), (2)"),
            format!("select {n} + 41"),
        ] {
            for _ in 0..2 {
                assert_eq!(outcome(&mut keeps, &sql, &[]), outcome(&mut plans, &sql, &[]), "{sql}");
            }
        }
    }
}

#[test]
fn errors_are_where_this_text_has_them() {
    let (mut keeps, mut plans) = pair(&[TABLE, ROWS]);
    for number in ["10", "2000", "3000000000"] {
        let sql = format!("select i from t where b = {number} or i / (i - i) = 1");
        assert_eq!(outcome(&mut keeps, &sql, &[]), outcome(&mut plans, &sql, &[]), "{sql}");
        let sql = format!("select i from t where x = 'u{number}' or i + 2147483647 > {number} and d > 1");
        assert_eq!(outcome(&mut keeps, &sql, &[]), outcome(&mut plans, &sql, &[]), "{sql}");
    }
}

#[test]
fn a_plan_ends_with_what_it_rests_on() {
    let (mut keeps, mut plans) = pair(&["create table t (a integer, b integer)", "insert into t values (1, 1)"]);
    let sql = "select a + b, b is null from t where a = 1 order by 1, 2";
    let mut check = |change: &str| {
        run(&mut keeps, change);
        for _ in 0..2 {
            assert_eq!(outcome(&mut keeps, sql, &[]), outcome(&mut plans, sql, &[]), "{change}");
        }
    };
    check("select 1");
    // The code knew that there was no NULL, and that numbers were small.
    check("insert into t values (1, null)");
    check("insert into t values (1, 2147483647)");
    check("drop table t");
    check("create table t (a text, b integer)");
    check("insert into t values ('1', 5)");
    check("create or replace view v as select * from t");
    check("drop view v");
    check("drop table t");
    check("create view t as select 1 a, 2 b");
}

#[test]
fn inserts_leave_plans_as_they_are() {
    let (mut keeps, mut plans) = pair(&["create table t (a integer primary key, b integer, x text)"]);
    let insert = |from: i32, to: i32| {
        let rows: Vec<String> = (from..=to).map(|i| format!("({i}, {}, 'x{i}')", i % 7)).collect();
        format!("insert into t values {}", rows.join(", "))
    };
    run(&mut keeps, &insert(1, 600));
    let query = |n: i32| format!("select b + {n}, x from t where a = {n}");
    outcome(&mut keeps, "select b, x from t where a = 0", &[]);
    let before = keeps.database().runs_of_kept_plans();
    for n in 601..=900 {
        run(&mut keeps, &format!("insert into t values ({n}, 5, 'new')"));
        let sql = format!("select b, x from t where a = {n}");
        assert_eq!(outcome(&mut keeps, &sql, &[]), "[[\"5\", \"new\"]]", "{sql}");
    }
    let kept = keeps.database().runs_of_kept_plans() - before;
    // Queries, and all inserts but the first.
    assert_eq!(kept, 300 + 299);
    // What the code took for granted is checked: the first of these are beyond the bounds, the last is NULL.
    for values in ["(1000000, 2147483647, 'a')", "(-5, -2147483648, 'b')", "(7777777, null, 'c')"] {
        run(&mut keeps, &format!("insert into t values {values}"));
        for sql in [query(1_000_000), query(-5), query(7_777_777), "select sum(b), count(b), count(*) from t".into()] {
            assert_eq!(outcome(&mut keeps, &sql, &[]), outcome(&mut plans, &sql, &[]), "{sql} after {values}");
        }
    }
    // Many more rows are planned for.
    let sql = "select count(*), sum(a) from t where b < 5";
    outcome(&mut keeps, sql, &[]);
    run(&mut keeps, &insert(10_000, 20_000));
    let before = keeps.database().runs_of_kept_plans();
    assert_eq!(outcome(&mut keeps, sql, &[]), outcome(&mut plans, sql, &[]));
    assert_eq!(keeps.database().runs_of_kept_plans(), before);
    outcome(&mut keeps, sql, &[]);
    assert_eq!(keeps.database().runs_of_kept_plans(), before + 1);
}

#[test]
fn who_wants_a_plan_each_time_gets_it() {
    let (mut session, _) = pair(&["create table t (i integer primary key)", "insert into t values (1), (2)"]);
    let mut runs = |mode: &str| {
        run(&mut session, &format!("set plan_cache_mode = {mode}"));
        let before = session.database().runs_of_kept_plans();
        (0..3).for_each(|_| run(&mut session, "select i from t where i = 2"));
        session.database().runs_of_kept_plans() - before
    };
    assert_eq!([runs("force_custom_plan"), runs("auto"), runs("force_custom_plan")], [0, 2, 0]);
    assert_eq!(runs("force_generic_plan"), 3);
}

#[test]
fn an_empty_table_is_filled() {
    let (mut keeps, mut plans) = pair(&["create table t (a integer, b integer)"]);
    for n in [1, 2, -3, 70000, 2_147_483_647] {
        for sql in ["select a + 1, b * 2, b is null from t order by 1, 2", "select a from t where a in (1, 2, 5)"] {
            assert_eq!(outcome(&mut keeps, sql, &[]), outcome(&mut plans, sql, &[]), "{sql}");
        }
        run(&mut keeps, &format!("insert into t values ({n}, nullif({n}, -3))"));
    }
}

#[test]
fn point_queries_with_new_literals_are_not_planned() {
    let rows: Vec<String> =
        (1..=900).map(|i| format!("({i}, {i}.25, 'x{i}', 'v{i}', date '2020-01-01' + {i})")).collect();
    let (mut keeps, mut plans) = pair(&[
        "create table t (i integer primary key, d decimal(8, 2), x text, v varchar(9), day date)",
        &format!("insert into t values {}", rows.join(", ")),
    ]);
    type Query = (&'static str, fn(i32) -> String);
    let queries: [Query; 9] = [
        ("equality", |n| format!("select * from t where i = {n}")),
        ("between", |n| format!("select * from t where i between {n} and {}", n + 2)),
        ("in", |n| format!("select * from t where i in ({n}, {}, 5)", n * 2)),
        ("not in", |n| format!("select count(*) from t where i not in ({n}, {})", n + 1)),
        ("text", |n| format!("select * from t where x = 'x{n}'")),
        ("texts", |n| format!("select * from t where v in ('v{n}', 'nobody', 'v{}')", n + 1)),
        ("decimal", |n| format!("select * from t where d = {n}.25 or d in ({n}.75, {}.25)", n + 3)),
        ("date", |n| format!("select * from t where day >= '2020-03-{}' and i < {n}", 10 + n % 20)),
        ("two", |n| format!("select x from t where i = {n} and x = 'x{n}'")),
    ];
    for (name, query) in queries {
        outcome(&mut keeps, &query(0), &[]);
        let before = keeps.database().runs_of_kept_plans();
        for n in 1..=100 {
            let sql = query(n);
            assert_eq!(outcome(&mut keeps, &sql, &[]), outcome(&mut plans, &sql, &[]), "{sql}");
        }
        assert_eq!(keeps.database().runs_of_kept_plans() - before, 100, "{name}");
    }
}

#[test]
fn a_view_has_literals_of_its_own() {
    let (mut keeps, mut plans) = pair(&[TABLE, ROWS, "create view v as select * from t where i = 1"]);
    // The literal of the statement is where that of the view is in its text.
    for n in [1, 2, 7] {
        let sql = format!("select * from v where b in ({n}0, 77) or i = {n}");
        assert_eq!(outcome(&mut keeps, &sql, &[]), outcome(&mut plans, &sql, &[]), "{sql}");
        let sql = format!("select *, 1 from v where b = {n}");
        assert_eq!(outcome(&mut keeps, &sql, &[]), outcome(&mut plans, &sql, &[]), "{sql}");
    }
}

#[test]
fn parameters_are_arguments_too() {
    let (mut keeps, mut plans) = pair(&[TABLE, ROWS]);
    let values = [
        (Value::Int(1), SqlType::Integer),
        (Value::Int(2), SqlType::Integer),
        (Value::Int(3_000_000_000), SqlType::BigInt),
        (Value::Float(1.5), SqlType::Double),
        (Value::str("2"), SqlType::Text),
        (Value::str("two"), SqlType::Text),
        (Value::Null, SqlType::Integer),
        (Value::Decimal(150), SqlType::decimal(5, 2)),
    ];
    for sql in ["select i from t where i = $1", "select i from t where d >= ?", "select $1, i from t where b <> $1"] {
        for value in values.iter().chain(&values) {
            let parameters = std::slice::from_ref(value);
            assert_eq!(
                outcome(&mut keeps, sql, parameters),
                outcome(&mut plans, sql, parameters),
                "{sql} with {parameters:?}"
            );
        }
    }
    assert_eq!(
        outcome(&mut keeps, "select i from t where i = $1", &[]),
        outcome(&mut plans, "select i from t where i = $1", &[])
    );
}

#[test]
fn limits_are_arguments_too() {
    let (mut keeps, mut plans) = pair(&[
        "create table t (i integer primary key, k integer, x text)",
        "create index t_i on t (i)",
        "create index t_k on t (k, i)",
        "insert into t select i, i % 100, 'x' || i from generate_series(1, 5000) as g(i)",
        "create view five as select * from t where k = 7 order by i limit 5",
    ]);
    // The number of times, of 20, that a plan is known.
    let queries = [
        ("select i, x from t where i >= $1 order by i limit $2", 8),
        ("select i, x from t where i >= $1 order by i limit $2 offset $3", 8),
        ("select x from t where k = $1 order by i desc limit $2 offset $3", 8),
        ("select k, i + 1 from t where k = $1 and i > $2 order by i limit 20 offset $3", 8),
        ("select k, i + 1 from t where k = $1 order by i fetch first $2 rows only", 0),
        ("select i from (select i from t where k = $1 order by i limit 10) s order by i limit $2", 0),
        ("select i from (select i from t where k = $1 order by i limit $2) s order by i limit 10", 0),
        ("with unused as (select i from t limit $2) select i from t where k = $1 order by i limit 10", 0),
        ("select i from five where i >= $1 order by i limit $2", 0),
        ("select count(*) from (select i from t where k = $1 limit $2) s", 0),
        ("select exists (select from t where k = $1 limit $2)", 0),
        ("select i from t where k = $1 and i in (select i from t where k = $1 order by i limit $2) order by i", 0),
        ("select i from t where i = $1 limit $2", 0),
        ("select i, (select count(*) from five) from t where k = $1 order by i limit $2", 0),
    ];
    let int = |n: i64| (Value::Int(n), SqlType::Integer);
    for (sql, known) in queries {
        let begin = keeps.database().runs_of_kept_plans();
        for (n, limit, offset) in (0..)
            .zip([3, 5, 2, 10, 7, 1, 0, 200, 2000, 4, -1, 9, 6, 100, 8, 3, 2, 1, 0, 50])
            .map(|(n, limit)| (n, limit, [3, 1, 4, 0, 2, 60][n as usize % 6]))
        {
            let all = [int(1 + 2 * n), int(limit), int(offset)];
            let parameters = &all[..if sql.contains("$3") { 3 } else { 2 }];
            let kept = outcome(&mut keeps, sql, parameters);
            assert_eq!(kept, outcome(&mut plans, sql, parameters), "{sql} with {parameters:?}");
        }
        let runs = keeps.database().runs_of_kept_plans() - begin;
        assert!(runs >= known, "{sql}: {runs}");
    }
    for (limit, sql_type) in [
        (Value::Int(4), SqlType::BigInt),
        (Value::Null, SqlType::BigInt),
        (Value::str("3"), SqlType::Text),
        (Value::str("x"), SqlType::Text),
        (Value::Decimal(25), SqlType::decimal(3, 1)),
        (Value::Int(i64::MAX), SqlType::BigInt),
    ] {
        let parameters = [int(4000), (limit, sql_type)];
        for sql in [queries[0].0, queries[9].0] {
            assert_eq!(outcome(&mut keeps, sql, &parameters), outcome(&mut plans, sql, &parameters), "{parameters:?}");
        }
    }
}

#[test]
fn the_time_stands_still_in_no_plan() {
    let mut session = database().connect();
    let first = outcome(&mut session, "select current_timestamp", &[]);
    std::thread::sleep(std::time::Duration::from_millis(2));
    assert_ne!(first, outcome(&mut session, "select current_timestamp", &[]));
}

/// What `execute_at_once` comes to: rows; none if it was not for it.
fn at_once(session: &mut Session, sql: &str, parameters: &[(Value, SqlType)]) -> Option<String> {
    let call = session.interrupt_handle().begin();
    let result = session.execute_at_once(&call, sql, parameters)?;
    Some(format!("{:?}", result.and_then(text_rows).map_err(|e| e.state().to_string())))
}

#[test]
fn what_takes_microseconds_is_run_at_once_when_it_comes_again() {
    let (mut session, _) = pair(&["create table t (i integer primary key, x text)"]);
    run(&mut session, "create index t_x on t (x)");
    run(&mut session, "insert into t select i, 'x' from generate_series(1, 3000) as g(i)");
    let known = "select i from t where i = 5;";
    assert_eq!(at_once(&mut session, known, &[]), None);
    session.run_script(known, |_, result| result.collect().map(drop)).unwrap();
    assert_eq!(at_once(&mut session, known, &[]).unwrap(), "Ok([[\"5\"]])");
    assert_eq!(at_once(&mut session, "select i from t where i = 7;", &[]).unwrap(), "Ok([[\"7\"]])");
    assert_eq!(at_once(&mut session, "select i from t where i = 7; select 1", &[]), None);
    let (insert, one) = ("insert into t values ($1, 'y')", |i| [(Value::Int(i), SqlType::Integer)]);
    session.execute(insert, &one(4000)).unwrap();
    assert!(at_once(&mut session, insert, &one(4001)).is_some());
    // It fails the long way, which tells why; of each, the history has one.
    assert_eq!(at_once(&mut session, insert, &one(4001)), None);
    assert_eq!(session.execute(insert, &one(4001)).map(|_| ()).unwrap_err().state().to_string(), "23505");
    // More rows than a few: it begins, gives up, and is executed.
    let many = "select count(*) from t where x = $1";
    let text = |x: &str| [(Value::str(x), SqlType::Text)];
    assert_eq!(outcome(&mut session, many, &text("y")), "[[\"2\"]]");
    assert_eq!(at_once(&mut session, many, &text("x")), None);
    assert_eq!(outcome(&mut session, many, &text("x")), "[[\"3000\"]]");
    let history = "select count(*) from query_history() where query like 'select count(*) from t%'";
    assert_eq!(outcome(&mut session, history, &[]), "[[\"2\"]]");
}

#[test]
fn rows_in_the_places_of_others_may_be_what_these_were_not() {
    let (mut session, _) = pair(&["create table t (k integer, x integer)"]);
    let all = "select k, x from t";
    run(&mut session, "insert into t select i, 7 from generate_series(1, 2) as g(i)");
    for _ in 0..2 {
        assert_eq!(outcome(&mut session, all, &[]), r#"[["1", "7"], ["2", "7"]]"#);
    }
    run(&mut session, "delete from t");
    run(&mut session, "insert into t values (3, null)");
    assert_eq!(outcome(&mut session, all, &[]), r#"[["3", "NULL"]]"#);
    // The same of rows that are rolled back, within a transaction that sees its own.
    run(&mut session, "create table u as select 1 as k, 7 as x");
    let all = "select k, x from u";
    run(&mut session, "begin");
    run(&mut session, "insert into u values (2, 8), (3, 9)");
    for _ in 0..3 {
        assert_eq!(outcome(&mut session, all, &[]), r#"[["1", "7"], ["2", "8"], ["3", "9"]]"#);
    }
    run(&mut session, "rollback");
    run(&mut session, "insert into u values (4, null), (5, 1000000)");
    assert_eq!(outcome(&mut session, all, &[]), r#"[["1", "7"], ["4", "NULL"], ["5", "1000000"]]"#);
}
