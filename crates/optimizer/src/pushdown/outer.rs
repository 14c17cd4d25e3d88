//! Predicates that reject NULLs turn outer joins into simpler ones.

use std::collections::HashSet;

use plan::{ColumnId, Compare, Expr, ExprKind, JoinKind};
use types::Value;

/// The simplest kind that gives the same rows once `predicates` are applied.
pub(super) fn simplify(
    kind: &JoinKind,
    left: &HashSet<ColumnId>,
    right: &HashSet<ColumnId>,
    predicates: &[Expr],
) -> JoinKind {
    let rejects = |side: &HashSet<ColumnId>| predicates.iter().any(|p| rejects_null(p, side));
    match kind {
        JoinKind::Left if rejects(right) => JoinKind::Inner,
        JoinKind::Right if rejects(left) => JoinKind::Inner,
        JoinKind::Full => match (rejects(left), rejects(right)) {
            (true, true) => JoinKind::Inner,
            // Rows whose left columns are padded go: every left row stays.
            (true, false) => JoinKind::Left,
            (false, true) => JoinKind::Right,
            (false, false) => JoinKind::Full,
        },
        other => other.clone(),
    }
}

/// Whether the predicate cannot be true where all `columns` are NULL.
pub(crate) fn rejects_null(expr: &Expr, columns: &HashSet<ColumnId>) -> bool {
    match &expr.kind {
        ExprKind::And(parts) => parts.iter().any(|p| rejects_null(p, columns)),
        ExprKind::Or(parts) => parts.iter().all(|p| rejects_null(p, columns)),
        ExprKind::Not(inner) => match &inner.kind {
            ExprKind::IsNull(a) => is_null(a, columns),
            _ => is_null(inner, columns),
        },
        ExprKind::Coalesce(parts) => parts.iter().all(|p| rejects_null(p, columns)),
        ExprKind::Const(v) => matches!(v, Value::Null | Value::Bool(false)),
        _ => is_null(expr, columns),
    }
}

/// Whether the expression is NULL where all `columns` are.
fn is_null(expr: &Expr, columns: &HashSet<ColumnId>) -> bool {
    let some = || expr.children().any(|e| is_null(e, columns));
    match &expr.kind {
        ExprKind::Column(c) => columns.contains(c),
        ExprKind::Const(v) => v.is_null(),
        ExprKind::Coalesce(_) => expr.children().all(|e| is_null(e, columns)),
        ExprKind::Call(f, _) if !f.is_strict() => expr.children().all(|e| is_null(e, columns)),
        ExprKind::Compare(Compare::Distinct | Compare::NotDistinct, _, _) | ExprKind::IsNull(_) => false,
        ExprKind::Call(..) | ExprKind::Compare(..) | ExprKind::Not(_) => some(),
        ExprKind::Cast(_) | ExprKind::TryCast(_) | ExprKind::InList(..) | ExprKind::Like { .. } => some(),
        _ => false,
    }
}
