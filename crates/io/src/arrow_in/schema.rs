//! Which SQL type an Arrow type becomes.

use arrow_schema::{DataType, Schema};
use types::{SqlType, StructField};

use crate::arrow_out::{EXTENSION, JSON, NORMAL, UUID};
use crate::source::Field;

/// The SQL type of an Arrow type; none if there is no counterpart.
pub fn sql_type_of(data_type: &DataType) -> Option<SqlType> {
    Some(match data_type {
        // As PostgreSQL resolves a literal of unknown type.
        DataType::Null => SqlType::Text,
        DataType::Boolean => SqlType::Bool,
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => SqlType::SmallInt,
        DataType::Int32 | DataType::UInt16 => SqlType::Integer,
        DataType::Int64 | DataType::UInt32 => SqlType::BigInt,
        DataType::UInt64 => SqlType::decimal(20, 0),
        DataType::Float16 | DataType::Float32 => SqlType::Real,
        DataType::Float64 => SqlType::Double,
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => decimal(*p, *s)?,
        DataType::Date32 | DataType::Date64 => SqlType::Date,
        DataType::Time32(_) | DataType::Time64(_) => SqlType::Time,
        DataType::Timestamp(_, Some(_)) => SqlType::Timestamptz,
        DataType::Timestamp(_, None) => SqlType::Timestamp,
        DataType::Duration(_) | DataType::Interval(_) => SqlType::Interval,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => SqlType::Text,
        // If the field says that they are such.
        DataType::FixedSizeBinary(16) => SqlType::Uuid,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            SqlType::Bytea
        }
        DataType::Dictionary(_, values) if is_binary(values) => return None,
        DataType::Dictionary(_, values) => sql_type_of(values)?,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            let element = sql_type_of(item.data_type())?;
            (element.dimensions() < SqlType::MAX_DIMENSIONS).then(|| SqlType::array_of(element))?
        }
        DataType::Map(entries, _) => match sql_type_of(entries.data_type())?.structure()?.fields.as_slice() {
            [key, value] => SqlType::map_of(key.sql_type, value.sql_type),
            _ => return None,
        },
        DataType::Struct(fields) => {
            let field = |f: &arrow_schema::FieldRef| {
                Some(StructField { name: f.name().clone(), sql_type: sql_type_of(f.data_type())? })
            };
            let fields = fields.iter().map(field).collect::<Option<Vec<_>>>()?;
            let name = |at: usize| fields[at].name.to_lowercase();
            let is_twice = |at: usize| (0..at).any(|before| name(before) == name(at));
            (0..fields.len()).all(|at| !is_twice(at)).then(|| SqlType::struct_of(fields))?
        }
        _ => return None,
    })
}

fn is_binary(data_type: &DataType) -> bool {
    matches!(sql_type_of(data_type), Some(SqlType::Bytea | SqlType::Uuid))
}

/// Arrow allows scales below zero (hundreds, thousands) and above the precision; SQL types do not.
fn decimal(precision: u8, scale: i8) -> Option<SqlType> {
    let (precision, scale) = match u8::try_from(scale) {
        Ok(scale) => (precision.max(scale), scale),
        Err(_) => (precision.checked_add(scale.unsigned_abs())?, 0),
    };
    (1..=SqlType::MAX_PRECISION).contains(&precision).then_some(SqlType::decimal(precision, scale))
}

/// The field of an Arrow field.
pub fn field_of(field: &arrow_schema::Field) -> Field {
    let is = |extension| field.metadata().get(EXTENSION).is_some_and(|name| name == extension);
    let sql_type = match sql_type_of(field.data_type()) {
        Some(SqlType::Uuid) if !is(UUID) => None,
        Some(SqlType::Text) if is(JSON) && field.metadata().contains_key(NORMAL) => Some(SqlType::Jsonb),
        Some(SqlType::Text) if is(JSON) => Some(SqlType::Json),
        other => other,
    };
    Field {
        name: field.name().clone(),
        sql_type: sql_type.unwrap_or(SqlType::Text),
        nullable: field.is_nullable(),
        unsupported: sql_type.is_none().then(|| format!("{} (Arrow)", field.data_type())),
    }
}

/// The fields of an Arrow schema.
pub fn fields_of(schema: &Schema) -> Vec<Field> {
    schema.fields().iter().map(|f| field_of(f)).collect()
}
