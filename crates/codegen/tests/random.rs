//! Random programs do the same compiled and interpreted.

mod common;

#[test]
fn random_programs_agree() {
    let (mut failed, mut rows) = (0, 0);
    let count = 400;
    let first = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    for seed in first..first + count {
        match common::check(&common::random::program(seed)) {
            Some(result) => rows += result.len(),
            None => failed += 1,
        }
    }
    assert!(failed < count / 2, "{failed} of {count} programs fail");
    assert!(rows > 1000, "{rows} rows");
}
