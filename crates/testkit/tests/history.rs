//! Histories of a few thousand transactions at each isolation level; the binary `histories` makes as many as one wants.

use testkit::history::check::check;
use testkit::history::{Level, Workload, run};

#[test]
fn levels_allow_what_their_transactions_see() {
    for (seed, level) in (1..).zip(Level::ALL) {
        let workload = Workload { seed, transactions: 1_500, sessions: 6, level, control: "mvcc" };
        let history = run(&workload).unwrap();
        let committed = history.iter().filter(|t| t.committed).count();
        assert!(committed > history.len() / 4, "{committed} of {} are committed: {workload:?}", history.len());
        let wrong = check(&history, level);
        assert!(wrong.is_empty(), "{workload:?}: {}", wrong.join("\n"));
        // Enough goes on at once that the next level would not allow it.
        let next = [Level::Snapshot, Level::Serializable].into_iter().find(|next| *next as usize > level as usize);
        assert!(next.is_none_or(|next| !check(&history, next).is_empty()), "{workload:?} hardly tests anything");
    }
}

#[test]
fn other_controls_are_serializable_at_any_level() {
    let controls =
        ["serial", "two_phase_locking", "timestamp_ordering", "timestamp_ordering", "partitioned", "partitioned"];
    for (seed, control) in (11..).zip(controls) {
        let level = Level::ALL[seed as usize % 3];
        let workload = Workload { seed, transactions: 1_500, sessions: 6, level, control };
        let history = run(&workload).unwrap();
        let committed = history.iter().filter(|t| t.committed).count();
        assert!(committed > history.len() / 8, "{committed} of {} are committed: {workload:?}", history.len());
        let wrong = check(&history, Level::Serializable);
        assert!(wrong.is_empty(), "{workload:?}: {}", wrong.join("\n"));
    }
}
