//! Which columns are unique in an operator's result, so that a probe may stop at its first match.

use std::collections::BTreeSet;

use plan::{ColumnId, JoinKind, Node, Op, Plan};

/// Sets of columns on which no two rows of the result agree.
pub(super) fn unique_keys(plan: &Plan, node: &Node) -> Vec<BTreeSet<ColumnId>> {
    let mut keys = match &node.op {
        Op::Scan { table, columns, .. } => {
            let keys = plan.tables[*table].statistics.unique_keys();
            let column = |attribute: usize| columns.iter().find(|(a, _)| *a == attribute).map(|(_, c)| *c);
            keys.iter().filter_map(|key| key.iter().map(|&a| column(a)).collect()).collect()
        }
        Op::Join { kind: JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single, left, .. } => {
            unique_keys(plan, left)
        }
        _ => node.thinned().map_or_else(Vec::new, |input| unique_keys(plan, input)),
    };
    keys.extend(node.own_key().map(|key| key.into_iter().collect()));
    keys
}
