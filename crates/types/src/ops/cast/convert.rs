//! Casts of single values.

use base::{Error, Result, SqlState};

use super::{TooLong, parse, text, to_char_n, to_varchar};
use crate::ops::date::{Zone, timetz};
use crate::ops::error::out_of_range;
use crate::ops::numeric::{self, Numeric};
use crate::ops::{array, bytes, date, decimal, json, map, range, rows, structure, typed_json};
use crate::structs::{StructField, StructType};
use crate::{SqlType, Value};

/// Whether `CAST(from AS to)` exists. Narrower than what [`cast_value`] could do by way of text.
pub fn can_cast(from: SqlType, to: SqlType) -> bool {
    use SqlType::*;
    if let (Array(from), Array(to)) = (from, to) {
        return can_cast(*from, *to);
    }
    if let (Struct(from), Struct(to)) = (from, to) {
        let fields = matching(from, to);
        let can = |(at, to): (&Option<usize>, &StructField)| {
            at.is_none_or(|at| can_cast(from.fields[at].sql_type, to.sql_type))
        };
        return fields.iter().any(Option::is_some) && fields.iter().zip(&to.fields).all(can);
    }
    if let (Map(from), Map(to)) = (from, to) {
        return can_cast(from.key, to.key) && can_cast(from.value, to.value);
    }
    if let (Json | Jsonb, Struct(_) | Array(_) | Map(_)) = (from, to) {
        return true;
    }
    if let (Range(a), Range(b)) = (from, to) {
        return a == b;
    }
    if let (Enum(a), Enum(b)) = (from, to) {
        return a == b;
    }
    if from == Null || from.is_string() || to.is_string() || (from.is_numeric() && to.is_numeric()) {
        return to != Null || from == Null;
    }
    if from == Json && (to.is_numeric() || matches!(to, Bool | Date | Time | Timestamp | Timestamptz | Uuid)) {
        return true;
    }
    matches!(
        (from, to),
        (Bool, Bool | SmallInt | Integer | BigInt)
            | (SmallInt | Integer | BigInt | Decimal { .. } | Numeric { .. } | Real | Double, Bool)
            | (Date | Timestamp | Timestamptz, Date | Timestamp | Timestamptz)
            | (Time | Timetz | Timestamp | Timestamptz | Interval, Time)
            | (Time | Timetz | Timestamptz, Timetz)
            | (Time | Interval, Interval)
            | (Uuid, Uuid)
            | (Bytea, Bytea)
            | (Json | Jsonb, Json | Jsonb)
            | (Jsonb, Bool | SmallInt | Integer | BigInt | Decimal { .. } | Numeric { .. } | Real | Double)
    )
}

/// Whether the cast has another result in another zone. Casts that do not know the zone take it to be UTC.
pub fn depends_on_zone(from: SqlType, to: SqlType) -> bool {
    (from == SqlType::Timestamptz) != (to == SqlType::Timestamptz) || to == SqlType::Timetz && from != to
}

/// `CAST(value AS to)` in UTC; the value must be of type `from`. NULL stays NULL.
///
/// ```
/// use types::{SqlType, Value, ops::cast::cast_value};
/// let value = cast_value(&Value::str("1.005"), SqlType::Text, SqlType::decimal(10, 2));
/// assert_eq!(value, Ok(Value::Decimal(101)));
/// let error = cast_value(&Value::str("abc"), SqlType::Text, SqlType::Integer).unwrap_err();
/// assert_eq!(error.to_string(), "22P02: invalid input syntax for type integer: \"abc\"");
/// ```
pub fn cast_value(value: &Value, from: SqlType, to: SqlType) -> Result<Value> {
    convert(value, from, to, TooLong::Cut, &Zone::utc())
}

/// `TRY_CAST(value AS to)`: NULL where there is no such value; of JSON, in the place of each part that is none of its type.
pub fn try_cast_value(value: &Value, from: SqlType, to: SqlType) -> Value {
    let made = match value {
        Value::Str(s) if from.is_json() && to.is_nested() => typed_json::value_of_json(s, to, true),
        _ => cast_value(value, from, to),
    };
    made.unwrap_or(Value::Null)
}

/// `CAST(value AS to)` in a zone.
pub fn cast_value_in(value: &Value, from: SqlType, to: SqlType, zone: &Zone) -> Result<Value> {
    convert(value, from, to, TooLong::Cut, zone)
}

/// The value as it is stored in a column of type `to`: like [`cast_value`], but long strings are refused.
pub fn assign_value(value: &Value, from: SqlType, to: SqlType) -> Result<Value> {
    convert(value, from, to, TooLong::Refuse, &Zone::utc())
}

/// As [`assign_value`], in a zone.
pub fn assign_value_in(value: &Value, from: SqlType, to: SqlType, zone: &Zone) -> Result<Value> {
    convert(value, from, to, TooLong::Refuse, zone)
}

fn convert(value: &Value, from: SqlType, to: SqlType, too_long: TooLong, zone: &Zone) -> Result<Value> {
    if from == to || value.is_null() {
        return Ok(value.clone());
    }
    if to.is_string() {
        return to_string(value, from, to, too_long, zone);
    }
    match (value, to) {
        (Value::Str(s), SqlType::Array(&to)) if from.is_array() => elements(s, from, to, too_long, zone),
        (Value::Str(s), SqlType::Struct(to)) if let SqlType::Struct(from) = from => {
            let values: Vec<Value> = structure::values(s, from).collect();
            let one = |(at, field): (Option<usize>, &StructField)| match at {
                Some(at) => convert(&values[at], from.fields[at].sql_type, field.sql_type, too_long, zone),
                None => Ok(Value::Null),
            };
            let fields = matching(from, to);
            if fields.iter().all(Option::is_none) {
                return Err(no_cast(SqlType::Struct(from), SqlType::Struct(to)));
            }
            let converted = fields.into_iter().zip(&to.fields).map(one).collect::<Result<Vec<_>>>()?;
            structure::encode(&converted, to)
        }
        (Value::Str(s), SqlType::Map(to)) if let SqlType::Map(from) = from => {
            let one = |(key, value): (Value, Value)| {
                let key = convert(&key, from.key, to.key, too_long, zone)?;
                Ok((key, convert(&value, from.value, to.value, too_long, zone)?))
            };
            map::encode(&map::decoded(s, from).into_iter().map(one).collect::<Result<Vec<_>>>()?, to)
        }
        (Value::Str(s), SqlType::Struct(to)) if from.is_json() => typed_json::of_json(s, to),
        (Value::Str(s), SqlType::Array(_) | SqlType::Map(_)) if from.is_json() => {
            typed_json::value_of_json(s, to, false)
        }
        (Value::Str(form), SqlType::Bool) if from.is_long_numeric() => {
            Ok(Value::Bool(numeric::to_f64(&numeric::decode(form)) != 0.0))
        }
        (Value::Str(form), _) if from.is_long_numeric() => from_numeric(numeric::decode(form), to, from),
        (_, SqlType::Numeric { precision, scale }) if from.is_numeric() => {
            let number = numeric::of_value(value, from).ok_or_else(|| no_cast(from, to))?;
            numeric::fit(number, precision, scale).map(Value::str)
        }
        (Value::Str(_), _) if from.is_encoded() => Err(no_cast(from, to)),
        (Value::Str(s), SqlType::Jsonb) if from == SqlType::Json => json::normal_form(s).map(Value::str),
        (Value::Str(s), SqlType::Json) if from == SqlType::Jsonb => Ok(Value::Str(s.clone())),
        (Value::Str(s), _) if from == SqlType::Jsonb => json::cast_to(s, to),
        (Value::Str(s), _) if from == SqlType::Json && can_cast(from, to) => typed_json::value_of_json(s, to, false),
        (Value::Str(_), _) if from == SqlType::Json => Err(no_cast(from, to)),
        (Value::Str(s), _) => from_text(s, to, too_long, zone),
        (Value::Bool(b), t) if t.is_integer() => Ok(Value::Int((*b).into())),
        (Value::Int(i), SqlType::Bool) => Ok(Value::Bool(*i != 0)),
        // As DuckDB has it.
        (Value::Decimal(digits), SqlType::Bool) => Ok(Value::Bool(*digits != 0)),
        (Value::Float(f), SqlType::Bool) => Ok(Value::Bool(*f != 0.0)),
        (Value::Int(i), t) => from_decimal((*i).into(), 0, t, from),
        (Value::Decimal(d), t) => from_decimal(*d, from.scale(), t, from),
        (Value::Float(f), t) => from_float(*f, from, t),
        (Value::Timestamp(t), SqlType::Timetz) if from == SqlType::Timestamptz && !date::is_infinite(*t) => {
            timetz::of_moment(*t, zone).map(Value::Timetz)
        }
        (Value::Timestamp(t), _) if from == SqlType::Timestamptz => of_timestamp(zone.local(*t)?, from, to),
        (Value::Timestamp(t), SqlType::Timestamptz) => zone.moment(*t).map(Value::Timestamp),
        (Value::Timestamp(t), _) => of_timestamp(*t, from, to),
        (Value::Date(d), SqlType::Timestamp) => date::date_to_timestamp(*d).map(Value::Timestamp),
        (Value::Date(d), SqlType::Timestamptz) => zone.moment(date::date_to_timestamp(*d)?).map(Value::Timestamp),
        (Value::Time(t), SqlType::Timetz) => Ok(Value::Timetz(timetz::of_time(*t, zone))),
        (Value::Timetz(t), SqlType::Time) => Ok(Value::Time(timetz::unpack(*t).0)),
        (Value::Time(t), SqlType::Interval) => Ok(Value::Interval(date::time_to_interval(*t))),
        (Value::Interval(i), SqlType::Time) => Ok(Value::Time(date::interval_to_time(*i))),
        _ => Err(no_cast(from, to)),
    }
}

fn of_timestamp(timestamp: i64, from: SqlType, to: SqlType) -> Result<Value> {
    match to {
        SqlType::Timestamp => Ok(Value::Timestamp(timestamp)),
        SqlType::Date => Ok(Value::Date(date::timestamp_to_date(timestamp))),
        SqlType::Time if date::is_infinite(timestamp) => {
            Err(Error::new(SqlState::DATETIME_OVERFLOW, "infinite timestamps have no time of day"))
        }
        SqlType::Time => Ok(Value::Time(date::time_of_timestamp(timestamp))),
        _ => Err(no_cast(from, to)),
    }
}

/// An array whose elements become those of another type.
fn elements(array: &str, from: SqlType, to: SqlType, too_long: TooLong, zone: &Zone) -> Result<Value> {
    let from = from.element().unwrap_or(SqlType::Null);
    let all = array::Elements::new(array, from).map(|value| convert(&value, from, to, too_long, zone));
    array::encode(&all.collect::<Result<Vec<_>>>()?, to)
}

/// Which field of one struct each of another becomes: that of its name. A row becomes one of as many fields by their places.
fn matching(from: &StructType, to: &StructType) -> Vec<Option<usize>> {
    if from.is_row || to.is_row {
        let is_same = from.fields.len() == to.fields.len();
        return (0..to.fields.len()).map(|at| is_same.then_some(at)).collect();
    }
    to.fields.iter().map(|field| from.position(&field.name)).collect()
}

#[cold]
fn no_cast(from: SqlType, to: SqlType) -> Error {
    let (from, to) = (parse::message_name(from), parse::message_name(to));
    Error::new(SqlState::CANNOT_COERCE, format!("cannot cast type {from} to {to}"))
}

fn to_string(value: &Value, from: SqlType, to: SqlType, too_long: TooLong, zone: &Zone) -> Result<Value> {
    let formatted;
    let source = match value {
        // Blanks that pad a `char(n)` are not part of its value.
        Value::Str(s) if !from.is_encoded() => &**s,
        _ => {
            formatted = text::format_value_in(value, from, zone);
            &formatted
        }
    };
    let result = match to {
        SqlType::Varchar(limit) => to_varchar(source, limit, too_long)?,
        SqlType::Char(limit) => to_char_n(source, limit, too_long)?,
        _ => source,
    };
    match value {
        Value::Str(s) if result.len() == s.len() && !from.is_encoded() => Ok(Value::Str(s.clone())),
        _ => Ok(Value::str(result)),
    }
}

fn from_text(text: &str, to: SqlType, too_long: TooLong, zone: &Zone) -> Result<Value> {
    let bytes = text.as_bytes();
    let value = match to {
        SqlType::Bool => parse::bool(bytes).map(Value::Bool),
        SqlType::SmallInt => parse::i16(bytes).map(|i| Value::Int(i.into())),
        SqlType::Integer => parse::i32(bytes).map(|i| Value::Int(i.into())),
        SqlType::BigInt => parse::i64(bytes).map(Value::Int),
        SqlType::Decimal { precision, scale } => parse::decimal(bytes, precision, scale).map(Value::Decimal),
        SqlType::Real => parse::f32(bytes).map(|f| Value::Float(f.into())),
        SqlType::Double => parse::f64(bytes).map(Value::Float),
        SqlType::Date => parse::date(bytes).map(Value::Date),
        SqlType::Time => parse::time(bytes).map(Value::Time),
        SqlType::Timetz => parse::timetz(bytes, zone).map(Value::Timetz),
        SqlType::Timestamp => parse::timestamp(bytes).map(Value::Timestamp),
        SqlType::Timestamptz => parse::timestamptz(bytes, zone).map(Value::Timestamp),
        SqlType::Interval => parse::interval(bytes).map(Value::Interval),
        SqlType::Uuid => parse::uuid(bytes).map(Value::Uuid),
        SqlType::Enum(of) => parse::label(bytes, of.labels()).map(Value::Enum),
        SqlType::Numeric { precision, scale } => {
            let number = numeric::parse(bytes).map_err(|bad| parse::error(bad, to, bytes))?;
            return numeric::fit(number, precision, scale).map(Value::str);
        }
        SqlType::Bytea => return bytes::parse(text).map(Value::str),
        SqlType::Json => return json::check(text).map(|()| Value::str(text)),
        SqlType::Jsonb => return json::normalised(text).map(Value::str),
        SqlType::Array(&element) => return array::parse(text, element, too_long),
        SqlType::Struct(of) if of.is_row && !text.trim_start().starts_with('{') => return rows::parse(text, of),
        SqlType::Struct(of) => return structure::parse(text, of),
        SqlType::Map(of) => return map::parse(text, of),
        SqlType::Range(&element) => return range::parse(text, element),
        SqlType::Null | SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => {
            return Err(no_cast(SqlType::Text, to));
        }
    };
    value.map_err(|bad| parse::error(bad, to, bytes))
}

fn integer(value: Option<i64>, to: SqlType) -> Result<Value> {
    let fits = |v: &i64| match to {
        SqlType::SmallInt => i16::try_from(*v).is_ok(),
        SqlType::Integer => i32::try_from(*v).is_ok(),
        _ => true,
    };
    value.filter(fits).map(Value::Int).ok_or_else(|| out_of_range(&parse::message_name(to)))
}

fn from_decimal(value: i128, scale: u8, to: SqlType, from: SqlType) -> Result<Value> {
    match to {
        t if t.is_integer() => integer(decimal::to_i64(value, scale), t),
        SqlType::Decimal { precision, scale: to_scale } => {
            decimal::rescale_to(value, scale, precision, to_scale).map(Value::Decimal)
        }
        SqlType::Double => Ok(Value::Float(decimal::to_f64(value, scale))),
        SqlType::Real => Ok(Value::Float(decimal::to_f32(value, scale).into())),
        _ => Err(no_cast(from, to)),
    }
}

fn from_numeric(value: Numeric, to: SqlType, from: SqlType) -> Result<Value> {
    let no_number = |name: &str| {
        let what = if matches!(value, Numeric::NaN) { "NaN" } else { "infinity" };
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot convert {what} to {name}"))
    };
    match to {
        SqlType::Numeric { precision, scale } => numeric::fit(value, precision, scale).map(Value::str),
        t if t.is_integer() && value.finite().is_none() => Err(no_number(&parse::message_name(t))),
        t if t.is_integer() => integer(value.to_i128().and_then(|i| i64::try_from(i).ok()), t),
        SqlType::Decimal { .. } if value.finite().is_none() => Err(no_number(&to.to_string())),
        SqlType::Decimal { precision, scale } => value.to_decimal(precision, scale).map(Value::Decimal),
        SqlType::Double | SqlType::Real => {
            let double = numeric::to_f64(&value);
            let is_double = !double.is_infinite() || value.finite().is_none();
            match to {
                SqlType::Real if is_double => float_to_real(double).map(|f| Value::Float(f.into())),
                SqlType::Double if is_double => Ok(Value::Float(double)),
                _ => Err(out_of_range(&parse::message_name(to))),
            }
        }
        _ => Err(no_cast(from, to)),
    }
}

fn from_float(value: f64, from: SqlType, to: SqlType) -> Result<Value> {
    match to {
        t if t.is_integer() => integer(float_to_i64(value), t),
        SqlType::Decimal { precision, scale } if from == SqlType::Real => {
            decimal::from_f32(value as f32, precision, scale).map(Value::Decimal)
        }
        SqlType::Decimal { precision, scale } => decimal::from_f64(value, precision, scale).map(Value::Decimal),
        SqlType::Double => Ok(Value::Float(value)),
        SqlType::Real => float_to_real(value).map(|f| Value::Float(f.into())),
        _ => Err(no_cast(from, to)),
    }
}

/// A float as a `bigint`, ties to even; none if it does not fit or is NaN.
#[inline]
pub fn float_to_i64(value: f64) -> Option<i64> {
    let rounded = value.round_ties_even();
    // The bounds are exact: -2^63 fits, 2^63 does not.
    (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded).then_some(rounded as i64)
}

/// A `double precision` as a `real`: 22003 if it becomes infinite or zero.
#[inline]
pub fn float_to_real(value: f64) -> Result<f32> {
    crate::ops::number::float::to_f32(value)
}
