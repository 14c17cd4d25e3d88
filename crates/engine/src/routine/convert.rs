//! Conversions of values that are assigned or returned.

use base::Result;
use types::ops::cast::{assign_value_in, cast_value_in, format_value_in};
use types::ops::date::Zone;
use types::{SqlType, Value};

/// A value as one of another type, as PostgreSQL's procedural language has it: by an assignment cast, else by way of its text.
pub(super) fn converted(value: &Value, from: SqlType, to: SqlType, zone: &Zone) -> Result<Value> {
    if value.is_null() || from == to {
        return Ok(value.clone());
    }
    let from = if from == SqlType::Null { SqlType::Text } else { from };
    let by_cast =
        from.is_numeric() && to.is_numeric() || from.is_string() || to.is_string() || is_time(from) && is_time(to);
    if by_cast {
        return assign_value_in(value, from, to, zone);
    }
    let text = Value::str(format_value_in(value, from, zone));
    cast_value_in(&text, SqlType::Text, to, zone)
}

fn is_time(sql_type: SqlType) -> bool {
    matches!(sql_type, SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz)
}
