//! Values that an index of keys can be asked for.

use storage::index::KeyPart;
use types::{SqlType, Value};

/// Whether values of a key's type are equal to it exactly if their bytes are.
pub(crate) fn is_key(sql_type: SqlType, value: &Value) -> bool {
    key_part(sql_type, value).is_some()
}

/// Such a value as it lies in memory.
pub(crate) fn key_part(sql_type: SqlType, value: &Value) -> Option<KeyPart<'_>> {
    Some(match (sql_type, value) {
        (SqlType::SmallInt, Value::Int(value)) => KeyPart::I16(i16::try_from(*value).ok()?),
        (SqlType::Integer, Value::Int(value)) => KeyPart::I32(i32::try_from(*value).ok()?),
        (SqlType::BigInt, Value::Int(value)) => KeyPart::I64(*value),
        (SqlType::Text | SqlType::Varchar(_), Value::Str(text)) => KeyPart::Text(text),
        (SqlType::Date, Value::Date(day)) => KeyPart::I32(*day),
        (SqlType::Enum(_), Value::Enum(label)) => KeyPart::I32(*label),
        (SqlType::Timestamp | SqlType::Timestamptz, Value::Timestamp(moment)) => KeyPart::I64(*moment),
        _ => return None,
    })
}
