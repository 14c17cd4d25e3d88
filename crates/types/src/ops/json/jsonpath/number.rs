//! Arithmetic of numbers in paths: exact as far as 38 digits go, with as many digits of quotients as PostgreSQL gives.

use base::{Error, Result, SqlState};

use super::Arithmetic;
use crate::ops::{decimal, error};

/// A number and its scale.
type Exact = (i128, u8);

const OVERFLOW: &str = "value overflows numeric format";

fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, OVERFLOW)
}

/// The number that a text of JSON's is.
pub fn exact(text: &str) -> Result<Exact> {
    let (digits, negative) = text.strip_prefix('-').map_or((text, false), |digits| (digits, true));
    let (before, behind) = digits.split_once('.').unwrap_or((digits, ""));
    let mut value = 0i128;
    for digit in before.bytes().chain(behind.bytes()) {
        value = value.checked_mul(10).and_then(|v| v.checked_add(i128::from(digit - b'0'))).ok_or_else(overflow)?;
    }
    let scale = u8::try_from(behind.len()).map_err(|_| overflow())?;
    Ok((if negative { -value } else { value }, scale))
}

pub fn text((value, scale): Exact) -> String {
    decimal::format(value, scale)
}

fn raise(value: i128, by: u8) -> Result<i128> {
    10i128.checked_pow(by.into()).and_then(|factor| value.checked_mul(factor)).ok_or_else(overflow)
}

pub fn compute(op: Arithmetic, a: &str, b: &str) -> Result<String> {
    let ((a, a_scale), (b, b_scale)) = (exact(a)?, exact(b)?);
    let scale = a_scale.max(b_scale);
    let common = || Ok::<_, Error>((raise(a, scale - a_scale)?, raise(b, scale - b_scale)?));
    Ok(text(match op {
        Arithmetic::Add => {
            let (a, b) = common()?;
            (a.checked_add(b).ok_or_else(overflow)?, scale)
        }
        Arithmetic::Subtract => {
            let (a, b) = common()?;
            (a.checked_sub(b).ok_or_else(overflow)?, scale)
        }
        Arithmetic::Multiply => (a.checked_mul(b).ok_or_else(overflow)?, a_scale + b_scale),
        Arithmetic::Divide | Arithmetic::Modulo if b == 0 => return Err(error::division_by_zero()),
        Arithmetic::Modulo => {
            let (a, b) = common()?;
            (a % b, scale)
        }
        Arithmetic::Divide => {
            let scale = quotient_scale((a, a_scale), (b, b_scale));
            // (a / 10^sa) / (b / 10^sb) * 10^scale, rounded.
            let (mut above, mut below) = (a, b);
            let shift = i32::from(scale) + i32::from(b_scale) - i32::from(a_scale);
            match u8::try_from(shift) {
                Ok(shift) => above = raise(above, shift)?,
                Err(_) => below = raise(below, u8::try_from(-shift).map_err(|_| overflow())?)?,
            }
            let (quotient, rest) = (above / below, above % below);
            let away = if (above < 0) == (below < 0) { 1 } else { -1 };
            let rounds = rest.unsigned_abs() >= below.unsigned_abs() - rest.unsigned_abs();
            (if rounds { quotient + away } else { quotient }, scale)
        }
    }))
}

/// PostgreSQL's rule: 16 digits that mean something, and as many behind the point as the operands have.
fn quotient_scale(a: Exact, b: Exact) -> u8 {
    let ((a_weight, a_first), (b_weight, b_first)) = (leading(a), leading(b));
    let weight = a_weight - b_weight - i32::from(a_first <= b_first);
    let digits = (16 - 4 * weight).max(a.1.into()).max(b.1.into()).max(0);
    digits.min(37) as u8
}

/// The first of the groups of four digits, and how many groups are behind it and before the point.
fn leading((value, scale): Exact) -> (i32, u128) {
    let one = 10u128.pow(scale.min(38).into());
    let (mut whole, mut rest) = (value.unsigned_abs() / one, value.unsigned_abs() % one);
    let mut weight = 0;
    if whole > 0 {
        while whole >= 10_000 {
            (whole, weight) = (whole / 10_000, weight + 1);
        }
        return (weight, whole);
    }
    while rest > 0 && whole == 0 {
        let Some(next) = rest.checked_mul(10_000) else { break };
        (whole, rest, weight) = (next / one, next % one, weight - 1);
    }
    (weight, whole)
}

/// Rounded down, or up.
pub fn rounded(text_of: &str, up: bool) -> Result<String> {
    let (value, scale) = exact(text_of)?;
    let one = raise(1, scale)?;
    let floor = value.div_euclid(one);
    let whole = floor + i128::from(up && value.rem_euclid(one) != 0);
    Ok(text((whole, 0)))
}
