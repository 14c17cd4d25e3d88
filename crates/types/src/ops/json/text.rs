//! Strings within JSON: written with escapes, read without.

use std::borrow::Cow;

use base::{Error, Result, SqlState};

use super::error::invalid;

/// The text as a string of JSON.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_quoted(&mut out, text);
    out
}

/// Appends the text as a string of JSON.
pub fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            ..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[written..at]);
        match escape {
            "" => out.push_str(&format!("\\u{byte:04x}")),
            escape => out.push_str(escape),
        }
        written = at + 1;
    }
    out.push_str(&text[written..]);
    out.push('"');
}

/// What the content of a string means, escapes included.
pub fn unescaped(content: &str) -> Result<Cow<'_, str>> {
    if !content.contains('\\') {
        return Ok(Cow::Borrowed(content));
    }
    let mut out = String::with_capacity(content.len());
    unescape(content, &mut out)?;
    Ok(Cow::Owned(out))
}

/// Appends what the content of a string means.
pub(super) fn unescape(content: &str, out: &mut String) -> Result<()> {
    let mut rest = content;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let mut length = 2;
        out.push(match rest.as_bytes().get(at + 1) {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let (character, read) = unicode(&rest[at..])?;
                length = read;
                character
            }
            Some(&escaped) if escaped.is_ascii() => escaped.into(),
            _ => return Err(invalid("The input string ended unexpectedly.")),
        });
        rest = rest.get(at + length..).unwrap_or_default();
    }
    out.push_str(rest);
    Ok(())
}

/// The number behind `\u`.
fn hexadecimal(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

/// The character that a text begins with as `\u...`, or as two of them, and their bytes.
fn unicode(text: &str) -> Result<(char, usize)> {
    let first = hexadecimal(text).ok_or_else(|| invalid("\"\\u\" must be followed by four hexadecimal digits."))?;
    let low_missing = || invalid("Unicode low surrogate must follow a high surrogate.");
    match first {
        0 => Err(Error::new(SqlState("22P05"), "unsupported Unicode escape sequence")
            .detail("\\u0000 cannot be converted to text.")),
        0xd800..0xdc00 => match text.get(6..).and_then(hexadecimal) {
            Some(low @ 0xdc00..0xe000) => {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
                Ok((char::from_u32(code).ok_or_else(low_missing)?, 12))
            }
            Some(0xd800..0xdc00) => Err(invalid("Unicode high surrogate must not follow a high surrogate.")),
            _ => Err(low_missing()),
        },
        _ => Ok((char::from_u32(first).ok_or_else(low_missing)?, 6)),
    }
}
