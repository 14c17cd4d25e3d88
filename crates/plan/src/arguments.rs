//! Arguments of a statement in its plan.

use crate::{Expr, ExprKind, Node, Plan};

impl Plan {
    /// Makes constants of all arguments: the plan is for their values alone then, and the optimizer may draw conclusions
    /// from these.
    pub fn close_arguments(&mut self) {
        self.ctes.iter_mut().for_each(|(_, cte)| close_node(&mut cte.plan));
        close_node(&mut self.root);
    }
}

fn close_node(node: &mut Node) {
    node.expressions_mut().for_each(close);
    node.inputs_mut().for_each(close_node);
}

fn close(expr: &mut Expr) {
    if let ExprKind::Argument(_, value) = &mut expr.kind {
        expr.kind = ExprKind::Const(std::mem::replace(value, types::Value::Null));
    }
    if let ExprKind::Subquery(subquery) = &mut expr.kind {
        close_node(&mut subquery.plan);
    }
    expr.children_mut().for_each(close);
}
