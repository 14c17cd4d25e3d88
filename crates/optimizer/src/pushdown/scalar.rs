//! Uncorrelated scalar subqueries: a join with at most one row, above which something is asked of its value.
//!
//! Where a predicate compares that value with columns of one input of the joins below, the row is joined to this input, so
//! that the predicate comes before the joins, as for a constant. If there are several rows, that is an error where some row
//! of the input meets them, as in PostgreSQL.

use std::collections::HashSet;

use plan::{ColumnId, Expr, JoinKind, Node, Op};

use super::columns_of;
use crate::rewrite::{filter, join};

/// The columns of `ours` that predicates compare with `theirs`; none if no predicate does.
pub(super) fn used_beside(
    predicates: &[Expr],
    ours: &HashSet<ColumnId>,
    theirs: &HashSet<ColumnId>,
) -> Option<HashSet<ColumnId>> {
    let compares = |p: &&Expr| p.uses(|c| theirs.contains(&c)) && p.uses(|c| ours.contains(&c)) && !p.is_volatile();
    let used: HashSet<ColumnId> = predicates.iter().filter(compares).flat_map(Expr::columns).collect();
    let used: HashSet<ColumnId> = used.intersection(ours).copied().collect();
    (!used.is_empty()).then_some(used)
}

/// The input of a join that has all these columns and may meet the row before the join: 0 is the left one.
fn side(node: &Node, used: &HashSet<ColumnId>) -> Option<usize> {
    let Op::Join { kind, left, right, .. } = &node.op else { return None };
    let (is_inner, keeps_left) = match kind {
        JoinKind::Inner => (true, true),
        JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single => (false, true),
        JoinKind::Right | JoinKind::Full => (false, false),
    };
    let has_all = |input: &Node| used.is_subset(&columns_of(input));
    match () {
        () if keeps_left && has_all(left) => Some(0),
        () if is_inner && has_all(right) => Some(1),
        () => None,
    }
}

/// Whether the row goes below some join: others of its kind do not count, that may go below it in turn.
pub(super) fn goes_below(node: &Node, used: &HashSet<ColumnId>) -> bool {
    match &node.op {
        Op::Filter { input, .. } => goes_below(input, used),
        Op::Join { kind: JoinKind::Single, left, condition, .. } if condition.is_empty() => goes_below(left, used),
        _ => side(node, used).is_some(),
    }
}

/// Joins the row of `right` to the input that has all these columns.
pub(super) fn sink(node: Node, right: Node, used: &HashSet<ColumnId>) -> Node {
    if let Op::Filter { input, predicates } = node.op {
        return filter(sink(*input, right, used), predicates);
    }
    let Some(side) = side(&node, used) else { return join(JoinKind::Single, node, right, Vec::new()) };
    let Op::Join { kind, left, right: other, condition, build } = node.op else { unreachable!("it has sides") };
    let (left, other) = match side {
        0 => (sink(*left, right, used), *other),
        _ => (*left, sink(*other, right, used)),
    };
    Node::new(Op::Join { kind, left: Box::new(left), right: Box::new(other), condition, build })
}
