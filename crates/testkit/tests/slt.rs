//! Our sqllogictest files, compiled and interpreted, with batches that pause, or those of them whose name contains `MORSEL_SLT`; and
//! SQLite's corpus where `MORSEL_SLT_CORPUS` names a folder.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use engine::Config;
use testkit::slt::{files, run_file, sqlite};

/// Both as usual, and with runs that end after each batch, and batches that pause after a few candidates of a match.
fn usual() -> Config {
    Config { threads: Some(2), ..Config::default() }
}
fn pausing() -> Config {
    Config { slice: Some(Duration::ZERO), steps: Some(3), ..usual() }
}

fn ours(config: &Config, settings: &[&str]) {
    let mut all = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("slt"));
    let part = std::env::var("MORSEL_SLT").unwrap_or_default();
    all.retain(|file| file.to_string_lossy().contains(&part));
    assert!(!all.is_empty());
    let failures: Vec<String> = all.iter().filter_map(|f| run_file(f, config, settings).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn compiled() {
    ours(&usual(), &[]);
}

#[test]
fn compiled_with_pauses() {
    ours(&pausing(), &["SET eager_groups = always"]);
}

#[test]
fn interpreted_with_pauses() {
    ours(&pausing(), &["SET compile = off"]);
}

/// By one worker, as in the differential test: with several, a filter that is no part of its scan lets a later morsel fill a LIMIT
/// before an earlier one has come to its rows.
#[test]
fn not_optimised() {
    ours(&usual(), &["SET optimize = off", "SET worker_limit = 1"]);
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
