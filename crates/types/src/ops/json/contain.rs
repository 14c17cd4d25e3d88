//! `@>` and `?`, by reading: of two `jsonb`, whose keys are written alike, nothing is copied.

use super::error::MAX_DEPTH;
use super::number;
use super::scan::content;
use super::scan::{Kind, items, kind, members, trimmed};
use super::text::unescaped;

/// Whether the first `jsonb` contains the second: objects their members, arrays each element in any order; an array also a value
/// that is one of its elements.
pub fn contains(json: &str, part: &str) -> bool {
    match (kind(json), kind(part)) {
        (Kind::Array, Kind::Object) => false,
        (Kind::Array, Kind::Array) | (Kind::Object, _) => holds(json, part, 0),
        (Kind::Array, _) => items(json).any(|item| equals(item, part)),
        _ => holds(json, part, 0),
    }
}

fn holds(whole: &str, part: &str, depth: usize) -> bool {
    // Nothing that was checked is deeper.
    if depth > MAX_DEPTH {
        return false;
    }
    match (kind(whole), kind(part)) {
        (Kind::Object, Kind::Object) => {
            members(part).all(|(key, value)| member(whole, key).is_some_and(|found| holds(found, value, depth + 1)))
        }
        (Kind::Array, Kind::Array) => items(part).all(|value| items(whole).any(|item| holds(item, value, depth + 1))),
        _ => equals(whole, part),
    }
}

/// Whether two values that are neither objects nor arrays are equal.
fn equals(a: &str, b: &str) -> bool {
    match (kind(a), kind(b)) {
        (Kind::Number, Kind::Number) => number::value(a) == number::value(b),
        (Kind::Object | Kind::Array, _) | (_, Kind::Object | Kind::Array) => false,
        _ => a == b,
    }
}

/// The value of a key as it is written.
fn member<'a>(json: &'a str, key: &str) -> Option<&'a str> {
    let is_plain = |text: &str| !text.contains('\\');
    for (written, value) in members(json) {
        if written == key {
            return Some(value);
        }
        if written.len() > key.len() && is_plain(written) && is_plain(key) {
            return None;
        }
    }
    None
}

/// Whether the text is a key of the object, an element of the array, or the string itself.
pub fn exists(json: &str, text: &str) -> bool {
    let is_text = |written: &str| unescaped(written).is_ok_and(|meant| meant == text);
    let is_string = |value: &str| kind(value) == Kind::String && is_text(content(value));
    let json = trimmed(json);
    match kind(json) {
        Kind::Object => members(json).any(|(key, _)| is_text(key)),
        Kind::Array => items(json).any(is_string),
        _ => is_string(json),
    }
}
