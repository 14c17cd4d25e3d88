//! PostgreSQL's text form: `{1,NULL,"a b"}`, `{{1,2},{3,4}}`. DuckDB's, `[1, NULL, 'a b']`, is read, too.

use base::{Error, Result, SqlState};

use super::{Elements, encode};
use crate::ops::cast::{TooLong, assign_value, cast_value, write_value};
use crate::ops::structure;
use crate::{SqlType, Value};

/// Appends the text form of an array.
pub fn write(out: &mut String, array: &str, element: SqlType) {
    out.push('{');
    for (at, value) in Elements::new(array, element).enumerate() {
        if at > 0 {
            out.push(',');
        }
        match &value {
            Value::Null => out.push_str("NULL"),
            Value::Bool(b) => out.push(if *b { 't' } else { 'f' }),
            _ => {
                let start = out.len();
                write_value(out, &value, element);
                if !element.is_array() && needs_quotes(&out[start..]) {
                    quote(out, start);
                }
            }
        }
    }
    out.push('}');
}

fn needs_quotes(text: &str) -> bool {
    let special = |b: u8| matches!(b, b'{' | b'}' | b',' | b'"' | b'\\') || is_space(b);
    text.is_empty() || text.eq_ignore_ascii_case("null") || text.bytes().any(special)
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Puts what stands from `start` on in quotes.
fn quote(out: &mut String, start: usize) {
    let text = out.split_off(start);
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

/// Reads the text form of an array.
pub fn parse(text: &str, element: SqlType, too_long: TooLong) -> Result<Value> {
    if let Some(elements) = structure::listed(text) {
        return listed(&elements, element, too_long);
    }
    let mut reader = Reader { text, at: 0, too_long };
    reader.skip_spaces();
    let value = reader.array(element)?;
    reader.skip_spaces();
    if reader.at < text.len() {
        return Err(reader.malformed("Junk after closing right brace."));
    }
    Ok(value)
}

/// The array of elements as DuckDB writes them.
fn listed(elements: &[(String, bool)], element: SqlType, too_long: TooLong) -> Result<Value> {
    let value = |(text, quoted): &(String, bool)| match text {
        text if !quoted && text.eq_ignore_ascii_case("null") => Ok(Value::Null),
        text => {
            let text = Value::str(text.as_str());
            match too_long {
                TooLong::Cut => cast_value(&text, SqlType::Text, element),
                TooLong::Refuse => assign_value(&text, SqlType::Text, element),
            }
        }
    };
    encode(&elements.iter().map(value).collect::<Result<Vec<_>>>()?, element)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    too_long: TooLong,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    #[cold]
    fn malformed(&self, detail: &str) -> Error {
        Error::new(SqlState::INVALID_TEXT, format!("malformed array literal: \"{}\"", self.text)).detail(detail)
    }

    fn array(&mut self, element: SqlType) -> Result<Value> {
        if self.peek() != Some(b'{') {
            let detail = "Array value must start with \"{\" or dimension information.";
            return Err(self.malformed(detail));
        }
        self.at += 1;
        let mut values = Vec::new();
        self.skip_spaces();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return encode(&values, element);
        }
        loop {
            self.skip_spaces();
            values.push(match element.element() {
                Some(inner) if self.peek() == Some(b'{') => self.array(inner)?,
                _ => self.value(element)?,
            });
            self.skip_spaces();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                Some(_) => return Err(self.malformed("Unexpected array element.")),
                None => return Err(self.malformed("Unexpected end of input.")),
            }
        }
        self.at += 1;
        encode(&values, element)
    }

    /// An element that is no array; of a text in quotes, NULL is a text.
    fn value(&mut self, element: SqlType) -> Result<Value> {
        let (mut out, mut kept, mut quoted, mut inside) = (Vec::new(), 0, false, false);
        loop {
            let Some(byte) = self.peek() else { return Err(self.malformed("Unexpected end of input.")) };
            match byte {
                b'"' => {
                    quoted = true;
                    inside = !inside;
                    kept = out.len();
                }
                b'\\' => {
                    self.at += 1;
                    let Some(next) = self.peek() else { return Err(self.malformed("Unexpected end of input.")) };
                    out.push(next);
                    kept = out.len();
                    quoted = true;
                }
                b',' | b'}' if !inside => break,
                b'{' if !inside => return Err(self.malformed("Unexpected \"{\" character.")),
                byte => {
                    out.push(byte);
                    if inside || !is_space(byte) {
                        kept = out.len();
                    }
                }
            }
            self.at += 1;
        }
        out.truncate(kept);
        if !quoted && out.is_empty() {
            let found = if self.peek() == Some(b',') { "\",\"" } else { "\"}\"" };
            return Err(self.malformed(&format!("Unexpected {found} character.")));
        }
        if !quoted && out.eq_ignore_ascii_case(b"null") {
            return Ok(Value::Null);
        }
        let text = String::from_utf8(out).map_err(|_| self.malformed("An element is no text."))?;
        match self.too_long {
            TooLong::Cut => cast_value(&Value::str(text), SqlType::Text, element),
            TooLong::Refuse => assign_value(&Value::str(text), SqlType::Text, element),
        }
    }
}
