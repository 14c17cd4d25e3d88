//! Comparisons of what cuts a column into periods, with a constant, become comparisons of the column, so that scans can test them:
//! `date_trunc('month', at) = '2021-06-01'` is `at >= '2021-06-01' and at < '2021-07-01'`.
//!
//! The functions never fall: where one is at least a constant, what it is of is at least the beginning of a period, if that is in the
//! range of its type. Years before the first one and infinite moments, of which `extract` knows no year, come before or behind all others,
//! as they do in PostgreSQL.

use functions::ScalarFunction as F;
use plan::{Compare, Expr, ExprKind};
use types::ops::date::{self, DAY, Field};
use types::{Interval, SqlType, Value};

/// Years whose beginnings, and those of the next ones, are moments and dates.
const YEARS: std::ops::RangeInclusive<i64> = 1..=9998;

/// Where a period begins, at the earliest, on which a function is at least, or more than, a constant.
struct Step {
    from: Value,
    beyond: Value,
}

/// The comparison of a call or cast with a constant, as one of what that is of.
pub(super) fn comparison(op: Compare, a: &Expr, b: &Expr) -> Option<Expr> {
    // A plan in which an argument is missing holds for its value alone.
    let (ExprKind::Const(constant) | ExprKind::Argument(_, constant)) = &b.kind else { return None };
    let (of, Step { from, beyond }) = (argument(a)?, step(a, constant)?);
    let constant = |value: Value| Expr::constant(value, of.sql_type).at(b.position);
    let compared = |op, value| super::compared(op, of.clone(), constant(value));
    Some(match op {
        Compare::Ge => compared(Compare::Ge, from),
        Compare::Gt => compared(Compare::Ge, beyond),
        Compare::Lt => compared(Compare::Lt, from),
        Compare::Le => compared(Compare::Lt, beyond),
        // Both sides look at it, and it is no constant that lies within a period.
        Compare::Eq if of.as_column().is_some() && from != beyond => {
            let both = vec![compared(Compare::Ge, from), compared(Compare::Lt, beyond)];
            Expr::new(ExprKind::And(both), SqlType::Bool)
        }
        _ => return None,
    })
}

/// A body that compares such a value with constants only, without the value.
pub(super) fn without(value: &Expr, body: &Expr, column: plan::ColumnId) -> Option<Expr> {
    argument(value)?.as_column()?;
    let mut body = body.clone();
    body.substitute(&mut |c| (c == column).then(|| value.clone()));
    let body = super::simplified(body);
    (!body.any(&|e| e.same(value))).then_some(body)
}

/// What a function of this kind is of.
fn argument(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Cast(of) if expr.sql_type == SqlType::Date && of.sql_type == SqlType::Timestamp => Some(of),
        ExprKind::Call(F::DATE_TRUNC | F::EXTRACT, arguments) => match &arguments[..] {
            [_, of] if matches!(of.sql_type, SqlType::Timestamp | SqlType::Date) => Some(of),
            _ => None,
        },
        ExprKind::Call(F::DIVIDE, arguments) if expr.sql_type.is_integer() => Some(&arguments[0]),
        _ => None,
    }
}

fn step(expr: &Expr, constant: &Value) -> Option<Step> {
    match (&expr.kind, constant) {
        (ExprKind::Cast(_), Value::Date(days)) if !date::is_infinite_date(*days) => {
            let begin = |days: i64| days.checked_mul(DAY).map(Value::Timestamp);
            Some(Step { from: begin((*days).into())?, beyond: begin(i64::from(*days) + 1)? })
        }
        (ExprKind::Call(F::DATE_TRUNC, arguments), Value::Timestamp(at)) => {
            let (field, of) = (field(&arguments[0])?, arguments[1].sql_type);
            let begin = date::trunc_timestamp(field, *at).ok().filter(|_| !date::is_infinite(*at))?;
            let next = date::add_interval(begin, length(field)?).ok()?;
            let moment = |at: i64| match of {
                SqlType::Timestamp => Some(Value::Timestamp(at)),
                // Days begin where their parts do.
                _ => (at % DAY == 0).then(|| i32::try_from(at / DAY).ok().map(Value::Date)).flatten(),
            };
            let from = if begin == *at { begin } else { next };
            Some(Step { from: moment(from)?, beyond: moment(next)? })
        }
        (ExprKind::Call(F::EXTRACT, arguments), Value::Int(year)) if expr.sql_type.is_integer() => {
            if field(&arguments[0])? != Field::Year || !YEARS.contains(year) {
                return None;
            }
            let begin = |year: i64| match arguments[1].sql_type {
                SqlType::Timestamp => Value::Timestamp(date::days_from_civil(year, 1, 1) * DAY),
                _ => Value::Date(date::days_from_civil(year, 1, 1) as i32),
            };
            Some(Step { from: begin(*year), beyond: begin(*year + 1) })
        }
        (ExprKind::Call(F::DIVIDE, arguments), Value::Int(quotient)) => {
            let [of, divisor] = &arguments[..] else { return None };
            let Value::Int(divisor @ 1..) = divisor.as_constant()? else { return None };
            let range = match of.sql_type {
                SqlType::SmallInt => i128::from(i16::MIN)..=i128::from(i16::MAX),
                SqlType::Integer => i128::from(i32::MIN)..=i128::from(i32::MAX),
                SqlType::BigInt => i128::from(i64::MIN)..=i128::from(i64::MAX),
                _ => return None,
            };
            // Quotients are cut towards zero.
            let begin = |quotient: i128| {
                let divisor = i128::from(*divisor);
                let begin = quotient * divisor - if quotient > 0 { 0 } else { divisor - 1 };
                range.contains(&begin).then_some(Value::Int(begin as i64))
            };
            Some(Step { from: begin((*quotient).into())?, beyond: begin(i128::from(*quotient) + 1)? })
        }
        _ => None,
    }
}

fn field(expr: &Expr) -> Option<Field> {
    match expr.as_constant()? {
        Value::Str(name) => name.parse().ok(),
        _ => None,
    }
}

/// How long a field of the calendar lasts, from wherever it begins; none of those that come again, or are not all alike.
pub(crate) fn length(field: Field) -> Option<Interval> {
    let months = |months| Interval { months, days: 0, micros: 0 };
    let micros = |micros| Interval { months: 0, days: 0, micros };
    Some(match field {
        Field::Millennium => months(12_000),
        Field::Century => months(1200),
        Field::Decade => months(120),
        Field::Year => months(12),
        Field::Quarter => months(3),
        Field::Month => months(1),
        Field::Week => Interval { months: 0, days: 7, micros: 0 },
        Field::Day => micros(DAY),
        Field::Hour => micros(DAY / 24),
        Field::Minute => micros(DAY / 1440),
        Field::Second => micros(DAY / 86_400),
        _ => return None,
    })
}
