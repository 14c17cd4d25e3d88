//! Our sqllogictest files beside PostgreSQL: their answers are its answers. Skipped where it is not installed.

use std::path::Path;

use testkit::postgres::Postgres;
use testkit::slt::{beside, files};

#[test]
fn postgresql_agrees() {
    let Some(server) = Postgres::start() else {
        println!("skipped: PostgreSQL is not installed (Debian: apt-get install postgresql)");
        return;
    };
    let server = server.expect("PostgreSQL starts");
    let all = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("slt"));
    let failures: Vec<String> = all.iter().filter_map(|f| beside::run_file(&server, f).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
