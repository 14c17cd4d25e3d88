//! Decimals as text.

use super::{POWERS, fits};
use crate::ops::Bad;
use crate::ops::number;

/// A decimal text taken apart: `digits` (with one point possibly among them) times 10^`exponent`.
struct Parts<'a> {
    negative: bool,
    digits: &'a [u8],
    /// Number of digits before the point, after the exponent is applied.
    whole: i64,
}

fn take_apart(text: &[u8]) -> Result<Parts<'_>, Bad> {
    let text = number::trim(text);
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let end = rest.iter().position(|b| !matches!(b, b'0'..=b'9' | b'.')).unwrap_or(rest.len());
    let (digits, tail) = rest.split_at(end);
    let point = digits.iter().position(|b| *b == b'.');
    let count = digits.len() - usize::from(point.is_some());
    if count == 0 || point.is_some_and(|p| digits[p + 1..].contains(&b'.')) {
        return Err(Bad::Syntax);
    }
    let exponent = match tail {
        [] => 0,
        [b'e' | b'E', exponent @ ..] if exponent.first().is_some_and(|b| *b > b' ') => {
            match number::parse_i64(exponent) {
                Ok(e) if (-100_000..=100_000).contains(&e) => e,
                Err(Bad::Syntax) => return Err(Bad::Syntax),
                // PostgreSQL refuses such exponents whatever the digits are.
                _ => return Err(Bad::Range),
            }
        }
        _ => return Err(Bad::Syntax),
    };
    Ok(Parts { negative, digits, whole: point.unwrap_or(count) as i64 + exponent })
}

impl Parts<'_> {
    /// The value at a scale, rounded half away from zero.
    fn at_scale(&self, scale: u8) -> Result<i128, Bad> {
        let keep = self.whole + i64::from(scale);
        let mut digits = self.digits.iter().filter(|b| **b != b'.').map(|b| u128::from(b - b'0'));
        let mut value = 0u128;
        let mut taken = 0;
        while taken < keep {
            let Some(digit) = digits.next() else { break };
            value = value.checked_mul(10).and_then(|v| v.checked_add(digit)).ok_or(Bad::Range)?;
            taken += 1;
        }
        if keep < 0 {
            return Ok(0);
        }
        if taken < keep && value != 0 {
            let power = usize::try_from(keep - taken).ok().and_then(|n| POWERS.get(n)).ok_or(Bad::Range)?;
            value = value.checked_mul(power.unsigned_abs()).ok_or(Bad::Range)?;
        }
        value = value.checked_add(u128::from(digits.next().is_some_and(|d| d >= 5))).ok_or(Bad::Range)?;
        let value = i128::try_from(value).map_err(|_| Bad::Range)?;
        Ok(if self.negative { -value } else { value })
    }
}

/// Reads a `decimal(precision, scale)`, rounded half away from zero; exponents are allowed.
#[inline]
pub fn parse(text: &[u8], precision: u8, scale: u8) -> Result<i128, Bad> {
    if let Some(value) = parse_plain(text, scale) {
        return if fits(value.into(), precision) { Ok(value.into()) } else { Err(Bad::Range) };
    }
    let value = take_apart(text)?.at_scale(scale)?;
    if fits(value, precision) { Ok(value) } else { Err(Bad::Range) }
}

/// The usual field, in one pass: an optional `-`, few digits, at most `scale` of them after the point.
#[inline]
fn parse_plain(text: &[u8], scale: u8) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if digits.len() > 17 || scale > 17 {
        return None;
    }
    let mut value = 0u64;
    let mut fraction = None;
    for (i, &b) in digits.iter().enumerate() {
        let digit = b.wrapping_sub(b'0');
        if digit <= 9 {
            value = value * 10 + u64::from(digit);
        } else if b == b'.' && fraction.is_none() {
            fraction = Some(digits.len() - i - 1);
        } else {
            return None;
        }
    }
    let missing = usize::from(scale).checked_sub(fraction.unwrap_or(0))?;
    if digits.is_empty() || fraction.is_some() && digits.len() == 1 {
        return None;
    }
    let value = i64::try_from(value).ok()?.checked_mul(POWERS[missing] as i64)?;
    Some(if negative { -value } else { value })
}

/// A decimal as it is written: its digits and its scale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exact {
    /// The value times 10^`scale`.
    pub digits: i128,
    /// Digits after the point, at most 38.
    pub scale: u8,
    /// Digits that a type must have to hold it: at least 1 and at least `scale`.
    pub precision: u8,
}

/// Reads a decimal with all of its digits (`1.50` has scale 2, `1.5e3` scale 0). What does not fit 38 digits is
/// [`Bad::Range`], unless only zeros behind the point go.
pub fn parse_exact(text: &[u8]) -> Result<Exact, Bad> {
    let parts = take_apart(text)?;
    let digits = || parts.digits.iter().filter(|b| **b != b'.');
    let written = (digits().count() as i64 - parts.whole).max(0);
    let needed = written - digits().rev().take_while(|b| **b == b'0').count() as i64;
    for scale in (needed.max(0)..=written.min(38)).rev() {
        let scale = scale as u8;
        if let Ok(digits) = parts.at_scale(scale)
            && fits(digits, 38)
        {
            let used = POWERS.iter().position(|p| digits.unsigned_abs() < p.unsigned_abs()).unwrap_or(38) as u8;
            return Ok(Exact { digits, scale, precision: used.max(scale).max(1) });
        }
    }
    Err(Bad::Range)
}

/// Appends a decimal of the given scale, with exactly that many digits after the point.
pub fn write(out: &mut String, value: i128, scale: u8) {
    let mut buffer = [b'0'; 80];
    let mut at = buffer.len();
    let scale = usize::from(scale);
    let mut rest = value.unsigned_abs();
    // One 128-bit division for 19 digits; most values need none.
    while rest > u128::from(u64::MAX) {
        const STEP: u128 = 10_000_000_000_000_000_000;
        let mut group = (rest % STEP) as u64;
        rest /= STEP;
        for _ in 0..19 {
            at -= 1;
            buffer[at] = b'0' + (group % 10) as u8;
            group /= 10;
        }
    }
    let mut rest = rest as u64;
    while rest > 0 {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // The buffer is all zeros before `at`: leading zeros are there already.
    at = at.min(buffer.len() - scale - 1);
    if value < 0 {
        out.push('-');
    }
    let text = std::str::from_utf8(&buffer[at..]).expect("digits are ASCII");
    let (whole, fraction) = text.split_at(text.len() - scale);
    out.push_str(whole);
    if scale > 0 {
        out.push('.');
        out.push_str(fraction);
    }
}

/// A decimal of the given scale as text.
///
/// ```
/// assert_eq!(types::ops::decimal::format(-1205, 3), "-1.205");
/// ```
pub fn format(value: i128, scale: u8) -> String {
    let mut out = String::new();
    write(&mut out, value, scale);
    out
}
