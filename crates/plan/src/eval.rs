//! The slow and obviously right evaluation of an expression over one row: the reference semantics of [`Expr`], what
//! constant folding uses, and how predicates are tried on samples (thesis 6).
//!
//! Evaluation is three-valued and lazy exactly as [`ExprKind`] says: an error in an operand that is not needed does not
//! happen.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use base::{Error, Result};
use functions::Call;
use types::Value;
use types::ops::{cast, like};

use crate::{ColumnId, Compare, Expr, ExprKind};

/// The value of an expression, given those of the columns. Errors carry the position of the innermost operator. A
/// subquery, which has no value outside of a plan, is an internal error.
///
/// ```
/// use plan::{Expr, Compare, eval::eval};
/// use types::{SqlType, Value};
/// let one = Expr::constant(Value::Int(1), SqlType::Integer);
/// let null = Expr::constant(Value::Null, SqlType::Integer);
/// let value = eval(&Expr::compare(Compare::Lt, one, null), &|_| Value::Null);
/// assert_eq!(value, Ok(Value::Null));
/// ```
pub fn eval(expr: &Expr, column: &dyn Fn(ColumnId) -> Value) -> Result<Value> {
    let truth = |e: &Expr| eval(e, column).map(|v| as_bool(&v));
    Ok(match &expr.kind {
        ExprKind::Column(c) => column(*c),
        ExprKind::Const(v) | ExprKind::Argument(_, v) => v.clone(),
        ExprKind::Call(function, arguments) => {
            let values = arguments.iter().map(|a| eval(a, column)).collect::<Result<Vec<_>>>()?;
            let types: Vec<_> = arguments.iter().map(|a| a.sql_type).collect();
            function
                .evaluate(&Call { values: &values, types: &types, result: expr.sql_type })
                .map_err(|e| e.at(expr.position))?
        }
        ExprKind::Compare(op, a, b) => compare(*op, &eval(a, column)?, &eval(b, column)?),
        ExprKind::And(parts) => {
            let mut unknown = false;
            for part in parts {
                match truth(part)? {
                    Some(false) => return Ok(Value::Bool(false)),
                    Some(true) => {}
                    None => unknown = true,
                }
            }
            if unknown { Value::Null } else { Value::Bool(true) }
        }
        ExprKind::Or(parts) => {
            let mut unknown = false;
            for part in parts {
                match truth(part)? {
                    Some(true) => return Ok(Value::Bool(true)),
                    Some(false) => {}
                    None => unknown = true,
                }
            }
            if unknown { Value::Null } else { Value::Bool(false) }
        }
        ExprKind::Not(a) => truth(a)?.map_or(Value::Null, |b| Value::Bool(!b)),
        ExprKind::IsNull(a) => Value::Bool(eval(a, column)?.is_null()),
        ExprKind::Case { branches, otherwise } => {
            for (condition, value) in branches {
                if truth(condition)? == Some(true) {
                    return eval(value, column);
                }
            }
            eval(otherwise, column)?
        }
        ExprKind::Coalesce(arguments) => {
            for argument in arguments {
                let value = eval(argument, column)?;
                if !value.is_null() {
                    return Ok(value);
                }
            }
            Value::Null
        }
        ExprKind::Cast(a) => {
            cast::cast_value(&eval(a, column)?, a.sql_type, expr.sql_type).map_err(|e| e.at(expr.position))?
        }
        ExprKind::TryCast(a) => cast::cast_value(&eval(a, column)?, a.sql_type, expr.sql_type).unwrap_or(Value::Null),
        ExprKind::InList(a, values) => match eval(a, column)? {
            Value::Null => Value::Null,
            value => Value::Bool(values.contains(&value)),
        },
        ExprKind::Like { input, pattern, syntax } => match (eval(input, column)?, eval(pattern, column)?) {
            (Value::Str(text), Value::Str(pattern)) => {
                Value::Bool(like::matches(&text, &pattern, *syntax).map_err(|e| e.at(expr.position))?)
            }
            _ => Value::Null,
        },
        ExprKind::Let { column: bound, value, body } => {
            let value = eval(value, column)?;
            eval(body, &|c| if c == *bound { value.clone() } else { column(c) })?
        }
        ExprKind::Subquery(_) => return Err(Error::internal("evaluation of a subquery")),
    })
}

/// Whether the predicate is true for the row: neither false nor NULL.
pub fn is_true(expr: &Expr, column: &dyn Fn(ColumnId) -> Value) -> Result<bool> {
    Ok(as_bool(&eval(expr, column)?) == Some(true))
}

/// The value of an expression without columns.
pub fn constant(expr: &Expr) -> Result<Value> {
    eval(expr, &|c| unreachable!("{c} in a constant expression"))
}

/// Compares two values of one type.
pub fn compare(op: Compare, a: &Value, b: &Value) -> Value {
    let order = a.total_cmp(b);
    let result = match op {
        Compare::Distinct => return Value::Bool(order != Ordering::Equal),
        Compare::NotDistinct => return Value::Bool(order == Ordering::Equal),
        _ if a.is_null() || b.is_null() => return Value::Null,
        Compare::Eq => order == Ordering::Equal,
        Compare::Ne => order != Ordering::Equal,
        Compare::Lt => order == Ordering::Less,
        Compare::Le => order != Ordering::Greater,
        Compare::Gt => order == Ordering::Greater,
        Compare::Ge => order != Ordering::Less,
    };
    Value::Bool(result)
}

fn as_bool(value: &Value) -> Option<bool> {
    if let Value::Bool(b) = value { Some(*b) } else { None }
}
