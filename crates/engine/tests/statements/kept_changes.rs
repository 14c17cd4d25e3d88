//! Plans of changes of one row that are kept: a statement does the same with and without them.

use engine::rows::text_rows;
use engine::{Config, Database, Session};
use types::{SqlType, Value};

fn database() -> Database {
    Database::new(Config { threads: Some(2), ..Config::default() }).unwrap()
}

type Parameters<'a> = &'a [(Value, SqlType)];

/// What a statement has done or given, or SQLSTATE, message, detail and position.
fn outcome(session: &mut Session, sql: &str, parameters: Parameters<'_>) -> String {
    match session.execute(sql, parameters) {
        Ok(result) if result.has_rows() => format!("{:?}", text_rows(result).unwrap()),
        Ok(result) => result.tag().to_string(),
        Err(e) => format!("{} {} {:?} {:?}", e.state(), e.message(), e.get_detail(), e.position()),
    }
}

fn ok(session: &mut Session, sql: &str) {
    session.execute(sql, &[]).and_then(|r| r.collect()).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// The same tables twice: where plans are kept, and where they are not.
struct Two {
    keeps: Session,
    plans: Session,
}

impl Two {
    fn new(setup: &[&str]) -> Self {
        let (mut keeps, mut plans) = (database().connect(), database().connect());
        setup.iter().for_each(|sql| ok(&mut keeps, sql));
        setup.iter().for_each(|sql| ok(&mut plans, sql));
        ok(&mut plans, "set compile = on");
        Self { keeps, plans }
    }

    fn same(&mut self, sql: &str, parameters: Parameters<'_>) -> String {
        let outcome = [&mut self.keeps, &mut self.plans].map(|session| outcome(session, sql, parameters));
        assert_eq!(outcome[0], outcome[1], "{sql} {parameters:?}");
        outcome[0].clone()
    }

    /// How many of the statements ran by a plan that was kept.
    fn kept(&mut self, run: impl FnOnce(&mut Self)) -> u64 {
        let before = self.keeps.database().runs_of_kept_plans();
        run(self);
        self.keeps.database().runs_of_kept_plans() - before
    }
}

const TABLE: &str = "create table t (k int primary key, i integer, b bigint, s smallint, d decimal(8, 2), \
    f double precision, r real, x text, v varchar(5), c char(5), day date, at timestamp, tz timestamptz, ok boolean, \
    n int not null default 7, twice int generated always as (i * 2) stored, check (i <> 13))";

#[test]
fn values_of_every_kind_are_written_as_if_planned_anew() {
    let mut two = Two::new(&[TABLE, "insert into t (k, i) values (1, 1), (2, null)"]);
    let columns = ["i", "b", "s", "d", "f", "r", "x", "v", "c", "day", "at", "tz", "ok", "n"];
    let literals = [
        "1",
        "0",
        "13",
        "-3",
        "32768",
        "3000000000",
        "99999999999999999999",
        "1.5",
        "2.005",
        "1234567.89",
        "'1'",
        "'it''s'",
        "'two  '",
        "'much too long'",
        "'2020-01-01'",
        "'2020-02-01 00:00:00'",
        "'x'",
        "'t'",
        "null",
        "default",
        "1e2",
        "true",
        "1 + 1",
        "(select 3)",
        "$$dollar$$",
    ];
    let mut key = 100;
    for column in columns {
        for literal in literals {
            key += 1;
            two.same(&format!("insert into t (k, {column}) values ({key}, {literal})"), &[]);
            two.same(&format!("update t set {column} = {literal} where k = 1"), &[]);
            two.same(&format!("update t set {column} = {column} + {literal} where k = 1"), &[]);
            two.same(&format!("update t set i = i where k = 2 and {column} = {literal}"), &[]);
            two.same(&format!("delete from t where k = {literal}"), &[]);
            two.same(&format!("delete from t where k = {key} and {column} = {literal}"), &[]);
            two.same("select * from t order by k", &[]);
        }
    }
}

#[test]
fn changes_of_one_row_are_not_planned_anew() {
    let mut two = Two::new(&[TABLE]);
    let kept = two.kept(|two| {
        for n in 0..50 {
            assert_eq!(
                two.same(&format!("insert into t (k, i, x) values ({n}, {}, 'row {n}')", n + 20), &[]),
                "INSERT 1"
            );
        }
    });
    assert_eq!(kept, 49);
    let kept = two.kept(|two| {
        for n in 0..50 {
            two.same(&format!("update t set i = i + {n}, x = 'new {n}' where k = {}", n * 2), &[]);
            two.same(&format!("delete from t where k = {}", n * 3), &[]);
        }
    });
    assert_eq!(kept, 98);
    two.same("select * from t order by k", &[]);
    // A key that is there, one that is not, and what must not be.
    assert!(two.same("insert into t (k, i, x) values (1, 1, 'again')", &[]).starts_with("23505"));
    assert!(two.same("update t set i = i + 2147483647, x = 'new' where k = 2", &[]).starts_with("22003"));
    assert_eq!(two.same("update t set i = i + 1, x = 'new' where k = 1000", &[]), "UPDATE 0");
    assert!(two.same("insert into t (k, i, x) values (1000, 13, 'refused')", &[]).starts_with("23514"));
    two.same("select * from t order by k", &[]);
}

#[test]
fn parameters_are_written() {
    let mut two = Two::new(&[TABLE]);
    let int = |n: i64| (Value::Int(n), SqlType::Integer);
    let text = |text: &str| (Value::str(text), SqlType::Text);
    let null = (Value::Null, SqlType::Integer);
    for n in 0..20 {
        two.same("insert into t (k, i, v) values ($1, $2, $3)", &[int(n), int(n + 20), text("five")]);
        two.same(
            "update t set i = i + $1, d = $2 where k = $3",
            &[int(n), (Value::Decimal(n.into()), SqlType::decimal(3, 1)), int(n)],
        );
    }
    two.same("insert into t (k, i, v) values ($1, $2, $3)", &[int(100), null.clone(), text("five")]);
    assert!(
        two.same("insert into t (k, i, v) values ($1, $2, $3)", &[int(101), int(1), text("longer")])
            .starts_with("22001")
    );
    assert!(
        two.same("insert into t (k, i, v) values ($1, $2, $3)", &[null.clone(), int(1), text("x")])
            .starts_with("23502")
    );
    two.same("update t set i = $1, n = $1 where k = $2", &[int(5), int(3)]);
    two.same("update t set i = $1, n = $1 where k = $2", &[int(6), int(4)]);
    assert!(two.same("update t set n = $1 where k = $2", &[null, int(4)]).starts_with("23502"));
    two.same("select * from t order by k", &[]);
}

#[test]
fn prepared_changes_run_by_their_plans() {
    let database = database();
    let mut session = database.connect();
    ok(&mut session, "create table t (k bigint primary key, n bigint, s text)");
    let insert = session.prepare("insert into t values ($1, $2, $3)", &[]).unwrap();
    let update = session.prepare("update t set n = n + $2 where k = $1", &[]).unwrap();
    let delete = session.prepare("delete from t where k = $1", &[]).unwrap();
    let int = |n: i64| (Value::Int(n), SqlType::BigInt);
    let before = database.runs_of_kept_plans();
    for k in 0..1000 {
        let text = (Value::str(format!("a text that is not short {k}")), SqlType::Text);
        assert_eq!(session.run(&insert, &[int(k), int(k), text]).unwrap().tag().to_string(), "INSERT 1");
        assert_eq!(session.run(&update, &[int(k), int(k)]).unwrap().tag().to_string(), "UPDATE 1");
        let gone = session.run(&delete, &[int(k / 2)]).unwrap().tag().to_string();
        assert_eq!(gone, if k % 2 == 0 { "DELETE 1" } else { "DELETE 0" });
    }
    assert_eq!(database.runs_of_kept_plans() - before, 2997);
    assert_eq!(outcome(&mut session, "select count(*), sum(n) from t", &[]), r#"[["500", "749500"]]"#);
    // A table of that name that is another one.
    ok(&mut session, "drop table t");
    assert!(session.run(&delete, &[int(1)]).is_err());
    ok(&mut session, "create table t (k bigint primary key, n int, s text)");
    assert_eq!(session.run(&delete, &[int(1)]).unwrap().tag().to_string(), "DELETE 0");
}

#[test]
fn in_blocks_they_are_of_the_transaction() {
    let database = database();
    let (mut a, mut b) = (database.connect(), database.connect());
    ok(&mut a, "create table t (k int primary key, n int)");
    for n in 1..5 {
        ok(&mut a, &format!("insert into t values ({n}, {n})"));
        ok(&mut a, &format!("update t set n = n + 1 where k = {n}"));
        ok(&mut a, &format!("select n from t where k = {n}"));
    }
    let is = |session: &mut Session, k: i32, n: &str| {
        assert_eq!(outcome(session, &format!("select n from t where k = {k}"), &[]), format!("[{n}]"));
    };
    ok(&mut a, "begin");
    ok(&mut a, "insert into t values (10, 10)");
    ok(&mut a, "savepoint s");
    ok(&mut a, "update t set n = n + 5 where k = 10");
    is(&mut a, 10, "[\"15\"]");
    is(&mut b, 10, "");
    ok(&mut a, "rollback to s");
    is(&mut a, 10, "[\"10\"]");
    assert!(outcome(&mut a, "insert into t values (1, 10)", &[]).starts_with("23505"));
    assert!(outcome(&mut a, "update t set n = n + 1 where k = 1", &[]).starts_with("25P02"));
    ok(&mut a, "rollback");
    is(&mut a, 10, "");
    ok(&mut a, "begin read only");
    assert!(outcome(&mut a, "update t set n = n + 1 where k = 1", &[]).starts_with("25006"));
    ok(&mut a, "rollback");
    // Write skew, and a row that was not there.
    for (read, written) in [(1, 2), (77, 78)] {
        for session in [&mut a, &mut b] {
            ok(session, "begin isolation level serializable");
        }
        ok(&mut a, &format!("select n from t where k = {read}"));
        ok(&mut b, &format!("select n from t where k = {written}"));
        let write = |k: i32| match k {
            1 | 2 => format!("update t set n = n + 1 where k = {k}"),
            _ => format!("insert into t values ({k}, {k})"),
        };
        ok(&mut a, &write(written));
        ok(&mut b, &write(read));
        ok(&mut a, "commit");
        assert!(outcome(&mut b, "commit", &[]).starts_with("40001"));
    }
    // Who changes a row that another one has changed: at once refused, or waits, as the level says.
    ok(&mut a, "begin isolation level repeatable read");
    ok(&mut b, "begin isolation level repeatable read");
    ok(&mut a, "update t set n = n + 1 where k = 3");
    assert!(outcome(&mut b, "update t set n = n + 1 where k = 3", &[]).starts_with("40001"));
    ok(&mut b, "rollback");
    let waiter = std::thread::spawn(move || {
        ok(&mut b, "update t set n = n + 1 where k = 3");
        ok(&mut b, "begin isolation level read committed");
        ok(&mut b, "update t set n = n + 1 where k = 3");
        ok(&mut b, "commit");
    });
    std::thread::sleep(std::time::Duration::from_millis(50));
    ok(&mut a, "commit");
    waiter.join().unwrap();
    is(&mut a, 3, "[\"7\"]");
}

/// Statements of few rows by keys and indexes, with `$1` to `$3`: integers, and `$4`: a decimal.
const SHORT: &[&str] = &[
    "select * from o where id = $1",
    "select id, amount + $4 from o where g = $1 and h = $2 order by id desc limit 2",
    "select id, h from o where g = $1 order by h nulls first, id limit 3 offset 1",
    "select h, sum(amount), count(*), count(distinct id % 3), avg(id), max(note) from o where g = $1 group by h order by h",
    "select sum(amount), min(day), count(h) from o where g = $1 and h = $2",
    "select count(*) from o where g = $1 and amount > $4",
    "select distinct h from o where g = $1 order by 1",
    "select o.id, p.name from o join p on p.id = o.h where o.g = $1 order by o.id",
    "select o.id, p.name from o left join p on p.id = o.h and p.id <> $2 where o.g = $1 order by o.id",
    "select o.id from o where g = $1 and exists (select from p where p.id = o.h and p.weight > $2) order by id",
    "select o.id from o where g = $1 and h not in (select id from p where p.id = $2) order by id",
    "select o.id, (select name from p where p.id = o.h) from o where o.g = $1 order by id",
    "select o.id, o.h in (select q.id from p q where q.id = $2) from o where o.g = $1 order by id",
    "select a.id, b.id from o a, o b where a.id = $1 and b.g = a.h order by b.id",
    "select p.name, count(*) from o join p on p.id = o.h where o.g between $1 and $2 group by p.name order by 1",
    "select 100 / (h - $2) from o where id = $1",
    "select case when h > $2 then note else upper(note) end from o where id = $1",
    "select $1 + $2, $4 * 2",
    "select id from o where g = $1 and note like '%1%' order by id",
    "select id from o where g in ($1, $2) and h is null order by id",
    "insert into o values ($1, $2, $3, $4, 'new', '2024-01-01')",
    "insert into o (id, g, h, amount) values ($1, $2, $3, $4) on conflict (id) do nothing",
    "insert into o values ($1, $2, $3, $4, 'again') on conflict (id) do update set amount = o.amount + excluded.amount returning *",
    "insert into o select id + 1000, g, h, amount, note, day from o where g = $1 and h = $2",
    "update o set amount = amount - $4, h = h + 1 where id = $1",
    "update o set amount = amount * 2, note = 'g' || $2 where g = $1 and h = $3",
    "update o set g = $2 where g = $1 and h = $3 returning id, g, note",
    "update o set id = id + 5000 where id = $1",
    "update o set note = p.name from p where p.id = o.h and o.g = $1",
    "update o set amount = 1 / h where g = $1",
    "delete from o where id = $1",
    "delete from o where g = $1 and h = $2 returning *",
    "delete from o using p where p.id = o.h and p.weight = $3 and o.g = $1",
    "merge into o using (values ($1, $2)) s(id, g) on o.id = s.id when matched then update set h = 1 \
        when not matched then insert (id, g) values (s.id, s.g)",
];

#[test]
fn few_rows_by_indexes_are_as_by_pipelines() {
    for setup in ["", "begin", "begin isolation level read committed"] {
        let mut two = Two::new(&[
            "create table p (id integer primary key, name text, weight integer)",
            "insert into p select i, 'p' || i, i % 4 from generate_series(0, 9) s(i)",
            "create table o (id integer primary key, g integer, h integer, amount numeric(10, 2), note text, day date, \
                check (amount is null or amount < 100000))",
            "insert into o select i, i / 12, nullif(i % 11, 10), i * 1.25, 'note ' || i, date '2020-01-01' + i % 40 \
                from generate_series(0, 599) s(i)",
            "create index on o (g, h)",
        ]);
        if !setup.is_empty() {
            two.same(setup, &[]);
        }
        let mut random = base::Random(setup.len() as u64 + 1);
        let kept = two.kept(|two| {
            for round in 0..1500 {
                let sql = SHORT[random.index(SHORT.len())];
                let mut integer = |most: u64| match random.below(12) {
                    0 => (Value::Null, SqlType::Integer),
                    _ => (Value::Int(random.below(most) as i64), SqlType::Integer),
                };
                let by_id = sql.contains(" id = $1") || sql.contains("values ($1");
                let first = integer(if by_id { 700 } else { 55 });
                let parameters = [first, integer(12), integer(5)];
                let amount = Value::Decimal(i128::from(random.below(100_000)));
                let amount = (amount, SqlType::Decimal { precision: 10, scale: 2 });
                let all: Vec<_> = parameters.into_iter().chain([amount]).collect();
                let named = (1..=4).rev().find(|n| sql.contains(&format!("${n}"))).unwrap_or(0);
                if !setup.is_empty() && round % 5 == 0 {
                    two.same("savepoint s", &[]);
                }
                let outcome = two.same(sql, &all[..named]);
                if !setup.is_empty() && outcome.starts_with(|c: char| c.is_ascii_digit()) {
                    two.same("rollback to s", &[]);
                }
            }
        });
        assert!(kept > 300, "{kept}");
        two.same("select * from o order by id", &[]);
        if !setup.is_empty() {
            two.same("commit", &[]);
        }
        two.same("select count(*), sum(amount), sum(g), sum(h), max(note) from o", &[]);
    }
}
