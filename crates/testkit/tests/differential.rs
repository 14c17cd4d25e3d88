//! A few hundred random queries; the binary `difference` runs as many as one wants.

#[test]
fn random_queries_agree() {
    let report = testkit::differential::run(1, 300, |_| {}).unwrap();
    assert!(report.differences.is_empty(), "{}", report.differences.join("\n\n"));
    assert!(report.failed * 4 < report.queries, "{} of {} queries fail", report.failed, report.queries);
}
