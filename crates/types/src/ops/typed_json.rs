//! JSON as values of types: objects as structs and maps, arrays as lists.

use base::{Error, Result, SqlState};

use super::array::{self, Elements};
use super::cast::cast_value;
use super::{json, map, structure};
use crate::structs::StructType;
use crate::{SqlType, Value};

/// A JSON object as a struct: members by the names of fields.
pub fn of_json(object: &str, of: &StructType) -> Result<Value> {
    struct_of_json(object, of, false)
}

/// A JSON value as one of a type: what it is made of by the types of that. If `lenient`, a part that is none of its type is NULL.
pub fn value_of_json(json: &str, sql_type: SqlType, lenient: bool) -> Result<Value> {
    match part_of_json(json.trim(), sql_type, lenient) {
        Err(error) if lenient && error.state().0.starts_with("22") => Ok(Value::Null),
        value => value,
    }
}

fn struct_of_json(object: &str, of: &StructType, lenient: bool) -> Result<Value> {
    if of.is_row && !object.trim_start().starts_with('{') {
        let what = if object.trim_start().starts_with('[') { "an array" } else { "a scalar" };
        return Err(Error::new(SqlState("22023"), format!("cannot call populate_composite on {what}")));
    }
    if lenient && !object.trim_start().starts_with('{') {
        return Ok(Value::Null);
    }
    let mut made = String::new();
    let mut values = Vec::with_capacity(of.fields.len());
    for field in &of.fields {
        made.clear();
        values.push(match json::field(object, &field.name, &mut made)? {
            json::Part::Nothing => Value::Null,
            json::Part::Of(member) => value_of_json(member, field.sql_type, lenient)?,
            json::Part::Made => value_of_json(&made, field.sql_type, lenient)?,
        });
    }
    structure::encode(&values, of)
}

fn part_of_json(member: &str, sql_type: SqlType, lenient: bool) -> Result<Value> {
    match sql_type {
        _ if member == "null" => Ok(Value::Null),
        // As it is written as a text.
        SqlType::Struct(&StructType { is_row: true, .. }) | SqlType::Array(_) if member.starts_with('"') => {
            let mut made = String::new();
            let text = json::path_text(member, "", &mut made)?.value(&made);
            cast_value(&text, SqlType::Text, sql_type)
        }
        SqlType::Struct(of) => struct_of_json(member, of, lenient),
        SqlType::Array(&element) => {
            let Value::Str(parts) = json::elements(member, "a cast")? else { return Ok(Value::Null) };
            let of_part = |part: Value| match part {
                Value::Str(part) => value_of_json(&part, element, lenient),
                _ => Ok(Value::Null),
            };
            let values = Elements::new(&parts, SqlType::Json).map(of_part).collect::<Result<Vec<_>>>()?;
            array::encode(&values, element)
        }
        SqlType::Map(of) => {
            let entry = |(key, value): (&str, &str)| {
                let key = cast_value(&Value::str(json::unescaped(key)?), SqlType::Text, of.key)?;
                Ok((key, value_of_json(value, of.value, lenient)?))
            };
            if !member.starts_with('{') {
                return Err(Error::new(SqlState("22023"), "cannot cast a JSON value that is no object to a map"));
            }
            map::encode(&json::scan::members(member).map(entry).collect::<Result<Vec<_>>>()?, of)
        }
        SqlType::Json | SqlType::Jsonb => cast_value(&Value::str(member), SqlType::Text, sql_type),
        _ => {
            let mut made = String::new();
            let text = json::path_text(member, "", &mut made)?.value(&made);
            cast_value(&text, SqlType::Text, sql_type)
        }
    }
}
