//! The 22 queries at a small scale: from Parquet and from CSV, one worker and two, compiled and interpreted.

use std::path::Path;

use engine::{Config, Database, Session};
use engine::rows::text_rows;
use tpch::{Format, QUERIES, Source, generate, load};

const SCALE: f64 = 0.01;

fn open(folder: &Path, source: Source, threads: usize, setting: &str) -> Session {
    let mut session = Database::new(Config { threads: Some(threads), ..Config::default() }).unwrap().connect();
    load(&mut session, folder, source, |_| {}).unwrap();
    session.execute(setting, &[]).unwrap().collect().unwrap();
    session
}

#[test]
fn every_way_gives_the_same_answers() {
    let folder = std::env::temp_dir().join(format!("morseldb-tpch-{}", std::process::id()));
    generate(SCALE, &folder, Format::Parquet, |_| {}).unwrap();
    generate(SCALE, &folder, Format::Csv, |_| {}).unwrap();
    let mut first = open(&folder, Source::Parquet, 1, "SET compile = on");
    let mut others = [
        ("two threads", open(&folder, Source::Parquet, 2, "SET compile = on")),
        ("CSV", open(&folder, Source::Csv, 2, "SET compile = on")),
        ("views on files", open(&folder, Source::ParquetViews, 2, "SET compile = on")),
        ("interpreted", open(&folder, Source::Parquet, 2, "SET compile = off")),
    ];
    let mut failures = Vec::new();
    for query in QUERIES {
        let expected = text_rows(first.execute(query.sql, &[]).unwrap()).unwrap();
        let text = expected.iter().map(|r| r.join("|")).collect::<Vec<_>>().join("\n");
        for (name, session) in &mut others {
            let actual = session.execute(query.sql, &[]).and_then(text_rows);
            let verdict = actual.map_err(|e| e.to_string());
            let verdict =
                verdict.and_then(|rows| tpch::compare_answers(&format!("names\n{text}"), &rows, true));
            failures.extend(verdict.err().map(|e| format!("Q{} {name}: {e}", query.number)));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
