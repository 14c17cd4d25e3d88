//! Quick readers of every type from bytes, without allocation: CSV fields, generated code, casts.
//!
//! They fail with [`Bad`]; [`error`] makes the error that a user sees.

use std::borrow::Cow;

use base::{Error, SqlState};

use crate::SqlType;
use crate::enumeration::Labels;
use crate::ops::Bad;
pub use crate::ops::date::{
    parse_date as date, parse_interval as interval, parse_time as time, parse_timestamp as timestamp,
    parse_timestamptz as timestamptz, parse_timetz as timetz,
};
pub use crate::ops::decimal::parse as decimal;
use crate::ops::number::trim;
pub use crate::ops::number::{
    parse_f32 as f32, parse_f64 as f64, parse_i16 as i16, parse_i32 as i32, parse_i64 as i64,
};

pub use crate::ops::uuid::parse as uuid;

/// Reads a boolean: `true`, `yes`, `on`, `1` and their opposites in any case; prefixes that are not ambiguous count.
#[inline]
pub fn bool(text: &[u8]) -> Result<bool, Bad> {
    let text = trim(text);
    let prefix_of = |word: &str| text.len() <= word.len() && word.as_bytes()[..text.len()].eq_ignore_ascii_case(text);
    match text.first() {
        Some(b't' | b'T') if prefix_of("true") => Ok(true),
        Some(b'f' | b'F') if prefix_of("false") => Ok(false),
        Some(b'y' | b'Y') if prefix_of("yes") => Ok(true),
        Some(b'n' | b'N') if prefix_of("no") => Ok(false),
        Some(b'o' | b'O') if text.eq_ignore_ascii_case(b"on") => Ok(true),
        Some(b'o' | b'O') if text.len() > 1 && prefix_of("off") => Ok(false),
        Some(b'1') if text.len() == 1 => Ok(true),
        Some(b'0') if text.len() == 1 => Ok(false),
        _ => Err(Bad::Syntax),
    }
}

/// Reads the label of an enum, exactly.
#[inline]
pub fn label(text: &[u8], labels: &Labels) -> Result<i32, Bad> {
    std::str::from_utf8(text).ok().and_then(|text| labels.code(text)).ok_or(Bad::Syntax)
}

/// The name of a type in PostgreSQL's messages.
pub fn message_name(sql_type: SqlType) -> Cow<'static, str> {
    Cow::Borrowed(match sql_type {
        SqlType::Null => "unknown",
        SqlType::Bool => "boolean",
        SqlType::SmallInt => "smallint",
        SqlType::Integer => "integer",
        SqlType::BigInt => "bigint",
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => "numeric",
        SqlType::Real => "real",
        SqlType::Double => "double precision",
        SqlType::Text => "text",
        SqlType::Varchar(_) => "character varying",
        SqlType::Char(_) => "character",
        SqlType::Date => "date",
        SqlType::Time => "time",
        SqlType::Timetz => "time with time zone",
        SqlType::Timestamp => "timestamp",
        SqlType::Timestamptz => "timestamp with time zone",
        SqlType::Interval => "interval",
        SqlType::Uuid => "uuid",
        SqlType::Enum(_) => return Cow::Owned(sql_type.to_string()),
        SqlType::Bytea => "bytea",
        SqlType::Json => "json",
        SqlType::Jsonb => "jsonb",
        SqlType::Array(&element) => return Cow::Owned(format!("{}[]", message_name(element))),
        SqlType::Struct(_) | SqlType::Map(_) | SqlType::Range(_) => return Cow::Owned(sql_type.to_string()),
    })
}

/// The name of a type as PostgreSQL shows it: without lengths and digits.
pub fn shown_name(sql_type: SqlType) -> Cow<'static, str> {
    match sql_type {
        SqlType::Time => Cow::Borrowed("time without time zone"),
        SqlType::Timestamp => Cow::Borrowed("timestamp without time zone"),
        SqlType::Array(&element) => Cow::Owned(format!("{}[]", shown_name(element))),
        other => message_name(other),
    }
}

/// What to tell the user when `text` could not be read as `sql_type`.
#[cold]
pub fn error(bad: Bad, sql_type: SqlType, text: &[u8]) -> Error {
    let text = &*String::from_utf8_lossy(text);
    let name = &message_name(sql_type);
    match sql_type {
        SqlType::Date
        | SqlType::Time
        | SqlType::Timetz
        | SqlType::Timestamp
        | SqlType::Timestamptz
        | SqlType::Interval => bad.datetime(name, text),
        SqlType::Decimal { precision, scale } if bad == Bad::Range => {
            crate::ops::decimal::field_overflow(precision, scale)
        }
        SqlType::Enum(_) => {
            Error::new(SqlState::INVALID_TEXT, format!("invalid input value for enum {name}: \"{text}\""))
        }
        _ => bad.number(name, text),
    }
}
