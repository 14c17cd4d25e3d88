//! Regions of inner joins.

use std::collections::HashSet;

use base::Result;
use plan::{ColumnId, Compare, Expr, ExprKind, JoinKind, Node, Op};

use super::{add, columns_of, conjuncts, derive, outer, push, split};
use crate::Check;
use crate::rewrite::{filter, join};

/// Gathers the inputs and conjuncts of the inner joins (and filters between them) from `node` down.
fn flatten(node: Node, inputs: &mut Vec<Node>, pool: &mut Vec<Expr>, check: Check<'_>) -> Result<()> {
    match node.op {
        Op::Join { kind: JoinKind::Inner, left, right, condition, .. } => {
            flatten(*left, inputs, pool, check)?;
            flatten(*right, inputs, pool, check)?;
            add(pool, conjuncts(condition), check)?;
        }
        Op::Filter { input, predicates } if !predicates.iter().any(Expr::is_volatile) => {
            flatten(*input, inputs, pool, check)?;
            add(pool, conjuncts(predicates), check)?;
        }
        op => inputs.push(Node { op, rows: node.rows }),
    }
    Ok(())
}

/// An inner join with all inner joins that it touches: conjuncts go to the inputs that they are about, the others to the
/// first join that sees all their columns.
pub(super) fn push_region(
    left: Node,
    right: Node,
    condition: Vec<Expr>,
    predicates: Vec<Expr>,
    check: Check<'_>,
) -> Result<Node> {
    let (mut inputs, mut pool) = (Vec::new(), Vec::new());
    flatten(left, &mut inputs, &mut pool, check)?;
    flatten(right, &mut inputs, &mut pool, check)?;
    add(&mut pool, conjuncts(condition), check)?;
    add(&mut pool, predicates, check)?;
    merge_outer_joins(&mut inputs, &mut pool, check)?;
    let derived = derive::through_equalities(&pool);
    add(&mut pool, derived, check)?;
    let sides: Vec<HashSet<ColumnId>> = inputs.iter().map(columns_of).collect();
    for side in &sides {
        check()?;
        let derived = derive::through_or(&pool, side);
        add(&mut pool, derived, check)?;
    }
    // An outer join among the inputs may become a region of its own; the next run of the pass merges both.
    let mut nodes = Vec::new();
    for (input, side) in inputs.into_iter().zip(&sides) {
        let (own, rest) = split(pool, side);
        pool = rest;
        nodes.push((push(input, own, check)?, side.clone()));
    }
    let (mut tree, mut visible) = nodes.remove(0);
    while !nodes.is_empty() {
        check()?;
        // Equalities first: they can be hash joins.
        let connected = |side: &HashSet<ColumnId>, any: bool| {
            pool.iter().any(|p| {
                (any || matches!(p.kind, ExprKind::Compare(Compare::Eq | Compare::NotDistinct, ..)))
                    && p.uses(|c| side.contains(&c))
                    && p.uses(|c| visible.contains(&c))
                    && p.only_uses(|c| side.contains(&c) || visible.contains(&c))
            })
        };
        let next = nodes.iter().position(|(_, side)| connected(side, false));
        let next = next.or_else(|| nodes.iter().position(|(_, side)| connected(side, true))).unwrap_or(0);
        let (node, side) = nodes.remove(next);
        visible.extend(side);
        let (condition, rest) = split(pool, &visible);
        pool = rest;
        tree = join(JoinKind::Inner, tree, node, condition);
    }
    Ok(filter(tree, pool))
}

/// Outer joins among the inputs whose padding a conjunct of the pool rejects become parts of the region.
fn merge_outer_joins(inputs: &mut Vec<Node>, pool: &mut Vec<Expr>, check: Check<'_>) -> Result<()> {
    let mut done = 0;
    while done < inputs.len() {
        check()?;
        let kind = match &inputs[done].op {
            Op::Join { kind, left, right, .. } => outer::simplify(kind, &columns_of(left), &columns_of(right), pool),
            _ => JoinKind::Semi,
        };
        if kind != JoinKind::Inner {
            done += 1;
            continue;
        }
        let mut merged = inputs.remove(done);
        if let Op::Join { kind, .. } = &mut merged.op {
            *kind = JoinKind::Inner;
        }
        let mut parts = Vec::new();
        flatten(merged, &mut parts, pool, check)?;
        // What was merged may let the padding of earlier inputs go too.
        inputs.splice(done..done, parts);
        done = 0;
    }
    Ok(())
}
