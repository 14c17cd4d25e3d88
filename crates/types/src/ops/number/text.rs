//! Numbers as text: PostgreSQL's shortest round-trip form of floats, and fast readers.

use std::fmt::Write;

use crate::ops::Bad;

/// The bytes without the white space around them.
#[inline]
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    // The usual field has none: decided by its first and last byte.
    match (text.first(), text.last()) {
        (Some(a), Some(b)) if *a > b' ' && *b > b' ' => text,
        _ => {
            let space = |b: &u8| matches!(b, b' ' | b'\t'..=b'\r');
            let Some(start) = text.iter().position(|b| !space(b)) else { return &[] };
            let end = text.iter().rposition(|b| !space(b)).map_or(start, |i| i + 1);
            &text[start..end]
        }
    }
}

/// Reads a `bigint`: optional sign and decimal digits, white space around them.
#[inline]
pub fn parse_i64(text: &[u8]) -> Result<i64, Bad> {
    let text = trim(text);
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() {
        return Err(Bad::Syntax);
    }
    let mut value = 0u64;
    if digits.len() <= 18 {
        for &b in digits {
            let digit = b.wrapping_sub(b'0');
            if digit > 9 {
                return Err(Bad::Syntax);
            }
            value = value * 10 + u64::from(digit);
        }
        let value = value as i64;
        return Ok(if negative { -value } else { value });
    }
    let mut overflow = false;
    for &b in digits {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return Err(Bad::Syntax);
        }
        match value.checked_mul(10).and_then(|v| v.checked_add(digit.into())) {
            Some(next) => value = next,
            None => overflow = true,
        }
    }
    if overflow {
        return Err(Bad::Range);
    }
    if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }.ok_or(Bad::Range)
}

/// Reads an `integer`.
#[inline]
pub fn parse_i32(text: &[u8]) -> Result<i32, Bad> {
    i32::try_from(parse_i64(text)?).map_err(|_| Bad::Range)
}

/// Reads a `smallint`.
#[inline]
pub fn parse_i16(text: &[u8]) -> Result<i16, Bad> {
    i16::try_from(parse_i64(text)?).map_err(|_| Bad::Range)
}

/// Whether a text that reads as zero or infinity really says so: it has a digit other than 0 before the exponent.
fn has_nonzero_digit(text: &str) -> bool {
    text.bytes().take_while(|b| !matches!(b, b'e' | b'E')).any(|b| matches!(b, b'1'..=b'9'))
}

macro_rules! parse_float {
    ($(#[$doc:meta])* $name:ident, $t:ty) => {
        $(#[$doc])*
        pub fn $name(text: &[u8]) -> Result<$t, Bad> {
            let text = std::str::from_utf8(trim(text)).map_err(|_| Bad::Syntax)?;
            let value: $t = text.parse().map_err(|_| Bad::Syntax)?;
            if (value == 0.0 || value.is_infinite()) && has_nonzero_digit(text) {
                return Err(Bad::Range);
            }
            Ok(value)
        }
    };
}
parse_float!(
    /// Reads a `double precision`: decimal or exponent form, `NaN`, `inf`, `Infinity`, in any case.
    parse_f64, f64);
parse_float!(
    /// Reads a `real`, like [`parse_f64`].
    parse_f32, f32);

/// Lays out Rust's shortest digits (`d.ddde±x`) as PostgreSQL does: plain if -4 <= exponent < `limit`.
fn layout(out: &mut String, scientific: &str, limit: i32) {
    let (mantissa, exponent) = scientific.split_once('e').expect("an exponent");
    let exponent: i32 = exponent.parse().expect("an integer exponent");
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    out.push_str(sign);
    let (head, tail) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !(-4..limit).contains(&exponent) {
        out.push_str(mantissa);
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.abs());
    } else if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', (-exponent - 1) as usize));
        out.push_str(head);
        out.push_str(tail);
    } else {
        let whole = exponent as usize;
        out.push_str(head);
        out.push_str(&tail[..whole.min(tail.len())]);
        out.extend(std::iter::repeat_n('0', whole.saturating_sub(tail.len())));
        if tail.len() > whole {
            out.push('.');
            out.push_str(&tail[whole..]);
        }
    }
}

/// A short text on the stack: `{:e}` of a float has at most 24 bytes.
#[derive(Default)]
struct Scratch {
    bytes: [u8; 32],
    length: usize,
}

impl Scratch {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("written as text")
    }
}

impl Write for Scratch {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// The shortest digits of a finite float, `d.ddde±x`.
fn scientific(value: impl std::fmt::LowerExp) -> Scratch {
    let mut scratch = Scratch::default();
    write!(scratch, "{value:e}").expect("at most 24 bytes");
    scratch
}

fn special(value: f64) -> Option<&'static str> {
    Some(match value {
        v if v.is_nan() => "NaN",
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => return None,
    })
}

/// Appends a `double precision` in the shortest form that reads back the same.
pub fn write_f64(out: &mut String, value: f64) {
    match special(value) {
        Some(text) => out.push_str(text),
        None => layout(out, scientific(value).text(), 15),
    }
}

/// Appends a `real` in the shortest form that reads back the same.
pub fn write_f32(out: &mut String, value: f32) {
    match special(value.into()) {
        Some(text) => out.push_str(text),
        None => layout(out, scientific(value).text(), 6),
    }
}

/// A `double precision` in the shortest form that reads back the same.
///
/// ```
/// use types::ops::number::format_f64;
/// assert_eq!([format_f64(1e20), format_f64(0.00001), format_f64(0.1)], ["1e+20", "1e-05", "0.1"]);
/// ```
pub fn format_f64(value: f64) -> String {
    let mut out = String::new();
    write_f64(&mut out, value);
    out
}

/// A `real` in the shortest form that reads back the same.
pub fn format_f32(value: f32) -> String {
    let mut out = String::new();
    write_f32(&mut out, value);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;

    #[test]
    fn floats_print_as_in_postgres() {
        let table: &[(f64, &str)] = &[
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1 + 0.2, "0.30000000000000004"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123456789012345.0, "123456789012345"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (1234567890123456.0, "1.234567890123456e+15"),
            (1e100, "1e+100"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, text) in table {
            assert_eq!(format_f64(*value), *text);
        }
        for (value, text) in [(1e6f32, "1e+06"), (123456.0, "123456"), (0.1, "0.1"), (1234567.0, "1.234567e+06")] {
            assert_eq!(format_f32(value), text);
        }
    }

    #[test]
    fn floats_read_back() {
        let mut random = Random(1);
        for _ in 0..20_000 {
            let value = f64::from_bits(random.bits());
            let back = parse_f64(format_f64(value).as_bytes()).unwrap();
            assert!(back == value || back.is_nan() && value.is_nan(), "{value:e}");
            let value = f32::from_bits(random.bits() as u32);
            let back = parse_f32(format_f32(value).as_bytes()).unwrap();
            assert!(back == value || back.is_nan() && value.is_nan(), "{value:e}");
        }
        assert_eq!(parse_f64(b" 1e3 "), Ok(1000.0));
        assert_eq!(parse_f64(b"-inf"), Ok(f64::NEG_INFINITY));
        assert_eq!((parse_f64(b"1e400"), parse_f64(b"1e-400")), (Err(Bad::Range), Err(Bad::Range)));
        assert_eq!(parse_f64(b"0e-400"), Ok(0.0));
        assert!([&b""[..], b".", b"1x", b"e5", b"\xff"].iter().all(|t| parse_f64(t) == Err(Bad::Syntax)));
    }

    #[test]
    fn integers_read_back() {
        let mut random = Random(2);
        for _ in 0..10_000 {
            let value = random.wide() as i64;
            assert_eq!(parse_i64(value.to_string().as_bytes()), Ok(value));
        }
        assert_eq!(parse_i64(b"-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(parse_i64(b"9223372036854775808"), Err(Bad::Range));
        assert_eq!(parse_i64(b"99999999999999999999999999"), Err(Bad::Range));
        assert_eq!(parse_i64(b"9999999999999999999999999x"), Err(Bad::Syntax));
        assert_eq!((parse_i64(b" +7\n"), parse_i64(b""), parse_i64(b"-")), (Ok(7), Err(Bad::Syntax), Err(Bad::Syntax)));
        assert_eq!((parse_i32(b"2147483648"), parse_i16(b"-32768")), (Err(Bad::Range), Ok(-32768)));
        assert_eq!(parse_i32(b"1 2"), Err(Bad::Syntax));
    }
}
