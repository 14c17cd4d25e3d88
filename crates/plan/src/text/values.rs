//! Constants in the text form.

use base::{Error, Result, SqlState};
use types::ops::cast::{self, cast_value, format_value};
use types::ops::{date, decimal};
use types::{SqlType, Value};

use super::lexer::quote;

/// The literal without type annotation, and the type that a reader takes it for.
pub(super) fn literal(value: &Value, sql_type: SqlType) -> (String, SqlType) {
    let quoted = |text: &str| quote(text, '\'');
    match value {
        Value::Null => ("null".to_owned(), SqlType::Null),
        Value::Bool(b) => (b.to_string(), SqlType::Bool),
        Value::Int(i) => (i.to_string(), SqlType::Integer),
        Value::Decimal(d) => (decimal::format(*d, sql_type.scale()), SqlType::Null),
        Value::Float(f) if f.is_finite() => (format!("{f:?}"), SqlType::Double),
        Value::Float(f) => (quoted(&f.to_string()), SqlType::Text),
        Value::Str(_) if sql_type.is_encoded() => (quoted(&format_value(value, sql_type)), SqlType::Text),
        Value::Str(s) => (quoted(s), SqlType::Text),
        Value::Date(d) => (quoted(&date::format_date(*d)), SqlType::Text),
        Value::Time(t) => (quoted(&date::format_time(*t)), SqlType::Text),
        Value::Timestamp(t) if sql_type == SqlType::Timestamptz => {
            (quoted(&date::format_timestamptz(*t, &date::Zone::utc())), SqlType::Text)
        }
        Value::Timestamp(t) => (quoted(&date::format_timestamp(*t)), SqlType::Text),
        Value::Timetz(_) | Value::Uuid(_) | Value::Enum(_) => {
            (quoted(&cast::format_value(value, sql_type)), SqlType::Text)
        }
        Value::Interval(i) => (quoted(&date::format_interval(*i)), SqlType::Text),
    }
}

/// The value of a literal's text (without quotes) as a value of a type.
pub(super) fn value(text: &str, sql_type: SqlType) -> Result<Value> {
    let bad = || Error::new(SqlState::INVALID_TEXT, format!("\"{text}\" is not a constant of type {sql_type}"));
    Ok(match sql_type {
        // A text whose type is still open.
        SqlType::Null => Value::str(text),
        SqlType::Bool => Value::Bool(text == "true"),
        SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => Value::Int(text.parse().map_err(|_| bad())?),
        SqlType::Decimal { scale, .. } => {
            Value::Decimal(decimal::parse(text.as_bytes(), SqlType::MAX_PRECISION, scale).map_err(|_| bad())?)
        }
        SqlType::Real | SqlType::Double => Value::Float(text.parse().map_err(|_| bad())?),
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Json | SqlType::Jsonb => Value::str(text),
        SqlType::Numeric { .. }
        | SqlType::Bytea
        | SqlType::Array(_)
        | SqlType::Struct(_)
        | SqlType::Map(_)
        | SqlType::Range(_) => cast_value(&Value::str(text), SqlType::Text, sql_type).map_err(|_| bad())?,
        SqlType::Date => Value::Date(date::parse_date(text.as_bytes()).map_err(|_| bad())?),
        SqlType::Timetz => Value::Timetz(date::parse_timetz(text.as_bytes(), &date::Zone::utc()).map_err(|_| bad())?),
        SqlType::Time => Value::Time(date::parse_time(text.as_bytes()).map_err(|_| bad())?),
        SqlType::Timestamptz => {
            Value::Timestamp(date::parse_timestamptz(text.as_bytes(), &date::Zone::utc()).map_err(|_| bad())?)
        }
        SqlType::Timestamp => Value::Timestamp(date::parse_timestamp(text.as_bytes()).map_err(|_| bad())?),
        SqlType::Uuid => Value::Uuid(cast::parse::uuid(text.as_bytes()).map_err(|_| bad())?),
        SqlType::Enum(of) => Value::Enum(of.labels().code(text).ok_or_else(bad)?),
        SqlType::Interval => Value::Interval(date::parse_interval(text.as_bytes()).map_err(|_| bad())?),
    })
}
