//! Implicit conversions: common types, comparisons, assignments, constants.

use std::borrow::Cow;

use base::{Error, Result, SqlState};
use functions::common_type;
use plan::{Compare, Expr, ExprKind};
use types::ops::array;
use types::ops::cast::{assign_value_in, can_cast, cast_value_in};
use types::ops::decimal;
use types::{SqlType, Value};

use super::json_order::ordered;
use super::{inferred, zone};

pub(super) const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The common type of several expressions; integer constants among decimals count with their own digits only.
pub(super) fn common_type_of(exprs: &[&Expr]) -> Option<SqlType> {
    let decimals = exprs.iter().any(|e| e.sql_type.is_decimal());
    let own = |e: &&Expr| if decimals { tight(e) } else { e.sql_type };
    let known = exprs.iter().try_fold(SqlType::Null, |common, e| common_type(common, own(e)))?;
    let mut literals = exprs.iter().filter(|e| is_untyped(e));
    literals.try_fold(known, |common, e| common_type(common, literal_type(e, known)))
}

/// The type that an untyped literal has beside values of type `beside`: of its kind, and wide enough for the literal.
pub(super) fn literal_type(literal: &Expr, beside: SqlType) -> SqlType {
    let ExprKind::Const(Value::Str(text)) = &literal.kind else { return beside };
    if literal.sql_type.is_open_list() && beside == SqlType::Null {
        return literal.sql_type;
    }
    match beside {
        SqlType::Decimal { .. } => match decimal::parse_exact(text.as_bytes()) {
            Ok(exact) => SqlType::decimal(exact.precision, exact.scale),
            Err(_) => beside,
        },
        SqlType::Numeric { .. } => SqlType::NUMERIC,
        SqlType::Varchar(_) => SqlType::Text,
        SqlType::Char(limit) => {
            let length = text.trim_end_matches(' ').chars().count();
            SqlType::Char(limit.max(u32::try_from(length).unwrap_or(u32::MAX)))
        }
        other => other,
    }
}

/// The type of an expression in decimal arithmetic: an integer constant has just its digits.
pub(super) fn tight(expr: &Expr) -> SqlType {
    match expr.kind {
        ExprKind::Const(Value::Int(i)) if expr.sql_type.is_integer() => SqlType::decimal(digits(i.into()), 0),
        _ => expr.sql_type,
    }
}

/// Decimal digits of a number, at least 1.
pub(super) fn digits(value: i128) -> u8 {
    value.unsigned_abs().checked_ilog10().map_or(1, |d| d as u8 + 1)
}

/// Whether it is a list without elements, or of NULLs, whose type is still open.
pub(super) fn is_open_list(expr: &Expr) -> bool {
    expr.sql_type.is_open_list() && matches!(expr.kind, ExprKind::Const(_))
}

/// Whether it is a string literal or NULL whose type is still open.
pub(super) fn is_untyped(expr: &Expr) -> bool {
    expr.sql_type == SqlType::Null && matches!(expr.kind, ExprKind::Const(_))
}

/// The literal as an exact decimal (`'0.05'` beside a decimal column), or else a `numeric`.
pub(super) fn exact_decimal(expr: &Expr) -> Result<Expr> {
    let ExprKind::Const(value @ Value::Str(text)) = &expr.kind else {
        return Ok(Expr::constant(Value::Null, SqlType::decimal(1, 0)).at(expr.position));
    };
    // The type of `numeric` without limits.
    let numeric = SqlType::decimal(SqlType::MAX_PRECISION, 10);
    if inferred::has_type(value, numeric) {
        return Ok(Expr::constant(Value::Null, numeric).at(expr.position));
    }
    // One with more digits, or NaN, is one of any length.
    let Ok(exact) = decimal::parse_exact(text.as_bytes()) else { return cast_to(expr.clone(), SqlType::NUMERIC) };
    Ok(Expr::constant(Value::Decimal(exact.digits), SqlType::decimal(exact.precision, exact.scale)).at(expr.position))
}

/// The expression with exactly the type `to`. Constants are converted now; a literal that is no value of the type is an
/// error at its position.
pub(in crate::bind) fn cast_to(expr: Expr, to: SqlType) -> Result<Expr> {
    if expr.sql_type == to {
        return Ok(expr);
    }
    let position = expr.position;
    if let ExprKind::Const(value) = &expr.kind {
        if value.is_null() {
            return Ok(Expr::constant(Value::Null, to).at(position));
        }
        if expr.sql_type.is_open_list() {
            return match to.dimensions() >= expr.sql_type.dimensions() {
                true => Ok(Expr::constant(retyped(value, expr.sql_type, to)?, to).at(position)),
                false => cast_to(known(expr), to),
            };
        }
        let zone = zone::session();
        if expr.sql_type == SqlType::Null {
            if inferred::has_type(value, to) {
                return Ok(Expr::constant(Value::Null, to).at(position));
            }
            let value = zone::without_now(value, to);
            let value = cast_value_in(&value, SqlType::Text, to, &zone).map_err(|e| e.at(position))?;
            return Ok(Expr::constant(value, to).at(position));
        }
        // An error stays a run-time matter: the branch that it stands in may never be taken.
        let said = if expr.sql_type == SqlType::Text { zone::without_now(value, to) } else { Cow::Borrowed(value) };
        if let Ok(value) = cast_value_in(&said, expr.sql_type, to, &zone) {
            return Ok(Expr::constant(value, to).at(position));
        }
    }
    if !can_cast(expr.sql_type, to) {
        let message = format!("cannot cast type {} to {to}", expr.sql_type);
        return Err(Error::new(SqlState::CANNOT_COERCE, message).at(position));
    }
    match zone::convert(zone::in_iso(expr, to), to) {
        Ok(converted) => cast_to(converted, to),
        Err(expr) => Ok(Expr::new(ExprKind::Cast(Box::new(expr)), to).at(position)),
    }
}

/// The expression as `to` where strings of any kind will do for a string.
pub(in crate::bind) fn convert(expr: Expr, to: SqlType) -> Result<Expr> {
    if expr.sql_type.is_string() && to.is_string() { Ok(expr) } else { cast_to(expr, to) }
}

/// An untyped literal as text, a list of nothing as one of integers, anything else as it is.
pub(in crate::bind) fn known(expr: Expr) -> Expr {
    match expr.sql_type {
        SqlType::Null => cast_to(expr, SqlType::Text).expect("everything untyped is a text"),
        open if is_open_list(&expr) => cast_to(expr, open.closed()).expect("NULLs and lists of them are of any type"),
        open if open.is_open_list() => Expr { sql_type: open.closed(), ..expr },
        _ => expr,
    }
}

/// A list without elements other than NULL and such lists, as one of another type.
fn retyped(value: &Value, from: SqlType, to: SqlType) -> Result<Value> {
    let (Value::Str(form), Some(from), Some(to)) = (value, from.element(), to.element()) else {
        return Ok(value.clone());
    };
    let elements = array::Elements::new(form, from).map(|element| retyped(&element, from, to));
    array::encode(&elements.collect::<Result<Vec<_>>>()?, to)
}

/// A list of nothing as one of integers, anything else as it is.
pub(in crate::bind) fn closed(expr: Expr) -> Expr {
    if is_open_list(&expr) { known(expr) } else { expr }
}

/// An argument of a function that takes every type: it must have one.
pub(in crate::bind) fn of_some_type(expr: Expr, position: Option<u32>) -> Result<Expr> {
    let expr = closed(expr);
    if expr.sql_type != SqlType::Null {
        return Ok(expr);
    }
    let message = "could not determine polymorphic type because input has type unknown";
    Err(Error::new(SqlState::DATATYPE_MISMATCH, message).hint("add an explicit cast").at(position))
}

/// A condition: boolean, or 42804 naming `what`.
pub(in crate::bind) fn boolean(expr: Expr, what: &str) -> Result<Expr> {
    match expr.sql_type {
        SqlType::Bool | SqlType::Null => cast_to(expr, SqlType::Bool),
        other => {
            let message = format!("argument of {what} must be type boolean, not type {other}");
            Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(expr.position))
        }
    }
}

/// All expressions as their common type; `what` names the construct in the error 42804.
pub(in crate::bind) fn unify(exprs: Vec<Expr>, what: &str) -> Result<(Vec<Expr>, SqlType)> {
    let refs: Vec<&Expr> = exprs.iter().collect();
    let Some(common) = common_type_of(&refs) else {
        let first = exprs.iter().find(|e| e.sql_type != SqlType::Null).map_or(SqlType::Text, |e| e.sql_type);
        let odd = exprs.iter().find(|e| common_type(first, e.sql_type).is_none()).or(exprs.last());
        let (other, position) = odd.map_or((SqlType::Null, None), |e| (e.sql_type, e.position));
        let message = format!("{what} types {first} and {other} cannot be matched");
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message)
            .hint("add an explicit cast to one of them")
            .at(position));
    };
    let common = match common {
        SqlType::Null => SqlType::Text,
        // A list of lists without elements is as open as these are.
        open if open.is_open_list() && what == "ARRAY" => open,
        common => common.closed(),
    };
    let exprs = exprs.into_iter().map(|e| cast_to(e, common)).collect::<Result<_>>()?;
    Ok((exprs, common))
}

/// `left op right` with both sides cast to one type.
pub(in crate::bind) fn compare(op: Compare, left: Expr, right: Expr, position: Option<u32>) -> Result<Expr> {
    let (left, right) = comparable(left, right, op_text(op), position)?;
    Ok(Expr::compare(op, left, right).at(position))
}

/// Both sides as one type, so that a column stays as it is where the other side is a constant of fitting value: scans
/// can then test it without a cast.
pub(in crate::bind) fn comparable(left: Expr, right: Expr, op: &str, position: Option<u32>) -> Result<(Expr, Expr)> {
    // What is beside a list of nothing must know its type.
    let (left, right) = match (left.sql_type, right.sql_type) {
        (SqlType::Null, _) => (left, closed(right)),
        (_, SqlType::Null) => (closed(left), right),
        _ => (left, right),
    };
    let (left, right) = match (left.sql_type, right.sql_type) {
        (SqlType::Null, SqlType::Null) => (known(left), known(right)),
        (SqlType::Null, to) => (literal_beside(left, to)?, right),
        (to, SqlType::Null) => {
            let right = literal_beside(right, to)?;
            (left, right)
        }
        _ => (left, right),
    };
    let (left, right) = match (is_open_list(&left), is_open_list(&right)) {
        (true, _) if right.sql_type.is_array() && !right.sql_type.is_open_list() => {
            (cast_to(left, right.sql_type)?, right)
        }
        (_, true) if left.sql_type.is_array() && !left.sql_type.is_open_list() => {
            let to = left.sql_type;
            (left, cast_to(right, to)?)
        }
        _ => (closed(left), closed(right)),
    };
    let (a, b) = (left.sql_type, right.sql_type);
    if a == b {
        return Ok((ordered(left), ordered(right)));
    }
    match (a, b) {
        // Blanks at the end do not count where `char(n)` decides, which it does beside varchar, not beside text.
        (SqlType::Char(_), SqlType::Varchar(_)) => return Ok((left, trimmed(right)?)),
        (SqlType::Varchar(_), SqlType::Char(_)) => return Ok((trimmed(left)?, right)),
        _ if a.is_string() && b.is_string() => return Ok((left, right)),
        _ if a.is_long_numeric() && b.is_long_numeric() => return Ok((left, right)),
        _ => {}
    }
    let Some(common) = common_type(a, b) else {
        let message = format!("operator does not exist: {a} {op} {b}");
        return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message)
            .hint("no operator takes these types; you might need explicit casts")
            .at(position));
    };
    let (left, right) = (narrowed(left, b), narrowed(right, a));
    let (a, b) = (left.sql_type, right.sql_type);
    if a == b || (a.is_decimal() && b.is_decimal() && a.scale() == b.scale()) {
        return Ok((left, right));
    }
    let common = match common {
        // A real beside another type of number is compared in double precision.
        SqlType::Real => SqlType::Double,
        SqlType::Decimal { .. } => {
            let scale = a.scale().max(b.scale());
            return Ok((rescaled(left, scale)?, rescaled(right, scale)?));
        }
        SqlType::Timestamp => return Ok((midnight(left)?, midnight(right)?)),
        common => common,
    };
    Ok((cast_to(left, common)?, cast_to(right, common)?))
}

/// A number as a decimal of that scale, with no more digits than it needs, to be compared with another of that scale.
fn rescaled(expr: Expr, scale: u8) -> Result<Expr> {
    let Some((precision, old)) = tight(&expr).as_decimal() else { return cast_to(expr, SqlType::Double) };
    if expr.sql_type.is_decimal() && old == scale {
        return Ok(expr);
    }
    let digits = precision - old + scale;
    if digits <= SqlType::MAX_PRECISION {
        return cast_to(expr, SqlType::decimal(digits.max(1), scale));
    }
    // What has more digits than any decimal of that scale is larger (or smaller) than all of them: it becomes a number
    // just beyond their range, which 128 bits hold.
    let wide = SqlType::decimal(SqlType::MAX_PRECISION, scale);
    let beyond = |sign: i128| Expr::constant(Value::Decimal(sign * 10i128.pow(SqlType::MAX_PRECISION.into())), wide);
    let zero =
        Expr::constant(if expr.sql_type.is_decimal() { Value::Decimal(0) } else { Value::Int(0) }, expr.sql_type);
    let positive = Expr::compare(Compare::Gt, expr.clone(), zero.clone());
    let negative = Expr::compare(Compare::Lt, expr.clone(), zero);
    let branches = vec![(positive, beyond(1)), (negative, beyond(-1))];
    let otherwise = Box::new(Expr::constant(Value::Null, wide));
    let too_large = Expr::new(ExprKind::Case { branches, otherwise }, wide);
    let position = expr.position;
    let fitting = Expr::new(ExprKind::TryCast(Box::new(expr)), wide);
    Ok(Expr::new(ExprKind::Coalesce(vec![fitting, too_large]), wide).at(position))
}

/// A date or timestamp as a timestamp, to be compared with another. Dates go on where timestamps end (in the year 294247):
/// those are as the last microsecond.
fn midnight(expr: Expr) -> Result<Expr> {
    const LAST: i64 = i64::MAX / MICROS_PER_DAY;
    let position = expr.position;
    let end = || Expr::constant(Value::Timestamp(i64::MAX - 1), SqlType::Timestamp).at(position);
    match &expr.kind {
        ExprKind::Const(Value::Date(days)) if i64::from(*days) > LAST && *days != i32::MAX => Ok(end()),
        ExprKind::Const(_) => cast_to(expr, SqlType::Timestamp),
        // It would be drawn twice.
        _ if expr.sql_type == SqlType::Timestamp || expr.is_volatile() => cast_to(expr, SqlType::Timestamp),
        _ => {
            let last = Expr::constant(Value::Date(LAST as i32), SqlType::Date);
            let infinity = Expr::constant(Value::Date(i32::MAX), SqlType::Date);
            let beyond = vec![
                Expr::compare(Compare::Gt, expr.clone(), last),
                Expr::compare(Compare::Lt, expr.clone(), infinity),
            ];
            let beyond = Expr::new(ExprKind::And(beyond), SqlType::Bool);
            let otherwise = Box::new(cast_to(expr, SqlType::Timestamp)?);
            let kind = ExprKind::Case { branches: vec![(beyond, end())], otherwise };
            Ok(Expr::new(kind, SqlType::Timestamp).at(position))
        }
    }
}

/// An untyped literal beside an operand of type `to`.
fn literal_beside(expr: Expr, to: SqlType) -> Result<Expr> {
    match to {
        SqlType::Decimal { .. } if is_untyped(&expr) => exact_decimal(&expr),
        SqlType::Numeric { .. } if is_untyped(&expr) => cast_to(expr, SqlType::NUMERIC),
        // Blanks at the end do not count beside a `char(n)`.
        SqlType::Char(_) => match &expr.kind {
            ExprKind::Const(Value::Str(s)) if s.ends_with(' ') => {
                Ok(Expr::constant(Value::str(s.trim_end_matches(' ')), SqlType::Text).at(expr.position))
            }
            _ => cast_to(expr, SqlType::Text),
        },
        to if to.is_string() => cast_to(expr, SqlType::Text),
        to => cast_to(expr, to),
    }
}

/// A text without the blanks at its end.
fn trimmed(text: Expr) -> Result<Expr> {
    let position = text.position;
    if let ExprKind::Const(Value::Str(s)) = &text.kind {
        return Ok(Expr::constant(Value::str(s.trim_end_matches(' ')), SqlType::Text).at(position));
    }
    let blank = Expr::constant(Value::str(" "), SqlType::Text);
    let call = ExprKind::Call(functions::ScalarFunction::TRIM_TRAILING, vec![text, blank]);
    Ok(Expr::new(call, SqlType::Text).at(position))
}

/// A `char(n)` with the blanks that fill it up, which LIKE and `octet_length` see; anything else as it is.
pub(in crate::bind) fn padded(expr: Expr) -> Expr {
    let SqlType::Char(length) = expr.sql_type else { return expr };
    let position = expr.position;
    let length = Expr::constant(Value::Int(length.into()), SqlType::Integer);
    let blank = Expr::constant(Value::str(" "), SqlType::Text);
    let call = ExprKind::Call(functions::ScalarFunction::RPAD, vec![expr, length, blank]);
    Expr::new(call, SqlType::Text).at(position)
}

/// A time rounded to so many digits of a second, as its domain says; any other value as it is.
pub(in crate::bind) fn rounded(value: Expr, digits: Option<u8>) -> Expr {
    let Some(digits) = digits else { return value };
    let (sql_type, position) = (value.sql_type, value.position);
    let digits = Expr::constant(Value::Int(digits.into()), SqlType::Integer);
    let call = ExprKind::Call(functions::ScalarFunction::ROUND_SECONDS, vec![value, digits]);
    Expr::new(call, sql_type).at(position)
}

/// The value to store in a column of type `to` (PostgreSQL's assignment casts).
pub(in crate::bind) fn assign(expr: Expr, to: SqlType, column: &str) -> Result<Expr> {
    let (from, position) = (expr.sql_type, expr.position);
    if let ExprKind::Const(value) = &expr.kind {
        let from = if from == SqlType::Null { SqlType::Text } else { from };
        if is_untyped(&expr) && inferred::has_type(value, to) {
            return Ok(Expr::constant(Value::Null, to).at(position));
        }
        if is_open_list(&expr) && to.is_array() {
            return cast_to(expr, to);
        }
        if is_untyped(&expr) || assignable(from, to) {
            let said = if is_untyped(&expr) { zone::without_now(value, to) } else { Cow::Borrowed(value) };
            let value = assign_value_in(&said, from, to, &zone::session()).map_err(|e| e.at(position))?;
            return Ok(Expr::constant(value, to).at(position));
        }
    }
    if from == to {
        return Ok(expr);
    }
    if !assignable(from, to) {
        let message = format!("column \"{column}\" is of type {to} but expression is of type {from}");
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message)
            .hint("rewrite the expression or cast it")
            .at(position));
    }
    match to {
        // The cast would cut long strings: whoever stores them checks the length.
        SqlType::Varchar(_) => convert(expr, SqlType::Text),
        SqlType::Char(_) => {
            let text = convert(expr, SqlType::Text)?;
            trimmed(text)
        }
        SqlType::Text => convert(expr, to),
        _ => cast_to(expr, to),
    }
}

fn assignable(from: SqlType, to: SqlType) -> bool {
    let dates = |t| matches!(t, SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz);
    let times = matches!(
        (from, to),
        (SqlType::Timestamp | SqlType::Timestamptz | SqlType::Interval, SqlType::Time)
            | (SqlType::Time, SqlType::Interval | SqlType::Timetz)
            | (SqlType::Timetz, SqlType::Time)
            | (SqlType::Timestamptz, SqlType::Timetz)
    );
    // What structs, maps and lists are made of decides. A cast of a list would cut its texts.
    let is_composite = |t: SqlType| t.structure().is_some() || t.map().is_some();
    let is_cut = |t: SqlType| matches!(t, SqlType::Varchar(_) | SqlType::Char(_));
    let within = match (from, to) {
        (SqlType::Array(a), SqlType::Array(b)) => assignable(*a, *b) && !is_cut(*b),
        _ => is_composite(from) && is_composite(to) && can_cast(from, to),
    };
    from == SqlType::Null
        || from == to
        || within
        || to.is_string()
        || (from.is_numeric() && to.is_numeric())
        || (dates(from) && dates(to))
        || times
}

/// A constant as the type of the other side if that loses nothing: 24 beside a decimal(15,2) is 24.00, 5.0 beside an
/// integer is 5, midnight beside a date is a date.
fn narrowed(expr: Expr, to: SqlType) -> Expr {
    let ExprKind::Const(value) = &expr.kind else { return expr };
    let position = expr.position;
    let constant = |value, sql_type| Expr::constant(value, sql_type).at(position);
    match (value, to) {
        (Value::Int(i), SqlType::SmallInt) if i16::try_from(*i).is_ok() => constant(value.clone(), to),
        (Value::Int(i), SqlType::Integer) if i32::try_from(*i).is_ok() => constant(value.clone(), to),
        (Value::Int(_), SqlType::BigInt) => constant(value.clone(), to),
        (Value::Decimal(d), to) if to.is_integer() || to.is_decimal() => {
            let (mut d, mut scale) = (*d, expr.sql_type.scale());
            while scale > to.scale() && d % 10 == 0 {
                d /= 10;
                scale -= 1;
            }
            if to.is_integer()
                && scale == 0
                && let Ok(i) = i64::try_from(d)
            {
                return narrowed(constant(Value::Int(i), SqlType::BigInt), to);
            }
            constant(Value::Decimal(d), SqlType::decimal(digits(d).max(scale), scale))
        }
        (Value::Timestamp(t), SqlType::Date) if expr.sql_type == SqlType::Timestamp && t % MICROS_PER_DAY == 0 => {
            match i32::try_from(t / MICROS_PER_DAY) {
                Ok(days) => constant(Value::Date(days), SqlType::Date),
                Err(_) => expr,
            }
        }
        _ => expr,
    }
}

/// A comparison as it is written.
pub(super) fn op_text(op: Compare) -> &'static str {
    match op {
        Compare::Eq => "=",
        Compare::Ne => "<>",
        Compare::Lt => "<",
        Compare::Le => "<=",
        Compare::Gt => ">",
        Compare::Ge => ">=",
        Compare::Distinct => "IS DISTINCT FROM",
        Compare::NotDistinct => "IS NOT DISTINCT FROM",
    }
}
