//! Arguments of a statement in its plan.

use base::ids::Id;

use crate::{Expr, ExprKind, Node, Plan};

impl Plan {
    /// Makes constants of all arguments: the plan is for their values alone then, and the optimizer may draw conclusions
    /// from these.
    pub fn close_arguments(&mut self) {
        self.ctes.iter_mut().for_each(|(_, cte)| close_node(&mut cte.plan));
        close_node(&mut self.root);
    }

    /// Whether so many arguments, the first ones, are all in it: none has become something else.
    pub fn has_arguments(&self, count: usize) -> bool {
        let mut seen = vec![false; count];
        self.ctes.values().for_each(|cte| find_in(&cte.plan, &mut seen));
        find_in(&self.root, &mut seen);
        seen.iter().all(|seen| *seen)
    }
}

fn find_in(node: &Node, seen: &mut [bool]) {
    node.expressions().for_each(|expr| find(expr, seen));
    node.inputs().for_each(|input| find_in(input, seen));
}

fn find(expr: &Expr, seen: &mut [bool]) {
    if let ExprKind::Argument(id, _) = &expr.kind
        && let Some(seen) = seen.get_mut(id.index())
    {
        *seen = true;
    }
    if let ExprKind::Subquery(subquery) = &expr.kind {
        find_in(&subquery.plan, seen);
    }
    expr.children().for_each(|child| find(child, seen));
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
