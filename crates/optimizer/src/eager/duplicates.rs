//! Aggregates to which it does not matter how often a row is there: `max(md5(color))` takes the digest of each color, and not of each
//! row. The rows are made distinct by what is read of them first, where that is estimated to pay.
//!
//! Nothing is evaluated for other values than before: an expression that fails may stay one.

use std::collections::BTreeSet;

use plan::{AggregateCall, ColumnId, Expr, Node, Op};
use types::SqlType;

use super::cost::{self, Costs};
use super::{EagerGroups, Rewriting, When};
use crate::rewrite::take;

/// More rows than these that differ are not found in less time than most functions take: fewer are known by their codes, and lie in
/// the first cache.
const MOST: f64 = 4096.0;

impl EagerGroups {
    /// Whether a grouping is of so many rows that these may be made distinct before, and none of its aggregates counts them.
    pub(super) fn ignores_duplicates(&self, node: &Node) -> bool {
        let ignores = |(_, call): &(ColumnId, AggregateCall)| call.function.ignores_duplicates();
        match &node.op {
            Op::Aggregate { input, aggregates, .. } => {
                !aggregates.is_empty() && self.is_large(input) && aggregates.iter().all(ignores)
            }
            _ => false,
        }
    }
}

impl Rewriting<'_> {
    /// The same grouping, of rows that are distinct, if that pays.
    pub(super) fn without_duplicates(&self, mut node: Node) -> Node {
        if !self.pass.ignores_duplicates(&node) || node.expressions().any(Expr::is_volatile) {
            return node;
        }
        let read: BTreeSet<ColumnId> = node.expressions().flat_map(Expr::columns).collect();
        let each: f64 = node.expressions().map(cost::of_expression).sum();
        let of_groups = node.rows;
        let Op::Aggregate { input, groups, .. } = &mut node.op else { return node };
        let of_keys: Vec<SqlType> = groups.iter().map(|(_, key)| key.sql_type).collect();
        if each > 0.0
            && let Some(distinct) = self.distinct(input, &read, each + cost::of_group(&of_keys, of_groups))
        {
            let (rows, columns) = (distinct, read.into_iter().collect());
            **input = Node { rows, ..Node::new(Op::Distinct { input: Box::new(take(input)), columns }) };
        }
        node
    }

    /// How many rows differ in these columns, if it pays to find them where each costs so much.
    fn distinct(&self, input: &Node, columns: &BTreeSet<ColumnId>, each: f64) -> Option<f64> {
        if columns.is_empty() || matches!(input.op, Op::Aggregate { .. } | Op::Distinct { .. }) {
            return None;
        }
        let types: Vec<SqlType> = columns.iter().map(|&column| self.columns[column].sql_type).collect();
        if !types.iter().all(|of| of.equality_is_identity()) {
            return None;
        }
        let distinct = columns.iter().map(|&column| self.estimator.distinct_at(column, input.rows));
        let groups = distinct.product::<f64>().clamp(1.0, input.rows.max(1.0));
        if groups > MOST && self.pass.0 == When::Worthwhile {
            return None;
        }
        let costs = Costs::new(input.rows, each);
        costs.saved(input.rows, groups, cost::of_group(&types, groups), self.pass.0).map(|_| groups)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EagerGroups, When};

    #[track_caller]
    fn check(before: &str, after: &str) {
        crate::testing::check(&[&crate::cardinality::Estimates, &EagerGroups(When::Always)], before, after);
    }

    #[test]
    fn what_ignores_duplicates_is_computed_of_distinct_rows() {
        check(
            "\
output [m = m#2]
  aggregate [] [m#2:text? = max(upper(b#1))]
    scan t t0 [a#0:integer = 0, b#1:text = 1]
",
            "\
output [m = m#2]
  aggregate [] [m#2:text? = max(upper(b#1))]
    distinct [b#1]
      scan t t0 [a#0:integer = 0, b#1:text = 1]
",
        );
        check(
            "\
output [a = a#2, m = m#3]
  aggregate [a#2:integer = a#0] [m#3:text? = max(upper(b#1)) filter (b#1 > 'x')]
    scan t t0 [a#0:integer = 0, b#1:text = 1]
",
            "\
output [a = a#2, m = m#3]
  aggregate [a#2:integer = a#0] [m#3:text? = max(upper(b#1)) filter (b#1 > 'x')]
    distinct [a#0, b#1]
      scan t t0 [a#0:integer = 0, b#1:text = 1]
",
        );
    }

    #[test]
    fn what_counts_rows_or_costs_nothing_stays() {
        let plan = |calls: &str| {
            format!(
                "output [m = m#2]\n  aggregate [] [{calls}]\n    scan t t0 [a#0:integer = 0, b#1:text = 1, d#5:double = 2]\n"
            )
        };
        for plan in [
            plan("m#2:text? = max(b#1)"),
            plan("m#2:text? = max(upper(b#1)), n#3:bigint = count(*)"),
            // Equal doubles may differ.
            plan("m#2:text? = max(cast(d#5 as text))"),
        ] {
            check(&plan, &plan);
        }
    }
}
