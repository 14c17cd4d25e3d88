//! WITH RECURSIVE: beside a search written here, what ends rounds, and that nothing is left behind.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::common::{settled_memory, settles};
use base::Random;
use engine::{Config, Database, Session};
use types::Value;

fn database() -> Database {
    Database::new(Config { threads: Some(2), memory_limit: Some(1 << 30), ..Config::default() }).unwrap()
}

fn rows(session: &mut Session, sql: &str) -> Vec<Vec<Value>> {
    session.execute(sql, &[]).and_then(|r| r.rows()).unwrap_or_else(|e| panic!("{sql}: {e:?}"))
}

fn error(session: &mut Session, sql: &str) -> base::Error {
    session.execute(sql, &[]).and_then(|r| r.rows()).expect_err(sql)
}

/// A random graph, as a table of numbers and one of texts, and as lists.
fn graph(session: &mut Session, nodes: usize, edges: usize) -> HashMap<i64, Vec<i64>> {
    let mut random = Random(7);
    let mut lists: HashMap<i64, Vec<i64>> = HashMap::new();
    let pairs: Vec<(i64, i64)> = (0..edges).map(|_| (random.index(nodes) as i64, random.index(nodes) as i64)).collect();
    pairs.iter().for_each(|&(a, b)| lists.entry(a).or_default().push(b));
    let values: Vec<String> = pairs.iter().map(|(a, b)| format!("({a}, {b})")).collect();
    session.execute("create table edges (a integer, b integer)", &[]).unwrap();
    session.execute(&format!("insert into edges values {}", values.join(", ")), &[]).unwrap();
    let texts = "create table names as select 'node number ' || a as a, 'node number ' || b as b from edges";
    session.execute(texts, &[]).unwrap();
    lists
}

fn reached(lists: &HashMap<i64, Vec<i64>>, from: i64) -> BTreeSet<i64> {
    let (mut all, mut open) = (BTreeSet::from([from]), vec![from]);
    while let Some(node) = open.pop() {
        open.extend(lists.get(&node).into_iter().flatten().filter(|&&next| all.insert(next)));
    }
    all
}

#[test]
fn what_is_reached_is_what_a_search_reaches() {
    let database = database();
    let session = &mut database.connect();
    let lists = graph(session, 3_000, 4_500);
    for compile in ["on", "off"] {
        session.execute(&format!("set compile = {compile}"), &[]).unwrap();
        for from in [0, 17, 2_999] {
            let expected = reached(&lists, from);
            let sql = format!(
                "with recursive r(n) as (select {from} union select b from r join edges on a = n) select n from r order by n"
            );
            let found: Vec<Value> = rows(session, &sql).into_iter().map(|mut row| row.remove(0)).collect();
            assert_eq!(found, expected.iter().map(|&n| Value::Int(n)).collect::<Vec<_>>());
            let sql = format!(
                "with recursive r(n) as (select 'node number {from}' union select b from r join names on a = n) select count(*) from r"
            );
            assert_eq!(rows(session, &sql), [[Value::Int(expected.len() as i64)]]);
        }
    }
    let pairs: usize = (0..3_000).map(|n| lists.get(&n).map_or(0, |_| 1)).sum();
    let sql =
        "with recursive r(a, b, steps) as (select distinct a, a, 0 from edges union select r.a, edges.b, steps + 1
        from r join edges on r.b = edges.a where steps < 2) select count(distinct a) from r";
    assert_eq!(rows(session, sql), [[Value::Int(pairs as i64)]]);
}

#[test]
fn rounds_without_end_end_at_the_memory_limit() {
    let database = database();
    let session = &mut database.connect();
    session.execute("set query_memory_limit = '2MB'", &[]).unwrap();
    let before = settled_memory(&database);
    for sql in [
        "with recursive t(n) as (select 1 union select n + 1 from t) select count(*) from t",
        "with recursive t(s) as (select 'a' union all select s || s from t) select max(length(s)) from t",
        "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t x join t y using (n)",
    ] {
        let error = error(session, sql);
        assert_eq!(error.state().0, "53200", "{sql}: {error}");
        settles(&database, before, sql);
    }
    // Rows that one reader takes away need no memory.
    let sql = "with recursive t(n) as (select 1 union all select n + 1 from t where n < 30000) select sum(n) from t";
    assert_eq!(rows(session, sql), [[Value::Int(450_015_000)]]);
}

#[test]
fn rounds_without_end_end_at_a_deadline_an_interrupt_and_with_their_result() {
    let database = database();
    let session = &mut database.connect();
    let before = settled_memory(&database);
    let endless = "with recursive t(n) as (select 1 union all select (n + 1) % 10 from t) select count(*) from t";
    session.execute("set statement_timeout = '200ms'", &[]).unwrap();
    assert_eq!(error(session, endless).state().0, "57014");
    session.execute("reset statement_timeout", &[]).unwrap();

    let interrupt = session.interrupt_handle();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        interrupt.interrupt();
    });
    let begin = Instant::now();
    assert_eq!(error(session, endless).state().0, "57014");
    assert!(begin.elapsed() < Duration::from_secs(60));
    stopper.join().unwrap();

    let rows_without_end = "with recursive t(n) as (select 1 union all select (n + 1) % 10 from t) select n from t";
    let mut result = session.execute(rows_without_end, &[]).unwrap();
    assert!(result.next_chunk().unwrap().is_some());
    drop(result);
    settles(&database, before, endless);
}

#[test]
fn explain_shows_rounds() {
    let database = database();
    let session = &mut database.connect();
    session.execute("create table edges as select i as a, i + 1 as b from generate_series(1, 20) s(i)", &[]).unwrap();
    let sql = "with recursive r(n) as (select 1 union select b from r join edges on a = n) select count(*) from r";
    let mut text = |what: &str| -> String {
        let rows = rows(session, &format!("explain {what} {sql}"));
        rows.iter().map(|row| format!("{:?}\n", row[0])).collect()
    };
    let (plan, pipelines, analyzed) = (text(""), text("(pipelines)"), text("analyze"));
    assert!(plan.contains("recursion cte0"), "{plan}");
    let in_rounds: Vec<&str> = pipelines.lines().filter(|line| line.contains("in rounds of")).collect();
    assert!(in_rounds.len() == 2 && in_rounds.iter().all(|line| line.contains("scan r")), "{pipelines}");
    assert!(analyzed.contains("  21 rounds"), "{analyzed}");
}
