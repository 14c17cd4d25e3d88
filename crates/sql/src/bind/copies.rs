//! Subqueries that stand in a plan more than once, as an operand does that is asked for twice: each makes columns of its own.

use std::collections::{HashMap, HashSet};

use base::IdMap;
use plan::{ColumnId, ColumnInfo, Expr, ExprKind, Node, Plan};

/// Renames the columns of all subqueries that make columns which others made before.
pub(super) fn apart(plan: &mut Plan) {
    let Plan { columns, ctes, root, .. } = plan;
    let mut copies = Copies { columns, made: HashSet::new() };
    for (_, cte) in ctes.iter_mut() {
        copies.node(&mut cte.plan);
    }
    copies.node(root);
}

struct Copies<'c> {
    columns: &'c mut IdMap<ColumnId, ColumnInfo>,
    made: HashSet<ColumnId>,
}

impl Copies<'_> {
    fn node(&mut self, node: &mut Node) {
        self.made.extend(node.produced());
        node.expressions_mut().for_each(|expr| self.expr(expr));
        node.inputs_mut().for_each(|input| self.node(input));
    }

    fn expr(&mut self, expr: &mut Expr) {
        if let ExprKind::Subquery(subquery) = &expr.kind {
            let mut own = Vec::new();
            produced_by(&subquery.plan, &mut own);
            if own.iter().any(|column| self.made.contains(column)) {
                let fresh = |column: ColumnId| (column, self.columns.push(self.columns[column].clone()));
                let names: HashMap<ColumnId, ColumnId> = own.into_iter().map(fresh).collect();
                expr.rename(&names);
            }
        }
        if let ExprKind::Subquery(subquery) = &mut expr.kind {
            self.node(&mut subquery.plan);
        }
        expr.children_mut().for_each(|child| self.expr(child));
    }
}

/// What all operators of a subplan make, those of subqueries included.
fn produced_by(node: &Node, own: &mut Vec<ColumnId>) {
    own.extend(node.produced());
    for expr in node.expressions() {
        expr.walk(&mut |e| {
            if let ExprKind::Subquery(subquery) = &e.kind {
                produced_by(&subquery.plan, own);
            }
        });
    }
    node.inputs().for_each(|input| produced_by(input, own));
}
