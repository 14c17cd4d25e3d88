//! What is in a value: members, elements, what lies at a path. Values are parts of the text, so that nothing is copied but strings
//! with escapes that are asked for as texts.

use base::Result;

use super::error::misused;
use super::plain;
use super::scan::content;
use super::scan::{Kind, items, kind, members as scanned, trimmed};
use super::text::{unescape, unescaped};
use super::validate::check;
use crate::ops::array::{self, Elements};
use crate::{SqlType, Value};

/// What a function found in a text, or made of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part<'a> {
    /// Nothing: NULL.
    Nothing,
    /// This, in the text.
    Of(&'a str),
    /// What was written into the string that was given.
    Made,
}

impl Part<'_> {
    /// As a value, if that is what was written.
    pub fn value(self, made: &str) -> Value {
        match self {
            Self::Nothing => Value::Null,
            Self::Of(text) => Value::str(text),
            Self::Made => Value::str(made),
        }
    }
}

impl<'a> From<Option<&'a str>> for Part<'a> {
    fn from(found: Option<&'a str>) -> Self {
        found.map_or(Self::Nothing, Self::Of)
    }
}

/// Whether a key as it is written means that text.
#[inline]
fn is_key(written: &str, wanted: &str) -> bool {
    written == wanted || (written.contains('\\') && unescaped(written).is_ok_and(|key| key == wanted))
}

/// The value of a key in a `json`: the last one, if it is there several times.
fn last_member<'a>(json: &'a str, key: &str) -> Option<&'a str> {
    scanned(json).filter(|(written, _)| is_key(written, key)).last().map(|(_, value)| value)
}

/// The value of a key in a `jsonb`, whose keys are in their order.
#[inline]
fn only_member<'a>(json: &'a str, key: &str) -> Option<&'a str> {
    for (written, value) in scanned(json) {
        if is_key(written, key) {
            return Some(value);
        }
        if written.len() > key.len() && !written.contains('\\') {
            return None;
        }
    }
    None
}

/// The element of a number, from 0, or from the end if it is below zero.
fn element(json: &str, at: i64) -> Option<&str> {
    let at = match at {
        0.. => at as u64,
        _ => (items(json).count() as u64).checked_sub(at.unsigned_abs())?,
    };
    items(json).nth(usize::try_from(at).ok()?)
}

/// A value as a text: strings without their marks, and JSON's null as NULL.
fn as_text<'a>(found: Option<&'a str>, out: &mut String) -> Result<Part<'a>> {
    let Some(value) = found else { return Ok(Part::Nothing) };
    match kind(value) {
        Kind::Null => Ok(Part::Nothing),
        Kind::String if value.contains('\\') => {
            unescape(content(value), out)?;
            Ok(Part::Made)
        }
        Kind::String => Ok(Part::Of(content(value))),
        _ => Ok(Part::Of(value)),
    }
}

/// `json -> key`
pub fn field<'a>(json: &'a str, key: &str, _: &mut String) -> Result<Part<'a>> {
    Ok(last_member(json, key).into())
}

/// `json ->> key`
pub fn field_text<'a>(json: &'a str, key: &str, out: &mut String) -> Result<Part<'a>> {
    as_text(last_member(json, key), out)
}

/// `text::json -> key`: the text is read once where it is plain.
pub fn field_of_text<'a>(text: &'a str, key: &str, _: &mut String) -> Result<Part<'a>> {
    last_member_of_text(text, key).map(Part::from)
}

/// `text::json ->> key`
pub fn field_text_of_text<'a>(text: &'a str, key: &str, out: &mut String) -> Result<Part<'a>> {
    as_text(last_member_of_text(text, key)?, out)
}

fn last_member_of_text<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>> {
    if let Some(found) = plain::member(text, key) {
        return Ok(found);
    }
    check(text)?;
    Ok(last_member(text, key))
}

/// `jsonb -> key`
pub fn member<'a>(json: &'a str, key: &str, _: &mut String) -> Result<Part<'a>> {
    Ok(only_member(json, key).into())
}

/// `jsonb ->> key`
pub fn member_text<'a>(json: &'a str, key: &str, out: &mut String) -> Result<Part<'a>> {
    as_text(only_member(json, key), out)
}

/// `json -> number`
pub fn item<'a>(json: &'a str, at: i64, _: &mut String) -> Result<Part<'a>> {
    Ok(element(json, at).into())
}

/// `json ->> number`
pub fn item_text<'a>(json: &'a str, at: i64, out: &mut String) -> Result<Part<'a>> {
    as_text(element(json, at), out)
}

/// What lies at a path, an array of texts in its form: keys, and numbers of elements.
fn at_path<'a>(json: &'a str, path: &str) -> Option<&'a str> {
    let mut found = trimmed(json);
    for step in Elements::new(path, SqlType::Text) {
        let Value::Str(step) = step else { return None };
        found = match kind(found) {
            Kind::Object => last_member(found, &step)?,
            Kind::Array => element(found, step.trim().parse().ok()?)?,
            _ => return None,
        };
    }
    Some(found)
}

/// `json #> path`
pub fn path<'a>(json: &'a str, path: &str, _: &mut String) -> Result<Part<'a>> {
    Ok(at_path(json, path).into())
}

/// `json #>> path`
pub fn path_text<'a>(json: &'a str, path: &str, out: &mut String) -> Result<Part<'a>> {
    as_text(at_path(json, path), out)
}

/// What a value is: PostgreSQL's names.
pub fn type_of(json: &str) -> &'static str {
    match kind(trimmed(json)) {
        Kind::Object => "object",
        Kind::Array => "array",
        Kind::String => "string",
        Kind::Number => "number",
        Kind::Bool => "boolean",
        Kind::Null => "null",
    }
}

/// The number of an array's elements; 22023 of anything else.
pub fn length(json: &str) -> Result<i64> {
    match kind(trimmed(json)) {
        Kind::Array => Ok(items(json).count() as i64),
        Kind::Object => Err(misused("cannot get array length of a non-array")),
        _ => Err(misused("cannot get array length of a scalar")),
    }
}

/// The elements of an array as an array of such values; `name` is the function's in errors.
pub fn elements(json: &str, name: &str) -> Result<Value> {
    check_array(json, name)?;
    let all: Vec<Value> = items(json).map(Value::str).collect();
    array::encode(&all, SqlType::Json)
}

/// The elements of an array as texts.
pub fn elements_text(json: &str, name: &str) -> Result<Value> {
    check_array(json, name)?;
    array::encode(&items(json).map(text_value).collect::<Result<Vec<_>>>()?, SqlType::Text)
}

fn check_array(json: &str, name: &str) -> Result<()> {
    match kind(trimmed(json)) {
        Kind::Array => Ok(()),
        Kind::Object if name.starts_with("jsonb") => Err(misused("cannot extract elements from an object")),
        Kind::Object => Err(misused(format!("cannot call {name} on a non-array"))),
        _ if name.starts_with("jsonb") => Err(misused("cannot extract elements from a scalar")),
        _ => Err(misused(format!("cannot call {name} on a scalar"))),
    }
}

fn text_value(value: &str) -> Result<Value> {
    let mut made = String::new();
    Ok(as_text(Some(value), &mut made)?.value(&made))
}

fn check_object(json: &str, name: &str) -> Result<()> {
    match kind(trimmed(json)) {
        Kind::Object => Ok(()),
        Kind::Array if name.ends_with("object_keys") => Err(misused(format!("cannot call {name} on an array"))),
        Kind::Array if name.starts_with("json_each") => Err(misused("cannot deconstruct an array as an object")),
        _ if name.starts_with("json_each") => Err(misused("cannot deconstruct a scalar")),
        Kind::Array => Err(misused(format!("cannot call {name} on a non-object"))),
        _ if name.ends_with("object_keys") => Err(misused(format!("cannot call {name} on a scalar"))),
        _ => Err(misused(format!("cannot call {name} on a non-object"))),
    }
}

/// The keys of an object as an array of texts; `name` is the function's in errors.
pub fn keys(json: &str, name: &str) -> Result<Value> {
    check_object(json, name)?;
    let key = |(key, _): (&str, &str)| Ok(Value::str(unescaped(key)?));
    array::encode(&scanned(json).map(key).collect::<Result<Vec<_>>>()?, SqlType::Text)
}

/// The keys of an object, or the numbers of an array's elements, as `json_each` has them.
pub fn entry_keys(json: &str) -> Result<Value> {
    if kind(trimmed(json)) != Kind::Array {
        return keys(json, "json_each");
    }
    let all: Vec<Value> = items(json).enumerate().map(|(at, _)| Value::str(at.to_string())).collect();
    array::encode(&all, SqlType::Text)
}

/// The values of an object, or the elements of an array.
pub fn entry_values(json: &str) -> Result<Value> {
    match kind(trimmed(json)) {
        Kind::Array => elements(json, "json_each"),
        _ => members(json, "json_each", false),
    }
}

/// The values of an object as an array, of texts or of values like it.
pub fn members(json: &str, name: &str, as_texts: bool) -> Result<Value> {
    check_object(json, name)?;
    let value = |(_, value)| if as_texts { text_value(value) } else { Ok(Value::str(value)) };
    let values = scanned(json).map(value).collect::<Result<Vec<_>>>()?;
    array::encode(&values, if as_texts { SqlType::Text } else { SqlType::Json })
}
