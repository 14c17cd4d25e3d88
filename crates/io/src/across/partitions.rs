//! Folders whose names are values of columns, as Hive has them: `year=2024/month=7/data.parquet`.

use std::path::{Component, Path, PathBuf};

use base::{Error, Result, SqlState};
use types::ops::cast::{cast_value, parse};
use types::{SqlType, Value};

use super::labelled::Label;
use crate::source::Field;

/// The folder of rows whose value is NULL.
pub const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// The columns that the folders of all files name, in the order of their names. Where it is not `wanted`, there are none unless
/// all files name the same.
pub fn labels(files: &[PathBuf], wanted: bool, types: &[(String, SqlType)], is_text: bool) -> Result<Vec<Label>> {
    let all: Vec<Vec<(String, Value)>> = files.iter().map(|file| values_of(file)).collect();
    let Some((first, others)) = all.split_first() else { return Ok(Vec::new()) };
    let keys = |of: &[(String, Value)]| of.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    if let Some(other) = others.iter().position(|other| keys(other) != keys(first)) {
        if !wanted {
            return Ok(Vec::new());
        }
        let (a, b) = (files[0].display(), files[other + 1].display());
        let message = format!("the folders of \"{a}\" and \"{b}\" name different partition columns");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).hint("hive_partitioning = false reads them"));
    }
    let label = |at: usize| {
        let name = &first[at].0;
        let texts = || all.iter().map(|of| &of[at].1);
        let given = types.iter().find(|(of, _)| of == name).map(|(_, sql_type)| *sql_type);
        let sql_type = match given {
            Some(sql_type) => sql_type,
            None if is_text => SqlType::Text,
            None => type_of(texts()),
        };
        let values = texts().map(|text| cast_value(text, SqlType::Text, sql_type)).collect::<Result<_>>()?;
        Ok(Label { field: Field::new(name, sql_type), values })
    };
    (0..first.len()).map(label).collect()
}

/// The first of bigint, date and text that has all of the values.
fn type_of<'a>(texts: impl Iterator<Item = &'a Value> + Clone) -> SqlType {
    let all = |fits: &dyn Fn(&[u8]) -> bool| {
        let mut texts = texts.clone();
        texts.all(|text| if let Value::Str(text) = text { fits(text.as_bytes()) } else { true })
    };
    // Zeros in front are lost in a number.
    let is_number = |text: &[u8]| parse::i64(text).is_ok_and(|n| n.to_string().as_bytes() == text);
    match () {
        () if texts.clone().all(Value::is_null) => SqlType::Text,
        () if all(&is_number) => SqlType::BigInt,
        () if all(&|text| text.len() == 10 && parse::date(text).is_ok()) => SqlType::Date,
        () => SqlType::Text,
    }
}

/// What the folders of a file say, by keys in their order. Of two with one key the inner counts.
fn values_of(file: &Path) -> Vec<(String, Value)> {
    let mut values: Vec<(String, Value)> = Vec::new();
    let folders = file.parent().into_iter().flat_map(Path::components);
    for folder in folders {
        let Component::Normal(folder) = folder else { continue };
        let folder = folder.to_string_lossy();
        let Some((key, value)) = folder.split_once('=').filter(|(key, _)| !key.is_empty()) else { continue };
        let value = if value == NULL_PARTITION { Value::Null } else { Value::str(decoded(value)) };
        let key = decoded(key);
        values.retain(|(other, _)| *other != key);
        values.push((key, value));
    }
    values.sort_by(|a, b| a.0.cmp(&b.0));
    values
}

/// A text as the name of a folder: what systems of files take for something else is `%` and its code.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    // `.` and `..` are no names.
    if out.chars().all(|c| c == '.') { out.replace('.', "%2E") } else { out }
}

/// The text of such a name; as it is where that is none.
fn decoded(name: &str) -> String {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let code = if byte == b'%' { behind.get(..2) } else { None };
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                out.push(code);
                rest = &behind[2..];
            }
            None => {
                out.push(byte);
                rest = behind;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_columns() {
        let files = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let show = |paths: &[&str]| {
            let labels = labels(&files(paths), false, &[], false).unwrap();
            labels.iter().map(|l| format!("{} {} {:?}", l.field.name, l.field.sql_type, l.values)).collect::<Vec<_>>()
        };
        assert_eq!(show(&["d/b=x/a=1/f", "d/b=y/a=2/f"]).len(), 2);
        assert!(show(&["d/b=x/a=1/f", "d/b=y/a=2/f"])[0].starts_with("a bigint"));
        assert!(show(&["d=01/f", "d=2/f"])[0].starts_with("d text"));
        assert!(show(&["d=2024-01-01/f", &format!("d={NULL_PARTITION}/f")])[0].starts_with("d date"));
        assert!(show(&["d/f", "d=2/f"]).is_empty());
        assert!(labels(&files(&["d/f", "d=2/f"]), true, &[], false).is_err());
        for text in ["", "a b", "ä/..%=", ".", "x"] {
            assert_eq!(decoded(&encoded(text)), text);
        }
    }
}
