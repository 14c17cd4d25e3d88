//! The order of `jsonb` (decision 45).

use functions::ScalarFunction as F;
use plan::{Expr, ExprKind};
use types::{SqlType, Value};

/// What stands for a key of ORDER BY and a side of a comparison: the order of `jsonb` is not that of its bytes.
pub(super) fn ordered(expr: Expr) -> Expr {
    if expr.sql_type != SqlType::Jsonb {
        return expr;
    }
    let position = expr.position;
    if let ExprKind::Const(value) = &expr.kind {
        let key = match value {
            Value::Str(json) => types::ops::json::sort_key(json).map(Value::str),
            _ => Ok(Value::Null),
        };
        if let Ok(key) = key {
            return Expr::constant(key, SqlType::Text).at(position);
        }
    }
    Expr::new(ExprKind::Call(F::JSONB_SORT_KEY, vec![expr]), SqlType::Text).at(position)
}
