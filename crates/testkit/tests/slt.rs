//! Our sqllogictest files, compiled and interpreted; and SQLite's corpus where `MORSEL_SLT_CORPUS` names a folder.

use std::path::Path;

use testkit::slt::{files, run_file};

fn ours(settings: &[&str]) {
    let all = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("slt"));
    assert!(!all.is_empty());
    let failures: Vec<String> = all.iter().filter_map(|f| run_file(f, false, settings).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn compiled() {
    ours(&[]);
}

#[test]
fn interpreted() {
    ours(&["SET compile = off"]);
}

#[test]
fn not_optimised() {
    ours(&["SET optimize = off"]);
}

#[test]
fn corpus() {
    let Some(folder) = std::env::var_os("MORSEL_SLT_CORPUS") else { return };
    let all = files(Path::new(&folder));
    let failures: Vec<String> = all.iter().filter_map(|f| run_file(f, true, &[]).err()).collect();
    assert!(failures.is_empty(), "{} of {} files\n{}", failures.len(), all.len(), failures.join("\n\n"));
}
