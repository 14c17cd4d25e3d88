//! EXPLAIN in all its forms.

use crate::common::{settled_memory, settles};
use engine::{Config, Database, Session};
use types::SqlType;
use types::ops::cast::format_value;

fn session() -> Session {
    let mut s = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap().connect();
    for sql in [
        "create table digits (d integer primary key)",
        "insert into digits values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
        "create table n as select a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d as i
         from digits a, digits b, digits c, digits e, digits f",
    ] {
        s.execute(sql, &[]).unwrap_or_else(|e| panic!("{}", e.render(sql)));
    }
    s
}

fn lines(s: &mut Session, sql: &str) -> Vec<String> {
    let rows = s.execute(sql, &[]).unwrap_or_else(|e| panic!("{}", e.render(sql))).rows().unwrap();
    rows.iter().map(|row| format_value(&row[0], SqlType::Text)).collect()
}

/// Operator, rows and milliseconds of each line of EXPLAIN ANALYZE's first table.
fn operators(lines: &[String]) -> Vec<(String, u64, f64)> {
    let operator = |line: &String| {
        // Behind them, what was read and written here and elsewhere.
        let mut words = line.split_whitespace().rev().skip(2);
        let ms = words.next()?.parse().ok()?;
        let rows = words.next()?.parse().ok()?;
        Some((line.split_whitespace().next()?.to_string(), rows, ms))
    };
    lines[1..].iter().take_while(|l| !l.is_empty()).filter_map(operator).collect()
}

#[test]
fn every_form_shows_something() {
    let s = &mut session();
    for form in ["logical", "optimized", "pipelines", "ir", "asm"] {
        let text = lines(s, &format!("explain ({form}) select d, count(*) from digits group by d"));
        assert!(text.len() > 1, "{form}: {text:?}");
    }
}

#[test]
fn few_rows_of_a_small_table_are_counted() {
    let s = &mut session();
    // No row of a sample is among them, or a few.
    for (condition, expected) in [
        ("i >= 500 and i < 530", 30),
        ("i in (7, 8, 90000)", 3),
        ("i = -1", 1),
        ("i < 300 and i % 2 = 0", 150),
        ("500 <= i and 530 > i and i * i > 0", 30),
    ] {
        let lines = lines(s, &format!("explain analyze select count(*) from n, digits where {condition}"));
        let line = lines.iter().find(|line| line.contains("scan n")).unwrap();
        let estimated: u64 = line.split_whitespace().rev().nth(4).and_then(|word| word.parse().ok()).unwrap();
        assert!((expected * 9 / 10..=expected * 11 / 10).contains(&estimated), "{line}");
    }
}

#[test]
fn people_read_names() {
    let s = &mut session();
    let sql = "select d % 3 as rest, count(*) as n from digits where d > 4 group by 1 order by n desc";
    let plain = lines(s, &format!("explain {sql}"));
    assert_eq!(plain[0], "output [rest, n = count]");
    assert!(plain.iter().any(|l| l.contains("scan digits [d] where [d > 4]")), "{plain:#?}");
    assert!(plain.iter().all(|l| !l.contains('#')), "{plain:#?}");
    // Columns that share a name keep their numbers.
    let both = lines(s, "explain select a.d from digits a join digits b on a.d = b.d + 1");
    assert!(both.iter().any(|l| l.contains("join inner [d#")), "{both:#?}");
    for verbose in ["verbose", "(verbose)", "(optimized)", "(verbose on, analyze off)"] {
        assert!(lines(s, &format!("explain {verbose} {sql}"))[0].contains("rest = rest#"), "{verbose}");
    }
    assert_eq!(lines(s, &format!("explain (verbose off) {sql}")), plain);
}

#[test]
fn join_orders_are_as_the_settings_say() {
    let s = &mut session();
    let explain = "explain select count(*) from digits a, digits b, n where a.d = b.d and b.d = n.i";
    let usual = lines(s, explain);
    // Two tables of one name: the join of both, and of one of them with the third.
    for set in ["known_join_rows = 'digits digits = 77777, digits n = 3'", "cost_model = cmm", "join_search = greedy"] {
        s.execute(&format!("set {set}"), &[]).unwrap();
        assert!(lines(s, explain).len() > 3, "{set}");
    }
    s.execute("set known_join_rows = 'digits digits n = 4321'", &[]).unwrap();
    let known = lines(s, explain);
    assert_ne!(usual, known);
    assert!(known.iter().any(|line| line.contains("4321")), "{known:#?}");
}

#[test]
fn analyze_does_what_it_shows() {
    let s = &mut session();
    s.execute("create table copied (i bigint, d bigint)", &[]).unwrap();
    for (sql, done) in [
        ("insert into copied select i, i from n where i < 500", "INSERT 500;"),
        ("update copied set d = d + 1 where i < 20", "UPDATE 20;"),
        ("delete from copied where d > 400", "DELETE 99;"),
    ] {
        let text = lines(s, &format!("explain analyze {sql}"));
        let (first, last) = (operators(&text), text.last().unwrap());
        assert!(last.starts_with(done) && !first.is_empty(), "{sql}: {text:#?}");
    }
    let left = s.execute("select count(*), sum(d) from copied", &[]).unwrap().rows().unwrap();
    let sum = (0..=400).sum::<i128>() + 20;
    assert_eq!(left, [[types::Value::Int(401), types::Value::Decimal(sum)]]);
    let sql = "explain analyze create table x as select 1";
    assert_eq!(s.execute(sql, &[]).unwrap_err().state(), base::SqlState::FEATURE_NOT_SUPPORTED);
    assert!(s.execute("explain (format yaml) select 1", &[]).is_err());
    assert!(!lines(s, "explain (format text) select 1").is_empty());
}

#[test]
fn documents_have_what_was_counted() {
    let s = &mut session();
    let sql = "explain (analyze, format json) with x as materialized (select i from n where i < 10) select count(*) from x, x y";
    let [document] = lines(s, sql).try_into().unwrap();
    let part = |path: &str| format!("select j #>> '{path}' from (values ($1::json)) t(j)");
    let mut at = |path: &str| {
        let rows =
            s.execute(&part(path), &[(types::Value::str(document.as_str()), SqlType::Text)]).unwrap().rows().unwrap();
        format_value(&rows[0][0], SqlType::Text)
    };
    assert_eq!(at("{0,Plan,Actual Rows}"), "1");
    assert_eq!(at("{0,Plan,Plans,0,Actual Rows}"), "100");
    assert_eq!((at("{0,CTEs,0,Actual Rows}"), at("{0,CTEs,0,Plan Rows}")), ("10".to_owned(), "10".to_owned()));
    assert!(at("{0,Execution Time}").parse::<f64>().unwrap() > 0.0);
    let [document] = lines(s, "explain (analyze, format json) delete from n where i < 5").try_into().unwrap();
    assert!(document.contains("\"Actual Rows\": 5,"), "{document}");
    assert_eq!(lines(s, "select count(*)::text from n where i < 10"), ["5"]);
}

#[test]
fn scans_below_a_top_k_leave_rows_out() {
    let s = &mut session();
    s.execute(
        "create table spread as select i * 7919 % 100003 as h, i, case when i % 10 > 0 then i end as o from n",
        &[],
    )
    .unwrap();
    let mut scanned = |sql: &str| {
        let text = lines(s, &format!("explain analyze {sql}"));
        operators(&text).iter().filter(|o| o.0 == "scan").map(|o| o.1).sum::<u64>()
    };
    for few in [
        "select * from spread order by h limit 10",
        "select * from spread order by h desc, i limit 5 offset 5",
        "select h from spread where i > 20000 and i <> 77 order by h limit 10",
        "select h from spread order by o limit 10",
        "select h from spread order by o nulls first limit 10",
    ] {
        // Each of two workers may read a morsel before anybody knows what is needed.
        let rows = scanned(few);
        assert!(rows < 70_000, "{few}: {rows} rows");
    }
    // Chunks are known by their bounds.
    assert!(scanned("select * from spread order by i desc limit 10") <= 100_000 - 65_536);
    // A row that is left out could have been an error.
    assert_eq!(scanned("select h from spread where 10 / (i + 1) < 11 order by h limit 10"), 100_000);
}

#[test]
fn analyze_counts_rows_and_time_of_every_operator() {
    let s = &mut session();
    let sql = "explain analyze select a.i % 7, count(*), sum(b.i) from n a join n b on a.i = b.i
               where a.i >= 50000 group by a.i % 7 order by 1 limit 3";
    for compile in ["on", "off"] {
        s.execute(&format!("set compile = {compile}"), &[]).unwrap();
        // The time of an operator is a share of looks at what the workers do: some must have been seen, sooner or later.
        let seen = (0..100).any(|_| {
            let text = lines(s, sql);
            let operators = operators(&text);
            let rows =
                |name: &str| -> Vec<u64> { operators.iter().filter(|o| o.0.starts_with(name)).map(|o| o.1).collect() };
            assert_eq!(rows("sort"), [3], "{text:#?}");
            assert_eq!(rows("aggregate"), [7], "{text:#?}");
            assert_eq!(rows("join"), [50_000], "{text:#?}");
            assert_eq!(rows("scan").iter().max(), Some(&50_000), "{text:#?}");
            operators.iter().any(|o| o.0 == "join" && o.2 > 0.0)
        });
        assert!(seen, "compile {compile}: no time for the join");
    }
}

#[test]
fn analyze_that_fails_leaves_nothing_behind() {
    let s = &mut session();
    let before = settled_memory(s.database());
    let sql =
        "explain analyze select a.i, count(*) from n a join n b on a.i = b.i group by a.i having 1 / (a.i - 99999) > 2";
    assert_eq!(s.execute(sql, &[]).unwrap_err().state(), base::SqlState::DIVISION_BY_ZERO);
    settles(s.database(), before, sql);
}

#[test]
fn an_interrupted_script_does_not_go_on() {
    let s = &mut session();
    let interrupt = s.interrupt_handle();
    let mut statements = 0;
    let outcome = s.run_script("select 1; select 2; select 3", |_, _| {
        statements += 1;
        interrupt.interrupt();
        Ok(())
    });
    assert_eq!((outcome.unwrap_err().state(), statements), (base::SqlState::QUERY_CANCELED, 1));
    assert_eq!(lines(s, "select 'on'"), ["on"]);
}

#[test]
fn joins_say_how_many_rows_probe() {
    let s = &mut session();
    let said = |s: &mut Session, sql: &str| {
        let lines = lines(s, &format!("explain analyze {sql}"));
        lines.into_iter().find(|line| line.contains("probe sides"))
    };
    let sql = "select count(*) from n join digits on n.i % 10 = d";
    let text = "1 join: 100000 rows probed, 10 were built of: 100.0% on probe sides";
    assert_eq!(said(s, sql).as_deref(), Some(text));
    let sql = "select count(*) from digits a join digits b on a.d = b.d join digits c on b.d = c.d where a.d < 2";
    assert!(said(s, sql).unwrap().starts_with("2 joins: "));
    assert_eq!(said(s, "select count(*) from n"), None);
}

#[test]
fn groups_of_periods_are_estimated_by_the_bounds_of_moments() {
    let s = &mut session();
    // A hundred thousand minutes are 69 days and a half.
    s.execute("create table moments as select timestamp '2021-01-01' + i * interval '1 minute' as at from n", &[])
        .unwrap();
    for (key, groups) in [
        ("date_trunc('day', at)", 70),
        ("date_trunc('week', at)", 11),
        ("date_trunc('month', at)", 3),
        ("at::date", 70),
        ("time_bucket(interval '12 hours', at)", 139),
        ("date_trunc('day', at::timestamptz)", 70),
        ("date_trunc('hour', at::date)", 70),
        ("extract(year from at)", 1),
        ("extract(month from at)", 3),
    ] {
        let lines = lines(s, &format!("explain select {key}, count(*) from moments group by 1"));
        let line = lines.iter().find(|line| line.contains("aggregate")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let estimated: usize = words[words.len() - 2].parse().unwrap();
        assert!((groups..=groups + 2).contains(&estimated), "{key}: {line}");
        assert!(!lines.concat().contains("combined"), "{key} is grouped at once: {lines:?}");
    }
}
