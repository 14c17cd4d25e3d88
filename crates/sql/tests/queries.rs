//! Queries that bind: the types of their results, and what their plans say.

mod common;

use catalog::Filling;
use common::{bind_sql, bind_with, output, plan};
use sql::{Copy, CopyTarget, ExplainStage, Statement};
use types::{SqlType, Value};

/// (query, names and types of its columns, `?` where NULL is possible)
const OUTPUTS: &[(&str, &str)] = &[
    (
        "select 1, 3000000000, 1.50, 1e3, 'x', null, true",
        "?column? integer; ?column? bigint; ?column? decimal(3,2); \
      ?column? decimal(4,0); ?column? text; ?column? ?text; ?column? boolean",
    ),
    ("select 99999999999999999999", "?column? decimal(38,0)"),
    ("select -9223372036854775808, -1.5, - 2", "?column? bigint; ?column? decimal(2,1); ?column? integer"),
    (
        "select a + 1, a + b, a / 2, a * 1.5, a + f from t",
        "?column? integer; ?column? ?bigint; ?column? integer; \
      ?column? decimal(12,1); ?column? ?double",
    ),
    (
        "select x + 1, x * x, x / 3, -x, x % 2 from t",
        "?column? ?decimal(11,2); ?column? ?decimal(20,4); \
      ?column? ?decimal(38,16); ?column? ?decimal(10,2); ?column? ?decimal(10,2)",
    ),
    (
        "select d + 1, d - d, d - interval '1 day', ts - d from t, u",
        "?column? ?date; ?column? ?integer; \
      ?column? ?timestamp; ?column? ?interval",
    ),
    ("select date '2020-02-29' + interval '1' year", "?column? timestamp"),
    (
        "select k + 1, k + k, r + 1, r + r from u",
        "?column? ?integer; ?column? ?smallint; ?column? ?double; ?column? ?real",
    ),
    ("select s || 'x', 'a' || a, concat(s, a, null) from t", "?column? ?text; ?column? text; concat text"),
    ("select * from t", "a integer; b ?bigint; s ?text; d ?date; x ?decimal(10,2); f ?double; ok ?boolean"),
    ("select t.* exclude (s, d, x, f, ok) from t", "a integer; b ?bigint"),
    ("select * replace (b + 1 as b) from (select a, b from t)", "a integer; b ?bigint"),
    ("from u", "a ?integer; c ?integer; v ?varchar(5); ts ?timestamp; i ?interval; k ?smallint; r ?real"),
    (
        "select * from t join u using (a) where false",
        "a integer; b ?bigint; s ?text; d ?date; x ?decimal(10,2); \
      f ?double; ok ?boolean; c ?integer; v ?varchar(5); ts ?timestamp; i ?interval; k ?smallint; r ?real",
    ),
    ("select a from t full join u using (a)", "a ?integer"),
    ("select a, c from (select a from t) natural left join (select a, c from u)", "a integer; c ?integer"),
    ("select t.a from u left join t on t.a = u.a", "a ?integer"),
    ("select t.a from t left join u on t.a = u.a", "a integer"),
    ("select Id, \"Id\", username from \"Mixed\"", "id integer; Id integer; username ?text"),
    ("select q.n, m from (values (1, 'a'), (2.5, null)) as q (n, m)", "n decimal(2,1); m ?text"),
    ("values (1), (null)", "column1 ?integer"),
    (
        "select count(*), count(b), sum(a), sum(b), avg(a), min(s), max(d) from t",
        "count bigint; count bigint; \
      sum ?bigint; sum ?decimal(38,0); avg ?decimal(38,16); min ?text; max ?date",
    ),
    (
        "select a, sum(a), sum(b), stddev(a), bool_and(ok) from t group by a",
        "a integer; sum bigint; \
      sum ?decimal(38,0); stddev ?double; bool_and ?boolean",
    ),
    (
        "select a % 2 as p, count(*) from t group by p having count(*) > 1 order by count(*) desc, p",
        "p integer; count bigint",
    ),
    ("select a, b, count(*) from t group by all", "a integer; b ?bigint; count bigint"),
    ("select count(distinct a) filter (where ok) + 1 from t", "?column? bigint"),
    ("select case when ok then 1 else 2.5 end, case a when 1 then 'x' end from t", "case decimal(2,1); case ?text"),
    (
        "select coalesce(b, 0), coalesce(x, 0), nullif(a, 0), greatest(a, b) from t",
        "coalesce bigint; \
      coalesce decimal(10,2); nullif ?integer; greatest bigint",
    ),
    (
        "select extract(year from d), extract(second from ts), date_part('month', d), year(d) from t, u",
        "extract ?bigint; \
      extract ?decimal(20,6); date_part ?bigint; year ?bigint",
    ),
    (
        "select date_trunc('month', d), substring(s from 2 for 3), trim(both 'x' from s), position('a' in s) from t",
        "date_trunc ?timestamp; substring ?text; btrim ?text; position ?integer",
    ),
    (
        "select round(x, 1), round(x), round(f), floor(x), sqrt(a), abs(a), length(s), lpad(s, 3) from t",
        "round ?decimal(10,1); \
      round ?decimal(9,0); round ?double; floor ?decimal(9,0); sqrt double; abs integer; length ?integer; lpad ?text",
    ),
    (
        "select cast(s as integer), x::decimal(5,1), try_cast(s as date), a::text from t",
        "s ?integer; x ?decimal(5,1); \
      s ?date; a text",
    ),
    ("select cast('1998-09-02' as date), timestamp '2020-01-01 10:00'", "date date; timestamp timestamp"),
    (
        "select current_date, now(), current_timestamp",
        "current_date date; now timestamptz; current_timestamp timestamptz",
    ),
    (
        "select exists (select 1 from u), a in (select a from u), (select max(a) from u) from t",
        "exists boolean; \
      ?column? ?boolean; max ?integer",
    ),
    (
        "select a = any (select c from u), a <> all (select b from t), (a, b) in (select a, c from u) from t",
        "?column? ?boolean; ?column? ?boolean; ?column? ?boolean",
    ),
    ("select a from t union all select b from t union all select 1.5", "a ?decimal(20,1)"),
    ("select d from t union select '1995-01-01'", "d ?date"),
    ("select 'a' union select null except select 'b' intersect select 'c'", "?column? ?text"),
    ("select v from u union all select s from t", "v ?text"),
    ("(select a from t order by a limit 1) union all (select c from u) order by 1 limit 3 offset 1", "a ?integer"),
    ("with q as (select a from t) select * from q", "a integer"),
    ("with q (z) as (select a from t) select x.z, y.z from q x join q y using (z)", "z integer; z integer"),
    ("with q as (select 1 as one), r as (select one + 1 as two from q) select * from r, q", "two integer; one integer"),
    ("select * from big", "id integer; more ?bigint"),
    ("select * from nested n", "id integer; more ?bigint; more ?bigint"),
    ("select * from 'dir/*.parquet'", "one integer; two ?text"),
    ("select f.two from read_csv('a.csv', header = true, sep => '|') f", "two ?text"),
    ("select * from read_parquet(['a.parquet', 'b.parquet'])", "one integer; two ?text"),
    ("select t.a, l.c from t, lateral (select c from u where u.a = t.a) l", "a integer; c ?integer"),
    (
        "select t.a, l.c from t left join lateral (select c from u where u.a = t.a limit 1) l on true",
        "a integer; c ?integer",
    ),
    ("select a from t semi join u using (a)", "a integer"),
    ("select t.a from t anti join u on t.a = u.c", "a integer"),
    ("select distinct a as z, b from t order by z desc nulls last, 2", "z integer; b ?bigint"),
    ("select a as b from t order by b, t.b", "b integer"),
    ("select s from t order by a * 2, s desc fetch first 3 rows only", "s ?text"),
    ("select a from t order by all", "a integer"),
    ("select a from t limit 2 * 5 offset null", "a integer"),
    ("select a between symmetric 3 and 1, b not between 1 and 2 from t", "?column? boolean; ?column? ?boolean"),
    (
        "select s like 'a%' escape '!', s not ilike '_b', s ~~ 'x' from t",
        "?column? ?boolean; ?column? ?boolean; ?column? ?boolean",
    ),
    (
        "select ok is true, ok is not false, ok is unknown, b is not distinct from a, b is not null from t",
        "?column? boolean; ?column? boolean; ?column? boolean; ?column? boolean; ?column? boolean",
    ),
    (
        "select a in (1, 2.0, null), s in ('a', 'b'), d in ('1995-01-01'), b in (1, a), x in (1.555) from t",
        "?column? ?boolean; ?column? ?boolean; ?column? ?boolean; ?column? ?boolean; ?column? ?boolean",
    ),
    (
        "select a & 3, a | b, 1 << 3, ~a, 2 ^ 3, |/ 4, @ a from t",
        "?column? integer; ?column? ?bigint; ?column? integer; \
      ?column? integer; ?column? double; ?column? double; ?column? integer",
    ),
    (
        "select interval '1' day * 2, interval '1 hour' / 2, interval (a) month from t",
        "?column? interval; ?column? interval; \
      interval interval",
    ),
    ("select max((select max(u.a) from u where u.c = t.a)) from t", "max ?integer"),
    ("select a, (select count(*) from u where u.a = t.a) from t group by a", "a integer; count ?bigint"),
    ("select sum(a) from t having sum(a) > (select min(c) from u)", "sum ?bigint"),
    ("select a, (select t.b), (select s from (select t.s) q) from t", "a integer; b ?bigint; s ?text"),
    ("select 1 having true", "?column? integer"),
    ("select count(*) from (select a from t group by a)", "count bigint"),
    ("select x>-1, a=-1, a<-(1) from t", "?column? ?boolean; ?column? boolean; ?column? boolean"),
];

#[test]
fn results_have_names_and_types() {
    let mut wrong = Vec::new();
    for (sql, expected) in OUTPUTS {
        let expected: Vec<&str> = expected.split("; ").map(str::trim).collect();
        let got = output(sql);
        if got.split("; ").collect::<Vec<_>>() != expected {
            wrong.push(format!("{sql}\n    {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Constants meet columns without casts on the columns, so that scans can test them.
#[test]
fn columns_stay_bare_beside_constants() {
    for sql in [
        "select 1 from lineitem where l_quantity < 24 and l_discount between 0.05 and 0.0700",
        "select 1 from lineitem where l_shipdate < date '1995-01-01' + interval '3' month",
        "select 1 from lineitem where l_shipdate >= '1995-01-01' and l_returnflag = 'R  '",
        "select 1 from orders where o_orderkey = 5 and o_orderkey in (1, 2, 3)",
        "select 1 from u where k = 5 and k < 6.0 and ts > '1995-01-01' and r < 1e3::real",
        "select 1 from t where x in (1, 2.5, 3.10) and f > 1 and f < 2.5",
    ] {
        let text = plan(sql).to_string();
        assert!(!text.contains("cast"), "{sql}\n{text}");
    }
}

#[test]
fn common_table_expressions_are_computed_once() {
    assert_eq!(plan("with q as (select a from t) select * from q").ctes.len(), 0);
    assert_eq!(plan("with q as (select a from t) select * from q x, q y").ctes.len(), 1);
    assert_eq!(plan("with q as materialized (select a from t) select * from q").ctes.len(), 1);
    assert_eq!(plan("with q as not materialized (select a from t) select * from q x, q y").ctes.len(), 0);
    let correlated = "select (with q as (select t.a as z) select max(x.z) from q x, q y) from t";
    assert_eq!(plan(correlated).ctes.len(), 0);
}

#[test]
fn parameters_adapt() {
    let parameters = [(Value::str("1995-01-01"), SqlType::Text), (Value::Int(5), SqlType::BigInt)];
    let bound = bind_with("select a from t where d < $1 and b > $2 limit $2", &parameters).unwrap();
    let Statement::Query(plan) = bound else { panic!() };
    assert!(!plan.to_string().contains("cast"));
    assert!(bind_with("select a from t where d < ? and b > ?", &parameters).is_ok());
}

#[test]
fn statements_are_typed() {
    let Statement::CreateTable(table) = bind_sql(
        "create table if not exists n (a int primary key, b numeric(9,2) not null default 1, c varchar(3) default 'x', \
         d character varying, e double precision)",
    )
    .unwrap() else {
        panic!()
    };
    assert_eq!((table.primary_key.as_slice(), table.if_not_exists), ([0].as_slice(), true));
    assert_eq!(table.columns[1].filling, Filling::Value(Value::Decimal(100)));
    assert!(!table.columns[0].nullable && !table.columns[1].nullable && table.columns[2].nullable);

    let Statement::Insert(insert) =
        bind_sql("insert into u (v, k, ts) values ('ab', 3, '2020-01-01'), (null, default, null)").unwrap()
    else {
        panic!()
    };
    let types: Vec<String> =
        insert.source.output.iter().map(|(_, c)| insert.source.columns[*c].sql_type.to_string()).collect();
    assert_eq!(types, ["integer", "integer", "text", "timestamp", "interval", "smallint", "real"]);
    for sql in [
        "insert into t select * from t",
        "insert into t (a, d) select 1, '1995-01-01'",
        "insert into t default values",
        "insert into u (a) values ((select max(a) from t))",
    ] {
        assert!(matches!(bind_sql(sql), Ok(Statement::Insert(_))), "{sql}: {:?}", bind_sql(sql));
    }

    let Statement::Copy(Copy::From { columns, options, target, .. }) =
        bind_sql("copy t (b, a) from 'x.csv' (format csv, header, delimiter '|', null '', force_null (a, b))").unwrap()
    else {
        panic!()
    };
    assert_eq!(columns, [1, 0]);
    assert_eq!(target, CopyTarget::File("x.csv".to_owned()));
    assert_eq!(options[1], ("header".to_owned(), "true".to_owned()));
    assert_eq!(options[4], ("force_null".to_owned(), "a,b".to_owned()));
    for sql in [
        "copy (select 1) to stdout with csv header",
        "copy t to 'x.parquet' (format parquet, compression zstd)",
        "copy t from stdin",
        "copy big to 'x.csv'",
    ] {
        assert!(matches!(bind_sql(sql), Ok(Statement::Copy(_))), "{sql}");
    }

    for (sql, expected) in [
        ("explain select 1", (false, ExplainStage::Plain)),
        ("explain analyze select 1", (true, ExplainStage::Plain)),
        ("explain verbose select 1", (false, ExplainStage::Optimized)),
        ("explain (ir, analyze) select 1", (true, ExplainStage::Ir)),
        ("explain (logical) (select 1)", (false, ExplainStage::Logical)),
        ("explain (select 1)", (false, ExplainStage::Plain)),
        ("explain (asm) create table n as select 1 as x", (false, ExplainStage::Asm)),
    ] {
        let Ok(Statement::Explain { analyze, stage, .. }) = bind_sql(sql) else { panic!("{sql}") };
        assert_eq!((analyze, stage), expected, "{sql}");
    }
    let Statement::Set { name, value, .. } = bind_sql("set session Memory_Limit to '2 GB'").unwrap() else { panic!() };
    assert_eq!((name.as_str(), value.as_deref()), ("memory_limit", Some("2 GB")));
    let view = "create view v (z) as select a as \"As\" from t where a in (select t.a from public.u, t);";
    let Statement::CreateView(view) = bind_sql(view).unwrap() else { panic!() };
    assert!(view.sql.starts_with("select a as \"As\" from t where"));
    assert_eq!(view.columns[0].name, "z");
    assert_eq!(view.reads.iter().map(|r| r.to_string()).collect::<Vec<_>>(), ["t", "public.u"]);
    for sql in [
        "begin",
        "start transaction",
        "commit",
        "rollback",
        "set threads = 4",
        "set x.y = -1",
        "reset all",
        "show tables",
        "show threads",
        "show all",
        "describe t",
        "describe big",
        "describe select 1",
        "desc 'x.csv'",
        "drop table if exists a, b.c cascade",
        "drop view v",
        "create or replace view v as select 1 as x",
        "create table n as select * from t",
        "create table n as select 1 as x with no data",
        "reset threads",
        "create or replace table n (a int)",
        "set time zone 'UTC'",
        "set threads to default",
        "end",
    ] {
        bind_sql(sql).unwrap_or_else(|e| panic!("{}", e.render(sql)));
    }
}
