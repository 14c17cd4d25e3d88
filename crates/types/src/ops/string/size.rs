//! Sizes for people, as PostgreSQL writes and reads them: `10 kB`.

use base::{Error, Result, SqlState};

use crate::ops::{cast, decimal};
use crate::{SqlType, Value};

/// A unit, from how many of it on the next one is used, and how many bits smaller the first unit is. All but bytes are kept with one
/// bit more, which rounds.
const UNITS: [(&str, i128, u32); 6] = [
    ("bytes", 10 * 1024, 0),
    ("kB", 20 * 1024 - 1, 10),
    ("MB", 20 * 1024 - 1, 20),
    ("GB", 20 * 1024 - 1, 30),
    ("TB", 20 * 1024 - 1, 40),
    ("PB", 20 * 1024 - 1, 50),
];

/// A number of bytes with a unit.
///
/// ```
/// use types::ops::string::pretty_size;
/// assert_eq!(pretty_size(10239, 0), "10239 bytes");
/// assert_eq!(pretty_size(10240, 0), "10 kB");
/// ```
pub fn pretty_size(size: i128, scale: u8) -> String {
    let whole = size / 10i128.pow(scale.into());
    let (mut rest, mut bits) = (whole, 0);
    for (at, (name, limit, _)) in UNITS.iter().enumerate() {
        let is_last = at + 1 == UNITS.len();
        if is_last || rest.unsigned_abs() < limit.unsigned_abs() {
            if at == 0 {
                let mut text = String::new();
                decimal::write(&mut text, size, scale);
                return format!("{text} {name}");
            }
            // Half of it, away from zero.
            let rounded = (rest + rest.signum()) / 2;
            return format!("{rounded} {name}");
        }
        let next = UNITS[at + 1].2 - 1;
        rest /= 1 << (next - bits);
        bits = next;
    }
    whole.to_string()
}

/// The bytes of a size: a number, and a unit if it is not in bytes.
pub fn bytes_of_size(text: &str) -> Result<i64> {
    let wrong = || Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid size: \"{text}\""));
    let size = text.trim_matches(|c: char| c.is_ascii_whitespace());
    let end = number_length(size).ok_or_else(wrong)?;
    let (number, unit) = size.split_at(end);
    let unit = unit.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "bytes" => 1,
        "kb" => 1i128 << 10,
        "mb" => 1 << 20,
        "gb" => 1 << 30,
        "tb" => 1 << 40,
        "pb" => 1 << 50,
        _ => {
            return Err(wrong().hint("Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\"."));
        }
    };
    const SCALE: u8 = 10;
    let out_of_range = || crate::ops::error::out_of_range("bigint");
    let number = cast::cast_value(&Value::str(number), SqlType::Text, SqlType::decimal(38, SCALE))?;
    let Value::Decimal(number) = number else { return Err(wrong()) };
    let product = number.checked_mul(factor).ok_or_else(out_of_range)?;
    let whole = decimal::rescale(product, SCALE, 0)?;
    i64::try_from(whole).map_err(|_| out_of_range())
}

/// How long the number at the beginning is; none if there is none.
fn number_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let before = digits(at);
    at += before;
    let mut behind = 0;
    if bytes.get(at) == Some(&b'.') {
        behind = digits(at + 1);
        at += 1 + behind;
    }
    if before + behind == 0 {
        return None;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
        let exponent = digits(at + 1 + sign);
        at += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    Some(at)
}
