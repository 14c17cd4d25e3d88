//! Texts in other forms: percent encoding, digits of any base, sizes for people, parts of paths.

use std::fmt::Write;

use base::{Error, Result, SqlState};

use crate::ops::bytes::push_digits;

/// `url_encode(text)`: every byte but letters, digits and `-._~` as `%` and two hexadecimal digits.
pub fn url_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 2);
    for &byte in text.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte.into()),
            _ => _ = write!(out, "%{byte:02X}"),
        }
    }
    out
}

/// `url_decode(text)`: the reverse; what is no such pair of digits stays, 22021 if the result is not UTF-8.
pub fn url_decode(text: &str) -> Result<String> {
    let digit = |at: usize| text.as_bytes().get(at).and_then(|&b| char::from(b).to_digit(16));
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    let message = "invalid byte sequence for encoding \"UTF8\"";
    String::from_utf8(out).map_err(|_| Error::new(SqlState("22021"), message))
}

/// `to_base(n, radix, digits)`: digits and upper-case letters, zeros in front up to so many digits. 22023.
pub fn to_base(number: i64, radix: i64, digits: i64) -> Result<String> {
    let wrong = |what: &str| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, what));
    let (Ok(mut rest), 2..=36, 0..=64) = (u64::try_from(number), radix, digits) else {
        return wrong("to_base takes a number from 0 on, a radix from 2 to 36, and 0 to 64 digits");
    };
    let mut out = Vec::new();
    while rest > 0 || out.len() < digits.max(1) as usize {
        out.extend(char::from_digit((rest % radix as u64) as u32, radix as u32).map(|c| c.to_ascii_uppercase()));
        rest /= radix as u64;
    }
    Ok(out.into_iter().rev().collect())
}

/// `bin(text)`: eight digits a byte.
pub fn to_binary(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:08b}");
        out
    })
}

/// `hex(text)`: two digits a byte.
pub fn to_upper_hex(text: &str) -> String {
    let mut out = String::with_capacity(2 * text.len());
    text.bytes().for_each(|byte| push_digits(&mut out, byte, b"0123456789ABCDEF"));
    out
}

/// `format_bytes(n)`: a size for people, in steps of 1024.
pub fn format_bytes(bytes: i64) -> String {
    sized(bytes, 1024, [" bytes", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"])
}

/// `formatReadableDecimalSize(n)`: likewise, in steps of 1000.
pub fn format_decimal_bytes(bytes: i64) -> String {
    sized(bytes, 1000, [" bytes", " kB", " MB", " GB", " TB", " PB", " EB"])
}

fn sized(bytes: i64, step: u64, units: [&str; 7]) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    let mut rest = bytes.unsigned_abs();
    if rest < step {
        let unit = if rest == 1 { " byte" } else { units[0] };
        return format!("{sign}{rest}{unit}");
    }
    let (mut unit, mut behind) = (0, 0);
    while rest >= step && unit + 1 < units.len() {
        behind = rest % step;
        rest /= step;
        unit += 1;
    }
    format!("{sign}{rest}.{}{}", behind * 10 / step, units[unit])
}

/// The bytes of a size as [`format_bytes`] and [`format_decimal_bytes`] write it; 22023.
pub fn bytes_of_formatted(text: &str) -> Result<i64> {
    let wrong = || Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("\"{text}\" is not a size, such as 1.5 KiB"));
    let size = text.trim();
    let end = size.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(size.len());
    let (number, unit) = size.split_at(end);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let step = |base: f64, power| base.powi(power);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" | "byte" | "bytes" => 1.0,
        "k" | "kb" => step(1e3, 1),
        "m" | "mb" => step(1e3, 2),
        "g" | "gb" => step(1e3, 3),
        "t" | "tb" => step(1e3, 4),
        "kib" => step(1024.0, 1),
        "mib" => step(1024.0, 2),
        "gib" => step(1024.0, 3),
        "tib" => step(1024.0, 4),
        _ => return Err(wrong()),
    };
    let bytes = number * factor;
    if bytes < 9.2e18 { Ok(bytes as i64) } else { Err(wrong()) }
}

/// `unbin(text)`: the bytes whose binary digits a text has; the first may have fewer than eight. 22023.
pub fn bytes_of_binary(text: &str) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 8 + 1);
    let digits = text.as_bytes();
    let (first, rest) = digits.split_at(digits.len() % 8);
    for byte in std::iter::once(first).filter(|first| !first.is_empty()).chain(rest.chunks(8)) {
        out.push(byte.iter().try_fold(0u8, |bits, digit| match digit {
            b'0' | b'1' => Ok(bits << 1 | (digit - b'0')),
            _ => Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "binary digits are 0 and 1")),
        })?);
    }
    Ok(out)
}

/// `regexp_escape(text)`: a backslash before everything that is neither a letter, a digit nor `_`.
pub fn regexp_escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// What parts of paths stand between, by its name; both kinds if that is no other one.
fn separators(name: &str) -> &'static [char] {
    match name {
        "forward_slash" | "system" => &['/'],
        "backslash" => &['\\'],
        _ => &['/', '\\'],
    }
}

/// `parse_dirname(path, separator)`: the first folder of a path.
pub fn first_folder<'t>(path: &'t str, separator: &str) -> &'t str {
    match path.find(separators(separator)) {
        Some(0) => &path[..1],
        Some(end) => &path[..end],
        None => "",
    }
}

/// `parse_dirpath(path, separator)`: what is before the last separator.
pub fn folder<'t>(path: &'t str, separator: &str) -> &'t str {
    path.rfind(separators(separator)).map_or("", |end| &path[..end])
}

/// `parse_filename(path, trimmed, separator)`: what is behind the last separator, without its extension if that is asked for.
pub fn file_name<'t>(path: &'t str, without_extension: bool, separator: &str) -> &'t str {
    let name = &path[path.rfind(separators(separator)).map_or(0, |at| at + 1)..];
    match name.rfind('.').filter(|&dot| without_extension && dot > 0) {
        Some(dot) => &name[..dot],
        None => name,
    }
}

/// `parse_path(path, separator)`: the names in a path, and what it begins with if that is a separator.
pub fn parts_of_path<'t>(path: &'t str, separator: &str) -> impl Iterator<Item = &'t str> {
    let separators = separators(separator);
    let root = path.get(..1).filter(|first| first.starts_with(separators));
    root.into_iter().chain(path.split(separators).filter(|part| !part.is_empty()))
}

/// `unicode(text)`: the number of the first character, -1 if there is none.
pub fn first_code_point(text: &str) -> i64 {
    text.chars().next().map_or(-1, |c| i64::from(u32::from(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_from_percent_encoding() {
        let text = "a b/ü%~";
        assert_eq!(url_encode(text), "a%20b%2F%C3%BC%25~");
        assert_eq!(url_decode(&url_encode(text)).as_deref(), Ok(text));
        assert_eq!(url_decode("100%").as_deref(), Ok("100%"));
        assert!(url_decode("%FF").is_err());
    }

    #[test]
    fn numbers_have_digits_of_any_base() {
        assert_eq!(to_base(42, 16, 5).as_deref(), Ok("0002A"));
        assert_eq!(to_base(0, 2, 0).as_deref(), Ok("0"));
        assert_eq!(to_base(i64::MAX, 36, 0).as_deref(), Ok("1Y2P0IJ32E8E7"));
        assert!(to_base(-1, 10, 0).is_err() && to_base(1, 1, 0).is_err());
        assert_eq!(format_bytes(16_000), "15.6 KiB");
        assert_eq!(format_bytes(i64::MIN), "-8.0 EiB");
    }
}
