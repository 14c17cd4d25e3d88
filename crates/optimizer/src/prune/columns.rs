//! Column pruning, from the root down.

use std::collections::HashSet;

use base::{IdMap, Result};
use plan::{AggregateCall, ColumnId, CteId, Expr, JoinKind, Node, Op, Plan, SetOperation, TableId, TableInfo};

use super::unique::{equal_columns, is_unique};
use crate::Check;
use crate::rewrite::{exactly_one_row, take};

type Columns = HashSet<ColumnId>;

struct Pruner<'a> {
    /// Asked for each operator.
    check: Check<'a>,
    tables: &'a IdMap<TableId, TableInfo>,
    /// What the readers of each CTE need.
    ctes: IdMap<CteId, Columns>,
}

pub(super) fn prune(plan: &mut Plan, check: Check<'_>) -> Result<()> {
    let ctes = plan.ctes.iter().map(|_| Columns::new()).collect();
    let mut pruner = Pruner { check, tables: &plan.tables, ctes };
    let needed: Columns = plan.output.iter().map(|(_, c)| *c).collect();
    plan.root = pruner.node(take(&mut plan.root), &needed, true)?;
    // Readers come after what they read.
    for (id, cte) in plan.ctes.iter_mut().rev() {
        let needed = pruner.ctes[id].clone();
        // What a round adds is told by all of its columns, and read by the next one.
        if !matches!(cte.plan.op, Op::Recursion { .. }) {
            cte.columns.retain(|c| needed.contains(c));
        }
        cte.plan = pruner.node(take(&mut cte.plan), &needed, false)?;
    }
    Ok(())
}

fn with<'a>(needed: &Columns, exprs: impl IntoIterator<Item = &'a Expr>) -> Columns {
    let mut all = needed.clone();
    for expr in exprs {
        expr.visit_columns(&mut |c| {
            all.insert(c);
        });
    }
    all
}

/// Whether some call in the operator or below does something besides giving a value.
fn does_something(node: &Node) -> bool {
    let mut found = false;
    node.walk(&mut |node| found |= node.expressions().any(Expr::is_volatile));
    found
}

impl Pruner<'_> {
    /// The node without what `needed` does not ask for. `ordered`: the order of rows counts.
    fn node(&mut self, node: Node, needed: &Columns, ordered: bool) -> Result<Node> {
        (self.check)()?;
        let rows = node.rows;
        let op = match node.op {
            Op::Scan { table, mut columns, predicates } => {
                let needed = with(needed, &predicates);
                columns.retain(|(_, c)| needed.contains(c));
                Op::Scan { table, columns, predicates }
            }
            Op::CteScan { cte, mut columns } => {
                columns.retain(|(_, c)| needed.contains(c));
                self.ctes[cte].extend(columns.iter().map(|&(from, _)| from));
                Op::CteScan { cte, columns }
            }
            Op::Values { columns, rows } => {
                let is_volatile = |at: usize| rows.iter().any(|row| row[at].is_volatile());
                let kept: Vec<bool> =
                    columns.iter().enumerate().map(|(at, c)| needed.contains(c) || is_volatile(at)).collect();
                let mut at = kept.iter();
                let columns = columns.into_iter().filter(|_| at.next() == Some(&true)).collect();
                let rows = rows
                    .into_iter()
                    .map(|row| row.into_iter().zip(&kept).filter(|(_, k)| **k).map(|(e, _)| e).collect())
                    .collect();
                Op::Values { columns, rows }
            }
            Op::Filter { input, predicates } => {
                let needed = with(needed, &predicates);
                Op::Filter { input: Box::new(self.node(*input, &needed, ordered)?), predicates }
            }
            Op::Map { input, mut columns } => {
                // What a call does is done, whoever reads its value.
                columns.retain(|(c, e)| needed.contains(c) || e.is_volatile());
                let needed = with(needed, columns.iter().map(|(_, e)| e));
                let input = self.node(*input, &needed, ordered)?;
                if columns.is_empty() {
                    return Ok(input);
                }
                Op::Map { input: Box::new(input), columns }
            }
            Op::Join { kind, left, right, condition, build } => {
                let used = |node: &Node| node.columns().iter().any(|c| needed.contains(c));
                if self.is_useless(&kind, &left, &right, &condition, needed, used(&right)) {
                    return self.node(*left, needed, false);
                }
                if kind == JoinKind::Inner
                    && condition.is_empty()
                    && !used(&left)
                    && exactly_one_row(&left)
                    && !does_something(&left)
                {
                    return self.node(*right, needed, false);
                }
                let needed = with(needed, &condition);
                let left = Box::new(self.node(*left, &needed, false)?);
                let right = Box::new(self.node(*right, &needed, false)?);
                Op::Join { kind, left, right, condition, build }
            }
            Op::Aggregate { input, groups, mut aggregates } => {
                let is_volatile = |call: &AggregateCall| call.expressions().any(Expr::is_volatile);
                aggregates.retain(|(c, call)| needed.contains(c) || is_volatile(call));
                let exprs = aggregates.iter().flat_map(|(_, a)| a.expressions());
                let needed = with(&Columns::new(), groups.iter().map(|(_, e)| e).chain(exprs));
                Op::Aggregate { input: Box::new(self.node(*input, &needed, false)?), groups, aggregates }
            }
            Op::Distinct { input, columns } => {
                let all: Columns = columns.iter().copied().collect();
                if is_unique(&input, &all, self.tables) {
                    return self.node(*input, needed, false);
                }
                Op::Distinct { input: Box::new(self.node(*input, &all, false)?), columns }
            }
            Op::Sort { input, keys, limit, offset } => {
                if !ordered && limit.is_none() && offset == 0 {
                    return self.node(*input, needed, false);
                }
                let needed = with(needed, keys.iter().map(|k| &k.expr));
                Op::Sort { input: Box::new(self.node(*input, &needed, false)?), keys, limit, offset }
            }
            Op::Window { input, mut keys, mut functions } => {
                if !keys.iter().any(|key| key.expr.is_volatile()) {
                    functions.retain(|(c, call)| needed.contains(c) || call.expressions().any(Expr::is_volatile));
                }
                if functions.is_empty() {
                    return self.node(*input, needed, false);
                }
                keys.truncate(functions.iter().map(|(_, call)| call.peers).max().unwrap_or(0));
                return self.whole(Node { op: Op::Window { input, keys, functions }, rows }, needed);
            }
            Op::Limit { input, limit, offset } => {
                Op::Limit { input: Box::new(self.node(*input, needed, true)?), limit, offset }
            }
            Op::SetOp { operation, all, mut inputs, mut columns } => {
                if operation == SetOperation::Union && all {
                    let kept: Vec<bool> = columns.iter().map(|c| needed.contains(c)).collect();
                    let keep = |list: &mut Vec<ColumnId>| {
                        let mut at = kept.iter();
                        list.retain(|_| at.next() == Some(&true));
                    };
                    keep(&mut columns);
                    inputs.iter_mut().for_each(|(_, from)| keep(from));
                }
                let inputs = inputs
                    .into_iter()
                    .map(|(input, from)| {
                        let needed = from.iter().copied().collect();
                        Ok((self.node(input, &needed, false)?, from))
                    })
                    .collect::<Result<_>>()?;
                Op::SetOp { operation, all, inputs, columns }
            }
            Op::Recursion { cte, all, inputs, columns } => {
                let input = |(input, from): (Node, Vec<ColumnId>)| {
                    let needed = from.iter().copied().collect();
                    Ok((self.node(input, &needed, false)?, from))
                };
                let inputs = inputs.into_iter().map(input).collect::<Result<_>>()?;
                Op::Recursion { cte, all, inputs, columns }
            }
            op => return self.whole(Node { op, rows }, needed),
        };
        Ok(Node { op, rows })
    }

    /// The node with all that it has. Columns that are needed above pass through it.
    fn whole(&mut self, mut node: Node, needed: &Columns) -> Result<Node> {
        let mut needed = with(needed, node.expressions());
        needed.extend(node.grouping().into_iter().flatten());
        for input in node.inputs_mut() {
            *input = self.node(take(input), &needed, false)?;
        }
        Ok(node)
    }

    /// Whether the join gives each left row exactly once, and nothing of its right side is read.
    fn is_useless(
        &self,
        kind: &JoinKind,
        left: &Node,
        right: &Node,
        condition: &[Expr],
        needed: &Columns,
        right_used: bool,
    ) -> bool {
        debug_assert!(left.columns().iter().all(|c| !right.columns().contains(c)), "columns are made once");
        match kind {
            JoinKind::Mark(mark) => !needed.contains(mark),
            JoinKind::Left => !right_used && is_unique(right, &equal_columns(condition, right), self.tables),
            JoinKind::Single => !right_used && !does_something(right),
            JoinKind::Inner => !right_used && condition.is_empty() && exactly_one_row(right) && !does_something(right),
            _ => false,
        }
    }
}
