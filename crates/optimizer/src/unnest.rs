//! Unnesting of arbitrary queries: T. Neumann, A. Kemper, *Unnesting Arbitrary Queries*, BTW 2015.
//!
//! Inside out, each subquery of an expression becomes a join (`subquery.rs`), dependent as long as its right side reads
//! columns of its left side. A dependent join is made independent at once (`dependent.rs`):
//! 1. correlated conjuncts that lie open are pulled up into the join's condition (section 3.1 of the paper, "simple
//!    unnesting"; `hoist.rs`); for EXISTS, IN and most joins nothing else is needed;
//! 2. else the join is pushed down over the right side (section 3.2; `push.rs`): every operator carries the values of
//!    the free columns along, which come from the domain D, the distinct values of these columns in the left side
//!    (`domain.rs`), or, decoupled, from columns that an equality makes equal to them (section 3.3);
//! 3. the join compares the carried columns with its own, as IS NOT DISTINCT FROM where NULLs are possible.
//!
//! Invariant: after the pass no expression contains a subquery, and no join's right side reads its left side.
//!
//! A subquery in a branch of CASE, AND, OR or COALESCE that is not taken raises no error (`guard.rs`). Elsewhere an
//! expression inside a decoupled subquery is evaluated for groups that no outer row asks for, and an uncorrelated
//! subquery also where no row needs it.

mod dependent;
mod domain;
mod guard;
mod hoist;
mod limit;
mod push;
mod subquery;
mod window;

use std::collections::HashSet;

use base::{Error, IdMap, Result};
use plan::{ColumnId, ColumnInfo, Cte, CteId, Expr, JoinKind, Node, Op, Plan, SetOperation, TableId, TableInfo};

use guard::guard_partner;

use crate::rewrite::{empty_row, join, map, order_ctes, take};
use crate::{Check, Pass};

/// See the module.
pub struct Unnest;

impl Pass for Unnest {
    fn name(&self) -> &'static str {
        "unnest"
    }

    fn is_required(&self) -> bool {
        true
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        for id in plan.ctes.keys().collect::<Vec<_>>() {
            let definition = take(&mut plan.ctes[id].plan);
            plan.ctes[id].plan = Unnester::new(plan, check).node(definition)?;
        }
        let root = take(&mut plan.root);
        plan.root = Unnester::new(plan, check).node(root)?;
        order_ctes(plan);
        Ok(())
    }
}

struct Unnester<'a> {
    columns: &'a mut IdMap<ColumnId, ColumnInfo>,
    tables: &'a mut IdMap<TableId, TableInfo>,
    ctes: &'a mut IdMap<CteId, Cte>,
    check: Check<'a>,
    /// Columns that say whether their row needs a subquery.
    guards: HashSet<ColumnId>,
}

impl<'a> Unnester<'a> {
    fn new(plan: &'a mut Plan, check: Check<'a>) -> Self {
        Self {
            check,
            columns: &mut plan.columns,
            tables: &mut plan.tables,
            ctes: &mut plan.ctes,
            guards: HashSet::new(),
        }
    }

    /// Unnests a subplan; free columns of an outer query stay free.
    fn node(&mut self, mut node: Node) -> Result<Node> {
        (self.check)()?;
        if let Op::Join { kind: JoinKind::Single, right, condition, .. } = &mut node.op
            && let [condition] = condition.as_slice()
            && let Some(guard) = condition.as_column()
        {
            guard_partner(right, guard);
        }
        for input in node.inputs_mut() {
            *input = self.node(take(input))?;
        }
        if let Some((input, keys)) = node.ordering_mut() {
            for key in keys {
                self.expand(&mut key.expr, input, None)?;
            }
            return Ok(node);
        }
        let rows = node.rows;
        let op = match node.op {
            Op::Filter { input, predicates } => return self.filter(*input, predicates),
            Op::Join { kind, left, right, condition, .. } => return self.join(kind, *left, *right, condition),
            Op::Values { columns, rows } if rows.iter().flatten().any(Expr::has_subquery) => {
                let values = self.values_as_maps(columns, rows);
                return self.node(values);
            }
            Op::Map { mut input, mut columns } => {
                for (_, expr) in &mut columns {
                    self.expand(expr, &mut input, None)?;
                }
                Op::Map { input, columns }
            }
            Op::Repeat { mut input, mut times, number } => {
                self.expand(&mut times, &mut input, None)?;
                Op::Repeat { input, times, number }
            }
            Op::Aggregate { mut input, mut groups, mut aggregates } => {
                for (_, expr) in &mut groups {
                    self.expand(expr, &mut input, None)?;
                }
                for (_, call) in &mut aggregates {
                    self.expand_call(call, &mut input)?;
                }
                Op::Aggregate { input, groups, aggregates }
            }
            op => op,
        };
        Ok(Node { op, rows })
    }

    /// Rows of expressions as one computed row each, so that the rules for `Map` and `SetOp` apply.
    fn values_as_maps(&mut self, columns: Vec<ColumnId>, mut rows: Vec<Vec<Expr>>) -> Node {
        if rows.len() == 1 {
            return map(empty_row(), columns.into_iter().zip(rows.remove(0)).collect());
        }
        let mut inputs = Vec::new();
        for row in rows {
            let own: Vec<ColumnId> = columns.iter().map(|&c| crate::rewrite::fresh_like(self.columns, c)).collect();
            inputs.push((map(empty_row(), own.iter().copied().zip(row).collect()), own));
        }
        Node::new(Op::SetOp { operation: SetOperation::Union, all: true, inputs, columns })
    }

    /// A join that may have subqueries in its condition, and a right side that reads the left one (LATERAL).
    fn join(&mut self, kind: JoinKind, mut left: Node, mut right: Node, condition: Vec<Expr>) -> Result<Node> {
        let mut conjuncts = Vec::new();
        condition.into_iter().for_each(|c| plan::split_conjuncts(c, &mut conjuncts));
        let (nested, mut plain): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(Expr::has_subquery);
        if kind == JoinKind::Inner {
            let joined = self.dependent_join(kind, left, right, plain, false)?;
            return self.filter(joined, nested);
        }
        if kind == JoinKind::Right && !nested.is_empty() {
            plain.extend(nested);
            return self.join(JoinKind::Left, right, left, plain);
        }
        let (ours, theirs) = (left.columns(), right.columns());
        for mut conjunct in nested {
            if !conjunct.uses(|c| ours.contains(&c)) {
                self.expand(&mut conjunct, &mut right, None)?;
                plain.push(conjunct);
            } else if !conjunct.uses(|c| theirs.contains(&c)) {
                self.expand(&mut conjunct, &mut left, None)?;
                plain.push(conjunct);
            } else if let JoinKind::Mark(_) = kind {
                // The condition's NULL counts, so it is computed instead of filtered by.
                let info = ColumnInfo { name: "condition".to_owned(), sql_type: types::SqlType::Bool, nullable: true };
                let result = self.columns.push(info);
                self.expand(&mut conjunct, &mut right, None)?;
                right = map(right, vec![(result, conjunct)]);
                plain.push(crate::rewrite::column(self.columns, result));
            } else if kind == JoinKind::Full {
                return Err(Error::unsupported("a subquery over both sides in the condition of a FULL JOIN")
                    .at(conjunct.position));
            } else {
                right = self.filter(right, vec![conjunct])?;
            }
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            return Ok(join(kind, left, right, plain));
        }
        self.dependent_join(kind, left, right, plain, false)
    }
}

#[cfg(test)]
mod tests;
