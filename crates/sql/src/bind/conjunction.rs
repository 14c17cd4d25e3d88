//! Conditions made of conditions as they are written.

use sqlparser::ast::{BinaryOperator, Expr};

/// A condition that is true where both are, or the other one alone.
pub(in crate::bind) fn both(one: Option<Expr>, other: Expr) -> Expr {
    let nested = |expr| Box::new(Expr::Nested(Box::new(expr)));
    match one {
        None => other,
        Some(one) => Expr::BinaryOp { left: nested(one), op: BinaryOperator::And, right: nested(other) },
    }
}

/// A condition that is true where all are, if there are any.
pub(in crate::bind) fn all_of(conditions: impl IntoIterator<Item = Expr>) -> Option<Expr> {
    conditions.into_iter().fold(None, |one, other| Some(both(one, other)))
}
