//! Which rows scans leave out as no build row of a join above has their keys.

use engine::rows::text_rows;
use engine::{Config, Database, Session};

fn run(session: &mut Session, sql: &str) {
    session.execute(sql, &[]).and_then(|r| r.collect()).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

fn rows(session: &mut Session, sql: &str) -> Vec<String> {
    text_rows(session.execute(sql, &[]).unwrap()).unwrap().concat()
}

/// 40,000 rows with a day of 400, one of 1,000 people, and one of 10 shops; 400 days, in order.
fn tables() -> Session {
    let mut session = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap().connect();
    run(
        &mut session,
        "create table sales as select x * 7 % 400 as day, x % 1000 as person, x * 3 % 10 as shop, x as n \
         from generate_series(0, 39999) g(x)",
    );
    run(
        &mut session,
        "create table days as select x as day, x / 30 as month, x % 7 as weekday from generate_series(0, 399) g(x)",
    );
    session
}

/// The rows that leave the scan of the sales.
fn scanned(session: &mut Session, sql: &str) -> u64 {
    let lines = rows(session, &format!("explain analyze {sql}"));
    let line = lines.iter().find(|line| line.contains("scan sales")).unwrap_or_else(|| panic!("{lines:#?}"));
    // Behind them, time and traffic.
    line.split_whitespace().rev().nth(3).and_then(|rows| rows.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn keys_next_to_each_other_and_keys_apart_filter() {
    let mut session = tables();
    let of = |condition: &str| {
        format!("select count(*), sum(n) from sales join days on sales.day = days.day where {condition}")
    };
    assert_eq!(scanned(&mut session, &of("month = 3")), 3000);
    assert_eq!(scanned(&mut session, &of("weekday = 3 and month in (2, 3)")), 800);
    assert_eq!(scanned(&mut session, &of("month = 77")), 0);
    // Nearly all days: not worth while.
    assert_eq!(scanned(&mut session, &of("weekday < 6")), 40000);
}

#[test]
fn each_of_several_keys_filters() {
    let mut session = tables();
    run(
        &mut session,
        "create table seen as select x * 10 as person, x % 10 as shop, 'x' as t from generate_series(0, 19) g(x)",
    );
    let sql = "select count(*), sum(n) from sales join seen on sales.person = seen.person and sales.shop = seen.shop";
    // Twenty people of a thousand. They go to all shops, which tells nothing.
    assert_eq!(scanned(&mut session, sql), 800);
    run(&mut session, "insert into seen values (null, 1, 'x'), (3, null, 'x')");
    assert!(scanned(&mut session, sql) <= 840);
    // As many rows as a sixteenth of the table, or more, are not read for their keys once more.
    run(&mut session, "insert into seen select x % 200, 1, 'x' from generate_series(0, 9999) g(x)");
    assert_eq!(scanned(&mut session, sql), 40000);
}
