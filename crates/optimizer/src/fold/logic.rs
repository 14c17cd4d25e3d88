//! AND, OR, NOT, CASE and COALESCE.

use plan::{Compare, Expr, ExprKind, conjunction, disjunction, split_conjuncts};
use types::{SqlType, Value};

use super::simplified;
use crate::rewrite::not;

/// What NOT of the expression is, one level further down; none if it has to stay.
pub(super) fn negation(inner: &Expr) -> Option<ExprKind> {
    Some(match &inner.kind {
        ExprKind::Not(a) if a.sql_type == SqlType::Bool => a.kind.clone(),
        ExprKind::Compare(op, a, b) => ExprKind::Compare(op.negated(), a.clone(), b.clone()),
        ExprKind::And(parts) => ExprKind::Or(parts.iter().cloned().map(not).collect()),
        ExprKind::Or(parts) => ExprKind::And(parts.iter().cloned().map(not).collect()),
        _ => return None,
    })
}

pub(super) fn and(parts: &mut Vec<Expr>) -> Option<Expr> {
    let mut flat = Vec::new();
    parts.drain(..).for_each(|p| split_conjuncts(p, &mut flat));
    let mut out: Vec<Expr> = Vec::new();
    for part in flat {
        match part.as_constant() {
            Some(Value::Bool(true)) => {}
            Some(Value::Bool(false)) => return Some(part),
            _ if out.iter().any(|o| o.same(&part)) => {}
            _ => out.push(part),
        }
    }
    Some(conjunction(out))
}

fn split_disjuncts(expr: Expr, into: &mut Vec<Expr>) {
    match expr.kind {
        ExprKind::Or(parts) => parts.into_iter().for_each(|p| split_disjuncts(p, into)),
        _ => into.push(expr),
    }
}

pub(super) fn or(parts: &mut Vec<Expr>) -> Option<Expr> {
    let mut flat = Vec::new();
    parts.drain(..).for_each(|p| split_disjuncts(p, &mut flat));
    let mut out: Vec<Expr> = Vec::new();
    for part in flat {
        match part.as_constant() {
            Some(Value::Bool(false)) => {}
            Some(Value::Bool(true)) => return Some(part),
            _ if out.iter().any(|o| o.same(&part)) => {}
            _ => out.push(part),
        }
    }
    Some(factored(merge_equalities(out)))
}

/// `x = 1 OR x = 2 OR x IN (3, 4)` is `x IN (1, 2, 3, 4)`.
fn merge_equalities(parts: Vec<Expr>) -> Vec<Expr> {
    let mut out: Vec<Expr> = Vec::new();
    for part in parts {
        let Some((input, values)) = as_list(&part) else {
            out.push(part);
            continue;
        };
        let merged = out.iter_mut().find_map(|earlier| {
            let (other, mut list) = as_list(earlier)?;
            if !other.same(input) {
                return None;
            }
            for value in &values {
                if !list.contains(value) {
                    list.push(value.clone());
                }
            }
            *earlier = Expr::new(ExprKind::InList(Box::new(input.clone()), list), SqlType::Bool);
            Some(())
        });
        if merged.is_none() {
            out.push(part);
        }
    }
    out
}

fn as_list(expr: &Expr) -> Option<(&Expr, Vec<Value>)> {
    match &expr.kind {
        ExprKind::Compare(Compare::Eq, a, b) if a.as_constant().is_none() && a.sql_type == b.sql_type => {
            b.as_constant().filter(|v| !v.is_null()).map(|v| (&**a, vec![v.clone()]))
        }
        ExprKind::InList(a, values) => Some((a, values.clone())),
        _ => None,
    }
}

/// `(a AND b) OR (a AND c)` is `a AND (b OR c)`.
fn factored(branches: Vec<Expr>) -> Expr {
    if branches.len() < 2 {
        return disjunction(branches);
    }
    let mut split: Vec<Vec<Expr>> = Vec::new();
    for branch in branches {
        let mut parts = Vec::new();
        split_conjuncts(branch, &mut parts);
        split.push(parts);
    }
    let (first, others) = (split[0].clone(), &split[1..]);
    let common: Vec<Expr> =
        first.into_iter().filter(|p| others.iter().all(|parts| parts.iter().any(|q| q.same(p)))).collect();
    if common.is_empty() {
        return disjunction(split.into_iter().map(conjunction).collect());
    }
    let rest: Vec<Expr> = split
        .into_iter()
        .map(|parts| conjunction(parts.into_iter().filter(|p| !common.iter().any(|c| c.same(p))).collect()))
        .collect();
    let mut all = common;
    all.push(simplified(disjunction(rest)));
    simplified(conjunction(all))
}

pub(super) fn case(branches: &mut Vec<(Expr, Expr)>, otherwise: &mut Box<Expr>) -> Option<Expr> {
    let before = branches.len();
    let mut kept = Vec::new();
    for (condition, value) in branches.drain(..) {
        match condition.as_constant() {
            Some(Value::Bool(true)) => {
                **otherwise = value;
                break;
            }
            Some(_) => {}
            None => kept.push((condition, value)),
        }
    }
    if kept.is_empty() {
        return Some((**otherwise).clone());
    }
    if kept.len() == before {
        *branches = kept;
        return None;
    }
    let sql_type = otherwise.sql_type;
    let kind = ExprKind::Case { branches: kept.clone(), otherwise: otherwise.clone() };
    *branches = kept;
    Some(Expr::new(kind, sql_type))
}

pub(super) fn coalesce(arguments: &mut Vec<Expr>) -> Option<Expr> {
    let mut out = Vec::new();
    for argument in arguments.drain(..) {
        match argument.as_constant() {
            Some(Value::Null) => {}
            Some(_) => {
                out.push(argument);
                break;
            }
            None => out.push(argument),
        }
    }
    if out.len() == 1 {
        let only = out.remove(0);
        arguments.push(only.clone());
        return Some(only);
    }
    *arguments = out;
    None
}

/// Where only truth counts, NULL and false are the same: `coalesce(x, false)` is `x`.
pub(super) fn only_truth(expr: &mut Expr) {
    match &mut expr.kind {
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter_mut().for_each(only_truth),
        ExprKind::Coalesce(parts) => {
            if let [first, Expr { kind: ExprKind::Const(Value::Bool(false)), .. }] = parts.as_slice() {
                *expr = first.clone();
                only_truth(expr);
            }
        }
        _ => {}
    }
}
