//! How many of the functions of PostgreSQL and DuckDB there are: the lists of their names lie in `functions`, and docs/functions.md says
//! why some categories are not counted.

use std::collections::BTreeMap;

use engine::{Config, Database, Session};
use functions::aggregate::AGGREGATES;
use functions::lambda::LAMBDAS;
use functions::{ScalarFunction, WindowFunction, composed};

/// At least so many of a hundred names that count must be known.
const LEAST: usize = 90;

const PAGE: &str = include_str!("../../../docs/functions.md");

/// Names that the grammar has forms of its own for: a statement that uses each.
const FORMS: &[(&str, &str)] = &[
    ("set_config", "SELECT set_config('search_path', 'main', false)"),
    ("current_catalog", "SELECT current_catalog"),
    ("current_user", "SELECT current_user"),
    ("session_user", "SELECT session_user"),
    ("user", "SELECT user"),
    ("row", "SELECT row(1, 2) = row(1, 2)"),
    ("extract", "SELECT extract(year FROM date '2020-01-01')"),
    ("overlaps", "SELECT (date '2020-01-01', date '2020-02-01') OVERLAPS (date '2020-01-15', date '2020-03-01')"),
    ("overlay", "SELECT overlay('abc' PLACING 'x' FROM 1)"),
    ("position", "SELECT position('a' IN 'abc')"),
    ("substring", "SELECT substring('abc' FROM 2)"),
    ("list", "SELECT list(x) FROM (VALUES (1)) AS t (x)"),
];

/// Arguments with which functions are called that have no row: those of some such function that there is.
const ARGUMENTS: &[&str] = &[
    "",
    "NULL",
    "NULL, NULL",
    "NULL, NULL, NULL",
    "NULL, NULL, NULL, NULL",
    "ARRAY[1]",
    "ARRAY[1], 1",
    "ARRAY[1], 'sum'",
    "1",
    "1, 2",
    "'a'",
    "'a', 'a'",
    "'{}'::json",
    "'{}'::jsonb",
    "{'a': 1}",
    "{'a': 1}, 'a'",
    "{'a': 1}, 1",
    "{'a': 1}, {'b': 1}",
    "MAP {'a': 1}",
    "MAP {'a': 1}, 'a'",
    "MAP {'a': 1}, 1",
    "timestamptz '2020-01-01 00:00:00+00'",
    "'ok'::mood",
    "'counted'",
    "'counted', 1",
    "'year', date '2020-01-01'",
];

/// The names of a list with the categories of those that are not counted.
fn list(text: &'static str) -> Vec<(&'static str, Option<&'static str>)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once('\t').map_or((line, None), |(name, category)| (name, Some(category)))).collect()
}

/// Names of rows: of scalar functions, aggregates, window functions, functions made of others and those that take a lambda.
fn has_row(name: &str) -> bool {
    ScalarFunction::find(name).is_some()
        || AGGREGATES.iter().any(|a| a.names.contains(&name))
        || WindowFunction::find(name).is_some()
        || composed::all().any(|c| c.names.contains(&name))
        || LAMBDAS.iter().any(|l| l.names.contains(&name))
}

fn runs(session: &mut Session, sql: &str) -> bool {
    session.execute(sql, &[]).and_then(|result| result.rows().map(drop)).is_ok()
}

/// Whether the binder takes a call of that name, in an expression or in FROM.
fn is_bound(session: &mut Session, name: &str) -> bool {
    ["SELECT", "SELECT * FROM"].iter().any(|context| {
        // Readers of files have none to read.
        let binds = |arguments| {
            let call = session.execute(&format!("EXPLAIN {context} {name}({arguments})"), &[]);
            call.err().is_none_or(|error| error.state().0 == "58P01")
        };
        ARGUMENTS.iter().any(binds)
    })
}

fn is_known(session: &mut Session, name: &str) -> bool {
    let name = name.to_lowercase();
    match FORMS.iter().find(|(form, _)| *form == name) {
        Some((_, sql)) => runs(session, sql),
        None => has_row(&name) || is_bound(session, &name),
    }
}

#[test]
fn most_functions_of_postgresql_and_duckdb_are_there() {
    let mut session = Database::new(Config { threads: Some(1), ..Config::default() }).unwrap().connect();
    session.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')", &[]).unwrap();
    session.execute("CREATE SEQUENCE counted", &[]).unwrap();
    let lists = [
        ("PostgreSQL", list(include_str!("../functions/postgresql.txt"))),
        ("DuckDB", list(include_str!("../functions/duckdb.txt"))),
    ];
    let mut wrong = Vec::new();
    for (system, names) in lists {
        let mut categories: BTreeMap<&str, usize> = BTreeMap::new();
        let mut missing = Vec::new();
        let mut counted = 0;
        for (name, category) in names {
            match category {
                Some(category) => *categories.entry(category).or_default() += 1,
                None => {
                    counted += 1;
                    if !is_known(&mut session, name) {
                        missing.push(name);
                    }
                }
            }
        }
        let known = counted - missing.len();
        let share = 100 * known / counted;
        println!("{system}: {known} of {counted}, {share}%; missing: {}", missing.join(" "));
        for (category, names) in categories {
            if !PAGE.lines().any(|line| line.starts_with(&format!("| {category} |"))) {
                wrong.push(format!("docs/functions.md gives no reason for {category}: {names} names"));
            }
        }
        let told = format!("| {system} | {counted} | {known} | {share}% |");
        if !PAGE.contains(&told) {
            wrong.push(format!("docs/functions.md should say: {told}"));
        }
        if share < LEAST {
            wrong.push(format!("{system}: {share}% of the names that count"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
