//! Some logic oracles with fixed seeds; the binary `difference` makes as many checks as one wants (`--logic`).

#[test]
fn answers_fit_each_other() {
    let report = testkit::logic::run(1, 300, &mut |_| {}).unwrap();
    assert!(report.differences.is_empty(), "{}", report.differences.join("\n\n"));
    assert!(report.failed * 3 < report.checks, "{} of {} checks fail", report.failed, report.checks);
}
