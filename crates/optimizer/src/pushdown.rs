//! Predicates move to where they can be tested first: to scans, into join conditions, past every operator that lets them
//! pass.
//!
//! - Inner joins that touch are one region: a pool of conjuncts over a list of inputs. What is implied is derived in the
//!   pool (`derive.rs`): through equality classes (a = b and a = 5 give b = 5), and from each OR what it says about one
//!   input alone (TPC-H Q7 and Q19). The region becomes a left-deep tree in the order of FROM, without cross products
//!   where a condition connects; the join-order pass starts from it.
//! - The value of an uncorrelated subquery goes to where it is compared (`scalar.rs`).
//! - A query in WITH that is read several times keeps the rows that some reader asks for (`shared.rs`).
//! - Outer joins above which a predicate rejects the padded NULLs lose their padding (`outer.rs`; C. Galindo-Legaria,
//!   A. Rosenthal, *Outerjoin Simplification and Reordering*, TODS 1997).
//!
//! A predicate that can fail moves like any other, so it may see rows that another predicate or join would have removed,
//! as in PostgreSQL. Complexity: each predicate is looked at once per operator; equality classes are linear in the pool.

mod derive;
mod outer;
mod region;
mod scalar;
mod shared;

use std::collections::HashSet;

use base::Result;
use plan::{ColumnId, Expr, JoinKind, Node, Op, Plan, SetOperation, split_conjuncts};

use crate::fold::simplified;
use crate::rewrite::{at_most_one_row, filter, infallible, join, map, take};
use crate::{Check, Pass};

/// See the module.
pub struct Pushdown;

impl Pass for Pushdown {
    fn name(&self) -> &'static str {
        "pushdown"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        for (_, cte) in plan.ctes.iter_mut() {
            cte.plan = push(take(&mut cte.plan), Vec::new(), check)?;
        }
        plan.root = push(take(&mut plan.root), Vec::new(), check)?;
        shared::push_into_shared(plan, check)
    }
}

fn conjuncts(predicates: Vec<Expr>) -> Vec<Expr> {
    let mut out = Vec::new();
    predicates.into_iter().for_each(|p| split_conjuncts(p, &mut out));
    out
}

/// Adds what is not there yet. Asks `check` for each: it is compared with all that are there.
fn add(to: &mut Vec<Expr>, predicates: Vec<Expr>, check: Check<'_>) -> Result<()> {
    for p in predicates {
        check()?;
        if !to.iter().any(|q| q.same(&p)) {
            to.push(p);
        }
    }
    Ok(())
}

/// Splits conjuncts into those that read only `columns`, and the others. Those that read nothing go to the first.
fn split(predicates: Vec<Expr>, columns: &HashSet<ColumnId>) -> (Vec<Expr>, Vec<Expr>) {
    predicates.into_iter().partition(|p| p.only_uses(|c| columns.contains(&c)))
}

fn columns_of(node: &Node) -> HashSet<ColumnId> {
    node.columns().into_iter().collect()
}

fn substituted(predicate: &Expr, columns: &[(ColumnId, Expr)]) -> Expr {
    let mut out = predicate.clone();
    out.substitute(&mut |c| columns.iter().find(|(m, _)| *m == c).map(|(_, e)| e.clone()));
    out
}

/// Splits off the predicates that tell equal values apart: these are asked of the value that stands for its group, of
/// which others may differ.
fn split_exact(predicates: Vec<Expr>) -> (Vec<Expr>, Vec<Expr>) {
    predicates.into_iter().partition(Expr::respects_equality)
}

/// The node with conjuncts over its columns pushed into it as far as they go.
fn push(node: Node, predicates: Vec<Expr>, check: Check<'_>) -> Result<Node> {
    check()?;
    let rows = node.rows;
    Ok(match node.op {
        Op::Filter { input, predicates: own } => {
            let mut all = Vec::new();
            add(&mut all, conjuncts(own), check)?;
            add(&mut all, predicates, check)?;
            // A volatile predicate is evaluated once for each row that reaches it: it stays where it is.
            let (volatile, all): (Vec<_>, Vec<_>) = all.into_iter().partition(Expr::is_volatile);
            filter(push(*input, all, check)?, volatile)
        }
        Op::Scan { table, columns, predicates: mut own } => {
            add(&mut own, predicates, check)?;
            Node { op: Op::Scan { table, columns, predicates: own }, rows }
        }
        Op::Map { input, columns } => {
            let volatile: Vec<ColumnId> = columns.iter().filter(|(_, e)| e.is_volatile()).map(|&(c, _)| c).collect();
            let (stay, go): (Vec<_>, Vec<_>) = predicates.into_iter().partition(|p| p.uses(|c| volatile.contains(&c)));
            let go = conjuncts(go.iter().map(|p| simplified(substituted(p, &columns))).collect());
            filter(map(push(*input, go, check)?, columns), stay)
        }
        Op::Aggregate { input, groups, aggregates } => {
            let keys: HashSet<ColumnId> = groups.iter().map(|&(c, _)| c).collect();
            // Without groups there is a row even if nothing reaches the aggregate.
            let (go, mut stay) = if keys.is_empty() { (Vec::new(), predicates) } else { split(predicates, &keys) };
            let derived = derive::through_or(&stay, &keys);
            let (mut go, exact) = split_exact(go);
            add(&mut go, split_exact(derived).0, check)?;
            stay.extend(exact);
            let go = conjuncts(go.iter().map(|p| substituted(p, &groups)).collect());
            filter(
                Node { op: Op::Aggregate { input: Box::new(push(*input, go, check)?), groups, aggregates }, rows },
                stay,
            )
        }
        Op::Sort { input, keys, limit: None, offset: 0 } => {
            let input = Box::new(push(*input, predicates, check)?);
            Node { op: Op::Sort { input, keys, limit: None, offset: 0 }, rows }
        }
        Op::SetOp { operation, all, inputs, columns } => {
            let keeps_all = operation == SetOperation::Union && all;
            let (predicates, stay) = if keeps_all { (predicates, Vec::new()) } else { split_exact(predicates) };
            let inputs = inputs
                .into_iter()
                .enumerate()
                .map(|(i, (input, from))| {
                    // What is subtracted need not be filtered.
                    let wanted = operation != SetOperation::Except || i == 0;
                    let own = if wanted { predicates.as_slice() } else { &[] };
                    let own = own.iter().map(|p| renamed(p, &columns, &from)).collect();
                    Ok((push(input, own, check)?, from))
                })
                .collect::<Result<_>>()?;
            filter(Node { op: Op::SetOp { operation, all, inputs, columns }, rows }, stay)
        }
        Op::Join { kind: JoinKind::Inner, left, right, condition, .. } => {
            region::push_region(*left, *right, condition, predicates, check)?
        }
        Op::Join { kind, left, right, condition, .. } => {
            push_join(kind, *left, *right, conjuncts(condition), predicates, check)?
        }
        op => {
            let mut node = Node { op, rows };
            let (go, stay) = passing(&node, predicates);
            for input in node.inputs_mut() {
                *input = push(take(input), go.clone(), check)?;
            }
            filter(node, stay)
        }
    })
}

/// Splits conjuncts into those that can be asked of the operator's input, and the others. A group of rows that agree stays or
/// goes as a whole, if equal values look equal and no group goes for another reason. What is asked of rows before they are repeated may
/// decide which of them can be: of documents, those that are arrays.
fn passing(node: &Node, predicates: Vec<Expr>) -> (Vec<Expr>, Vec<Expr>) {
    let Some((columns, all_leave)) = node.partition() else { return (Vec::new(), predicates) };
    let columns = columns.into_iter().collect();
    let is_repeated = matches!(node.op, Op::Repeat { .. });
    let may_go = |p: &Expr| p.respects_equality() && (all_leave || is_repeated || infallible(p));
    let (go, mut stay) = split(predicates, &columns);
    let derived = derive::through_or(&stay, &columns);
    let (mut go, others): (Vec<_>, Vec<_>) = go.into_iter().partition(may_go);
    go.extend(derived.into_iter().filter(may_go));
    stay.extend(others);
    (go, stay)
}

fn renamed(predicate: &Expr, from: &[ColumnId], to: &[ColumnId]) -> Expr {
    let mut out = predicate.clone();
    rename(&mut out, from, to);
    out
}

/// Renames columns by position; the types of both agree.
fn rename(expr: &mut Expr, from: &[ColumnId], to: &[ColumnId]) {
    if let plan::ExprKind::Column(c) = &mut expr.kind
        && let Some(i) = from.iter().position(|f| f == c)
    {
        *c = to[i];
    }
    expr.children_mut().for_each(|e| rename(e, from, to));
}

/// Joins other than inner ones.
fn push_join(
    kind: JoinKind,
    left: Node,
    right: Node,
    condition: Vec<Expr>,
    predicates: Vec<Expr>,
    check: Check<'_>,
) -> Result<Node> {
    let (ours, theirs) = (columns_of(&left), columns_of(&right));
    if kind == JoinKind::Single
        && condition.is_empty()
        && let Some(used) = scalar::used_beside(&predicates, &ours, &theirs)
        && scalar::goes_below(&left, &used)
    {
        return push(scalar::sink(left, right, &used), predicates, check);
    }
    // Of one row at most there is nothing to check.
    let is_left = kind == JoinKind::Single && condition.is_empty() && at_most_one_row(&right);
    let mut simpler = outer::simplify(if is_left { &JoinKind::Left } else { &kind }, &ours, &theirs, &predicates);
    if is_left && simpler != JoinKind::Inner {
        simpler = JoinKind::Single;
    }
    if simpler == JoinKind::Inner && kind != JoinKind::Inner {
        return region::push_region(left, right, condition, predicates, check);
    }
    Ok(match simpler {
        JoinKind::Inner => unreachable!("inner joins are regions"),
        JoinKind::Right => push_join(JoinKind::Left, right, left, condition, predicates, check)?,
        JoinKind::Full => {
            let joined =
                join(JoinKind::Full, push(left, Vec::new(), check)?, push(right, Vec::new(), check)?, condition);
            filter(joined, predicates)
        }
        kind => {
            let (mut go, above) = split(predicates, &ours);
            let mut condition = condition;
            if kind == JoinKind::Semi {
                // A left row that fails the condition whatever its partner is leaves now.
                let (only_left, rest) = split(condition, &ours);
                add(&mut go, only_left, check)?;
                condition = rest;
            }
            let mut right_only = Vec::new();
            if !matches!(kind, JoinKind::Mark(_)) {
                let mut pool = condition.clone();
                pool.extend(go.iter().cloned());
                let derived = derive::through_equalities(&pool);
                let alone = derive::through_or(&condition, &theirs);
                let (only_right, rest): (Vec<_>, Vec<_>) = condition
                    .into_iter()
                    .partition(|p| p.only_uses(|c| theirs.contains(&c)) && !p.columns().is_empty());
                condition = rest;
                add(&mut right_only, only_right, check)?;
                add(&mut right_only, alone, check)?;
                for d in derived {
                    if d.only_uses(|c| theirs.contains(&c)) {
                        add(&mut right_only, vec![d], check)?;
                    } else if kind == JoinKind::Semi && d.only_uses(|c| ours.contains(&c)) {
                        add(&mut go, vec![d], check)?;
                    }
                }
            }
            filter(join(kind, push(left, go, check)?, push(right, right_only, check)?, condition), above)
        }
    })
}

#[cfg(test)]
mod tests;
