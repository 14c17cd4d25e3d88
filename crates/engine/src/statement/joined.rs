//! What arrives at joins, for EXPLAIN ANALYZE: rows that hash tables are built of, and rows that probe them. Most of them
//! should probe (the thesis has 97.4% for TPC-H and 99.5% for SSB, 4.5.2), as a table is materialised and a probe is not.

use std::fmt;

use plan::{BuildSide, Op};

/// Rows that have arrived at all joins of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Joined {
    built: u64,
    probing: u64,
    joins: usize,
}

impl Joined {
    /// Counts an operator, if it is a join, with the rows that its inputs have delivered.
    pub(super) fn count(&mut self, operator: &Op, inputs: &[u64]) {
        if let (Op::Join { build, .. }, &[left, right]) = (operator, inputs) {
            let (built, probing) = match build {
                BuildSide::Left => (left, right),
                BuildSide::Right => (right, left),
            };
            self.built += built;
            self.probing += probing;
            self.joins += 1;
        }
    }

    /// Whether there is any.
    pub(super) fn is_empty(self) -> bool {
        self.joins == 0
    }
}

impl fmt::Display for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { built, probing, joins } = *self;
        let part = 100.0 * probing as f64 / (built + probing).max(1) as f64;
        let joins = if joins == 1 { "1 join".to_owned() } else { format!("{joins} joins") };
        write!(f, "{joins}: {probing} rows probed, {built} were built of: {part:.1}% on probe sides")
    }
}
