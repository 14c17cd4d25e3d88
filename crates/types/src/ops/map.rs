//! Maps: arrays of entries, structs of a key and a value (decision 54). Keys are not NULL, and none is there twice; entries have the
//! order in which they were written, which decides about equality, as in DuckDB.

use std::collections::HashSet;

use base::{Error, Result, SqlState};

use super::array::{self, Elements};
use super::structure;
use crate::structs::MapType;
use crate::{SqlType, Value};

/// The map of these keys and values.
pub fn encode(entries: &[(Value, Value)], of: &MapType) -> Result<Value> {
    let fields = of.entry.structure().ok_or_else(|| Error::internal("entries that are no structs"))?;
    let structs = entries.iter().map(|(key, value)| structure::encode([key, value], fields));
    let form = array::encode(&structs.collect::<Result<Vec<_>>>()?, of.entry)?;
    if let Value::Str(form) = &form {
        let mut seen = HashSet::new();
        for entry in Entries::new(form, of) {
            if array::is_null(entry.key) {
                return Err(Error::new(SqlState("22004"), "map keys must not be NULL"));
            }
            if !seen.insert(entry.key) {
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "map keys must be unique"));
            }
        }
    }
    Ok(form)
}

/// An entry: bytes of the key and of the value, each the array of it alone.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Of the key.
    pub key: &'a [u8],
    /// Of the value.
    pub value: &'a [u8],
}

/// The entries of a map in their order.
#[derive(Debug)]
pub struct Entries<'a> {
    structs: Elements<'a>,
    key: SqlType,
}

impl<'a> Entries<'a> {
    /// Those of a map in its form.
    pub fn new(form: &'a str, of: &MapType) -> Self {
        Self { structs: Elements::new(form, of.entry), key: of.key }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let raw = self.structs.raw();
        let inner = raw.get(1..raw.len().checked_sub(1)?)?;
        let length = Elements::from_byte(std::str::from_utf8(inner).ok()?, self.key, 0).raw().len();
        let (key, value) = inner.split_at(length);
        Some(Entry { key, value })
    }
}

/// An array of the elements that these bytes are.
fn array_of<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Result<Value> {
    let form = String::from_utf8(parts.flatten().copied().collect());
    form.map(Value::str).map_err(|_| Error::internal("an array whose form is no text"))
}

/// The keys as an array.
pub fn keys(form: &str, of: &MapType) -> Result<Value> {
    array_of(Entries::new(form, of).map(|entry| entry.key))
}

/// The values as an array.
pub fn values(form: &str, of: &MapType) -> Result<Value> {
    array_of(Entries::new(form, of).map(|entry| entry.value))
}

/// An array of the value of a key, the array of which alone is given; an empty one if there is none.
pub fn extract(form: &str, of: &MapType, key: &str) -> Result<Value> {
    array_of(Entries::new(form, of).filter(|entry| entry.key == key.as_bytes()).map(|entry| entry.value))
}

/// The entries with keys and values.
pub fn decoded(form: &str, of: &MapType) -> Vec<(Value, Value)> {
    let value = |bytes: &[u8], sql_type| {
        Elements::new(std::str::from_utf8(bytes).unwrap_or_default(), sql_type).next().unwrap_or(Value::Null)
    };
    Entries::new(form, of).map(|entry| (value(entry.key, of.key), value(entry.value, of.value))).collect()
}

/// The entries of both; of a key that both have, the value of the second.
pub fn concat(a: &str, b: &str, of: &MapType) -> Result<Value> {
    let mut all = decoded(a, of);
    for (key, value) in decoded(b, of) {
        match all.iter_mut().find(|(known, _)| *known == key) {
            Some(known) => known.1 = value,
            None => all.push((key, value)),
        }
    }
    encode(&all, of)
}

/// Appends the text form, which is DuckDB's: `{k=1, j=2}`.
pub fn write(out: &mut String, form: &str, of: &MapType) {
    out.push('{');
    for (at, (key, value)) in decoded(form, of).iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        structure::write_part(out, key, of.key);
        out.push('=');
        structure::write_part(out, value, of.value);
    }
    out.push('}');
}

/// Reads the text form.
pub fn parse(text: &str, of: &MapType) -> Result<Value> {
    let malformed = || Error::new(SqlState::INVALID_TEXT, format!("malformed map literal: \"{text}\""));
    let inner = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or_else(malformed)?;
    let mut entries = Vec::new();
    for [key, value] in structure::pairs(inner, '=').ok_or_else(malformed)? {
        entries.push((structure::part(key, of.key)?, structure::part(value, of.value)?));
    }
    encode(&entries, of)
}
