//! Values of options by name, as SQL gives them: texts, and lists and structs as JSON.

use std::str::FromStr;

use base::{Error, Result, SqlState};
use types::SqlType;
use types::ops::json::scan::{content, items as items_of, members};
use types::ops::json::unescaped;

use crate::input::Compression;

/// The error for a value that the option does not take.
#[cold]
pub fn bad(name: &str, value: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid value for option \"{name}\": \"{value}\""))
}

/// The error for an option that nobody knows.
#[cold]
pub fn unknown(name: &str, known: &[&str]) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, format!("option \"{name}\" not recognized"))
        .hint(format!("options are {}", known.join(", ")))
}

/// A switch.
pub fn flag(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" | "yes" => Ok(true),
        "false" | "off" | "0" | "no" => Ok(false),
        _ => Err(bad(name, value)),
    }
}

/// A character of one byte.
pub fn byte(name: &str, value: &str) -> Result<u8> {
    match value.as_bytes() {
        [b] if *b != b'\n' && *b != b'\r' => Ok(*b),
        b"\\t" => Ok(b'\t'),
        _ => Err(bad(name, value).hint("it must be a single one-byte character")),
    }
}

/// How a file is compressed; none: as its name says.
pub fn compression(name: &str, value: &str) -> Result<Option<Compression>> {
    match value.to_ascii_lowercase().as_str() {
        "none" | "uncompressed" => Ok(Some(Compression::None)),
        "gzip" | "gz" => Ok(Some(Compression::Gzip)),
        "zstd" | "zst" => Ok(Some(Compression::Zstd)),
        "auto" | "auto_detect" => Ok(None),
        _ => Err(bad(name, value).hint("compressions are none, gzip and zstd")),
    }
}

/// The items of a list: of JSON, or in parentheses, brackets or braces, or in none.
pub fn items(value: &str) -> Vec<String> {
    let value = value.trim();
    if value.starts_with("[\"") {
        return items_of(value).map(|item| unescaped(content(item)).unwrap_or_default().into_owned()).collect();
    }
    let inner = [('(', ')'), ('[', ']'), ('{', '}')]
        .iter()
        .find_map(|&(open, close)| value.strip_prefix(open)?.strip_suffix(close))
        .unwrap_or(value);
    let (mut out, mut item, mut depth, mut quote) = (Vec::new(), String::new(), 0, None);
    for c in inner.chars() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            (',', None) if depth == 0 => out.push(std::mem::take(&mut item).trim().to_owned()),
            _ => {
                depth += i32::from(c == '(') - i32::from(c == ')');
                item.push(c);
            }
        }
    }
    out.push(item.trim().to_owned());
    out.retain(|i| !i.is_empty());
    out
}

/// A type by one of SQL's names.
pub fn sql_type(text: &str) -> Result<SqlType> {
    let text = text.trim();
    if let Ok(printed) = SqlType::from_str(text) {
        return Ok(printed);
    }
    let text = text.to_ascii_lowercase();
    Ok(match text.as_str() {
        "int" | "int4" | "integer" => SqlType::Integer,
        "int8" | "long" => SqlType::BigInt,
        "int2" => SqlType::SmallInt,
        "bool" => SqlType::Bool,
        "varchar" | "string" => SqlType::Text,
        "float8" | "double precision" => SqlType::Double,
        "float4" | "float" => SqlType::Real,
        "decimal" | "numeric" => SqlType::decimal(18, 3),
        "datetime" => SqlType::Timestamp,
        _ => SqlType::from_str(&text.replace("numeric", "decimal").replace(", ", ",").replace(" (", "("))?,
    })
}

/// Names and texts: a struct as JSON.
pub fn pairs(name: &str, value: &str) -> Result<Vec<(String, String)>> {
    if !value.starts_with('{') {
        return Err(bad(name, value).hint("it is a struct: {key: 'value'}"));
    }
    let pair = |(key, of)| Ok((unescaped(key)?.into_owned(), unescaped(content(of))?.into_owned()));
    members(value).map(pair).collect()
}

/// Columns and their types: a struct of texts as JSON, or `a bigint, b text`.
pub fn typed_columns(name: &str, value: &str) -> Result<Vec<(String, SqlType)>> {
    if value.starts_with("{\"") {
        let typed = |(column, of)| Ok((unescaped(column)?.into_owned(), sql_type(&unescaped(content(of))?)?));
        return members(value).map(typed).collect();
    }
    let typed = |item: &String| {
        let (column, of) = item.split_once([':', ' ', '=']).ok_or_else(|| bad(name, item))?;
        Ok((column.trim().to_owned(), sql_type(of.trim_start_matches([':', ' ', '=']))?))
    };
    items(value).iter().map(typed).collect()
}
