//! Literals: numbers, strings, typed strings, intervals, parameters.

use base::{Error, Result, SqlState};
use plan::{Expr, ExprKind};
use sqlparser::ast::{self, DateTimeField, TypedString};
use types::ops::cast::{cast_value, cast_value_in, parse};
use types::ops::{date, decimal};
use types::{SqlType, Value};

use crate::bind::coerce::{cast_to, digits};
use crate::bind::parts::Text;
use crate::bind::type_name::sql_type;
use crate::bind::{Binder, inferred, unsupported, zone};

impl Binder<'_> {
    pub(super) fn literal(&mut self, literal: &ast::ValueWithSpan) -> Result<Expr> {
        use ast::Value as V;
        let position = self.text.span(literal.span);
        let untyped = |text: &str| Expr::constant(Value::str(text), SqlType::Null).at(position);
        Ok(match &literal.value {
            V::Number(text, _) => number(text).map_err(|e| e.at(position))?.at(position),
            V::Boolean(b) => Expr::bool(*b).at(position),
            V::Null => Expr::constant(Value::Null, SqlType::Null).at(position),
            V::DollarQuotedString(s) => untyped(&s.value),
            V::SingleQuotedString(s) if s.contains('\\') && self.resolver.escapes_strings() => {
                return unsupported("a backslash in a string while standard_conforming_strings is off", position);
            }
            V::SingleQuotedString(s)
            | V::EscapedStringLiteral(s)
            | V::UnicodeStringLiteral(s)
            | V::NationalStringLiteral(s) => untyped(s),
            V::Placeholder(name) => match self.variable_parameter(name, literal.span)? {
                Some(variable) => variable,
                None => self.parameter(name, position)?,
            },
            V::HexStringLiteral(digits) => {
                let text = Expr::constant(Value::str(format!("\\x{digits}")), SqlType::Null).at(position);
                cast_to(text, SqlType::Bytea).map_err(|e| e.at(position))?.at(position)
            }
            other => return unsupported(format!("the literal {other}"), position),
        })
    }

    fn parameter(&mut self, name: &str, position: Option<u32>) -> Result<Expr> {
        let number: Option<usize> = name.strip_prefix('$').and_then(|n| n.parse().ok());
        if let Some(parameter) = number.and_then(|n| inferred::parameter(n.checked_sub(1)?)) {
            return Ok(parameter.at(position));
        }
        let Some((value, sql_type)) = number.and_then(|n| self.arguments.parameters.get(n.checked_sub(1)?)) else {
            let called = number.and_then(|n| self.arguments.names.get(n.checked_sub(1)?));
            let name = called.map_or_else(|| name.to_owned(), |called| format!("${called}"));
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter {name}"))
                .hint(match self.arguments.parameters.len() {
                    0 => "no parameters were given".to_owned(),
                    n => format!("{n} parameters were given: $1 to ${n}"),
                })
                .at(position));
        };
        let (value, sql_type) = (value.clone(), *sql_type);
        if let Some(open) = number.and_then(|n| self.arguments.open_parameter(n - 1, &value, sql_type)) {
            return Ok(open.at(position));
        }
        // Text adapts as a literal does, so that drivers may send dates and numbers as text.
        let sql_type = if sql_type == SqlType::Text { SqlType::Null } else { sql_type };
        Ok(Expr::constant(value, sql_type).at(position))
    }

    /// `INTERVAL '90' DAY`, `INTERVAL '1 year 2 months'`, `INTERVAL '2:03' MINUTE TO SECOND`, `INTERVAL 3 MONTH`
    pub(super) fn interval(&mut self, interval: &ast::Interval) -> Result<Expr> {
        let position = self.text.start(&interval.value);
        let first = interval.leading_field.as_ref().map(unit).transpose().map_err(|e| e.at(position))?;
        let last = interval.last_field.as_ref().map(unit).transpose().map_err(|e| e.at(position))?;
        let unit = last.or(first);
        let text = match interval.value.as_ref() {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(text, _) => Some(text.clone()),
                other => other.clone().into_string(),
            },
            _ => None,
        };
        if let Some(text) = text {
            let bad = |bad| parse::error(bad, SqlType::Interval, text.as_bytes()).at(position);
            let minutes = (first, last) == (Some("minute"), Some("second"));
            let value = date::parse_interval_as(text.as_bytes(), unit.unwrap_or("second"), minutes).map_err(bad)?;
            let digits = interval.fractional_seconds_precision.or(interval.leading_precision);
            let digits = digits.and_then(|d| u32::try_from(d).ok());
            let value = date::limit_interval(value, unit.unwrap_or("second"), digits);
            return Ok(Expr::constant(Value::Interval(value), SqlType::Interval).at(position));
        }
        let Some(unit) = unit else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "an interval needs a string literal or a unit")
                .hint("write INTERVAL '3 months' or INTERVAL (x) MONTH")
                .at(position));
        };
        let count = self.expr(&interval.value)?;
        let count = cast_to(count, SqlType::Double)?;
        let text = format!("1 {unit}");
        let one = cast_value(&Value::str(text), SqlType::Text, SqlType::Interval)?;
        let one = Expr::constant(one, SqlType::Interval);
        Ok(Expr::new(ExprKind::Call(functions::ScalarFunction::MULTIPLY, vec![one, count]), SqlType::Interval)
            .at(position))
    }
}

impl Text<'_> {
    /// `DATE '1995-01-01'`
    pub(super) fn typed_string(&mut self, typed: &TypedString) -> Result<Expr> {
        let position = self.span(typed.value.span);
        let to = sql_type(&typed.data_type, &|_| Ok(None)).map_err(|e| e.at(position))?;
        let text = match typed.value.value.clone().into_string() {
            Some(text) => text,
            None => return unsupported("a typed literal that is no string", position),
        };
        let zone = zone::session();
        let text = Value::str(text);
        let value =
            cast_value_in(&zone::without_now(&text, to), SqlType::Text, to, &zone).map_err(|e| e.at(position))?;
        Ok(Expr::constant(value, to).at(position))
    }
}

fn unit(field: &DateTimeField) -> Result<&'static str> {
    use DateTimeField as F;
    Ok(match field {
        F::Year | F::Years => "year",
        F::Month | F::Months => "month",
        F::Week(_) | F::Weeks => "week",
        F::Day | F::Days => "day",
        F::Hour | F::Hours => "hour",
        F::Minute | F::Minutes => "minute",
        F::Second | F::Seconds => "second",
        F::Millisecond | F::Milliseconds => "millisecond",
        F::Microsecond | F::Microseconds => "microsecond",
        F::Decade => "decade",
        F::Century => "century",
        F::Quarter => "quarter",
        F::Millennium => "millennium",
        other => {
            return Err(Error::new(SqlState::SYNTAX_ERROR, format!("intervals have no unit {other}"))
                .hint("units are year, month, week, day, hour, minute, second"));
        }
    })
}

/// The smallest of integer, bigint and decimal(38,0) that holds an integer; an exact decimal; a double beyond 38 digits if
/// it has an exponent, which says that not all of them matter.
pub(in crate::bind) fn number(text: &str) -> Result<Expr> {
    let text = text.replace('_', "");
    let bytes = text.as_bytes();
    if let Ok(value) = text.parse::<i64>() {
        let small = i32::try_from(value).is_ok();
        return Ok(Expr::constant(Value::Int(value), if small { SqlType::Integer } else { SqlType::BigInt }));
    }
    let inexact = text.contains(['e', 'E']);
    match decimal::parse_exact(bytes) {
        Ok(exact) => {
            let precision = if inexact || text.contains('.') { exact.precision } else { SqlType::MAX_PRECISION };
            Ok(Expr::constant(Value::Decimal(exact.digits), SqlType::decimal(precision, exact.scale)))
        }
        Err(_) if inexact => {
            let value = parse::f64(bytes).map_err(|bad| parse::error(bad, SqlType::Double, bytes))?;
            Ok(Expr::constant(Value::Float(value), SqlType::Double))
        }
        Err(_) => cast_to(Expr::constant(Value::str(text.as_str()), SqlType::Text), SqlType::NUMERIC),
    }
}

/// A negative number literal keeps the smallest type: -9223372036854775808 is a bigint. None if it is no number.
pub(super) fn negated_constant(expr: &Expr) -> Option<Expr> {
    let ExprKind::Const(value) = &expr.kind else { return None };
    let (value, sql_type) = match (value, expr.sql_type) {
        (Value::Int(i), t) if t.is_integer() => {
            let negative = i.checked_neg()?;
            let fits = |t| match t {
                SqlType::SmallInt => i16::try_from(negative).is_ok(),
                SqlType::Integer => i32::try_from(negative).is_ok(),
                _ => true,
            };
            (Value::Int(negative), if fits(t) { t } else { return None })
        }
        (Value::Decimal(d), t) if t.scale() == 0 && *d == 1i128 << 63 => (Value::Int(i64::MIN), SqlType::BigInt),
        (Value::Decimal(d), t) => {
            let negative = d.checked_neg()?;
            (Value::Decimal(negative), SqlType::decimal(digits(negative).max(t.scale()), t.scale()))
        }
        (Value::Float(f), t) => (Value::Float(-f), t),
        _ => return None,
    };
    Some(Expr::constant(value, sql_type).at(expr.position))
}
