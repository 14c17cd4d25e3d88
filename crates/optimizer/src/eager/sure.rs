//! Expressions that cannot fail, whatever the values: what is evaluated for rows that a join would have dropped.

use functions::ScalarFunction;
use plan::{Expr, ExprKind};
use types::{SqlType, Value};

/// Whether it is evaluated without an error, by its types alone: as far as decimals have room for every result.
pub(crate) fn is_sure(expr: &Expr) -> bool {
    let here = match &expr.kind {
        ExprKind::Call(function, operands) => match operands.as_slice() {
            [a, b] => is_sure_call(*function, a, b, expr.sql_type),
            [_] if *function == ScalarFunction::NEGATE => expr.sql_type.is_decimal(),
            operands => {
                let types: Vec<SqlType> = operands.iter().map(|operand| operand.sql_type).collect();
                function.definition().typed.is_some_and(|typed| typed.is_total() && typed.is_of(&types))
            }
        },
        ExprKind::Cast(operand) => holds(expr.sql_type, digits(operand.sql_type)),
        ExprKind::Like { .. } | ExprKind::Each(_) | ExprKind::Subquery(_) => false,
        _ => true,
    };
    here && expr.children().all(is_sure)
}

/// Digits before and behind the point.
type Digits = (u32, u32);

fn digits(of: SqlType) -> Option<Digits> {
    match of {
        SqlType::SmallInt => Some((5, 0)),
        SqlType::Integer => Some((10, 0)),
        SqlType::BigInt => Some((19, 0)),
        SqlType::Decimal { precision, scale } => Some((u32::from(precision - scale), u32::from(scale))),
        _ => None,
    }
}

/// Whether a type has room for so many digits. A wider integer has more.
fn holds(of: SqlType, needed: Option<Digits>) -> bool {
    match (digits(of), needed) {
        (Some((whole, scale)), Some(needed)) => whole >= needed.0 && scale >= needed.1,
        _ => false,
    }
}

fn is_sure_call(function: ScalarFunction, a: &Expr, b: &Expr, result: SqlType) -> bool {
    let (Some((whole, scale)), Some((other, other_scale))) = (digits(a.sql_type), digits(b.sql_type)) else {
        return false;
    };
    // Results of integers may leave their type.
    result.is_decimal()
        && match function {
            ScalarFunction::ADD | ScalarFunction::SUBTRACT => {
                holds(result, Some((whole.max(other) + 1, scale.max(other_scale))))
            }
            ScalarFunction::MULTIPLY => holds(result, Some((whole + other, scale + other_scale))),
            ScalarFunction::DIVIDE => {
                let divides =
                    |by: &Value| matches!(by, Value::Int(n) if *n != 0) || matches!(by, Value::Decimal(n) if *n != 0);
                b.as_constant().is_some_and(divides) && holds(result, Some((whole + other_scale, 0)))
            }
            _ => false,
        }
}
