//! Which columns are unique in an operator's result, so that a probe may stop at its first match.

use plan::{ColumnId, JoinKind, Node, Op, Plan};
use std::collections::BTreeSet;

/// Sets of columns on which no two rows of the result agree.
pub(super) fn unique_keys(plan: &Plan, node: &Node) -> Vec<BTreeSet<ColumnId>> {
    match &node.op {
        Op::Scan { table, columns, .. } => {
            let keys = plan.tables[*table].statistics.unique_keys();
            let column = |attribute: usize| columns.iter().find(|(a, _)| *a == attribute).map(|(_, c)| *c);
            keys.iter().filter_map(|key| key.iter().map(|&a| column(a)).collect()).collect()
        }
        Op::Filter { input, .. } | Op::Map { input, .. } | Op::Sort { input, .. } | Op::Limit { input, .. } => {
            unique_keys(plan, input)
        }
        Op::GroupLimit { input, partition, limit, .. } => {
            let mut keys = unique_keys(plan, input);
            if matches!(limit, Some(0 | 1)) {
                keys.push(partition.iter().copied().collect());
            }
            keys
        }
        Op::Aggregate { groups, .. } => vec![groups.iter().map(|(c, _)| *c).collect()],
        Op::Distinct { columns, .. } => vec![columns.iter().copied().collect()],
        Op::Join { kind: JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single, left, .. } => {
            unique_keys(plan, left)
        }
        Op::Join { .. } | Op::CteScan { .. } | Op::Values { .. } | Op::SetOp { .. } => Vec::new(),
    }
}
