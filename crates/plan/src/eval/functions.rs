//! Calls of scalar functions on values, through `types::ops`.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use base::{Error, Result};
use catalog::ScalarFunction;
use types::ops::date::{self, Field};
use types::ops::number::{float, integer};
use types::ops::{decimal, string};
use types::{SqlType, Value};

use crate::Expr;

/// A number from 0 to below 1, uniform: each thread has a SplitMix64 generator (Steele, Lea, Flood 2014), seeded by the
/// machine.
fn random() -> f64 {
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish());
    }
    let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // The 53 bits that a double holds.
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// A call with the values of its arguments; `result` is its type.
pub(super) fn call(function: ScalarFunction, arguments: &[Expr], values: &[Value], result: SqlType) -> Result<Value> {
    use ScalarFunction::*;
    if let Greatest | Least = function {
        let wanted = if function == Greatest { Ordering::Greater } else { Ordering::Less };
        let mut best = Value::Null;
        for value in values.iter().filter(|v| !v.is_null()) {
            if best.is_null() || value.total_cmp(&best) == wanted {
                best = value.clone();
            }
        }
        return Ok(best);
    }
    if values.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    if let Random = function {
        return Ok(Value::Float(random()));
    }
    let types: Vec<SqlType> = arguments.iter().map(|a| a.sql_type).collect();
    let value = match (function, values) {
        (Extract | DateTrunc, [Value::Str(field), value]) => dates(function, field.parse()?, value, result)?,
        (Add | Subtract | Multiply | Divide | Modulo, [a, b]) => arithmetic(function, a, b, &types, result)?,
        (Negate | Abs | Sign | Round | Trunc | Ceil | Floor, [a, rest @ ..]) => {
            rounding(function, a, rest.first(), types[0], result)?
        }
        (_, [Value::Str(text), rest @ ..]) => strings(function, text, rest)?,
        (Gcd | Lcm | BitAnd | BitOr | BitXor | BitNot | ShiftLeft | ShiftRight, [Value::Int(a), rest @ ..]) => {
            let b = if let Some(Value::Int(b)) = rest.first() { *b } else { 0 };
            Value::Int(integers(function, *a, b, result)?)
        }
        (ToHex, [Value::Int(a)]) if types[0] == SqlType::BigInt => Value::str(string::to_hex(*a)),
        (ToHex, [Value::Int(a)]) => Value::str(string::to_hex_i32(*a as i32)),
        (Chr, [Value::Int(code)]) => Value::str(string::chr(*code)?.to_string()),
        (MakeDate, [Value::Int(y), Value::Int(m), Value::Int(d)]) => {
            let part = |v: &i64| i32::try_from(*v).map_err(|_| types::ops::error::datetime_out_of_range("date"));
            Value::Date(date::make_date(part(y)?, part(m)?, part(d)?)?)
        }
        (Age, [a, b]) => Value::Interval(date::age(timestamp(a)?, timestamp(b)?)?),
        (ToChar, [a, Value::Str(pattern)]) => Value::str(date::to_char(timestamp(a)?, pattern)),
        (_, numbers) => {
            let floats = numbers.iter().zip(&types).map(|(v, t)| as_float(v, *t)).collect::<Result<Vec<f64>>>()?;
            let value = floats_call(function, &floats)?;
            Value::Float(if result == SqlType::Real { float::to_f32(value)?.into() } else { value })
        }
    };
    Ok(value)
}

fn unknown<T>(function: ScalarFunction) -> Result<T> {
    Err(Error::internal(format!("evaluation of {function:?} with these arguments")))
}

fn as_float(value: &Value, sql_type: SqlType) -> Result<f64> {
    match value {
        Value::Float(f) => Ok(*f),
        Value::Int(i) => Ok(*i as f64),
        Value::Decimal(d) => Ok(decimal::to_f64(*d, sql_type.scale())),
        _ => Err(Error::internal("a number was expected")),
    }
}

fn timestamp(value: &Value) -> Result<i64> {
    match value {
        Value::Timestamp(t) => Ok(*t),
        Value::Date(d) => date::date_to_timestamp(*d),
        _ => Err(Error::internal("a date or timestamp was expected")),
    }
}

/// Calls a generic function of two integers with the integer type that the result has.
macro_rules! in_width {
    ($result:expr, $call:path, $($arg:expr),+) => {
        match $result {
            SqlType::SmallInt => i64::from($call($(integer::narrow::<i16>(i128::from($arg))?),+)?),
            SqlType::Integer => i64::from($call($(integer::narrow::<i32>(i128::from($arg))?),+)?),
            _ => $call($($arg),+)?,
        }
    };
}

fn arithmetic(function: ScalarFunction, a: &Value, b: &Value, types: &[SqlType], result: SqlType) -> Result<Value> {
    use ScalarFunction::*;
    if let SqlType::Decimal { precision, scale } = result
        && let (Some((a, sa)), Some((b, sb))) = (as_decimal(a, types[0]), as_decimal(b, types[1]))
    {
        return decimals(function, (a, sa), (b, sb), precision, scale);
    }
    Ok(match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(match function {
            Add => in_width!(result, integer::add, *a, *b),
            Subtract => in_width!(result, integer::sub, *a, *b),
            Multiply => in_width!(result, integer::mul, *a, *b),
            Divide => in_width!(result, integer::div, *a, *b),
            _ => in_width!(result, integer::rem, *a, *b),
        }),
        (Value::Float(a), Value::Float(b)) if result == SqlType::Real => {
            let (a, b) = (*a as f32, *b as f32);
            let value = match function {
                Add => float::add(a, b)?,
                Subtract => float::sub(a, b)?,
                Multiply => float::mul(a, b)?,
                Divide => float::div(a, b)?,
                _ => float::rem(a, b)?,
            };
            Value::Float(value.into())
        }
        (Value::Float(a), Value::Float(b)) => Value::Float(match function {
            Add => float::add(*a, *b)?,
            Subtract => float::sub(*a, *b)?,
            Multiply => float::mul(*a, *b)?,
            Divide => float::div(*a, *b)?,
            _ => float::rem(*a, *b)?,
        }),
        (Value::Date(d), Value::Int(n)) | (Value::Int(n), Value::Date(d)) if function == Add => {
            Value::Date(date::add_days(*d, *n)?)
        }
        (Value::Date(d), Value::Int(n)) if function == Subtract => Value::Date(date::add_days(*d, n.saturating_neg())?),
        (Value::Date(a), Value::Date(b)) if function == Subtract => Value::Int(date::date_diff(*a, *b)?.into()),
        (Value::Interval(a), Value::Interval(b)) if function == Add => Value::Interval(date::add_intervals(*a, *b)?),
        (Value::Interval(a), Value::Interval(b)) if function == Subtract => {
            Value::Interval(date::sub_intervals(*a, *b)?)
        }
        (Value::Interval(i), n) | (n, Value::Interval(i)) if function == Multiply => {
            Value::Interval(date::mul_interval(*i, as_float(n, SqlType::Double)?)?)
        }
        (Value::Interval(i), n) if function == Divide => {
            Value::Interval(date::div_interval(*i, as_float(n, SqlType::Double)?)?)
        }
        (t, Value::Interval(i)) | (Value::Interval(i), t) if function == Add => {
            Value::Timestamp(date::add_interval(timestamp(t)?, *i)?)
        }
        (t, Value::Interval(i)) if function == Subtract => Value::Timestamp(date::sub_interval(timestamp(t)?, *i)?),
        (Value::Timestamp(_) | Value::Date(_), Value::Timestamp(_) | Value::Date(_)) if function == Subtract => {
            Value::Interval(date::timestamp_diff(timestamp(a)?, timestamp(b)?)?)
        }
        _ => return unknown(function),
    })
}

/// An exact number and its scale.
fn as_decimal(value: &Value, sql_type: SqlType) -> Option<(i128, u8)> {
    match value {
        Value::Decimal(d) => Some((*d, sql_type.scale())),
        Value::Int(i) => Some((i128::from(*i), 0)),
        _ => None,
    }
}

fn decimals(function: ScalarFunction, a: (i128, u8), b: (i128, u8), precision: u8, scale: u8) -> Result<Value> {
    use ScalarFunction::*;
    let ((x, sx), (y, sy)) = (a, b);
    let common = sx.max(sy);
    let (value, from) = match function {
        Add => (decimal::add(decimal::rescale(x, sx, common)?, decimal::rescale(y, sy, common)?)?, common),
        Subtract => (decimal::sub(decimal::rescale(x, sx, common)?, decimal::rescale(y, sy, common)?)?, common),
        Modulo => (decimal::rem(decimal::rescale(x, sx, common)?, decimal::rescale(y, sy, common)?)?, common),
        Multiply if sx + sy > scale => (decimal::mul_round(x, y, sx + sy - scale)?, scale),
        Multiply => (decimal::mul(x, y)?, sx + sy),
        _ => (decimal::div(x, sx, y, sy, scale)?, scale),
    };
    Ok(Value::Decimal(decimal::rescale_to(value, from, precision, scale)?))
}

/// Functions of one number, with digits for two of them.
fn rounding(
    function: ScalarFunction,
    value: &Value,
    digits: Option<&Value>,
    sql_type: SqlType,
    result: SqlType,
) -> Result<Value> {
    use ScalarFunction::*;
    let digits = match digits {
        Some(Value::Int(d)) => (*d).clamp(-400, 400) as i32,
        _ => 0,
    };
    Ok(match value {
        Value::Interval(i) if function == Negate => Value::Interval(date::neg_interval(*i)?),
        Value::Int(i) if result.is_integer() => Value::Int(match function {
            Negate => in_width!(result, integer::neg, *i),
            Abs => in_width!(result, integer::abs, *i),
            Sign => integer::sign(*i),
            _ => *i,
        }),
        Value::Int(_) | Value::Decimal(_) if result.is_decimal() => {
            let Some((d, scale)) = as_decimal(value, sql_type) else { return unknown(function) };
            let (out, from) = match function {
                Negate => (decimal::sub(0, d)?, scale),
                Abs => (if d < 0 { decimal::sub(0, d)? } else { d }, scale),
                Sign => (d.signum(), 0),
                Round => (decimal::round(d, scale, digits)?, scale),
                Trunc => (decimal::trunc(d, scale, digits)?, scale),
                Ceil => (decimal::ceil(d, scale), 0),
                _ => (decimal::floor(d, scale), 0),
            };
            let SqlType::Decimal { precision, scale } = result else { return unknown(function) };
            Value::Decimal(decimal::rescale_to(out, from, precision, scale)?)
        }
        _ => {
            let f = as_float(value, sql_type)?;
            Value::Float(match function {
                Negate => -f,
                Abs => f.abs(),
                Sign => float::sign(f),
                // `round(x, digits)` and `trunc(x, digits)`; far digits change nothing (or leave nothing).
                Round => at_digit(f, digits, float::round),
                Trunc => at_digit(f, digits, float::trunc),
                Ceil => float::ceil(f),
                _ => float::floor(f),
            })
        }
    })
}

/// Applies a rounding to the digit so many places behind the point.
fn at_digit(x: f64, digits: i32, round: impl Fn(f64) -> f64) -> f64 {
    if digits == 0 {
        return round(x);
    }
    let power = 10f64.powi(digits);
    let scaled = x * power;
    if !scaled.is_finite() || power == 0.0 { if digits > 0 { x } else { 0.0 } } else { round(scaled) / power }
}

fn integers(function: ScalarFunction, a: i64, b: i64, result: SqlType) -> Result<i64> {
    use ScalarFunction::*;
    Ok(match function {
        Gcd => in_width!(result, integer::gcd, a, b),
        Lcm => in_width!(result, integer::lcm, a, b),
        BitAnd => a & b,
        BitOr => a | b,
        BitXor => a ^ b,
        BitNot => !a,
        ShiftLeft => cut(integer::shift_left(a, amount(b, result)), result),
        _ => integer::shift_right(a, amount(b, result)),
    })
}

/// Shifts wrap at the width of the type, as in PostgreSQL.
fn amount(n: i64, result: SqlType) -> i64 {
    match result {
        SqlType::SmallInt | SqlType::Integer => n & 31,
        _ => n & 63,
    }
}
fn cut(value: i64, result: SqlType) -> i64 {
    match result {
        SqlType::SmallInt => i64::from(value as i16),
        SqlType::Integer => i64::from(value as i32),
        _ => value,
    }
}

fn floats_call(function: ScalarFunction, a: &[f64]) -> Result<f64> {
    use ScalarFunction::*;
    match (function, a) {
        (Pi, []) => Ok(std::f64::consts::PI),
        (Sqrt, [x]) => float::sqrt(*x),
        (Cbrt, [x]) => Ok(float::cbrt(*x)),
        (Exp, [x]) => float::exp(*x),
        (Ln, [x]) => float::ln(*x),
        (Log10, [x]) => float::log10(*x),
        (Log, [b, x]) => float::log(*b, *x),
        (Power, [x, y]) => float::power(*x, *y),
        (Sin, [x]) => float::sin(*x),
        (Cos, [x]) => float::cos(*x),
        (Tan, [x]) => float::tan(*x),
        (Asin, [x]) => float::asin(*x),
        (Acos, [x]) => float::acos(*x),
        (Atan, [x]) => Ok(float::atan(*x)),
        (Atan2, [y, x]) => Ok(float::atan2(*y, *x)),
        (Degrees, [x]) => float::degrees(*x),
        (Radians, [x]) => Ok(float::radians(*x)),
        _ => unknown(function),
    }
}

fn dates(function: ScalarFunction, field: Field, value: &Value, result: SqlType) -> Result<Value> {
    if function == ScalarFunction::DateTrunc {
        return Ok(match value {
            Value::Interval(i) => Value::Interval(date::trunc_interval(field, *i)?),
            Value::Date(d) if result == SqlType::Date => Value::Date(date::trunc_date(field, *d)?),
            other => Value::Timestamp(date::trunc_timestamp(field, timestamp(other)?)?),
        });
    }
    let part = match value {
        Value::Date(d) => date::extract_date(field, *d)?,
        Value::Timestamp(t) => date::extract_timestamp(field, *t)?,
        Value::Interval(i) => date::extract_interval(field, *i)?,
        _ => return unknown(function),
    };
    let (part, scale) = (i128::from(part), field.scale());
    Ok(match result {
        SqlType::Decimal { precision, scale: to } => Value::Decimal(decimal::rescale_to(part, scale, precision, to)?),
        SqlType::Double => Value::Float(decimal::to_f64(part, scale)),
        _ => Value::Int(integer::narrow::<i64>(decimal::rescale(part, scale, 0)?)?),
    })
}

fn strings(function: ScalarFunction, text: &str, rest: &[Value]) -> Result<Value> {
    use ScalarFunction::*;
    Ok(match (function, rest) {
        (Length, []) => Value::Int(string::length(text)),
        (OctetLength, []) => Value::Int(string::octet_length(text)),
        (Lower, []) => Value::str(&*string::lower(text)),
        (Upper, []) => Value::str(&*string::upper(text)),
        (Initcap, []) => Value::str(string::initcap(text)),
        (Reverse, []) => Value::str(string::reverse(text)),
        (Ascii, []) => Value::Int(string::ascii(text).into()),
        (Concat, [Value::Str(b)]) => Value::str(string::concat(&[text, b])?),
        (TrimBoth, [Value::Str(c)]) => Value::str(string::trim(text, c)),
        (TrimLeading, [Value::Str(c)]) => Value::str(string::ltrim(text, c)),
        (TrimTrailing, [Value::Str(c)]) => Value::str(string::rtrim(text, c)),
        (TrimBoth, []) => Value::str(string::trim(text, " ")),
        (TrimLeading, []) => Value::str(string::ltrim(text, " ")),
        (TrimTrailing, []) => Value::str(string::rtrim(text, " ")),
        (Lpad, [Value::Int(n), Value::Str(fill)]) => Value::str(&*string::lpad(text, *n, fill)?),
        (Rpad, [Value::Int(n), Value::Str(fill)]) => Value::str(&*string::rpad(text, *n, fill)?),
        (Lpad, [Value::Int(n)]) => Value::str(&*string::lpad(text, *n, " ")?),
        (Rpad, [Value::Int(n)]) => Value::str(&*string::rpad(text, *n, " ")?),
        (Left, [Value::Int(n)]) => Value::str(string::left(text, *n)),
        (Right, [Value::Int(n)]) => Value::str(string::right(text, *n)),
        (Substring, [Value::Int(start)]) => Value::str(string::substring(text, *start, None)?),
        (Substring, [Value::Int(start), Value::Int(n)]) => Value::str(string::substring(text, *start, Some(*n))?),
        (Position, [Value::Str(needle)]) => Value::Int(string::position(text, needle)),
        (Replace, [Value::Str(a), Value::Str(b)]) => Value::str(&*string::replace(text, a, b)?),
        (Repeat, [Value::Int(n)]) => Value::str(string::repeat(text, *n)?),
        (SplitPart, [Value::Str(d), Value::Int(n)]) => Value::str(string::split_part(text, d, *n)?),
        (Translate, [Value::Str(a), Value::Str(b)]) => Value::str(string::translate(text, a, b)),
        (StartsWith, [Value::Str(b)]) => Value::Bool(string::starts_with(text, b)),
        (EndsWith, [Value::Str(b)]) => Value::Bool(string::ends_with(text, b)),
        (Contains, [Value::Str(b)]) => Value::Bool(string::contains(text, b)),
        _ => return unknown(function),
    })
}
