//! Simplifications of one operator over its (simplified) inputs.

use std::collections::HashSet;

use base::IdMap;
use plan::{ColumnId, ColumnInfo, Expr, JoinKind, Node, Op, SetOperation};
use types::Value;

use crate::rewrite::{Context, column, filter, join, map, take};

/// Whether the node has no rows, by form.
fn is_empty(node: &Node) -> bool {
    matches!(&node.op, Op::Values { rows, .. } if rows.is_empty())
}

fn empty(columns: Vec<ColumnId>) -> Node {
    Node::new(Op::Values { columns, rows: Vec::new() })
}

fn never(predicates: &[Expr]) -> bool {
    predicates.iter().any(|p| matches!(p.as_constant(), Some(Value::Null | Value::Bool(false))))
}

/// Adds columns that are NULL.
fn padded(node: Node, missing: Vec<ColumnId>, columns: &mut IdMap<ColumnId, ColumnInfo>) -> Node {
    let nulls = missing
        .into_iter()
        .map(|c| {
            columns[c].nullable = true;
            (c, Expr::constant(Value::Null, columns[c].sql_type))
        })
        .collect();
    map(node, nulls)
}

/// Whether an operator over one input, or none, has no rows, by form.
fn becomes_empty(node: &Node) -> bool {
    let by_itself = match &node.op {
        Op::Scan { predicates, .. } | Op::Filter { predicates, .. } => never(predicates),
        Op::Aggregate { input, groups, .. } => is_empty(input) && !groups.is_empty(),
        _ => node.limit() == Some(0),
    };
    by_itself || node.thinned().is_some_and(is_empty)
}

/// The simplified operator.
pub(super) fn simplify(context: &mut Context<'_>, node: Node) -> Node {
    if becomes_empty(&node) {
        return empty(node.columns());
    }
    let rows = node.rows;
    match node.op {
        Op::Filter { input, predicates } => filter(*input, predicates),
        Op::Map { input, columns } => merge_maps(*input, columns),
        Op::Join { kind, left, right, condition, .. } if is_empty(&left) || is_empty(&right) || never(&condition) => {
            empty_join(context, kind, *left, *right, condition)
        }
        Op::Distinct { input, columns } => match input.op {
            // Duplicates of duplicates.
            Op::Distinct { input: inner, columns: all } if columns.len() == all.len() => {
                Node { op: Op::Distinct { input: inner, columns }, rows }
            }
            op => Node { op: Op::Distinct { input: Box::new(Node { op, rows: input.rows }), columns }, rows },
        },
        Op::Limit { input, limit, offset } => limited(*input, limit, offset),
        Op::SetOp { operation, all, inputs, columns } => set_operation(context, operation, all, inputs, columns),
        op => Node { op, rows },
    }
}

/// Two maps become one if that evaluates nothing twice.
fn merge_maps(input: Node, mut columns: Vec<(ColumnId, Expr)>) -> Node {
    let Op::Map { input: below, columns: inner } = input.op else { return map(input, columns) };
    let mut read = HashSet::new();
    columns.iter().for_each(|(_, e)| e.visit_columns(&mut |c| _ = read.insert(c)));
    let cheap = |e: &Expr| {
        matches!(e.kind, plan::ExprKind::Const(_) | plan::ExprKind::Argument(..) | plan::ExprKind::Column(_))
    };
    if inner.iter().any(|(c, e)| read.contains(c) && !cheap(e)) {
        return map(map(*below, inner), columns);
    }
    for (_, expr) in &mut columns {
        expr.substitute(&mut |c| inner.iter().find(|(i, _)| *i == c).map(|(_, e)| e.clone()));
    }
    let mut all = inner;
    all.extend(columns);
    map(*below, all)
}

/// A limit moves into a sort, past computed columns, and into the inputs of UNION ALL.
fn limited(input: Node, limit: Option<u64>, offset: u64) -> Node {
    let combine = |inner: Option<u64>, skipped: u64| {
        let left = inner.map(|n| n.saturating_sub(offset));
        let limit = match (left, limit) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        (limit, skipped.saturating_add(offset))
    };
    if limit.is_none() && offset == 0 {
        return input;
    }
    match input.op {
        Op::Sort { input, keys, limit: inner, offset: skipped } => {
            let (limit, offset) = combine(inner, skipped);
            Node::new(Op::Sort { input, keys, limit, offset })
        }
        Op::Limit { input, limit: inner, offset: skipped } => {
            let (limit, offset) = combine(inner, skipped);
            Node::new(Op::Limit { input, limit, offset })
        }
        Op::Map { input, columns } => map(limited(*input, limit, offset), columns),
        Op::SetOp { operation: SetOperation::Union, all: true, inputs, columns } if limit.is_some() => {
            let most = limit.map(|n| n.saturating_add(offset));
            let inputs = inputs
                .into_iter()
                .map(|(node, from)| {
                    let done = matches!(node.op, Op::Limit { .. } | Op::Values { .. });
                    (if done { node } else { limited(node, most, 0) }, from)
                })
                .collect();
            let union = Node::new(Op::SetOp { operation: SetOperation::Union, all: true, inputs, columns });
            Node::new(Op::Limit { input: Box::new(union), limit, offset })
        }
        op => {
            let input = Box::new(Node { op, rows: input.rows });
            Node::new(Op::Limit { input, limit, offset })
        }
    }
}

/// A join of which a side has no rows, or whose condition is never true.
fn empty_join(context: &mut Context<'_>, kind: JoinKind, left: Node, right: Node, condition: Vec<Expr>) -> Node {
    let no_left = is_empty(&left);
    // NULL conditions show in a mark.
    let no_pair = no_left
        || is_empty(&right)
        || match kind {
            JoinKind::Mark(_) => condition.iter().any(|c| matches!(c.as_constant(), Some(Value::Bool(false)))),
            _ => never(&condition),
        };
    let nothing = |kind, left, right| empty(join(kind, left, right, Vec::new()).columns());
    match kind {
        _ if !no_pair => join(kind, left, right, condition),
        JoinKind::Inner | JoinKind::Semi => nothing(kind, left, right),
        JoinKind::Left | JoinKind::Single | JoinKind::Anti | JoinKind::Mark(_) if no_left => nothing(kind, left, right),
        JoinKind::Anti => left,
        JoinKind::Mark(mark) => map(left, vec![(mark, Expr::bool(false))]),
        JoinKind::Left | JoinKind::Single => padded(left, right.columns(), context.columns),
        JoinKind::Right if is_empty(&right) => nothing(kind, left, right),
        JoinKind::Right => padded(right, left.columns(), context.columns),
        JoinKind::Full if no_left => padded(right, left.columns(), context.columns),
        JoinKind::Full if is_empty(&right) => padded(left, right.columns(), context.columns),
        JoinKind::Full => join(kind, left, right, condition),
    }
}

fn set_operation(
    context: &mut Context<'_>,
    operation: SetOperation,
    all: bool,
    mut inputs: Vec<(Node, Vec<ColumnId>)>,
    columns: Vec<ColumnId>,
) -> Node {
    let first_empty = inputs.first().is_none_or(|(n, _)| is_empty(n));
    match operation {
        SetOperation::Intersect if inputs.iter().any(|(n, _)| is_empty(n)) => return empty(columns),
        SetOperation::Except if first_empty => return empty(columns),
        SetOperation::Intersect => {}
        SetOperation::Union | SetOperation::Except => inputs.retain(|(n, _)| !is_empty(n)),
    }
    if inputs.is_empty() {
        return empty(columns);
    }
    // Nested UNION ALLs are one.
    if operation == SetOperation::Union && all {
        let mut flat = Vec::new();
        for (node, from) in inputs {
            match node.op {
                Op::SetOp { operation: SetOperation::Union, all: true, inputs: nested, columns: made } => {
                    for (inner, list) in nested {
                        let list = from
                            .iter()
                            .map(|c| list[made.iter().position(|m| m == c).expect("a column of the set operation")])
                            .collect();
                        flat.push((inner, list));
                    }
                }
                op => flat.push((Node { op, rows: node.rows }, from)),
            }
        }
        inputs = flat;
    }
    if inputs.len() > 1 || operation == SetOperation::Intersect {
        return Node::new(Op::SetOp { operation, all, inputs, columns });
    }
    let (node, from) = &mut inputs[0];
    let renamed = columns.iter().zip(&*from).map(|(&c, &f)| (c, column(context.columns, f))).collect();
    let single = map(take(node), renamed);
    if all { single } else { Node::new(Op::Distinct { input: Box::new(single), columns }) }
}
