//! Evaluation of arithmetic and of rounding by the types of the operands.

use base::Result;
use types::ops::number::{float, integer};
use types::ops::numeric::Numeric;
use types::ops::{date, decimal};
use types::{SqlType, Value};

use super::Call;
use super::call::in_width;

/// The operators of two numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
}

pub(super) fn arithmetic(sign: Sign, call: &Call<'_>) -> Result<Value> {
    let [a, b] = call.values else { return call.wrong() };
    if call.is_numeric() {
        let (a, b) = (call.numeric(0)?, call.numeric(1)?);
        return call.long(match sign {
            Sign::Plus => a.plus(&b),
            Sign::Minus => a.minus(&b),
            Sign::Times => a.times(&b),
            Sign::Over => a.over(&b),
            Sign::Modulo => a.modulo(&b),
        }?);
    }
    if let (SqlType::Decimal { .. }, Some(a), Some(b)) = (call.result, call.exact(0), call.exact(1)) {
        return decimals(sign, a, b, call);
    }
    match (a, b) {
        (&Value::Int(a), &Value::Int(b)) => Ok(Value::Int(match sign {
            Sign::Plus => in_width!(call, integer::add, a, b),
            Sign::Minus => in_width!(call, integer::sub, a, b),
            Sign::Times => in_width!(call, integer::mul, a, b),
            Sign::Over => in_width!(call, integer::div, a, b),
            Sign::Modulo => in_width!(call, integer::rem, a, b),
        })),
        (&Value::Float(a), &Value::Float(b)) if call.result == SqlType::Real => {
            Ok(Value::Float(floats(sign, a as f32, b as f32)?.into()))
        }
        (&Value::Float(a), &Value::Float(b)) => Ok(Value::Float(floats(sign, a, b)?)),
        _ => times(sign, a, b, call),
    }
}

fn floats<T: float::Float>(sign: Sign, a: T, b: T) -> Result<T> {
    match sign {
        Sign::Plus => float::add(a, b),
        Sign::Minus => float::sub(a, b),
        Sign::Times => float::mul(a, b),
        Sign::Over => float::div(a, b),
        Sign::Modulo => float::rem(a, b),
    }
}

/// Dates, timestamps and intervals.
fn times(sign: Sign, a: &Value, b: &Value, call: &Call<'_>) -> Result<Value> {
    use Value::{Date, Int, Interval, Time, Timestamp, Timetz};
    use types::ops::date::timetz;
    Ok(match (sign, a, b) {
        (Sign::Plus, Date(d), Int(n)) | (Sign::Plus, Int(n), Date(d)) => Date(date::add_days(*d, *n)?),
        (Sign::Minus, Date(d), Int(n)) => Date(date::add_days(*d, n.saturating_neg())?),
        (Sign::Minus, Date(a), Date(b)) => Int(date::date_diff(*a, *b)?.into()),
        (Sign::Plus, Interval(a), Interval(b)) => Interval(date::add_intervals(*a, *b)?),
        (Sign::Minus, Interval(a), Interval(b)) => Interval(date::sub_intervals(*a, *b)?),
        (Sign::Times, Interval(i), _) => Interval(date::mul_interval(*i, call.float(1)?)?),
        (Sign::Times, _, Interval(i)) => Interval(date::mul_interval(*i, call.float(0)?)?),
        (Sign::Over, Interval(i), _) => Interval(date::div_interval(*i, call.float(1)?)?),
        (Sign::Plus, Time(t), Interval(i)) | (Sign::Plus, Interval(i), Time(t)) => Time(date::add_to_time(*t, *i)),
        (Sign::Minus, Time(t), Interval(i)) => Time(date::subtract_from_time(*t, *i)),
        (Sign::Minus, Time(a), Time(b)) => Interval(date::time_to_interval(a - b)),
        (Sign::Plus, Date(_), Time(t)) => Timestamp(date::add_micros(call.timestamp(0)?, *t)?),
        (Sign::Plus, Time(t), Date(_)) => Timestamp(date::add_micros(call.timestamp(1)?, *t)?),
        (Sign::Plus, Timetz(t), Interval(i)) | (Sign::Plus, Interval(i), Timetz(t)) => Timetz(timetz::add(*t, *i)),
        (Sign::Minus, Timetz(t), Interval(i)) => Timetz(timetz::subtract(*t, *i)),
        (Sign::Plus, Date(_), Timetz(t)) => Timestamp(timetz::at_date(call.timestamp(0)?, *t)?),
        (Sign::Plus, Timetz(t), Date(_)) => Timestamp(timetz::at_date(call.timestamp(1)?, *t)?),
        (Sign::Plus, _, Interval(i)) => Timestamp(date::add_interval(call.timestamp(0)?, *i)?),
        (Sign::Plus, Interval(i), _) => Timestamp(date::add_interval(call.timestamp(1)?, *i)?),
        (Sign::Minus, _, Interval(i)) => Timestamp(date::sub_interval(call.timestamp(0)?, *i)?),
        (Sign::Minus, _, _) => Interval(date::timestamp_diff(call.timestamp(0)?, call.timestamp(1)?)?),
        _ => return call.wrong(),
    })
}

fn decimals(sign: Sign, (x, sx): (i128, u8), (y, sy): (i128, u8), call: &Call<'_>) -> Result<Value> {
    let (common, scale) = (sx.max(sy), call.result.scale());
    let both = || Ok((decimal::rescale(x, sx, common)?, decimal::rescale(y, sy, common)?));
    let (value, from) = match sign {
        Sign::Plus => (both().and_then(|(x, y)| decimal::add(x, y))?, common),
        Sign::Minus => (both().and_then(|(x, y)| decimal::sub(x, y))?, common),
        Sign::Modulo => (both().and_then(|(x, y)| decimal::rem(x, y))?, common),
        Sign::Times if sx + sy > scale => (decimal::mul_round(x, y, sx + sy - scale)?, scale),
        Sign::Times => (decimal::mul(x, y)?, sx + sy),
        Sign::Over => (decimal::div(x, sx, y, sy, scale)?, scale),
    };
    call.decimal(value, from)
}

/// Unary minus.
pub(super) fn negate(call: &Call<'_>) -> Result<Value> {
    match (call.value(0)?, call.exact(0)) {
        (Value::Interval(i), _) => Ok(Value::Interval(date::neg_interval(*i)?)),
        _ if call.is_numeric() => call.long(call.numeric(0)?.negated()),
        (&Value::Int(n), _) if call.result.is_integer() => Ok(Value::Int(in_width!(call, integer::neg, n))),
        (_, Some((d, scale))) if call.result.is_decimal() => call.decimal(decimal::sub(0, d)?, scale),
        _ => Ok(Value::Float(-call.float(0)?)),
    }
}

/// The value without its sign.
pub(super) fn abs(call: &Call<'_>) -> Result<Value> {
    match (call.value(0)?, call.exact(0)) {
        (&Value::Int(n), _) if call.result.is_integer() => Ok(Value::Int(in_width!(call, integer::abs, n))),
        _ if call.is_numeric() => call.long(call.numeric(0)?.absolute()),
        (_, Some((d, scale))) if call.result.is_decimal() => {
            call.decimal(if d < 0 { decimal::sub(0, d)? } else { d }, scale)
        }
        _ => Ok(Value::Float(call.float(0)?.abs())),
    }
}

/// -1, 0 or 1.
pub(super) fn sign(call: &Call<'_>) -> Result<Value> {
    match call.exact(0) {
        _ if call.is_numeric() => call.long(call.numeric(0)?.signum()),
        Some((d, _)) if call.result.is_decimal() => call.decimal(d.signum(), 0),
        _ => Ok(Value::Float(float::sign(call.float(0)?))),
    }
}

/// Rounding of a number of any length to so many digits behind the point, or to an integer.
pub(super) fn rounded_long(call: &Call<'_>, round: fn(&Numeric, i64) -> Result<Numeric>) -> Result<Value> {
    let digits = if call.len() > 1 { call.int(1)? } else { 0 };
    call.long(round(&call.numeric(0)?, digits)?)
}

/// Rounding to so many digits behind the point (the second argument, or none): of decimals, which say their digits
/// exactly, or of doubles.
pub(super) fn rounded(
    call: &Call<'_>,
    decimals: fn(i128, u8, i32) -> Result<i128>,
    doubles: fn(f64) -> f64,
) -> Result<Value> {
    let digits = if call.len() > 1 { call.int(1)?.clamp(-400, 400) as i32 } else { 0 };
    match call.exact(0) {
        Some((d, scale)) if call.result.is_decimal() => call.decimal(decimals(d, scale, digits)?, scale),
        _ => Ok(Value::Float(float::at_digit(call.float(0)?, digits, doubles))),
    }
}

/// Rounding to an integer of decimals or doubles.
pub(super) fn to_whole(call: &Call<'_>, decimals: fn(i128, u8) -> i128, doubles: fn(f64) -> f64) -> Result<Value> {
    match call.exact(0) {
        Some((d, scale)) if call.result.is_decimal() => call.decimal(decimals(d, scale), 0),
        _ => Ok(Value::Float(doubles(call.float(0)?))),
    }
}
