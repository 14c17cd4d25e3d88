//! Constant folding and simplification of expressions.
//!
//! What does not depend on a row is computed once, by the reference evaluation ([`plan::eval`]); an error is left in
//! place, so that it happens at run time and only if the expression is evaluated. NOT moves down to comparisons, common
//! conjuncts of all branches move out of OR (TPC-H Q19), equalities with constants become IN lists (`logic.rs`), and
//! casts of columns in comparisons with constants become casts of the constants (`casts.rs`), comparisons of their periods ranges
//! (`steps.rs`). What asks for parts of lists and
//! structs that are put together is answered by these parts (`parts.rs`).
//!
//! All rules hold in three-valued logic; where only truth counts (a filter's conjuncts), NULL becomes false.

mod casts;
mod logic;
mod parts;
mod steps;

pub(crate) use steps::length;

use base::Result;
use plan::{Compare, Expr, ExprKind, JoinKind, Node, Op, Plan, eval, split_conjuncts};
use types::{SqlType, Value};

use crate::rewrite::{filter, infallible, is_not_null, take};
use crate::{Check, Pass};

/// See the module.
pub struct Fold;

impl Pass for Fold {
    fn name(&self) -> &'static str {
        "fold"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        for (_, cte) in plan.ctes.iter_mut() {
            cte.plan = fold(take(&mut cte.plan), check)?;
        }
        plan.root = fold(take(&mut plan.root), check)?;
        Ok(())
    }
}

/// Asks `check` for each operator and expression.
fn fold(mut node: Node, check: Check<'_>) -> Result<Node> {
    check()?;
    for input in node.inputs_mut() {
        *input = fold(take(input), check)?;
    }
    for expr in node.expressions_mut() {
        subqueries(expr, check)?;
    }
    // Each expression once: subqueries that nest would be simplified twice as often with each level.
    match &mut node.op {
        Op::Filter { predicates, .. } | Op::Scan { predicates, .. } => *predicates = conditions(predicates, check)?,
        Op::Join { kind: JoinKind::Mark(_), condition, .. } => {
            let mut parts = Vec::new();
            for expr in condition.drain(..) {
                check()?;
                split_conjuncts(simplified(expr), &mut parts);
            }
            parts.retain(|e| !matches!(e.as_constant(), Some(Value::Bool(true))));
            *condition = parts;
        }
        Op::Join { condition, .. } => *condition = conditions(condition, check)?,
        _ => {
            for expr in node.expressions_mut() {
                check()?;
                simplify(expr);
            }
        }
    }
    Ok(match node.op {
        Op::Filter { input, predicates } => filter(*input, predicates),
        op => Node { op, rows: node.rows },
    })
}

/// Folds the plans in an expression, which simplifying leaves as they are.
fn subqueries(expr: &mut Expr, check: Check<'_>) -> Result<()> {
    if let ExprKind::Subquery(subquery) = &mut expr.kind {
        subquery.plan = fold(take(&mut subquery.plan), check)?;
    }
    expr.children_mut().try_for_each(|child| subqueries(child, check))
}

/// Conjuncts of which only the truth counts.
fn conditions(predicates: &mut Vec<Expr>, check: Check<'_>) -> Result<Vec<Expr>> {
    let mut parts = Vec::new();
    for mut predicate in predicates.drain(..) {
        check()?;
        logic::only_truth(&mut predicate);
        simplify(&mut predicate);
        split_conjuncts(predicate, &mut parts);
    }
    let mut out: Vec<Expr> = Vec::new();
    for part in parts {
        check()?;
        match part.as_constant() {
            Some(Value::Bool(true)) => {}
            Some(_) => return Ok(vec![Expr::bool(false)]),
            None if out.iter().any(|o| o.same(&part)) => {}
            None => out.push(part),
        }
    }
    Ok(out)
}

/// The simplified expression.
pub(crate) fn simplified(mut expr: Expr) -> Expr {
    simplify(&mut expr);
    expr
}

fn simplify(expr: &mut Expr) {
    if let ExprKind::Not(inner) = &mut expr.kind
        && let Some(kind) = logic::negation(inner)
    {
        expr.kind = kind;
        return simplify(expr);
    }
    for child in expr.children_mut() {
        simplify(child);
    }
    if let ExprKind::Subquery(_) = &expr.kind {
        return;
    }
    if is_constant(expr) {
        if let Ok(value) = eval::constant(expr) {
            expr.kind = ExprKind::Const(value);
        }
        return;
    }
    let position = expr.position;
    let replacement = match &mut expr.kind {
        ExprKind::And(parts) => logic::and(parts),
        ExprKind::Or(parts) => logic::or(parts),
        ExprKind::Compare(op, a, b) => compare(*op, a, b),
        ExprKind::InList(input, values) => match casts::in_list(input, values) {
            Some(new) => Some(new),
            None if values.len() == 1 => {
                let value = Expr::constant(values[0].clone(), input.sql_type);
                Some(Expr::compare(Compare::Eq, (**input).clone(), value))
            }
            None => None,
        },
        ExprKind::Call(function, arguments) => parts::of_call(*function, arguments),
        ExprKind::Case { branches, otherwise } => logic::case(branches, otherwise),
        ExprKind::Coalesce(arguments) => logic::coalesce(arguments),
        ExprKind::Cast(input) if input.sql_type == expr.sql_type => Some((**input).clone()),
        ExprKind::Let { column, value, body } if matches!(value.kind, ExprKind::Const(_) | ExprKind::Column(_)) => {
            body.substitute(&mut |c| (c == *column).then(|| (**value).clone()));
            Some(simplified(take_expr(body)))
        }
        ExprKind::Let { column, value, body } => steps::without(value, body, *column),
        _ => None,
    };
    if let Some(new) = replacement {
        // A rule may not change the type that readers see.
        if new.sql_type == expr.sql_type {
            *expr = new.at(position);
        }
    }
}

/// Whether the expression is computed from constants alone and is not one yet.
fn is_constant(expr: &Expr) -> bool {
    let open = |e: &Expr| match &e.kind {
        ExprKind::Column(_) | ExprKind::Argument(..) | ExprKind::Subquery(_) => true,
        ExprKind::Call(f, _) => f.is_volatile(),
        _ => false,
    };
    !matches!(expr.kind, ExprKind::Const(_)) && !expr.any(&open)
}

fn compare(op: Compare, a: &mut Box<Expr>, b: &mut Box<Expr>) -> Option<Expr> {
    if a.as_constant().is_some() && b.as_constant().is_none() {
        let (left, right) = (take_expr(b), take_expr(a));
        return Some(compared(op.swapped(), left, right));
    }
    if let Some(Value::Null) = b.as_constant() {
        match op {
            Compare::NotDistinct => {
                return Some(Expr::new(ExprKind::IsNull(Box::new(take_expr(a))), SqlType::Bool));
            }
            Compare::Distinct => return Some(is_not_null(take_expr(a))),
            _ if infallible(a) => return Some(Expr::constant(Value::Null, SqlType::Bool)),
            _ => return None,
        }
    }
    casts::comparison(op, a, b)
        .or_else(|| steps::comparison(op, a, b))
        .or_else(|| steps::comparison(op.swapped(), b, a))
}

/// The comparison of sides that are simplified already.
fn compared(op: Compare, left: Expr, right: Expr) -> Expr {
    let (mut left, mut right) = (Box::new(left), Box::new(right));
    compare(op, &mut left, &mut right).unwrap_or_else(|| Expr::compare(op, *left, *right))
}

fn take_expr(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::bool(true))
}

#[cfg(test)]
mod tests;
