//! The slow and obviously right evaluation of an expression over one row: the reference semantics of [`Expr`], what
//! constant folding uses, and how predicates are tried on samples (thesis 6).
//!
//! Evaluation is three-valued and lazy exactly as [`ExprKind`] says: an error in an operand that is not needed does not
//! happen.

mod row;
#[cfg(test)]
mod tests;
mod words;

use std::cmp::Ordering;
use std::marker::PhantomData;

use base::{Error, Result, SqlState};
use functions::{Call, ScalarFunction};
use types::ops::array::{self, Elements};
use types::ops::{cast, like};
use types::{SqlType, Value};

use crate::{ColumnId, Compare, Each, Expr, ExprKind};
pub use row::RowExpr;

/// What an expression is evaluated in.
pub trait Scope {
    /// The value of a column.
    fn column(&self, column: ColumnId) -> Value;

    /// The value of a call.
    fn call(&self, function: ScalarFunction, call: &Call<'_>) -> Result<Value> {
        function.evaluate(call)
    }
}

/// A row of values at places, which says the same of columns.
pub trait Row: Scope {
    /// A place.
    type Place: Copy;

    /// The value at a place.
    fn at(&self, place: Self::Place) -> &Value;
}

/// Values that a function finds at places of type `P`; there are no columns beside them.
pub struct Found<'v, P, F>(F, PhantomData<fn(P) -> &'v Value>);

impl<'v, P: Copy, F: Fn(P) -> &'v Value> Found<'v, P, F> {
    /// Those that it finds.
    pub fn by(find: F) -> Self {
        Self(find, PhantomData)
    }
}

impl<'v, P: Copy, F: Fn(P) -> &'v Value> Scope for Found<'v, P, F> {
    fn column(&self, _: ColumnId) -> Value {
        Value::Null
    }
}

impl<'v, P: Copy, F: Fn(P) -> &'v Value> Row for Found<'v, P, F> {
    type Place = P;

    #[inline]
    fn at(&self, place: P) -> &Value {
        (self.0)(place)
    }
}

/// Columns by a function.
struct Columns<'a>(&'a dyn Fn(ColumnId) -> Value);

impl Scope for Columns<'_> {
    fn column(&self, column: ColumnId) -> Value {
        (self.0)(column)
    }
}

/// Another scope with a column more.
struct With<'a> {
    scope: &'a dyn Scope,
    column: ColumnId,
    value: Value,
}

impl Scope for With<'_> {
    fn column(&self, column: ColumnId) -> Value {
        if column == self.column { self.value.clone() } else { self.scope.column(column) }
    }

    fn call(&self, function: ScalarFunction, call: &Call<'_>) -> Result<Value> {
        self.scope.call(function, call)
    }
}

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
    eval_in(expr, &Columns(column))
}

/// As [`eval`], in a scope.
pub fn eval_in(expr: &Expr, scope: &dyn Scope) -> Result<Value> {
    let truth = |e: &Expr| eval_in(e, scope).map(|v| as_bool(&v));
    Ok(match &expr.kind {
        ExprKind::Column(c) => scope.column(*c),
        ExprKind::Const(v) | ExprKind::Argument(_, v) => v.clone(),
        ExprKind::Call(function, arguments) => {
            let call = |values: &[Value], types: &[SqlType]| {
                let call = Call { values, types, result: expr.sql_type };
                scope.call(*function, &call).map_err(|e| e.at(expr.position))
            };
            // Most calls have one or two arguments, which need no memory of their own.
            match arguments.as_slice() {
                [a] => call(&[eval_in(a, scope)?], &[a.sql_type])?,
                [a, b] => call(&[eval_in(a, scope)?, eval_in(b, scope)?], &[a.sql_type, b.sql_type])?,
                all => {
                    let values = all.iter().map(|a| eval_in(a, scope)).collect::<Result<Vec<_>>>()?;
                    let types: Vec<_> = all.iter().map(|a| a.sql_type).collect();
                    call(&values, &types)?
                }
            }
        }
        ExprKind::Compare(op, a, b) => compare(*op, &eval_in(a, scope)?, &eval_in(b, scope)?),
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
        ExprKind::IsNull(a) => Value::Bool(eval_in(a, scope)?.is_null()),
        ExprKind::Case { branches, otherwise } => {
            for (condition, value) in branches {
                if truth(condition)? == Some(true) {
                    return eval_in(value, scope);
                }
            }
            eval_in(otherwise, scope)?
        }
        ExprKind::Coalesce(arguments) => {
            for argument in arguments {
                let value = eval_in(argument, scope)?;
                if !value.is_null() {
                    return Ok(value);
                }
            }
            Value::Null
        }
        ExprKind::Cast(a) => {
            cast::cast_value(&eval_in(a, scope)?, a.sql_type, expr.sql_type).map_err(|e| e.at(expr.position))?
        }
        ExprKind::TryCast(a) => cast::try_cast_value(&eval_in(a, scope)?, a.sql_type, expr.sql_type),
        ExprKind::InList(a, values) => match eval_in(a, scope)? {
            Value::Null => Value::Null,
            value => Value::Bool(values.contains(&value)),
        },
        ExprKind::Like { input, pattern, syntax } => match (eval_in(input, scope)?, eval_in(pattern, scope)?) {
            (Value::Str(text), Value::Str(pattern)) => {
                Value::Bool(like::matches(&text, &pattern, *syntax).map_err(|e| e.at(expr.position))?)
            }
            _ => Value::Null,
        },
        ExprKind::Let { column: bound, value, body } => {
            let value = eval_in(value, scope)?;
            eval_in(body, &With { scope, column: *bound, value })?
        }
        ExprKind::Each(each) => return each_element(each, expr, scope),
        ExprKind::Subquery(_) => return Err(Error::internal("evaluation of a subquery")),
    })
}

/// A lambda over the elements of a list.
fn each_element(each: &Each, expr: &Expr, scope: &dyn Scope) -> Result<Value> {
    let list = eval_in(&each.list, scope)?;
    let element = each.list.sql_type.element().unwrap_or(SqlType::Null);
    let Value::Str(list) = list else { return Ok(Value::Null) };
    let mut made = Vec::new();
    let mut accumulated = match &each.reduced {
        Some(crate::Reduced { initial: Some(initial), .. }) => Some(eval_in(initial, scope)?),
        _ => None,
    };
    for (i, value) in Elements::new(&list, element).enumerate() {
        let index = Value::Int(i as i64 + 1);
        let inner = With { scope, column: each.element, value: value.clone() };
        let inner = With { scope: &inner, column: each.index, value: index };
        let Some(reduced) = &each.reduced else {
            let is_kept =
                each.only.as_ref().map_or(Ok(true), |only| eval_in(only, &inner).map(|v| as_bool(&v) == Some(true)))?;
            if is_kept {
                made.push(eval_in(&each.body, &inner)?);
            }
            continue;
        };
        accumulated = Some(match accumulated {
            None => cast::cast_value(&value, element, expr.sql_type).map_err(|e| e.at(expr.position))?,
            Some(value) => eval_in(&each.body, &With { scope: &inner, column: reduced.accumulator, value })?,
        });
    }
    match (&each.reduced, accumulated) {
        (None, _) => array::encode(&made, expr.sql_type.element().unwrap_or(SqlType::Null)),
        (Some(_), Some(value)) => Ok(value),
        (Some(_), None) => {
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, crate::NOTHING_TO_REDUCE).at(expr.position))
        }
    }
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
        _ => op.holds(order),
    };
    Value::Bool(result)
}

fn as_bool(value: &Value) -> Option<bool> {
    if let Value::Bool(b) = value { Some(*b) } else { None }
}
