//! `@>` and `?`.

use base::Result;

use super::scan::{Kind, items, kind, members, trimmed};
use super::text::unescaped;
use super::tree::{Tree, content};

/// Whether the first value contains the second: objects their members, arrays each element in any order; an array also a value that
/// is one of its elements.
pub fn contains(json: &str, part: &str) -> Result<bool> {
    let (whole, part) = (Tree::normal(json)?, Tree::normal(part)?);
    Ok(match (&whole, &part) {
        (Tree::Array(items), part) if !part.is_container() => items.iter().any(|item| item.equals(part)),
        (whole, part) => holds(whole, part),
    })
}

fn holds(whole: &Tree<'_>, part: &Tree<'_>) -> bool {
    match (whole, part) {
        (Tree::Object(_), Tree::Object(members)) => {
            members.iter().all(|(key, value)| whole.member(key).is_some_and(|found| holds(found, value)))
        }
        (Tree::Array(items), Tree::Array(parts)) => parts.iter().all(|part| items.iter().any(|item| holds(item, part))),
        (whole, part) => whole.equals(part),
    }
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
