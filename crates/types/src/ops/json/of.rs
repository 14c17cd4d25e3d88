//! Values of other types as JSON, and back.

use base::Result;

use super::error::misused;
use super::scan::{Kind, kind, trimmed};
use super::text::write_quoted;
use crate::ops::array::Elements;
use crate::ops::date::Zone;
use crate::ops::{cast, map, numeric, structure};
use crate::{SqlType, Value};

/// Appends a value as JSON: numbers and booleans as they are, arrays as arrays, dates and timestamps as in ISO 8601, everything else
/// as a string.
pub fn write(out: &mut String, value: &Value, sql_type: SqlType, zone: &Zone) {
    match (value, sql_type) {
        (Value::Null, _) => out.push_str("null"),
        (Value::Str(json), SqlType::Json | SqlType::Jsonb) => out.push_str(json),
        (Value::Str(array), SqlType::Array(&element)) => write_array(out, array, element, ",", zone),
        (Value::Str(form), SqlType::Map(of)) => {
            out.push('{');
            for (at, (key, value)) in map::decoded(form, of).iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_quoted(out, &cast::format_value_in(key, of.key, zone));
                out.push(':');
                write(out, value, of.value, zone);
            }
            out.push('}');
        }
        (Value::Str(form), SqlType::Struct(of)) => {
            out.push('{');
            for (at, (value, field)) in structure::values(form, of).zip(&of.fields).enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_quoted(out, &field.name);
                out.push(':');
                write(out, &value, field.sql_type, zone);
            }
            out.push('}');
        }
        (Value::Bool(_) | Value::Int(_) | Value::Decimal(_), _) => cast::write_value_in(out, value, sql_type, zone),
        (Value::Str(form), SqlType::Numeric { .. }) if numeric::is_finite(form) => {
            cast::write_value_in(out, value, sql_type, zone);
        }
        (Value::Float(f), _) if f.is_finite() => cast::write_value_in(out, value, sql_type, zone),
        (Value::Timestamp(_), _) => {
            let text = cast::format_value_in(value, sql_type, zone).replacen(' ', "T", 1);
            // Offsets have minutes.
            let is_short = text.len().checked_sub(3).is_some_and(|at| matches!(text.as_bytes()[at], b'+' | b'-'));
            let minutes = if sql_type == SqlType::Timestamptz && is_short { ":00" } else { "" };
            write_quoted(out, &(text + minutes));
        }
        _ => write_quoted(out, &cast::format_value_in(value, sql_type, zone)),
    }
}

/// Appends an array in its form as an array of JSON, with that between elements.
pub fn write_array(out: &mut String, array: &str, element: SqlType, comma: &str, zone: &Zone) {
    out.push('[');
    for (at, value) in Elements::new(array, element).enumerate() {
        out.push_str(if at > 0 { comma } else { "" });
        write(out, &value, element, zone);
    }
    out.push(']');
}

/// A `jsonb` as a value of another type: numbers as numbers, booleans as booleans; its null is NULL.
pub fn cast_to(json: &str, to: SqlType) -> Result<Value> {
    let json = trimmed(json);
    let (is, name) = match kind(json) {
        Kind::Null => return Ok(Value::Null),
        Kind::Bool => (to == SqlType::Bool, "boolean"),
        Kind::Number => (to.is_numeric(), "numeric"),
        Kind::String => (false, "string"),
        Kind::Array => (false, "array"),
        Kind::Object => (false, "object"),
    };
    if !is {
        return Err(misused(format!("cannot cast jsonb {name} to type {}", cast::parse::message_name(to))));
    }
    match to {
        to if to.is_integer() && json.contains('.') => {
            let exact = cast::cast_value(&Value::str(json), SqlType::Text, SqlType::NUMERIC)?;
            cast::cast_value(&exact, SqlType::NUMERIC, to)
        }
        to => cast::cast_value(&Value::str(json), SqlType::Text, to),
    }
}
