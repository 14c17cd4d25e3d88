//! Statements that are wrong: SQLSTATE and the text that the position points at.

mod common;

use common::bind_sql;

/// (statement, SQLSTATE, what stands at the position; empty: the end, `-`: no position)
const ERRORS: &[(&str, &str, &str)] = &[
    ("selec 1", "42601", "selec"),
    ("select 1 frm t where x", "42601", "t where"),
    ("select (1", "42601", ""),
    ("select 'abc", "42601", "'abc"),
    ("select a, , from t", "42601", ", from"),
    ("", "42601", "-"),
    ("select 1; select 2", "42601", "select 2"),
    ("select nope from t", "42703", "nope"),
    ("select t.nope from t", "42703", "t.nope"),
    ("select x.a from t", "42P01", "x.a"),
    ("select a from t, u", "42702", "a from"),
    ("select 1 from nowhere", "42P01", "nowhere"),
    ("select 1 from t, t", "42712", "t"),
    ("select 1 from 'missing.csv'", "58P01", "-"),
    ("select a from t where sum(a) > 1", "42803", "sum"),
    ("select sum(sum(a)) from t", "42803", "sum(a))"),
    ("select a, sum(b) from t", "42803", "a, sum"),
    ("select (select max(u.a) from u where u.c = t.b) from t group by t.a", "42803", "t.b"),
    ("select a from t order by 2", "42P10", "2"),
    ("select a from t group by 2", "42P10", "2"),
    ("select distinct a from t order by b", "42P10", "b"),
    ("select a from t where d >= '1995-13-01'", "22008", "'1995"),
    ("select date 'today is nice'", "22007", "'today"),
    ("select a from t where d = 5", "42883", "d = 5"),
    ("select a from t where a", "42804", "a"),
    ("select s + 1 from t", "42883", "s + 1"),
    ("select -s from t", "42883", "s from"),
    ("select lenght(s) from t", "42883", "lenght"),
    ("select length(a) from t", "42883", "length"),
    ("select sum(s) from t", "42883", "sum"),
    ("select case when ok then a else s end from t", "42804", "s end"),
    ("select a from t union select s from t", "42804", "-"),
    ("select a from t union select a, b from t", "42601", "-"),
    ("select (select a, b from t)", "42601", "select a, b"),
    ("select a in (select a, b from t) from t", "42601", "a in"),
    ("select cast(d as integer) from t", "42846", "d as"),
    ("select cast(a as nonsense) from t", "42704", "a as"),
    ("select a::decimal(1001,2) from t", "22023", "a::"),
    ("select 'x'::integer", "22P02", "'x'"),
    ("select sum(a) over w from t", "42704", "w from"),
    ("select a from t where rank() over () = 1", "42P20", "rank"),
    ("with recursive r as (select a from r) select * from r", "42P19", "-"),
    ("with recursive r as (select 1 union all select x.* from r x, r y) select * from r", "42P19", "r y"),
    ("with recursive r(a) as (select 1 union all select a + 0.5 from r) select * from r", "42804", "-"),
    ("with recursive r as (select 1 union all select * from s), s as (select * from r) select 1", "0A000", "r as"),
    ("select distinct on (a) a from t order by b", "42P10", "a) a"),
    ("update t set nope = 1", "42703", "nope"),
    ("update t set a = 1, a = 2", "42601", "a = 2"),
    ("delete from t where nope = 1", "42703", "nope"),
    ("lock table nope", "42P01", "nope"),
    ("select $1", "42P02", "$1"),
    ("select a from t limit -1", "2201W", "1"),
    ("select a from t limit a", "42703", "a"),
    ("select extract(fortnight from d) from t", "22023", "d)"),
    ("select * from t join u", "42601", "-"),
    ("select * from t join u using (zz)", "42703", "zz"),
    ("select * exclude (zz) from t", "42703", "zz"),
    ("insert into t (a, zz) values (1, 2)", "42703", "zz"),
    ("insert into t (a, a) values (1, 2)", "42701", "a) values"),
    ("insert into t (a) values (1, 2)", "42601", "2)"),
    ("insert into t (a) values ('x')", "22P02", "'x'"),
    ("insert into t (a) select s from t", "42804", "-"),
    ("insert into big values (1)", "0A000", "big"),
    ("insert into u (v) values ('too long')", "22001", "'too"),
    ("create table n (a int, a int)", "42701", "a int)"),
    ("create table n (a int primary key, b int primary key)", "42P16", "n ("),
    ("create table n (a point)", "42704", "a point"),
    ("create view n as select nope from t", "42703", "nope"),
    ("values (1, 2), (3)", "42601", "(3)"),
    ("values (1), ('a')", "22P02", "'a'"),
    ("select * from endless", "54001", "endless"),
    ("select * from broken", "42703", "broken"),
    ("select 1 as x from t having b > 1", "42803", "b > 1"),
    ("select a like 5 from t", "42883", "a like"),
    ("select 9e999", "22003", "9e999"),
    ("with a as (select 1), a as (select 2) select 1", "42712", "a as (select 2"),
    ("with q as (select nope) select 1", "42703", "nope"),
    ("copy t (zz) from 'x.csv'", "42703", "zz"),
    ("copy nowhere to 'x.csv'", "42P01", "nowhere"),
    ("select count(distinct *) from t", "42601", "count"),
];

#[test]
fn errors_have_states_and_positions() {
    let mut wrong = Vec::new();
    for &(sql, state, near) in ERRORS {
        let Err(error) = bind_sql(sql) else {
            wrong.push(format!("{sql}: no error"));
            continue;
        };
        let at = error.position().map(|p| &sql[p as usize..]);
        let right = match (near, at) {
            ("-", at) => at.is_none(),
            ("", at) => at == Some(""),
            (near, Some(at)) => at.starts_with(near),
            _ => false,
        };
        if error.state().0 != state || !right {
            wrong.push(format!("{sql}\n    expected {state} at {near:?}, got {error:?} at {at:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn hints_name_what_was_meant() {
    let hint = |sql: &str| bind_sql(sql).unwrap_err().get_hint().unwrap_or("").to_owned();
    assert!(hint("select l_quantty from lineitem").contains("l_quantity"));
    assert!(hint("select * from lineitm").contains("lineitem"));
    assert!(hint("select lenght(s) from t").contains("length"));
    assert!(hint("select tt.a from t").contains("\"t\""));
    assert!(hint("slect 1").contains("SELECT"));
    assert!(hint("select a,, from t").contains("comma"));
}

#[test]
fn deep_and_long_texts_are_refused() {
    let nested =
        |open: &str, inner: &str, close: &str, n: usize| format!("select {}{inner}{}", open.repeat(n), close.repeat(n));
    for sql in [
        nested("(", "1", ")", 5_000),
        nested("abs(", "1", ")", 5_000),
        nested("(select ", "1", ")", 5_000),
        nested("case when true then ", "1", " end", 5_000),
        nested("- ", "1", "", 5_000),
        nested("not ", "true", "", 5_000),
        nested("", "1", " + 1", 50_000),
        nested("", "1", " + 1", 4_000),
        nested("", "true", " and true", 50_000),
        nested("", "1", "::int", 5_000),
        nested("", "1", " is null", 5_000),
        nested("", "1", " union all select 1", 5_000),
        nested("", "1", "[1]", 5_000),
        format!("select 1 from t {}", "cross join t ".repeat(1_000)),
        format!("select * from {}t{}", "(".repeat(5_000), ")".repeat(5_000)),
        format!("select * from {}t{}", "(select * from ".repeat(5_000), ")".repeat(5_000)),
    ] {
        let error = bind_sql(&sql).unwrap_err();
        assert!(matches!(error.state().0, "54001" | "54000" | "42601" | "42804"), "{}: {error:?}", &sql[..40]);
    }
    // Nesting is called that, wherever the parser notices it.
    for (open, inner, close) in [
        ("case when true then ", "1", " end"),
        ("case when 1 = ", "1", " then 1 end"),
        ("abs(case when true then (select ", "1", ") end)"),
        ("(", "1", ")"),
    ] {
        assert_eq!(bind_sql(&nested(open, inner, close, 201)).unwrap_err().state().0, "54001", "{open}");
    }
    // Operands are bound once, however often they are read.
    let mut between = "1".to_owned();
    for _ in 0..25 {
        between = format!("(({between}) between 0 and 1)::int");
    }
    assert!(bind_sql(&format!("select {between}")).is_ok());
    for sql in [
        nested("", "true", " or true", 4_000),
        nested("", "1", " + 1", 900),
        nested("(", "1", ")", 200),
        nested("case when true then ", "1", " end", 200),
        nested("case when 1 = ", "1", " then 1 end", 200),
        nested("abs(", "1", ")", 200),
        nested("(select ", "1", ")", 200),
        nested("", "1", " union all select 1", 900),
        format!("select 1 in ({})", vec!["1"; 20_000].join(",")),
        format!("values {}", vec!["(1, 'a')"; 5_000].join(",")),
    ] {
        bind_sql(&sql).unwrap_or_else(|e| panic!("{}: {e:?}", &sql[..40]));
    }
}

#[test]
fn binding_ends_when_the_statement_is_cancelled() {
    let cancel = base::CancelToken::new();
    let _working = base::statement::work_for(&base::Budget::new(usize::MAX), &cancel);
    assert!(bind_sql("select a + 1 from t").is_ok());
    cancel.cancel();
    assert_eq!(bind_sql("select a + 1 from t").unwrap_err().state().0, "57014");
}
