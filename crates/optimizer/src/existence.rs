//! Joins that only ask whether there is a partner: where nobody counts rows (below IN and EXISTS, DISTINCT, `min` and `max`) an inner
//! join of whose side no column is read above is a semi join. It stops at the first partner, and gives each row once.
//!
//! `WHERE o IN (SELECT a.o FROM sales a, sales b WHERE a.o = b.o AND a.w <> b.w)` (TPC-DS Q95) so makes no pairs of sales. A common table
//! expression is one whose rows nobody counts if none of its readers does.
//!
//! It is done where pairs are expected to be more than the rows of either side: otherwise an inner join, which may begin at the smaller
//! side and look the other one up, is as good or better.
//!
//! Invariant: what is read above has the same set of rows. Conditions cannot fail, as pairs are left out.

use std::collections::{BTreeMap, BTreeSet};

use base::{IdMap, Result};
use plan::{AggregateCall, ColumnId, CteId, JoinKind, Node, Op, Plan, SetOperation, TableId, TableInfo};

use crate::cardinality::Estimator;
use crate::rewrite::infallible;
use crate::{Check, Pass};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Existence {
    /// Whatever is expected, for tests.
    pub always: bool,
}

impl Pass for Existence {
    fn name(&self) -> &'static str {
        "existence"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        let Plan { columns, tables, ctes, root, output } = plan;
        let (counted, always) = (BTreeMap::new(), self.always);
        let mut walk = Walk { counted, tables, columns: columns.len(), always, check };
        let output: BTreeSet<ColumnId> = output.iter().map(|&(_, column)| column).collect();
        walk.node(root, true, &output)?;
        // A definition is read by later ones and the query; what reads itself is looked at with its own rows counted.
        for id in ctes.keys().collect::<Vec<_>>().into_iter().rev() {
            let used = ctes[id].columns.iter().copied().collect();
            let is_counted = walk.counted.get(&id).copied().unwrap_or(true);
            walk.node(&mut ctes[id].plan, is_counted, &used)?;
        }
        Ok(())
    }
}

struct Walk<'c> {
    /// Of the common table expressions that have been read, whether some reader counts rows.
    counted: BTreeMap<CteId, bool>,
    /// Of the plan, and how many columns that has.
    tables: &'c IdMap<TableId, TableInfo>,
    columns: usize,
    always: bool,
    check: Check<'c>,
}

impl Walk<'_> {
    /// An operator whose rows are counted by somebody above, or not; above, these columns are read.
    fn node(&mut self, node: &mut Node, is_counted: bool, used: &BTreeSet<ColumnId>) -> Result<()> {
        (self.check)()?;
        if !is_counted && self.multiplies(node) {
            ask(node, used);
        }
        let mut below = used.clone();
        node.expressions().for_each(|expr| below.extend(expr.columns()));
        let is_volatile = node.expressions().any(|expr| expr.is_volatile());
        match &mut node.op {
            Op::CteScan { cte, .. } => *self.counted.entry(*cte).or_default() |= is_counted,
            Op::Scan { .. } | Op::Values { .. } => {}
            // What a call gives that is another each time, somebody may count.
            Op::Filter { input, .. } | Op::Map { input, .. } => self.node(input, is_counted || is_volatile, &below)?,
            Op::Distinct { input, columns } => {
                below.extend(columns.iter().copied());
                self.node(input, false, &below)?;
            }
            Op::Aggregate { input, groups, aggregates } => {
                let ignores =
                    |(_, call): &(ColumnId, AggregateCall)| call.distinct || call.function.ignores_duplicates();
                // One row for no rows is as good for one or several.
                let counts = !aggregates.iter().all(ignores) || groups.is_empty() && aggregates.is_empty();
                self.node(input, counts, &below)?;
            }
            Op::Join { kind, left, right, .. } => {
                let (of_left, of_right) = match kind {
                    JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full => (is_counted, is_counted),
                    JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) => (is_counted, false),
                    JoinKind::Single => (is_counted, true),
                };
                self.node(left, of_left, &below)?;
                self.node(right, of_right, &below)?;
            }
            Op::SetOp { operation, all, inputs, .. } => {
                let counts = match (operation, *all) {
                    (SetOperation::Union, true) => is_counted,
                    (_, all) => all,
                };
                for (input, columns) in inputs {
                    self.node(input, counts, &columns.iter().copied().collect())?;
                }
            }
            Op::Sort { .. } | Op::Limit { .. } | Op::GroupLimit { .. } | Op::Window { .. } | Op::Repeat { .. } => {
                // All that they name besides expressions.
                let mut all = below;
                for input in node.inputs_mut() {
                    all.extend(input.columns());
                    self.node(input, true, &all)?;
                }
            }
            Op::Recursion { inputs, .. } => {
                for (input, columns) in inputs {
                    self.node(input, true, &columns.iter().copied().collect())?;
                }
            }
        }
        Ok(())
    }
}

impl Walk<'_> {
    /// Whether a join is expected to have more rows than each of its sides. Where it has not, a row's first partner is the only
    /// one, and an inner join may begin at either side.
    fn multiplies(&self, node: &Node) -> bool {
        let Op::Join { kind: JoinKind::Inner, condition, .. } = &node.op else { return false };
        if condition.is_empty() || self.always {
            return !condition.is_empty();
        }
        // Estimates of a copy: those of the plan are made when its joins have their order.
        let mut join = node.clone();
        let rows = Estimator::new(self.tables, self.columns).annotate(&mut join).rows;
        join.inputs().all(|side| side.rows < rows)
    }
}

/// An inner join whose rows nobody counts, and of whose one side nobody reads a column, asks for a partner.
fn ask(node: &mut Node, used: &BTreeSet<ColumnId>) {
    let Op::Join { kind: kind @ JoinKind::Inner, left, right, condition, .. } = &mut node.op else { return };
    if !condition.iter().all(|c| infallible(c) && !c.is_volatile()) {
        return;
    }
    let is_read = |side: &Node| side.columns().iter().any(|column| used.contains(column));
    if is_read(right) {
        if is_read(left) {
            return;
        }
        std::mem::swap(left, right);
    }
    *kind = JoinKind::Semi;
}

#[cfg(test)]
mod tests {
    use super::Existence;

    #[track_caller]
    fn check(before: &str, after: &str) {
        crate::testing::check(&[&Existence { always: true }], before, after);
    }

    const PAIRS: &str = "[o#3 = o#6, w#4 <> w#7]
      scan a t1 [o#3:integer = 0, w#4:integer = 1]
      scan b t2 [o#6:integer = 0, w#7:integer = 1]
";

    #[test]
    fn a_partner_is_enough_where_nobody_counts_rows() {
        let plan = |kind: &str| {
            format!(
                "output [o = o#0]\n  join semi [o#0 = o#3]\n    scan t t0 [o#0:integer = 0]\n    join {kind} {PAIRS}"
            )
        };
        check(&plan("inner"), &plan("semi"));
        let plan = |kind: &str, of: &str| {
            format!(
                "output [m = m#9]\n  aggregate [k#8:integer = o#3] [m#9:integer? = {of}(w#4)]\n    join {kind} {PAIRS}"
            )
        };
        check(&plan("inner", "max"), &plan("semi", "max"));
        let summed = plan("inner", "bit_xor");
        check(&summed, &summed);
    }

    #[test]
    fn rows_that_are_counted_or_read_of_both_sides_are_pairs() {
        let both = format!("output [o = o#3]\n  distinct [o#3, w#7]\n    join inner {PAIRS}");
        check(&both, &both);
        let limited = format!(
            "output [o = o#3]\n  distinct [o#3]\n    limit 3\n{}",
            PAIRS.replace("      ", "        ").replacen("[o#3", "      join inner [o#3", 1)
        );
        check(&limited, &limited);
    }
}
