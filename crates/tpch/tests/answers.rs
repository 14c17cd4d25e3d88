//! The 22 queries at a small scale beside PostgreSQL's answers: from Parquet and from CSV, one worker and two, compiled
//! and interpreted.

use std::path::Path;

use engine::rows::text_rows;
use engine::{Config, Database, Session};
use tpch::{Format, QUERIES, Source, compare_answers, generate, load};

const SCALE: f64 = 0.01;

fn open(folder: &Path, source: Source, threads: usize, setting: &str) -> Session {
    let mut session = Database::new(Config { threads: Some(threads), ..Config::default() }).unwrap().connect();
    load(&mut session, folder, source, |_| {}).unwrap();
    session.execute(setting, &[]).unwrap().collect().unwrap();
    session
}

#[test]
fn every_way_gives_the_answers_of_postgresql() {
    let folder = std::env::temp_dir().join(format!("morseldb-tpch-{}", std::process::id()));
    generate(SCALE, &folder, Format::Parquet, |_| {}).unwrap();
    generate(SCALE, &folder, Format::Csv, |_| {}).unwrap();
    let mut ways = [
        ("one thread", open(&folder, Source::Parquet, 1, "SET compile = on")),
        ("two threads", open(&folder, Source::Parquet, 2, "SET compile = on")),
        ("CSV", open(&folder, Source::Csv, 2, "SET compile = on")),
        ("views on files", open(&folder, Source::ParquetViews, 2, "SET compile = on")),
        ("interpreted", open(&folder, Source::Parquet, 2, "SET compile = off")),
    ];
    let mut failures = Vec::new();
    for query in QUERIES {
        for (name, session) in &mut ways {
            let actual = session.execute(query.sql, &[]).and_then(text_rows).map_err(|e| e.to_string());
            // Averages have other numbers of digits; rows that ORDER BY leaves as ties may change places.
            let verdict = actual.and_then(|rows| compare_answers(query.small_answer, &rows, true));
            failures.extend(verdict.err().map(|e| format!("Q{} {name}: {e}", query.number)));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
