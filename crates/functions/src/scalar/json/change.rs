//! What makes a `jsonb` of another.

use base::{Error, Result, SqlState};
use types::ops::array::Elements;
use types::ops::json;
use types::{SqlType, Value};

use super::some_texts;
use crate::Parameter::{Bool, Json, Jsonb, Texts};
use crate::scalar::{Call, Scalar, first, text};

pub(in crate::scalar) const ROWS: &[Scalar] = &[
    Scalar::operator(
        "jsonb_concat",
        None,
        |c| json::concat(c.text(0)?, c.text(1)?).map(Value::str),
        "The members of both, or the elements of both.",
        ("'{\"a\": 1}'::jsonb || '{\"b\": 2}'::jsonb", "{\"a\": 1, \"b\": 2}"),
    ),
    Scalar::operator(
        "jsonb_delete",
        None,
        |c| {
            let value = c.text(0)?;
            let made = match c.type_of(1) {
                SqlType::Array(_) => json::delete_keys(value, &refs(&some_texts(c, 1)?)),
                to if to.is_integer() => json::delete_item(value, c.int(1)?),
                _ => json::delete_key(value, c.text(1)?),
            };
            made.map(Value::str)
        },
        "Without a key, keys, or the element of a number.",
        ("'{\"a\": 1, \"b\": 2}'::jsonb - 'a'", "{\"b\": 2}"),
    ),
    Scalar::new(
        "jsonb_delete_path",
        &["jsonb_delete_path"],
        &[first(&[Jsonb, Texts])],
        |c| json::delete_path(c.text(0)?, &refs(&path(c, 1)?)).map(Value::str),
        "Without what lies at a path.",
        ("'{\"a\": [1, 2]}'::jsonb #- '{a,0}'", "{\"a\": [2]}"),
    ),
    Scalar::new(
        "jsonb_set",
        &["jsonb_set"],
        &[first(&[Jsonb, Texts, Jsonb]), first(&[Jsonb, Texts, Jsonb, Bool])],
        |c| json::set(c.text(0)?, &refs(&path(c, 1)?), c.text(2)?, flag(c, 3, true)).map(Value::str),
        "With another value at a path; one that is missing is added unless the last argument is false.",
        ("jsonb_set('{\"a\": [1, 2]}', '{a,0}', '9')", "{\"a\": [9, 2]}"),
    ),
    Scalar::new(
        "jsonb_assign",
        &["jsonb_assign"],
        &[first(&[Jsonb, Texts, Jsonb])],
        |c| json::assign(c.text(0)?, &refs(&path(c, 1)?), c.text(2)?).map(Value::str),
        "With a value at a path, of which is made what is missing: what `SET j[2] = '1'` gives.",
        ("jsonb_assign('[0]', '{2}', '1')", "[0, null, 1]"),
    ),
    Scalar::new(
        "jsonb_insert",
        &["jsonb_insert"],
        &[first(&[Jsonb, Texts, Jsonb]), first(&[Jsonb, Texts, Jsonb, Bool])],
        |c| json::insert(c.text(0)?, &refs(&path(c, 1)?), c.text(2)?, flag(c, 3, false)).map(Value::str),
        "With a value before the element at a path, or behind it if the last argument is true.",
        ("jsonb_insert('{\"a\": [1, 2]}', '{a,1}', '9')", "{\"a\": [1, 9, 2]}"),
    ),
    Scalar::new(
        "json_strip_nulls",
        &["json_strip_nulls", "jsonb_strip_nulls"],
        &[first(&[Json]), first(&[Jsonb])],
        |c| json::strip_nulls(c.text(0)?, c.type_of(0) == SqlType::Jsonb).map(Value::str),
        "Without members that are null.",
        ("json_strip_nulls('[{\"a\": 1, \"b\": null}, 2, null]')", "[{\"a\":1},2,null]"),
    ),
    Scalar::new(
        "jsonb_pretty",
        &["jsonb_pretty"],
        &[text(&[Jsonb])],
        |c| json::pretty(c.text(0)?).map(Value::str),
        "On many lines.",
        ("jsonb_pretty('[1]')", "[\n    1\n]"),
    ),
];

fn flag(c: &Call<'_>, i: usize, default: bool) -> bool {
    match c.values.get(i) {
        Some(Value::Bool(flag)) => *flag,
        _ => default,
    }
}

fn refs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// The steps of a path.
fn path(c: &Call<'_>, i: usize) -> Result<Vec<String>> {
    let (array, element) = c.array(i)?;
    let step = |(at, value)| match value {
        Value::Str(text) => Ok(text.to_string()),
        _ => Err(Error::new(SqlState("22004"), format!("path element at position {} is null", at + 1))),
    };
    Elements::new(array, element).enumerate().map(step).collect()
}
