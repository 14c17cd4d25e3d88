//! Which joins look up the rows of a table by the keys of their build side, and when.

use engine::rows::text_rows;
use engine::{Config, Database, Session};

fn run(session: &mut Session, sql: &str) {
    session.execute(sql, &[]).and_then(|r| r.collect()).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// A table of 40,000 rows, four of which have a value of `f`, and one of 50.
fn tables() -> Session {
    let mut session = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap().connect();
    run(&mut session, "create table big (id integer primary key, f integer, b text, x double precision)");
    run(&mut session, "insert into big select x, x / 4, 'b' || x / 2, x from generate_series(0, 39999) g(x)");
    run(&mut session, "create index big_f on big (f)");
    run(&mut session, "create index big_bf on big (b, f)");
    run(&mut session, "create table few as select x * 331 as k, 'b' || x * 90 as t from generate_series(0, 49) g(x)");
    session
}

fn rows(session: &mut Session, sql: &str) -> Vec<String> {
    text_rows(session.execute(sql, &[]).unwrap()).unwrap().concat()
}

/// Whether keys are looked up for the query.
fn is_looked_up(session: &mut Session, sql: &str) -> bool {
    rows(session, &format!("explain analyze {sql}")).concat().contains("look up")
}

#[test]
fn few_keys_are_looked_up() {
    let mut session = tables();
    for (join, index) in [
        ("few join big on k = id", "big_pkey"),
        ("few join big on k = f", "big_f"),
        ("few join big on t = b", "big_bf"),
        ("few join big on t = b and k = f + 0", "big_bf"),
        ("few left join big on k = id", "big_pkey"),
    ] {
        let sql = format!("select count(*), sum(x) from {join}");
        let plan = rows(&mut session, &format!("explain {sql}")).concat();
        assert!(plan.contains(&format!(" by {index}")), "{plan}");
        assert!(is_looked_up(&mut session, &sql), "{join}");
    }
    assert!(is_looked_up(&mut session, "select count(*) from big where f in (select k from few)"));
    assert!(!is_looked_up(&mut session, "select count(*) from few join big on k = id where id = 662"));
}

#[test]
fn many_keys_are_not() {
    let mut session = tables();
    run(&mut session, "create table many as select x as k from generate_series(0, 9999) g(x)");
    assert!(!is_looked_up(&mut session, "select count(*) from many join big on k = id"));
    let plan = rows(&mut session, "explain select count(*) from many join big on k = id").concat();
    assert!(!plan.contains(" by big"), "{plan}");
}

#[test]
fn a_key_that_is_everywhere_is_given_up() {
    let mut session = tables();
    run(&mut session, "insert into big select x, 662, 'c', x from generate_series(40000, 99999) g(x)");
    let sum = "select count(*), sum(id) from few join big on k = f";
    let with = rows(&mut session, sum);
    run(&mut session, "set index_use = 'none'");
    assert_eq!(rows(&mut session, sum), with);
}

#[test]
fn a_session_says_which_indexes_are_used() {
    let mut session = tables();
    let (by_key, by_index) = ("select sum(x) from few join big on k = id", "select sum(x) from few join big on k = f");
    let answers = [by_key, by_index].map(|sql| rows(&mut session, sql));
    for (setting, used) in [("all", [true, true]), ("keys", [true, false]), ("none", [false, false])] {
        run(&mut session, &format!("set index_use = '{setting}'"));
        assert_eq!([by_key, by_index].map(|sql| is_looked_up(&mut session, sql)), used, "{setting}");
        assert_eq!([by_key, by_index].map(|sql| rows(&mut session, sql)), answers);
        assert_eq!(rows(&mut session, "select x from big where id = 77"), ["77"]);
    }
}

#[test]
fn a_constant_may_be_the_first_part_of_a_key() {
    let mut session = tables();
    run(&mut session, "create table of (tenant text, k integer, x integer)");
    run(&mut session, "insert into of select 't' || x % 2, x / 2, x from generate_series(0, 39999) g(x)");
    run(&mut session, "create index of_tk on of (tenant, k)");
    let sql = "select count(*), sum(x) from few join of on few.k = of.k where tenant = 't1'";
    let plan = rows(&mut session, &format!("explain {sql}")).concat();
    assert!(plan.contains(" by of_tk"), "{plan}");
    assert!(is_looked_up(&mut session, sql));
    let with = rows(&mut session, sql);
    let prepared = session.prepare("select sum(x) from few join of on few.k = of.k where tenant = $1", &[]).unwrap();
    let sum = |session: &mut Session, tenant: &str| {
        let given = [(types::Value::str(tenant), types::SqlType::Text)];
        text_rows(session.run(&prepared, &given).unwrap()).unwrap().concat()
    };
    let sums = ["t0", "t1", "t2", "t1"].map(|tenant| sum(&mut session, tenant));
    assert_eq!(sums[1], with[1..]);
    assert_eq!(sums[3], sums[1]);
    run(&mut session, "set index_use = 'none'");
    assert_eq!(rows(&mut session, sql), with);
    assert_eq!(["t0", "t1", "t2", "t1"].map(|tenant| sum(&mut session, tenant)), sums);
}

#[test]
fn semi_and_anti_joins_only_ask_whether_a_key_is_there() {
    let mut session = tables();
    run(
        &mut session,
        "create table dup as select nullif(x % 40, 7) as d, 'd' || x % 90 as t, x from generate_series(0, 39999) g(x)",
    );
    run(&mut session, "insert into dup values (1000, 'once', 0), (1001, 'gone', 0)");
    run(&mut session, "create table few2 as select x as k, 'd' || x * 3 as t from generate_series(0, 59) g(x)");
    run(&mut session, "insert into few2 select * from few2 where k < 9");
    run(&mut session, "insert into few2 values (null, null), (1000, 'once'), (1001, 'gone')");
    for (method, keys) in [("btree", ["d", "t", "t, d"].as_slice()), ("hash", &["d", "t"])] {
        for (number, key) in keys.iter().enumerate() {
            run(&mut session, &format!("create index dup_{method}_{number} on dup using {method} ({key})"));
        }
        run(&mut session, "delete from dup where t = 'gone'");
        for condition in ["d = k", "dup.t = few2.t", "dup.t = few2.t and d = 3", "d = k and dup.t = few2.t"] {
            for not in ["", "not "] {
                let sql = format!(
                    "select count(*), sum(k) from few2 where {not}exists (select 1 from dup where {condition})"
                );
                let plan = rows(&mut session, &format!("explain {sql}")).concat();
                let is_known = method == "btree" || !condition.contains(" and ");
                assert_eq!(plan.contains(&format!("by dup_{method}_")) && plan.contains(" only"), is_known, "{plan}");
                assert_eq!(is_looked_up(&mut session, &sql), is_known, "{sql}");
                let found = rows(&mut session, &sql);
                run(&mut session, "set index_use = 'none'");
                assert_eq!(found, rows(&mut session, &sql), "{sql}");
                run(&mut session, "set index_use = 'all'");
            }
        }
        // Rows that have to be read are too many.
        let sql = "select count(*) from few2 where exists (select 1 from dup where d = k and x > 70)";
        assert!(!is_looked_up(&mut session, sql));
        for number in 0..keys.len() {
            run(&mut session, &format!("drop index dup_{method}_{number}"));
        }
    }
}
