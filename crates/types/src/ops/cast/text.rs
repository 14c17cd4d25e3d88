//! Values as text, as the shell, CSV and casts to text print them.

use crate::ops::date::Zone;
use crate::ops::{array, bytes, date, decimal, map, number, numeric, range, rows, structure, uuid};
use crate::{SqlType, Value};

/// The blanks that pad a `char(n)` value to its length.
fn padding(text: &str, limit: u32) -> usize {
    (limit as usize).saturating_sub(text.chars().count())
}

/// A `char(n)` value with its trailing blanks.
pub fn pad_char(text: &str, limit: u32) -> String {
    let mut out = String::with_capacity(limit as usize);
    out.push_str(text);
    out.extend(std::iter::repeat_n(' ', padding(text, limit)));
    out
}

/// Appends a value of a type as text, moments as UTC has them; nothing for NULL. The value must be of the type.
pub fn write_value(out: &mut String, value: &Value, sql_type: SqlType) {
    write_value_in(out, value, sql_type, &Zone::utc());
}

/// As [`write_value`], with moments as the zone has them.
pub fn write_value_in(out: &mut String, value: &Value, sql_type: SqlType, zone: &Zone) {
    match (value, sql_type) {
        (Value::Null, _) => {}
        (Value::Bool(b), _) => out.push_str(if *b { "true" } else { "false" }),
        (Value::Int(i), _) => decimal::write(out, i128::from(*i), 0),
        (Value::Decimal(d), t) => decimal::write(out, *d, t.scale()),
        (Value::Float(f), SqlType::Real) => number::write_f32(out, *f as f32),
        (Value::Float(f), _) => number::write_f64(out, *f),
        (Value::Str(s), SqlType::Char(limit)) => {
            out.push_str(s);
            out.extend(std::iter::repeat_n(' ', padding(s, limit)));
        }
        (Value::Str(s), SqlType::Numeric { scale, .. }) => numeric::write_form(out, s, scale),
        (Value::Str(s), SqlType::Bytea) => bytes::write(out, s),
        (Value::Str(s), SqlType::Array(&element)) => array::write(out, s, element),
        (Value::Str(s), SqlType::Range(&element)) => range::write(out, s, element),
        (Value::Str(s), SqlType::Map(of)) => map::write(out, s, of),
        (Value::Str(s), SqlType::Struct(of)) if of.is_row => rows::write(out, s, of),
        (Value::Str(s), SqlType::Struct(of)) => structure::write(out, s, of),
        (Value::Str(s), _) => out.push_str(s),
        (Value::Date(d), _) => date::write_date(out, *d),
        (Value::Time(t), _) => date::write_time(out, *t),
        (Value::Timetz(t), _) => date::write_timetz(out, *t),
        (Value::Timestamp(t), SqlType::Timestamptz) => date::write_timestamptz(out, *t, zone),
        (Value::Timestamp(t), _) => date::write_timestamp(out, *t),
        (Value::Interval(i), _) => date::write_interval(out, *i),
        (Value::Uuid(u), _) => uuid::write(out, *u),
        (Value::Enum(code), SqlType::Enum(of)) => out.push_str(of.labels().label(*code).unwrap_or_default()),
        (Value::Enum(code), _) => decimal::write(out, i128::from(*code), 0),
    }
}

/// A value of a type as text, exactly as the shell and CSV print it (`char(n)` padded); empty for NULL.
pub fn format_value(value: &Value, sql_type: SqlType) -> String {
    let mut out = String::new();
    write_value(&mut out, value, sql_type);
    out
}

/// As [`format_value`], with moments as the zone has them.
pub fn format_value_in(value: &Value, sql_type: SqlType, zone: &Zone) -> String {
    let mut out = String::new();
    write_value_in(&mut out, value, sql_type, zone);
    out
}
