//! Paths of DuckDB's functions: `$.a.b[0]`, `/a/b/0`, or a key alone.

use base::{Error, Result, SqlState};

use super::find::{Part, field, field_text, item, item_text, path, path_text};
use crate::ops::array;
use crate::{SqlType, Value};

/// What lies at a path.
pub fn extract<'a>(json: &'a str, at: &str, out: &mut String) -> Result<Part<'a>> {
    match at.as_bytes().first() {
        Some(b'$' | b'/') => path(json, &steps(at)?, out),
        _ => match at.parse() {
            Ok(number) => item(json, number, out),
            Err(_) => field(json, at, out),
        },
    }
}

/// What lies at a path, as a text.
pub fn extract_text<'a>(json: &'a str, at: &str, out: &mut String) -> Result<Part<'a>> {
    match at.as_bytes().first() {
        Some(b'$' | b'/') => path_text(json, &steps(at)?, out),
        _ => match at.parse() {
            Ok(number) => item_text(json, number, out),
            Err(_) => field_text(json, at, out),
        },
    }
}

/// The steps of a path: keys, and numbers of elements; a text that is no path is a key.
pub(super) fn keys(at: &str) -> Result<Vec<String>> {
    if let Some(pointer) = at.strip_prefix('/') {
        return Ok(pointer.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect());
    }
    match at.strip_prefix('$') {
        Some(rest) => parsed(rest).ok_or_else(|| wrong(at)),
        None => Ok(vec![at.to_owned()]),
    }
}

/// The key that a path consists of, if it is one, and cannot be meant as a number.
pub fn only_key(at: &str) -> Option<String> {
    let key = keys(at).ok().filter(|keys| keys.len() == 1)?.pop()?;
    key.parse::<i64>().is_err().then_some(key)
}

/// The steps of a path as an array of texts.
fn steps(at: &str) -> Result<String> {
    let steps: Vec<Value> = keys(at)?.into_iter().map(Value::str).collect();
    match array::encode(&steps, SqlType::Text)? {
        Value::Str(form) => Ok(form.to_string()),
        _ => Err(Error::internal("an array that is no text")),
    }
}

#[cold]
pub(super) fn wrong(at: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("\"{at}\" is not a path of JSON")).hint(
        "paths are like $.a.b[0], $.\"a b\", $[#-1] or /a/b/0, and $.a[*].b or $..b where a list may be the result",
    )
}

/// What is behind `$`.
fn parsed(mut rest: &str) -> Option<Vec<String>> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('[') {
            let (inside, behind) = behind.split_once(']')?;
            let number = inside.trim().trim_start_matches('#');
            steps.push(number.parse::<i64>().ok()?.to_string());
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix(".\"") {
            let (key, behind) = behind.split_once('"')?;
            steps.push(key.to_owned());
            rest = behind;
        } else {
            let behind = rest.strip_prefix('.')?;
            let end = behind.find(['.', '[']).unwrap_or(behind.len());
            if end == 0 || &behind[..end] == "*" {
                return None;
            }
            steps.push(behind[..end].to_owned());
            rest = &behind[end..];
        }
    }
    Some(steps)
}
