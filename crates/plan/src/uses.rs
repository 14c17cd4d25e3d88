//! How often the columns of a query are read: what only a scan's own predicates read need not leave the scan.

use std::collections::HashMap;

use crate::{ColumnId, Expr, Node, Op, Plan};

/// Readers of columns, counted.
#[derive(Clone, Debug, Default)]
pub struct Uses(HashMap<ColumnId, usize>);

impl Uses {
    /// Those of a whole query: expressions, lists of columns, and the result.
    pub fn of(plan: &Plan) -> Self {
        let mut uses = Self::default();
        plan.output.iter().for_each(|(_, column)| uses.add(*column));
        let mut visit = |node: &Node| {
            node.expressions().for_each(|expr| uses.add_expr(expr));
            match &node.op {
                Op::Distinct { columns, .. } => columns.iter().for_each(|c| uses.add(*c)),
                Op::GroupLimit { partition, .. } => partition.iter().for_each(|c| uses.add(*c)),
                Op::CteScan { columns, .. } => columns.iter().for_each(|(from, _)| uses.add(*from)),
                Op::SetOp { inputs, .. } | Op::Recursion { inputs, .. } => {
                    inputs.iter().flat_map(|(_, columns)| columns).for_each(|c| uses.add(*c));
                }
                _ => {}
            }
        };
        plan.root.walk(&mut visit);
        plan.ctes.values().for_each(|cte| cte.plan.walk(&mut visit));
        uses
    }

    /// Those of some expressions.
    pub fn of_expressions<'e>(expressions: impl IntoIterator<Item = &'e Expr>) -> Self {
        let mut uses = Self::default();
        expressions.into_iter().for_each(|expr| uses.add_expr(expr));
        uses
    }

    /// How often a column is read.
    pub fn times(&self, column: ColumnId) -> usize {
        self.0.get(&column).copied().unwrap_or(0)
    }

    fn add(&mut self, column: ColumnId) {
        *self.0.entry(column).or_default() += 1;
    }

    fn add_expr(&mut self, expr: &Expr) {
        expr.visit_columns(&mut |column| self.add(column));
    }
}
