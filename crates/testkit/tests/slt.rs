//! Our sqllogictest files, compiled and interpreted; and SQLite's corpus where `MORSEL_SLT_CORPUS` names a folder.

use std::collections::BTreeMap;
use std::path::Path;

use testkit::slt::{files, run_file, sqlite};

fn ours(settings: &[&str]) {
    let all = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("slt"));
    assert!(!all.is_empty());
    let failures: Vec<String> = all.iter().filter_map(|f| run_file(f, settings).err()).collect();
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
    let (mut passed, mut foreign, mut failures) = (0, BTreeMap::<String, usize>::new(), Vec::new());
    for file in &all {
        let outcome = sqlite::run_file(file);
        passed += outcome.passed;
        outcome.foreign.into_iter().for_each(|(state, n)| *foreign.entry(state).or_default() += n);
        failures.extend(outcome.failures);
    }
    println!("{passed} records passed in {} files; errors of another language: {foreign:?}", all.len());
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n\n"));
    assert!(passed > 0, "nothing in {}", Path::new(&folder).display());
}
