//! Values as text, as the shell, CSV and casts to text print them.

use crate::ops::{array, date, decimal, number};
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

/// Appends a value of a type as text; nothing for NULL. The value must be of the type.
pub fn write_value(out: &mut String, value: &Value, sql_type: SqlType) {
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
        (Value::Str(s), SqlType::Array(&element)) => array::write(out, s, element),
        (Value::Str(s), _) => out.push_str(s),
        (Value::Date(d), _) => date::write_date(out, *d),
        (Value::Timestamp(t), _) => date::write_timestamp(out, *t),
        (Value::Interval(i), _) => date::write_interval(out, *i),
    }
}

/// A value of a type as text, exactly as the shell and CSV print it (`char(n)` padded); empty for NULL.
pub fn format_value(value: &Value, sql_type: SqlType) -> String {
    let mut out = String::new();
    write_value(&mut out, value, sql_type);
    out
}
