//! Arguments of a statement in its plan.

use base::ids::Id;
use types::Value;

use crate::{ArgumentId, Expr, ExprKind, Node, Op, Plan};

impl Plan {
    /// Makes constants of all arguments: the plan is for their values alone then, and the optimizer may draw conclusions
    /// from these.
    pub fn close_arguments(&mut self) {
        self.ctes.iter_mut().for_each(|(_, cte)| close_node(&mut cte.plan));
        close_node(&mut self.root);
    }

    /// Whether these arguments are all in its expressions: none has become something else.
    pub fn has_arguments(&self, arguments: &[ArgumentId]) -> bool {
        let mut seen = vec![false; arguments.iter().map(|id| id.index() + 1).max().unwrap_or(0)];
        self.ctes.values().for_each(|cte| find_in(&cte.plan, &mut seen));
        find_in(&self.root, &mut seen);
        arguments.iter().all(|id| seen[id.index()])
    }

    /// How many rows it gives at most, and how many it skips, if it does so once: where its result is made, and nowhere below.
    pub fn only_slice(&self) -> Option<(Option<u64>, u64)> {
        let mut top = &self.root;
        while let Op::Map { input, .. } = &top.op {
            top = input;
        }
        let (Op::Sort { limit, offset, .. } | Op::Limit { limit, offset, .. }) = top.op else { return None };
        let is_only = self.ctes.is_empty() && slices_in(&self.root) == usize::from(limit.is_some() || offset > 0);
        is_only.then_some((limit, offset))
    }
}

/// How many operators leave rows out by their number.
fn slices_in(node: &Node) -> usize {
    let own = match node.op {
        Op::Sort { limit, offset, .. } | Op::Limit { limit, offset, .. } => limit.is_some() || offset > 0,
        Op::GroupLimit { .. } => true,
        _ => false,
    };
    let in_subqueries = |expr: &Expr| {
        let mut number = 0;
        expr.walk(&mut |expr| {
            if let ExprKind::Subquery(subquery) = &expr.kind {
                number += slices_in(&subquery.plan);
            }
        });
        number
    };
    let within: usize = node.expressions().map(in_subqueries).sum();
    usize::from(own) + within + node.inputs().map(slices_in).sum::<usize>()
}

impl Expr {
    /// The same with other arguments, by their ids.
    pub fn with_arguments(&self, values: &[Value]) -> Self {
        fn set(expr: &mut Expr, values: &[Value]) {
            if let ExprKind::Argument(id, value) = &mut expr.kind {
                value.clone_from(&values[id.index()]);
            }
            expr.children_mut().for_each(|child| set(child, values));
        }
        let mut own = self.clone();
        set(&mut own, values);
        own
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
