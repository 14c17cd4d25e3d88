//! Values of JSON to columns.

use base::{Error, Result, SqlState};
use types::ops::cast::{cast_value_in, parse};
use types::ops::date::Zone;
use types::ops::json::scan::{Kind, content, items, kind, members};
use types::ops::json::{normalised, unescaped};
use types::ops::{array, map, structure};
use types::{ColumnBuilder, SqlType, StructType, Value};

/// How values are read.
#[derive(Clone)]
pub struct Reader {
    /// The zone of moments whose text names none.
    pub zone: Zone,
    /// A member of an object that its struct has no field for is an error.
    pub strict: bool,
}

/// The error for a member that was not in the sample.
#[cold]
pub fn unknown_key(key: &str) -> Error {
    Error::new(SqlState::BAD_COPY_FILE, format!("an object has the unknown key \"{key}\""))
}

/// The error for a key that is there twice.
#[cold]
pub fn duplicate_key(key: &str) -> Error {
    Error::new(SqlState::BAD_COPY_FILE, format!("an object has the key \"{key}\" twice"))
}

#[cold]
fn misfit(value: &str, sql_type: SqlType) -> Error {
    let is = match kind(value) {
        Kind::Object => "an object",
        Kind::Array => "an array",
        Kind::String => "a string",
        Kind::Number => "a number",
        Kind::Bool => "a boolean",
        Kind::Null => "null",
    };
    Error::new(SqlState::INVALID_TEXT, format!("{is} is no value of type {}", parse::message_name(sql_type)))
}

impl Reader {
    /// Appends a value, which is JSON without blanks around it.
    pub fn append(&self, value: &str, out: &mut ColumnBuilder) -> Result<()> {
        let sql_type = out.sql_type();
        match (kind(value), sql_type) {
            (Kind::Null, _) => out.push_null(),
            (Kind::Number, SqlType::BigInt) => match parse::i64(value.as_bytes()) {
                Ok(number) => out.push(number),
                Err(bad) => return Err(parse::error(bad, sql_type, value.as_bytes())),
            },
            (Kind::Number, SqlType::Double) => match parse::f64(value.as_bytes()) {
                Ok(number) => out.push(number),
                Err(bad) => return Err(parse::error(bad, sql_type, value.as_bytes())),
            },
            (Kind::Bool, SqlType::Bool) => out.push(u8::from(value == "true")),
            (Kind::String, SqlType::Text) => out.push_str(&unescaped(content(value))?),
            (_, SqlType::Json) => out.push_str(value),
            _ => out.push_value(&self.value(value, sql_type)?),
        }
        Ok(())
    }

    /// A value, which is JSON without blanks around it.
    fn value(&self, value: &str, sql_type: SqlType) -> Result<Value> {
        let is = kind(value);
        match (sql_type, is) {
            (_, Kind::Null) => Ok(Value::Null),
            (SqlType::Json, _) => Ok(Value::str(value)),
            (SqlType::Jsonb, _) => normalised(value).map(Value::str),
            (SqlType::Struct(of), Kind::Object) => self.structure(value, of),
            (SqlType::Array(&element), Kind::Array) => {
                let values = items(value).map(|item| self.value(item, element)).collect::<Result<Vec<_>>>()?;
                array::encode(&values, element)
            }
            (SqlType::Map(of), Kind::Object) => {
                let entry = |(key, value)| {
                    let key = Value::str(unescaped(key)?.into_owned());
                    let key = cast_value_in(&key, SqlType::Text, of.key, &self.zone)?;
                    Ok((key, self.value(value, of.value)?))
                };
                map::encode(&members(value).map(entry).collect::<Result<Vec<_>>>()?, of)
            }
            _ if sql_type.is_nested() => Err(misfit(value, sql_type)),
            (_, Kind::Object | Kind::Array) if sql_type.is_string() => {
                cast_value_in(&Value::str(value), SqlType::Text, sql_type, &self.zone)
            }
            (_, Kind::Object | Kind::Array) => Err(misfit(value, sql_type)),
            (_, Kind::String) => {
                let text = Value::str(unescaped(content(value))?.into_owned());
                cast_value_in(&text, SqlType::Text, sql_type, &self.zone)
            }
            // A number with a point that is a whole one is one of an integer type, too.
            (_, Kind::Number) if sql_type.is_integer() && value.contains(['.', 'e', 'E']) => {
                let number = cast_value_in(&Value::str(value), SqlType::Text, SqlType::Double, &self.zone)?;
                match number {
                    Value::Float(f) if f.fract() != 0.0 => Err(misfit(value, sql_type)),
                    number => cast_value_in(&number, SqlType::Double, sql_type, &self.zone),
                }
            }
            _ => cast_value_in(&Value::str(value), SqlType::Text, sql_type, &self.zone),
        }
    }

    fn structure(&self, object: &str, of: &StructType) -> Result<Value> {
        let mut parts: Vec<Option<&str>> = vec![None; of.fields.len()];
        for (at, (key, value)) in members(object).enumerate() {
            let key = unescaped(key)?;
            let is_next = of.fields.get(at).is_some_and(|field| field.name == *key);
            let number = if is_next { Some(at) } else { of.position(&key) };
            match number {
                Some(number) if parts[number].is_some() => return Err(duplicate_key(&key)),
                Some(number) => parts[number] = Some(value),
                None if self.strict => return Err(unknown_key(&key)),
                None => {}
            }
        }
        let value = |(part, field): (&Option<&str>, &types::StructField)| match part {
            Some(part) => self.value(part, field.sql_type),
            None => Ok(Value::Null),
        };
        let values = parts.iter().zip(&of.fields).map(value).collect::<Result<Vec<_>>>()?;
        structure::encode(&values, of)
    }
}
