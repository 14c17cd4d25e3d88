//! How passes are tested: plans as text, before and after.

use plan::Plan;
use plan::text::{parse, print, stub_table};

use crate::Pass;

/// The plan of a text, verified.
#[track_caller]
pub(crate) fn plan_of(text: &str) -> Plan {
    let plan = parse(text, &mut stub_table).unwrap();
    plan::verify(&plan, false).unwrap();
    plan
}

/// Runs passes over a plan and compares the text of the result, which must be valid and unnested.
#[track_caller]
pub(crate) fn check(passes: &[&dyn Pass], before: &str, after: &str) {
    let mut plan = plan_of(before);
    for pass in passes {
        pass.run(&mut plan).unwrap();
    }
    let text = print(&plan);
    plan::verify(&plan, true).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(text == after, "{text}");
}
