//! Operators of arrays, and calls that put arrays together.

use base::{Error, Result, SqlState};
use functions::{ScalarFunction as F, common_type};
use plan::{Expr, ExprKind};
use types::{SqlType, Value};

use crate::bind::coerce::{cast_to, is_untyped};

/// An array, or an empty one for NULL.
fn or_empty(array: Expr) -> Expr {
    let (sql_type, position) = (array.sql_type, array.position);
    let empty = Expr::constant(Value::str(""), sql_type);
    match array.kind {
        ExprKind::Const(Value::Null) => empty,
        ExprKind::Const(_) => array,
        _ => Expr::new(ExprKind::Coalesce(vec![array, empty]), sql_type).at(position),
    }
}

/// A call that puts arrays together, for which NULL is an empty array; any other call as it is.
pub(super) fn with_empty(function: F, mut arguments: Vec<Expr>, sql_type: SqlType, position: Option<u32>) -> Expr {
    let whole = match function {
        F::ARRAY_APPEND | F::ARRAY_SET => Some(0),
        F::ARRAY_PREPEND => Some(1),
        _ => None,
    };
    if let Some(at) = whole {
        let array = std::mem::replace(&mut arguments[at], Expr::bool(true));
        arguments[at] = or_empty(array);
    }
    if function == F::ARRAY_SET {
        // A number that is NULL is an error of its own.
        let at = std::mem::replace(&mut arguments[1], Expr::bool(true));
        let none = Expr::constant(Value::Int(i64::MIN), SqlType::BigInt);
        arguments[1] = Expr::new(ExprKind::Coalesce(vec![at, none]), SqlType::BigInt);
    }
    let both = (function == F::ARRAY_CAT).then(|| arguments.clone());
    let call = Expr::new(ExprKind::Call(function, arguments), sql_type).at(position);
    match both {
        // One that is not NULL is the result where the other is.
        Some(both) if both.iter().any(|array| !matches!(array.kind, ExprKind::Const(Value::Str(_)))) => {
            let choices = std::iter::once(call).chain(both).collect();
            Expr::new(ExprKind::Coalesce(choices), sql_type).at(position)
        }
        _ => call,
    }
}

/// `array || array`, `array || element`, `element || array`: which of them it is.
pub(super) fn concat_name(left: &Expr, right: &Expr) -> Option<&'static str> {
    let (a, b) = (left.sql_type.dimensions(), right.sql_type.dimensions());
    match (a, b) {
        (0, 0) => None,
        _ if a == b || is_untyped(left) || is_untyped(right) => Some("array_cat"),
        _ if a > b => Some("array_append"),
        _ => Some("array_prepend"),
    }
}

/// `array @> array`, `<@` and `&&`.
pub(super) fn set_operator(function: F, text: &str, left: Expr, right: Expr, position: Option<u32>) -> Result<Expr> {
    let common = common_type(left.sql_type, right.sql_type).filter(|t| t.is_array()).map(SqlType::closed);
    let Some(common) = common else {
        let message = format!("operator does not exist: {} {text} {}", left.sql_type, right.sql_type);
        return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message)
            .hint("no operator takes these types; you might need explicit casts")
            .at(position));
    };
    let operands = vec![cast_to(left, common)?, cast_to(right, common)?];
    Ok(Expr::new(ExprKind::Call(function, operands), SqlType::Bool).at(position))
}
