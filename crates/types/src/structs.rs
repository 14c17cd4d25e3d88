//! Types of structs: fields with names.

use std::fmt;

use crate::SqlType;

/// A field.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StructField {
    /// As it is declared.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
}

/// The fields of a struct, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StructType {
    /// Names are different, whatever their case, but for those of a row.
    pub fields: Vec<StructField>,
    /// Whether it is a row, as PostgreSQL's composite types are: its text is that of its values alone.
    pub is_row: bool,
}

impl StructType {
    /// The number of the field of that name: in this case, or else in any.
    pub fn position(&self, name: &str) -> Option<usize> {
        let exact = self.fields.iter().position(|field| field.name == name);
        exact.or_else(|| self.fields.iter().position(|field| field.name.to_lowercase() == name.to_lowercase()))
    }
}

impl fmt::Display for StructType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_row { "composite(" } else { "struct(" })?;
        for (at, field) in self.fields.iter().enumerate() {
            write!(f, "{}{} {}", if at > 0 { ", " } else { "" }, name(&field.name), field.sql_type)?;
        }
        f.write_str(")")
    }
}

/// The name of a field, quoted unless it is plain.
pub(crate) fn name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match !name.is_empty() && name.chars().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// Keys and values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MapType {
    /// The type of keys, none of which is NULL or there twice.
    pub key: SqlType,
    /// The type of values.
    pub value: SqlType,
    /// The struct of both that an entry is.
    pub entry: SqlType,
}

/// Reads what is printed between the parentheses of a map.
pub(crate) fn parse_map(text: &str) -> Option<SqlType> {
    let parts = parts(text);
    let [key, value] = parts.as_slice() else { return None };
    Some(SqlType::map_of(key.parse().ok()?, value.parse().ok()?))
}

/// Reads what is printed between the parentheses.
pub(crate) fn parse(text: &str, is_row: bool) -> Option<SqlType> {
    let fields = parts(text).into_iter().map(field).collect::<Option<_>>()?;
    Some(if is_row { SqlType::row_of(fields) } else { SqlType::struct_of(fields) })
}

/// What stands between commas that are in no quotes or parentheses.
fn parts(text: &str) -> Vec<&str> {
    let (mut fields, mut depth, mut is_quoted, mut start) = (Vec::new(), 0, false, 0);
    for (at, c) in text.char_indices().chain([(text.len(), ',')]) {
        match c {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth -= 1,
            ',' if !is_quoted && depth == 0 => {
                fields.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    fields
}

fn field(text: &str) -> Option<StructField> {
    let (name, sql_type) = match text.strip_prefix('"') {
        None => text.split_once(' ').map(|(name, rest)| (name.to_owned(), rest))?,
        Some(quoted) => {
            let bytes = quoted.as_bytes();
            let mut end = 0;
            while bytes.get(end).is_some_and(|b| *b != b'"') || bytes.get(end + 1) == Some(&b'"') {
                end += if bytes[end] == b'"' { 2 } else { 1 };
            }
            (quoted.get(..end)?.replace("\"\"", "\""), quoted.get(end + 1..)?)
        }
    };
    Some(StructField { name, sql_type: sql_type.trim().parse().ok()? })
}
