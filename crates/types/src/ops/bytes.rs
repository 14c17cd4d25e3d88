//! Strings of bytes (`bytea`; decision 48). A byte is the character of its number, so that a value is a text like any other: its
//! length is the number of its characters, its parts are parts of the text, and its order is that of its bytes. Whoever takes it
//! for a text is wrong, but safe.

mod encoding;

pub use encoding::{convert_from, convert_to, decode, encode};

use base::{Error, Result, SqlState};

use crate::ops::string::check_length;

/// The value of those bytes.
pub fn form(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

/// The bytes of a value.
pub fn bytes(form: &str) -> Vec<u8> {
    form.chars().map(|character| character as u8).collect()
}

/// 22023.
#[cold]
fn misused(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// A value from `\x` and hexadecimal digits, or from a text with escapes.
///
/// ```
/// use types::ops::bytes::{bytes, parse};
/// assert_eq!(bytes(&parse("\\x01 fF").unwrap()), [1, 255]);
/// assert_eq!(bytes(&parse("a\\000\\\\").unwrap()), [b'a', 0, b'\\']);
/// ```
pub fn parse(text: &str) -> Result<String> {
    match text.strip_prefix("\\x") {
        // Each byte for itself, as DuckDB writes them.
        Some(digits) if digits.contains("\\x") => match escaped(text) {
            Some(bytes) => Ok(bytes),
            None => hexadecimal(digits),
        },
        Some(digits) => hexadecimal(digits),
        None => escaped(text).ok_or_else(|| Error::new(SqlState::INVALID_TEXT, "invalid input syntax for type bytea")),
    }
}

/// Pairs of digits, with blanks between them.
fn hexadecimal(digits: &str) -> Result<String> {
    let mut out = String::with_capacity(digits.len());
    let mut rest = digits.chars();
    let digit = |c: char| c.to_digit(16).ok_or_else(|| misused(format!("invalid hexadecimal digit: \"{c}\"")));
    while let Some(first) = rest.next() {
        if matches!(first, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = digit(first)?;
        let low = rest.next().ok_or_else(|| misused("invalid hexadecimal data: odd number of digits"))?;
        out.push(char::from((high << 4 | digit(low)?) as u8));
    }
    check_length(out.len())?;
    Ok(out)
}

/// A text whose backslashes stand before another one, three octal digits, or an x and two hexadecimal ones; none if they do not.
fn escaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let all = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = all.get(at) {
        let (meant, length) = match (byte, all.get(at + 1..at + 4)) {
            (b'\\', _) if all.get(at + 1) == Some(&b'\\') => (b'\\', 2),
            (b'\\', Some(&[a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'])) => {
                ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), 4)
            }
            (b'\\', Some(&[b'x', high, low])) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                ((digit(high)? << 4 | digit(low)?) as u8, 4)
            }
            (b'\\', _) => return None,
            (byte, _) => (byte, 1),
        };
        out.push(char::from(meant));
        at += length;
    }
    Some(out)
}

/// Appends a value as it is printed: `\x` and hexadecimal digits.
pub fn write(out: &mut String, form: &str) {
    out.push_str("\\x");
    out.reserve(2 * form.len());
    form.chars().for_each(|character| push_digits(out, character as u8, b"0123456789abcdef"));
}

/// Appends the two digits of a byte, of these sixteen, which are ASCII.
#[inline]
pub(crate) fn push_digits(out: &mut String, byte: u8, digits: &[u8; 16]) {
    out.push(char::from(digits[usize::from(byte >> 4)]));
    out.push(char::from(digits[usize::from(byte & 15)]));
}

/// The byte of a number, from 0.
pub fn get_byte(form: &str, at: i64) -> Result<i64> {
    let found = usize::try_from(at).ok().and_then(|at| form.chars().nth(at));
    found.map(|c| i64::from(c as u8)).ok_or_else(|| no_index(at, form.chars().count() as i64))
}

/// With another byte at a number.
pub fn set_byte(form: &str, at: i64, byte: i64) -> Result<String> {
    get_byte(form, at)?;
    Ok(form.chars().enumerate().map(|(n, c)| if n as i64 == at { char::from(byte as u8) } else { c }).collect())
}

/// The bit of a number, from the lowest of the first byte on.
pub fn get_bit(form: &str, at: i64) -> Result<i64> {
    let count = form.chars().count() as i64;
    match (0..count * 8).contains(&at) {
        true => Ok(get_byte(form, at / 8)? >> (at % 8) & 1),
        false => Err(no_index(at, count * 8)),
    }
}

/// With another bit at a number.
pub fn set_bit(form: &str, at: i64, bit: i64) -> Result<String> {
    get_bit(form, at)?;
    if !(0..=1).contains(&bit) {
        return Err(misused("new bit must be 0 or 1"));
    }
    let byte = get_byte(form, at / 8)? & !(1 << (at % 8)) | bit << (at % 8);
    set_byte(form, at / 8, byte)
}

#[cold]
fn no_index(at: i64, count: i64) -> Error {
    Error::new(SqlState("2202E"), format!("index {at} out of valid range, 0..{}", count - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_forms_is_that_of_bytes() {
        let mut all: Vec<Vec<u8>> = (0..=255).map(|b| vec![b]).collect();
        all.extend([vec![], vec![127, 255], vec![128, 0], vec![0, 0], vec![255, 255]]);
        for a in &all {
            assert_eq!(&bytes(&form(a)), a);
            for b in &all {
                assert_eq!(a.cmp(b), form(a).as_bytes().cmp(form(b).as_bytes()));
            }
        }
    }

    #[test]
    fn texts_that_are_no_bytes_are_refused() {
        for (text, message) in [
            ("\\x1", "22023: invalid hexadecimal data: odd number of digits"),
            ("\\x1g", "22023: invalid hexadecimal digit: \"g\""),
            ("\\", "22P02: invalid input syntax for type bytea"),
            ("a\\09", "22P02: invalid input syntax for type bytea"),
            ("a\\400", "22P02: invalid input syntax for type bytea"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), message, "{text}");
        }
        assert_eq!(bytes(&parse("ä\\377").unwrap()), [0xc3, 0xa4, 0xff]);
    }

    #[test]
    fn bits_are_counted_from_the_lowest() {
        let value = form(&[0b1010_0000, 1]);
        let bits: String = (0..16).map(|at| get_bit(&value, at).unwrap().to_string()).collect();
        assert_eq!(bits, "0000010110000000");
        assert_eq!(bytes(&set_bit(&value, 0, 1).unwrap()), [0b1010_0001, 1]);
        assert_eq!(bytes(&set_byte(&value, 1, 300).unwrap()), [0b1010_0000, 44]);
        assert!(get_bit(&value, 16).is_err() && get_byte(&value, -1).is_err() && set_bit(&value, 0, 2).is_err());
    }
}
