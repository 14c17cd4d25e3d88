//! Values that an index of keys can be asked for.

use types::{SqlType, Value};

/// Whether values of a key's type are equal to it exactly if their bytes are.
pub(crate) fn is_key(sql_type: SqlType, value: &Value) -> bool {
    match (sql_type, value) {
        (SqlType::SmallInt, Value::Int(i)) => i16::try_from(*i).is_ok(),
        (SqlType::Integer, Value::Int(i)) => i32::try_from(*i).is_ok(),
        (SqlType::BigInt, Value::Int(_)) => true,
        (SqlType::Text | SqlType::Varchar(_), Value::Str(_)) => true,
        (SqlType::Date, Value::Date(_)) => true,
        (SqlType::Enum(_), Value::Enum(_)) => true,
        (SqlType::Timestamp | SqlType::Timestamptz, Value::Timestamp(_)) => true,
        _ => false,
    }
}
