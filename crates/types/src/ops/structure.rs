//! Structs as texts (decision 54): the fields one behind the other, each in the form of an element of an array of its type. So a
//! struct's bytes compare as its fields do, in their order and with NULL above all values, and it is put together as arrays are.

use base::{Error, Result, SqlState};

use super::array::{self, Elements};
use super::cast::{cast_value, write_value};
use crate::structs::{StructField, StructType};
use crate::{SqlType, Value};

/// The struct of those values, as many as it has fields.
pub fn encode<'v>(values: impl IntoIterator<Item = &'v Value>, of: &StructType) -> Result<Value> {
    let mut out = Vec::new();
    for (value, field) in values.into_iter().zip(&of.fields) {
        array::push(&mut out, value, field.sql_type)?;
    }
    let text = String::from_utf8(out).map_err(|_| Error::internal("a struct whose form is no text"))?;
    Ok(Value::str(text))
}

/// The values of a struct.
pub fn values<'a>(form: &'a str, of: &'a StructType) -> impl Iterator<Item = Value> + 'a {
    let mut at = 0;
    of.fields.iter().map(move |field| {
        let mut elements = Elements::from_byte(form, field.sql_type, at);
        let value = elements.clone().next().unwrap_or(Value::Null);
        at += elements.raw().len();
        value
    })
}

/// The byte at which the field of that number begins.
pub fn start(form: &str, of: &StructType, number: usize) -> usize {
    let past = |at, field: &StructField| at + Elements::from_byte(form, field.sql_type, at).raw().len();
    of.fields.iter().take(number).fold(0, past)
}

/// The same, if it is the same of all structs of the type.
pub fn fixed_start(of: &StructType, number: usize) -> Option<usize> {
    of.fields.iter().take(number).map(|field| array::stride(field.sql_type)).sum()
}

/// The value of the field of that number.
pub fn field(form: &str, of: &StructType, number: usize) -> Value {
    let at = start(form, of, number);
    let field = of.fields.get(number).map(|field| Elements::from_byte(form, field.sql_type, at).next());
    field.flatten().unwrap_or(Value::Null)
}

/// Appends the text form, which is DuckDB's: `{'a': 1, 'b': x}`. That of rows is another: [`rows`](super::rows).
pub fn write(out: &mut String, form: &str, of: &StructType) {
    out.push('{');
    for (at, (value, field)) in values(form, of).zip(&of.fields).enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        write_quoted(out, &field.name);
        out.push_str(": ");
        write_part(out, &value, field.sql_type);
    }
    out.push('}');
}

/// Appends a value within a struct or a map.
pub(super) fn write_part(out: &mut String, value: &Value, sql_type: SqlType) {
    match value {
        Value::Null => out.push_str("NULL"),
        Value::Str(_) if !sql_type.is_encoded() && !sql_type.is_json() => {
            let start = out.len();
            write_value(out, value, sql_type);
            if needs_quotes(&out[start..]) {
                let text = out.split_off(start);
                write_quoted(out, &text);
            }
        }
        _ => write_value(out, value, sql_type),
    }
}

/// Reads what [`write_part`] prints.
pub(super) fn part(text: &str, sql_type: SqlType) -> Result<Value> {
    let (value, is_quoted) = match sql_type.is_nested() || sql_type.is_json() {
        true => (text.trim().to_owned(), false),
        false => unquoted(text.trim()),
    };
    match !is_quoted && value.eq_ignore_ascii_case("null") {
        true => Ok(Value::Null),
        false => cast_value(&Value::str(value), SqlType::Text, sql_type),
    }
}

fn needs_quotes(text: &str) -> bool {
    let special = |c: char| matches!(c, ',' | ':' | '{' | '}' | '[' | ']' | '(' | ')' | '=' | '\'' | '"' | '\\');
    let is_padded = text.trim() != text;
    text.is_empty() || is_padded || text.eq_ignore_ascii_case("null") || text.contains(special)
}

fn write_quoted(out: &mut String, text: &str) {
    out.push('\'');
    for c in text.chars() {
        if matches!(c, '\'' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('\'');
}

/// Reads the text form, in which quotes may be missing or double, as JSON has them. Fields that are missing are NULL.
pub fn parse(text: &str, of: &StructType) -> Result<Value> {
    let malformed = |detail: &str| {
        Error::new(SqlState::INVALID_TEXT, format!("malformed struct literal: \"{text}\"")).detail(detail.to_owned())
    };
    let inner = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}'));
    let inner = inner.ok_or_else(|| malformed("A struct is written in braces."))?;
    let mut values = vec![Value::Null; of.fields.len()];
    let colon = || malformed("A field is a name, a colon and a value.");
    for [name, value] in pairs(inner, ':').ok_or_else(colon)? {
        let name = unquoted(name.trim()).0;
        let at = of.position(&name).ok_or_else(|| malformed(&format!("There is no field \"{name}\".")))?;
        let field = &of.fields[at];
        values[at] = part(value, field.sql_type)?;
    }
    encode(&values, of)
}

/// Parts between commas, each in two: before a sign and behind it.
pub(super) fn pairs(text: &str, sign: char) -> Option<Vec<[&str; 2]>> {
    let parts = split(text, ',').into_iter().filter(|part| !part.trim().is_empty());
    parts.map(|part| split(part, sign).splitn_two()).collect()
}

/// The elements of a list that is written in brackets, and whether each stood in quotes; none if it is not.
pub(super) fn listed(text: &str) -> Option<Vec<(String, bool)>> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    if inner.trim().is_empty() {
        return Some(Vec::new());
    }
    Some(split(inner, ',').into_iter().map(|part| unquoted(part.trim())).collect())
}

/// Parts between separators that stand in no quotes, brackets, braces or parentheses.
fn split(text: &str, separator: char) -> Parts<'_> {
    let (mut parts, mut depth, mut quote, mut is_escaped, mut start) = (Vec::new(), 0i32, None, false, 0);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (_, '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '{' | '[' | '(') => depth += 1,
            (None, '}' | ']' | ')') => depth -= 1,
            (None, c) if c == separator && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    Parts { text, parts, start }
}

/// Parts, and where the last one begins.
struct Parts<'a> {
    text: &'a str,
    parts: Vec<&'a str>,
    start: usize,
}

impl<'a> Parts<'a> {
    /// What stands before the first separator and what behind it.
    fn splitn_two(&self) -> Option<[&'a str; 2]> {
        let first = self.parts.first()?;
        Some([first, &self.text[first.len() + 1..]])
    }
}

impl<'a> IntoIterator for Parts<'a> {
    type Item = &'a str;
    type IntoIter = std::vec::IntoIter<&'a str>;

    fn into_iter(mut self) -> Self::IntoIter {
        self.parts.push(&self.text[self.start..]);
        self.parts.into_iter()
    }
}

/// A text without the quotes around it, and whether there were some.
fn unquoted(text: &str) -> (String, bool) {
    let inner = ['\'', '"'].iter().find_map(|&q| text.strip_prefix(q)?.strip_suffix(q));
    let (mut out, mut is_escaped) = (String::new(), false);
    for c in inner.unwrap_or(text).chars() {
        is_escaped = c == '\\' && !is_escaped;
        if !is_escaped {
            out.push(c);
        }
    }
    (out, inner.is_some())
}
