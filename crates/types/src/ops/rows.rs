//! The text of a row, which is PostgreSQL's: `(1,"two words",)`. Its form in memory is that of a struct.

use base::{Error, Result, SqlState};

use super::cast::{cast_value, write_value};
use super::structure;
use crate::structs::StructType;
use crate::{SqlType, Value};

/// Appends the text of a row.
pub fn write(out: &mut String, form: &str, of: &StructType) {
    out.push('(');
    for (at, (value, field)) in structure::values(form, of).zip(&of.fields).enumerate() {
        if at > 0 {
            out.push(',');
        }
        match value {
            Value::Null => {}
            Value::Bool(value) => out.push(if value { 't' } else { 'f' }),
            value => {
                let start = out.len();
                write_value(out, &value, field.sql_type);
                if needs_quotes(&out[start..]) {
                    let text = out.split_off(start);
                    write_quoted(out, &text);
                }
            }
        }
    }
    out.push(')');
}

fn needs_quotes(text: &str) -> bool {
    text.is_empty() || text.contains(|c: char| matches!(c, '"' | '\\' | '(' | ')' | ',') || c.is_whitespace())
}

fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push(c);
        }
        out.push(c);
    }
    out.push('"');
}

/// Reads the text of a row.
pub fn parse(text: &str, of: &StructType) -> Result<Value> {
    let malformed = |detail: &str| {
        let message = format!("malformed record literal: \"{text}\"");
        Error::new(SqlState::INVALID_TEXT, message).detail(detail.to_owned())
    };
    let inner = text.trim().strip_prefix('(').ok_or_else(|| malformed("Missing left parenthesis."))?;
    let (mut values, mut part, mut has_text, mut is_quoted) = (Vec::new(), String::new(), false, false);
    let mut chars = inner.chars().peekable();
    let is_closed = loop {
        let Some(c) = chars.next() else { break false };
        match c {
            '\\' => match chars.next() {
                Some(escaped) => {
                    part.push(escaped);
                    has_text = true;
                }
                None => return Err(malformed("Unexpected end of input.")),
            },
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                part.push('"');
            }
            '"' => (is_quoted, has_text) = (!is_quoted, true),
            ',' | ')' if !is_quoted => {
                let text = std::mem::take(&mut part);
                values.push((std::mem::take(&mut has_text)).then_some(text));
                if c == ')' {
                    break true;
                }
            }
            c => {
                part.push(c);
                has_text = true;
            }
        }
    };
    if !is_closed {
        return Err(malformed("Unexpected end of input."));
    }
    if chars.any(|c| !c.is_whitespace()) {
        return Err(malformed("Junk after right parenthesis."));
    }
    if of.fields.is_empty() && values == [None] {
        values.clear();
    }
    match values.len().cmp(&of.fields.len()) {
        std::cmp::Ordering::Less => return Err(malformed("Too few columns.")),
        std::cmp::Ordering::Greater => return Err(malformed("Too many columns.")),
        std::cmp::Ordering::Equal => {}
    }
    let read = values.into_iter().zip(&of.fields).map(|(text, field)| match text {
        None => Ok(Value::Null),
        Some(text) => cast_value(&Value::str(text), SqlType::Text, field.sql_type),
    });
    structure::encode(&read.collect::<Result<Vec<_>>>()?, of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StructField;

    fn row_type() -> SqlType {
        let field = |name: &str, sql_type| StructField { name: name.to_owned(), sql_type };
        SqlType::row_of(vec![field("a", SqlType::Integer), field("b", SqlType::Text), field("c", SqlType::Bool)])
    }

    #[test]
    fn texts_are_read_as_they_are_written() {
        let of = row_type().structure().unwrap();
        for (text, again) in [
            ("(1,two,t)", "(1,two,t)"),
            ("(,,)", "(,,)"),
            ("( 5 ,\"\",f)", "(5,\"\",f)"),
            (r#"(1,"a ""b"" \\ c, (d)",)"#, r#"(1,"a ""b"" \\ c, (d)",)"#),
            (" (1,x y,true) ", "(1,\"x y\",t)"),
        ] {
            let Value::Str(form) = parse(text, of).unwrap() else { panic!("{text}") };
            let mut out = String::new();
            write(&mut out, &form, of);
            assert_eq!(out, again);
        }
    }

    #[test]
    fn what_is_no_row_is_22p02() {
        let of = row_type().structure().unwrap();
        for text in ["", "1,2,3", "(1,2", "(1,2)", "(1,2,t,4)", "(x,2,t)", "(1,2,t) z", "(1,\"2,t)"] {
            assert_eq!(parse(text, of).unwrap_err().state(), SqlState::INVALID_TEXT, "{text}");
        }
    }
}
