//! Generated code against the definitions: every operation on numbers over all pairs of values at the edges of its type.
//! The definitions are `types::ops`, by way of constant folding and of the interpreter.

use engine::rows::text_rows;
use engine::{Config, Database, Session};

/// A type, and values at its edges.
type Edges = (&'static str, &'static [&'static str]);

const TYPES: &[Edges] = &[
    ("smallint", &["-32768", "-32767", "-1", "0", "1", "7", "32767"]),
    ("integer", &["-2147483648", "-1", "0", "1", "46341", "2147483647"]),
    ("bigint", &["-9223372036854775808", "-1", "0", "1", "3037000500", "9007199254740993", "9223372036854775807"]),
    ("decimal(9, 2)", &["-9999999.99", "-0.01", "0", "0.5", "1", "9999999.99"]),
    ("decimal(38, 0)", &["-99999999999999999999999999999999999999", "-1", "0", "1", "16777217", "5e18", "1e37"]),
    (
        "decimal(30, 10)",
        &["-12345678901234567890.0123456789", "-1", "0", "0.0000000001", "16777217.0000000001", "0.1", "2.5", "1e19"],
    ),
    (
        "real",
        &[
            "NaN",
            "-Infinity",
            "Infinity",
            "-3.4028235e38",
            "3.4028235e38",
            "1e-45",
            "-1e-38",
            "-0",
            "0",
            "1",
            "0.1",
            "16777217",
            "2.5",
            "1e20",
        ],
    ),
    (
        "double precision",
        &[
            "NaN",
            "-Infinity",
            "Infinity",
            "-1.7976931348623157e308",
            "1.7976931348623157e308",
            "5e-324",
            "-2.2250738585072014e-308",
            "-0",
            "0",
            "1",
            "0.1",
            "-2.5",
            "9223372036854775807",
            "1e-200",
            "1e200",
            "3.4028236e38",
        ],
    ),
];

fn session(settings: &[&str]) -> Session {
    let mut session = Database::new(Config { threads: Some(1), ..Config::default() }).unwrap().connect();
    settings.iter().for_each(|s| drop(session.execute(s, &[]).unwrap().collect().unwrap()));
    session
}

/// The only field of the result, or the SQLSTATE.
fn field(session: &mut Session, sql: &str) -> String {
    match session.execute(sql, &[]).and_then(text_rows) {
        Ok(rows) => rows[0].join(" "),
        Err(error) => format!("error {}", error.state().0),
    }
}

fn literal((name, _): &Edges, value: &str) -> String {
    format!("CAST('{value}' AS {name})")
}

/// Fills `e(id, x, y)` with all pairs of the type's values.
fn fill(session: &mut Session, edges: &Edges) {
    let (name, values) = edges;
    let pairs = values.iter().flat_map(|x| values.iter().map(move |y| (x, y)));
    let rows: Vec<String> =
        pairs.enumerate().map(|(id, (x, y))| format!("({id}, {}, {})", literal(edges, x), literal(edges, y))).collect();
    for sql in [
        "DROP TABLE IF EXISTS e".to_string(),
        format!("CREATE TABLE e (id integer, x {name}, y {name})"),
        format!("INSERT INTO e VALUES {}", rows.join(", ")),
    ] {
        session.execute(&sql, &[]).unwrap().collect().unwrap();
    }
}

/// Compares an expression over `x` and `y` for all pairs; many comparisons may stand in one expression.
fn compare(
    compiled: &mut Session,
    reference: &mut Session,
    edges: &Edges,
    expression: &str,
    both: bool,
) -> Vec<String> {
    let values = edges.1;
    let mut differences = Vec::new();
    for (i, x) in values.iter().enumerate() {
        for (j, y) in values.iter().enumerate().filter(|(j, _)| both || *j == 0) {
            let actual = field(compiled, &format!("SELECT {expression} FROM e WHERE id = {}", i * values.len() + j));
            let constants: String = expression
                .chars()
                .map(|c| match c {
                    'x' => literal(edges, x),
                    'y' => literal(edges, y),
                    c => c.to_string(),
                })
                .collect();
            let expected = field(reference, &format!("SELECT {constants}"));
            if actual != expected {
                differences.push(format!("{constants}: {actual}, but by definition {expected}"));
            }
        }
    }
    differences
}

#[test]
fn generated_code_computes_as_the_definitions_do() {
    let (mut compiled, mut reference) = (session(&[]), session(&["SET compile = off"]));
    let mut differences = Vec::new();
    for edges in TYPES {
        fill(&mut compiled, edges);
        let float = matches!(edges.0, "real" | "double precision");
        let operators: &[&str] = if float { &["+", "-", "*", "/"] } else { &["+", "-", "*", "/", "%"] };
        for operator in operators {
            differences.extend(compare(&mut compiled, &mut reference, edges, &format!("x {operator} y"), true));
        }
        let comparisons = "x = y, x <> y, x < y, x <= y, x > y, x >= y, x IS DISTINCT FROM y";
        differences.extend(compare(&mut compiled, &mut reference, edges, comparisons, true));
        differences.extend(compare(&mut compiled, &mut reference, edges, "-(x)", false));
        // Names without the letters that stand for the values.
        for to in ["smallint", "integer", "bigint", "decimal(9, 2)", "decimal(38, 0)", "real", "double precision"] {
            differences.extend(compare(&mut compiled, &mut reference, edges, &format!("CAST(x AS {to})"), false));
        }
    }
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
}
