//! Our sqllogictest files, and a few hundred random statements, beside PostgreSQL, whose answers are the right ones. Skipped
//! where it is not installed; the binary `difference --postgresql` runs as many statements as one wants.

use std::path::Path;

use testkit::peer;
use testkit::postgres::Postgres;
use testkit::slt::{beside, files};

fn start() -> Option<Postgres> {
    let server = Postgres::start();
    if server.is_none() {
        println!("skipped: PostgreSQL is not installed (Debian: apt-get install postgresql)");
    }
    server.map(|server| server.expect("PostgreSQL starts"))
}

#[test]
fn postgresql_agrees() {
    let Some(server) = start() else { return };
    let all = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("slt"));
    let failures: Vec<String> = all.iter().filter_map(|f| beside::run_file(&server, f).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn postgresql_agrees_on_random_statements() {
    let Some(server) = start() else { return };
    let report = peer::run(&server, 1, 500).unwrap();
    assert!(report.differences.is_empty(), "{}", report.differences.join("\n\n"));
    assert!(report.failed * 3 < report.statements, "{} of {} fail", report.failed, report.statements);
}
