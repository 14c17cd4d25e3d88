//! Queries that an index answers alone, beside the same ones without indexes, while others change rows.

use base::Random;
use engine::rows::text_rows;
use engine::{Config, Database, Session};

fn run(session: &mut Session, sql: &str) -> Result<Vec<String>, base::Error> {
    session.execute(sql, &[]).and_then(text_rows).map(|rows| rows.concat())
}

fn ok(session: &mut Session, sql: &str) -> Vec<String> {
    run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// 20,000 frozen rows and some that are not, a hundred of which have a value of `i`, and one of `u`.
fn table(database: &Database, method: &str) -> Session {
    let mut session = database.connect();
    ok(&mut session, "create table t (u integer, i integer, s text, f double precision, w integer)");
    ok(
        &mut session,
        "insert into t select x, x % 200, 's' || x % 150, nullif(x % 90, 3) / 4.0, x from generate_series(1, 20000) g(x)",
    );
    ok(&mut session, "select * from storage_info('t')");
    ok(
        &mut session,
        "insert into t select x, x % 200, 's' || x % 150, -0.0, x from generate_series(20001, 20300) g(x)",
    );
    let of_s = if method == "hash" { "s" } else { "s desc, i" };
    for (index, keys) in [("t_i", "i"), ("t_s", of_s), ("t_f", "f) where (i % 2 = 0")] {
        ok(&mut session, &format!("create index {index} on t using {method} ({keys})"));
    }
    ok(&mut session, "create unique index t_u on t (u)");
    session
}

/// A query of which an index tells all.
fn query(random: &mut Random) -> String {
    let (a, b) = (random.below(210), random.below(160));
    match random.below(9) {
        0 => format!("select count(*) from t where i = {a}"),
        1 => format!("select count(*) from t where i between {a} and {a} + 1"),
        2 => format!("select count(*) from t where s = 's{b}' and i > {a}"),
        3 => format!("select count(*) from t where f = {b} / 4.0 and i % 2 = 0"),
        4 => format!("select x, exists (select 1 from t where u = x) from (values ({a}), ({b}), (20000 + {b})) v(x)"),
        5 => format!("select x from (values ({a}), ({b}), (null)) v(x) where not exists (select 1 from t where i = x)"),
        6 => format!("select x, (select count(*) from t where i = x and s = 's{b}') from (values ({a}), ({b})) v(x)"),
        7 => format!("select x, t.u from (values ({a}), ({b}), ({a})) v(x) left join t on t.u = x"),
        _ => format!("select x from (values ({a}), ({b}), (7)) v(x) where x in (select i from t where s = 's{b}')"),
    }
}

fn sorted(session: &mut Session, sql: &str) -> Vec<String> {
    let mut rows = session.execute(sql, &[]).and_then(text_rows).unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows.sort();
    rows.concat()
}

/// Asks the same with indexes and without.
fn compare(session: &mut Session, random: &mut Random) {
    for _ in 0..3 {
        let sql = query(random);
        ok(session, "set index_use = 'none'");
        let expected = sorted(session, &sql);
        ok(session, "set index_use = 'all'");
        for _ in 0..2 {
            assert_eq!(sorted(session, &sql), expected, "{sql}");
        }
    }
}

/// A change of a few rows.
fn change(random: &mut Random) -> String {
    let (a, b, u) = (random.below(200), random.below(150), random.below(20_400));
    match random.below(7) {
        0 => format!("update t set w = w + 1 where u between {u} and {u} + 20"),
        1 => format!("update t set i = i + 1 where i = {a} and u < {u}"),
        2 => format!("update t set i = i - 1 where i = {a}"),
        3 => format!("delete from t where u between {u} and {u} + 5"),
        4 => format!("update t set s = 's{b}', f = 0.0 where u = {u}"),
        5 => format!("update t set f = -f where i = {a}"),
        _ => format!("insert into t select max(u) + 1, {a}, 's{b}', {b} / 4.0, 0 from t"),
    }
}

#[test]
fn an_index_alone_tells_what_the_rows_do_whoever_changes_them() {
    let database = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap();
    for method in ["btree", "hash"] {
        compare_while_changing(&database, method);
    }
}

fn compare_while_changing(database: &Database, method: &str) {
    let mut writer = table(database, method);
    let mut reader = database.connect();
    let mut random = Random(11);
    for level in ["read committed", "repeatable read", "serializable"] {
        for _ in 0..12 {
            ok(&mut reader, &format!("begin isolation level {level}"));
            compare(&mut reader, &mut random);
            for _ in 0..4 {
                let is_open = random.below(2) == 0;
                if is_open {
                    ok(&mut writer, "begin");
                }
                ok(&mut writer, &change(&mut random));
                compare(&mut writer, &mut random);
                compare(&mut reader, &mut random);
                if is_open {
                    ok(&mut writer, ["commit", "rollback"][random.index(2)]);
                }
                compare(&mut reader, &mut random);
            }
            // Its own changes, which collide with those of the other one at times.
            let own = change(&mut random);
            if run(&mut reader, &own).is_ok() {
                compare(&mut reader, &mut random);
            }
            ok(&mut reader, "rollback");
        }
    }
    ok(&mut writer, "drop table t");
}

#[test]
fn nothing_is_read_of_rows_of_which_an_index_tells_all() {
    let database = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap();
    let mut session = table(&database, "btree");
    let mut shown = |sql: &str| ok(&mut session, &format!("explain {sql}")).concat();
    for (sql, wanted) in [
        ("select count(*) from t where i = 7", "scan t by t_i only ["),
        ("select count(*) from t where i > 7 and i <= 9", "scan t by t_i only ["),
        ("select count(*) from t where i in (7, 9)", "scan t by t_i only ["),
        ("select count(*) from t where s = 's7' and i < 9", "scan t by t_s only ["),
        ("select 1 from t where f > 22 and i % 2 = 0", "scan t by t_f only ["),
        ("select count(*), sum(w) from t where i = 7", "scan t by t_i ["),
        ("select count(*) from t where i = 7 and w > 8", "scan t by t_i ["),
        ("select i from t where i = 7 and f = 0", "scan t by t_i ["),
        ("select f from t where f = 0 and i % 2 = 0", "scan t by t_f ["),
    ] {
        assert!(shown(sql).contains(wanted), "{sql}: {}", shown(sql));
    }
}
