//! Numbers as text.

use num_bigint::BigInt;

use super::{Finite, MAX_SCALE, MAX_WHOLE, Numeric, decode, is_negative};
use crate::ops::Bad;
use crate::ops::number;

/// Reads a number with all of its digits: `1.50` has scale 2, `1.5e3` scale 0; `NaN`, `Infinity`, `inf`, with signs.
pub fn parse(text: &[u8]) -> Result<Numeric, Bad> {
    let text = number::trim(text);
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let is = |name: &str| rest.eq_ignore_ascii_case(name.as_bytes());
    if is("infinity") || is("inf") {
        return Ok(if negative { Numeric::NegativeInfinity } else { Numeric::Infinity });
    }
    if is("nan") && rest.len() == text.len() {
        return Ok(Numeric::NaN);
    }
    let end = rest.iter().position(|b| !matches!(b, b'0'..=b'9' | b'.')).unwrap_or(rest.len());
    let (mantissa, tail) = rest.split_at(end);
    let mut parts = mantissa.splitn(2, |b| *b == b'.');
    let (whole, fraction) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if whole.len() + fraction.len() == 0 || fraction.contains(&b'.') {
        return Err(Bad::Syntax);
    }
    let exponent = match tail {
        [] => 0,
        [b'e' | b'E', exponent @ ..] if exponent.first().is_some_and(|b| *b > b' ') => {
            match number::parse_i64(exponent) {
                Ok(exponent) if exponent.unsigned_abs() <= MAX_WHOLE + u64::from(MAX_SCALE) => exponent,
                Err(Bad::Syntax) => return Err(Bad::Syntax),
                _ => return Err(Bad::Range),
            }
        }
        _ => return Err(Bad::Syntax),
    };
    let digits: Vec<u8> = whole.iter().chain(fraction).copied().collect();
    // Without the zeros before it, so that what is too long is known before it is read.
    let first = digits.iter().position(|b| *b != b'0').unwrap_or(digits.len());
    let scale = fraction.len() as i64 - exponent;
    if (digits.len() - first) as i64 - scale > MAX_WHOLE as i64 && first < digits.len() {
        return Err(Bad::Range);
    }
    let mut value = BigInt::parse_bytes(&digits, 10).ok_or(Bad::Syntax)?;
    if negative {
        value = -value;
    }
    let n = match u32::try_from(scale) {
        Ok(scale) => Finite { digits: value, scale }.at_most(MAX_SCALE),
        Err(_) => Finite { digits: value * &*super::power_of_ten(scale.unsigned_abs() as u32), scale: 0 },
    };
    Ok(Numeric::Finite(n))
}

impl Finite {
    /// Rounded where there are more digits behind the point.
    pub(super) fn at_most(self, scale: u32) -> Self {
        if self.scale > scale { self.rescaled(scale) } else { self }
    }
}

/// Appends what is printed of a number.
pub fn write(out: &mut String, value: &Numeric) {
    let n = match value {
        Numeric::NaN => return out.push_str("NaN"),
        Numeric::Infinity => return out.push_str("Infinity"),
        Numeric::NegativeInfinity => return out.push_str("-Infinity"),
        Numeric::Finite(n) => n,
    };
    if is_negative(&n.digits) {
        out.push('-');
    }
    let digits = n.digits.magnitude().to_str_radix(10);
    let scale = n.scale as usize;
    let whole = digits.len().saturating_sub(scale);
    out.push_str(if whole == 0 { "0" } else { &digits[..whole] });
    if scale > 0 {
        out.push('.');
        out.extend(std::iter::repeat_n('0', scale - (digits.len() - whole)));
        out.push_str(&digits[whole..]);
    }
}

/// What is printed of a form: with the digits of the number, and no fewer behind the point than the type has.
pub fn format(form: &str, scale: i16) -> String {
    let mut out = String::new();
    write_form(&mut out, form, scale);
    out
}

/// Appends what is printed of a form.
pub fn write_form(out: &mut String, form: &str, scale: i16) {
    let value = decode(form);
    let least = u32::try_from(scale).unwrap_or(0);
    match value {
        Numeric::Finite(n) if n.scale < least => write(out, &Numeric::Finite(n.rescaled(least))),
        value => write(out, &value),
    }
}
