//! How passes are tested: plans as text, before and after.

use plan::text::{parse, print, stub_table};
use plan::{Op, Plan};

use crate::{Pass, oracle};

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
        pass.run(&mut plan, &|| Ok(())).unwrap();
    }
    let text = print(&plan);
    plan::verify(&plan, true).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(text == after, "{text}");
    compare_results(&plan_of(before), &plan);
}

/// Compares the results of a plan and of what passes made of it over random tables. Plans with limits are left out:
/// they may choose their rows.
#[track_caller]
pub(crate) fn compare_results(before: &Plan, after: &Plan) {
    let mut limits = false;
    before.root.walk(&mut |n| {
        limits |= match n.op {
            Op::Sort { limit, .. } | Op::Limit { limit, .. } | Op::GroupLimit { limit, .. } => limit.is_some(),
            _ => false,
        }
    });
    if limits {
        return;
    }
    for seed in 0..300 {
        let Ok(expected) = oracle::result(before, seed) else { continue };
        match oracle::result(after, seed) {
            Ok(found) if found == expected => {}
            found => panic!("seed {seed}: {found:?} instead of {expected:?}\n{}", print(after)),
        }
    }
}
