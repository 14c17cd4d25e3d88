//! Pulling correlated conjuncts up to the dependent join, past the operators that let them pass (section 3.1 of the
//! paper).

use std::collections::HashSet;

use plan::{ColumnId, Expr, JoinKind, Node, Op};

use crate::rewrite::{filter, infallible, join, map};

/// Moves conjuncts that read `outer` columns from the top operators of `node` to `out`. `existential`: only whether
/// there is a row matters, not how many times.
pub(super) fn hoist(node: Node, outer: &HashSet<ColumnId>, existential: bool, out: &mut Vec<Expr>) -> Node {
    let correlated = |e: &Expr| e.uses(|c| outer.contains(&c));
    let rows = node.rows;
    let op = match node.op {
        Op::Filter { input, predicates } => {
            let input = hoist(*input, outer, existential, out);
            let (outside, inside): (Vec<_>, Vec<_>) = predicates.into_iter().partition(correlated);
            out.extend(outside);
            return filter(input, inside);
        }
        Op::Scan { table, columns, predicates } => {
            let (outside, predicates): (Vec<_>, Vec<_>) = predicates.into_iter().partition(correlated);
            out.extend(outside);
            Op::Scan { table, columns, predicates }
        }
        Op::Join { mut kind, left, right, condition, .. } => {
            let depends = condition.iter().any(correlated) || right.free_columns().iter().any(|c| outer.contains(c));
            if kind == JoinKind::Semi && existential && depends {
                // Several partners repeat a row, which does not matter, and let the condition out.
                kind = JoinKind::Inner;
            }
            if kind == JoinKind::Inner {
                let left = hoist(*left, outer, existential, out);
                let right = hoist(*right, outer, existential, out);
                let (outside, inside): (Vec<_>, Vec<_>) = condition.into_iter().partition(correlated);
                out.extend(outside);
                return join(kind, left, right, inside);
            }
            // Not past a single join, which must not see rows that its input's conjuncts would have removed: a second
            // partner of theirs is an error.
            let passes = matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_));
            let left = if passes { hoist(*left, outer, existential, out) } else { *left };
            return join(kind, left, *right, condition);
        }
        Op::Map { input, columns } if columns.iter().all(|(_, e)| infallible(e)) => {
            return map(hoist(*input, outer, existential, out), columns);
        }
        Op::Sort { input, limit: None, offset: 0, .. } => return hoist(*input, outer, existential, out),
        Op::Distinct { input, .. } if existential => return hoist(*input, outer, existential, out),
        Op::Distinct { input, columns } => {
            let mut inner = Vec::new();
            let input = hoist(*input, outer, existential, &mut inner);
            // Of rows that are equal and differ, one stays: which, the conjunct must not decide afterwards.
            let whole = |e: &Expr| {
                let mut whole = true;
                e.visit_exact_columns(&mut |c| whole &= !columns.contains(&c));
                whole
            };
            let (outside, inside): (Vec<_>, Vec<_>) = inner
                .into_iter()
                .partition(|e| e.only_uses(|c| outer.contains(&c) || columns.contains(&c)) && whole(e));
            out.extend(outside);
            Op::Distinct { input: Box::new(filter(input, inside)), columns }
        }
        op => op,
    };
    Node { op, rows }
}
