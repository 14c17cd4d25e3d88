//! What makes JSON of other values.

use base::{Error, Result, SqlState};
use types::ops::array::Elements;
use types::ops::date::Zone;
use types::ops::json;
use types::{SqlType, Value};

use crate::Parameter::{Any, Array, Json, Text, Texts};
use crate::scalar::{Call, Scalar, over, text};
use crate::{Overload, Parameter, ResultType, SESSION_ZONE};

pub(in crate::scalar) const ROWS: &[Scalar] = &[
    Scalar::new(
        "to_json",
        &["to_json"],
        &[zoned(&[Any], SqlType::Json)],
        |c| of_value(c).map(Value::str),
        "The value as JSON.",
        ("to_json('a \"b\"'::text)", "\"a \\\"b\\\"\""),
    ),
    Scalar::new(
        "to_jsonb",
        &["to_jsonb"],
        &[zoned(&[Any], SqlType::Jsonb)],
        |c| json::normal_form(&of_value(c)?).map(Value::str),
        "The value as JSON in its normal form.",
        ("to_jsonb(ARRAY[1, NULL])", "[1, null]"),
    ),
    Scalar::new(
        "array_to_json",
        &["array_to_json"],
        &[zoned(&[Array], SqlType::Json)],
        |c| of_value(c).map(Value::str),
        "The array as JSON.",
        ("array_to_json(ARRAY[[1, 5], [99, 100]])", "[[1,5],[99,100]]"),
    ),
    Scalar::new(
        "json_of_array",
        &["json_of_array"],
        &[zoned(&[Array], SqlType::Json)],
        |c| {
            let (array, element) = c.array(0)?;
            let mut out = String::new();
            // PostgreSQL begins a line for each array.
            let comma = if element.is_array() { ", \n " } else { ", " };
            Zone::with(c.text(1)?, |zone| {
                json::write_array(&mut out, array, element, comma, zone);
                Ok(())
            })?;
            Ok(Value::str(out))
        },
        "The array as JSON, with blanks between elements.",
        ("json_of_array(ARRAY[1, 2])", "[1, 2]"),
    ),
    Scalar::operator(
        "json_build_array",
        None,
        |c| {
            let all = (0..c.len()).map(|i| c.text(i)).collect::<Result<Vec<_>>>()?;
            Ok(Value::str(format!("[{}]", all.join(", "))))
        },
        "An array of values that are JSON.",
        ("json_build_array(1, 'two', NULL)", "[1, \"two\", null]"),
    ),
    Scalar::operator(
        "json_build_object",
        None,
        |c| object(c, " : ", ", "),
        "An object of keys and values that are JSON, in turn.",
        ("json_build_object('a', 1, 'b', ARRAY[2])", "{\"a\" : 1, \"b\" : [2]}"),
    ),
    Scalar::operator(
        "json_of_row",
        None,
        |c| object(c, ":", ","),
        "An object of the names of columns and values that are JSON, in turn.",
        ("json_build_object('a', 1)", "{\"a\" : 1}"),
    ),
    Scalar::new(
        "json_member",
        &["json_member"],
        &[over(&[Text, Json], SqlType::Text)],
        |c| {
            let mut out = json::quote(c.text(0)?);
            out.push_str(" : ");
            out.push_str(c.text(1)?);
            Ok(Value::str(out))
        },
        "A key and a value as they stand in an object.",
        ("json_member('a', '1')", "\"a\" : 1"),
    ),
    Scalar::new(
        "json_no_key",
        &["json_no_key"],
        &[text(&[])],
        |_| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "field name must not be null")),
        "What stands for a key that is NULL: an error.",
        ("coalesce('a', json_no_key())", "a"),
    ),
    Scalar::new(
        "json_object",
        &["json_object"],
        &[over(&[Texts], SqlType::Json), over(&[Texts, Texts], SqlType::Json)],
        object_of_arrays,
        "An object of an array of keys and values in turn, or of one of keys and one of values.",
        ("json_object(ARRAY['a', '1', 'b', NULL])", "{\"a\" : \"1\", \"b\" : null}"),
    ),
];

/// An overload that takes the name of the session's time zone besides.
const fn zoned(parameters: &'static [Parameter], result: SqlType) -> Overload {
    Overload { parameters, defaults: &[SESSION_ZONE], result: ResultType::Fixed(result) }
}

/// The first argument as JSON.
fn of_value(c: &Call<'_>) -> Result<String> {
    let mut out = String::new();
    Zone::with(c.text(1)?, |zone| {
        json::write(&mut out, c.value(0)?, c.type_of(0), zone);
        Ok(())
    })?;
    Ok(out)
}

/// An object of keys and values in turn.
fn object(c: &Call<'_>, colon: &str, comma: &str) -> Result<Value> {
    let mut out = String::from("{");
    for i in (0..c.len()).step_by(2) {
        out.push_str(if i > 0 { comma } else { "" });
        json::write_quoted(&mut out, c.text(i)?);
        out.push_str(colon);
        out.push_str(c.text(i + 1)?);
    }
    out.push('}');
    Ok(Value::str(out))
}

fn object_of_arrays(c: &Call<'_>) -> Result<Value> {
    let wrong = |message: &str| Error::new(SqlState("2202E"), message);
    let all = |i| c.array(i).map(|(array, element)| Elements::new(array, element).collect::<Vec<_>>());
    let (keys, values): (Vec<Value>, Vec<Value>) = match c.len() {
        1 => {
            let all = all(0)?;
            if all.len() % 2 != 0 {
                return Err(wrong("array must have even number of elements"));
            }
            let values = all.iter().skip(1).step_by(2).cloned().collect();
            (all.into_iter().step_by(2).collect(), values)
        }
        _ => (all(0)?, all(1)?),
    };
    if keys.len() != values.len() {
        return Err(wrong("mismatched array dimensions"));
    }
    let mut out = String::from("{");
    for (i, (key, value)) in keys.iter().zip(&values).enumerate() {
        let Value::Str(key) = key else {
            return Err(Error::new(SqlState("22004"), "null value not allowed for object key"));
        };
        out.push_str(if i > 0 { ", " } else { "" });
        json::write_quoted(&mut out, key);
        out.push_str(" : ");
        match value {
            Value::Str(text) => json::write_quoted(&mut out, text),
            _ => out.push_str("null"),
        }
    }
    out.push('}');
    Ok(Value::str(out))
}
