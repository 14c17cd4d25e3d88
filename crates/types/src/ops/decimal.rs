//! Decimals: `i128` integers with the scale kept in the type. Every overflow is an error, never a wrong number.
//!
//! Products and quotients pass through 256 bits (`wide`) only when 128 do not suffice; rounding is half away from
//! zero, as in PostgreSQL's `numeric`.

mod convert;
mod text;
mod wide;

pub use convert::{Units, from_f32, from_f64, from_f64_of_many, to_f32, to_f64, to_i64};
pub use text::{Exact, format, parse, parse_exact, write};
use wide::U256;

use base::{Error, Result, SqlState};

use crate::ops::error::division_by_zero;

/// Powers of ten up to 10^38, the largest below 2^127.
pub const POWERS: [i128; 39] = {
    let mut powers = [1i128; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// 22003: more digits than any decimal has.
#[cold]
pub fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "value overflows numeric format")
}

/// 22003: more digits than the type `decimal(precision, scale)` has.
#[cold]
pub fn field_overflow(precision: u8, scale: u8) -> Error {
    let bound = match precision - scale {
        0 => "1".to_owned(),
        n => format!("10^{n}"),
    };
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "numeric field overflow").detail(format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less than {bound}."
    ))
}

/// Whether the scaled value has at most `precision` digits.
#[inline]
pub fn fits(value: i128, precision: u8) -> bool {
    value.unsigned_abs() < POWERS[usize::from(precision)].unsigned_abs()
}

/// The value if it has at most 38 digits.
#[inline]
fn checked(value: Option<i128>) -> Result<i128> {
    value.filter(|v| fits(*v, 38)).ok_or_else(overflow)
}

/// The value, whose scale is `scale`, if it has at most `precision` digits.
#[inline]
pub fn check_field(value: i128, precision: u8, scale: u8) -> Result<i128> {
    if fits(value, precision) { Ok(value) } else { Err(field_overflow(precision, scale)) }
}

/// `a + b` of one scale.
#[inline]
pub fn add(a: i128, b: i128) -> Result<i128> {
    checked(a.checked_add(b))
}
/// `a - b` of one scale.
#[inline]
pub fn sub(a: i128, b: i128) -> Result<i128> {
    checked(a.checked_sub(b))
}
/// `a * b`; the scale of the result is the sum of the scales.
#[inline]
pub fn mul(a: i128, b: i128) -> Result<i128> {
    checked(a.checked_mul(b))
}

/// `a * b` with the last `drop` digits rounded away, so that the scale of the result is `sa + sb - drop`.
pub fn mul_round(a: i128, b: i128, drop: u8) -> Result<i128> {
    if let Some(product) = a.checked_mul(b) {
        return checked(Some(shift_right(product, u32::from(drop))));
    }
    let product = U256::product(a.unsigned_abs(), b.unsigned_abs());
    let divisor = POWERS.get(usize::from(drop)).ok_or_else(overflow)?;
    signed(product.div_round(divisor.unsigned_abs()), (a < 0) != (b < 0))
}

/// `a / b` to `result_scale` digits after the point, rounded half away from zero; `sa` and `sb` are the scales.
///
/// With `e = result_scale + sb - sa` this is `a * 10^e / b`. If the numerator needs more than 256 bits then the result
/// needs more than 128, because `|b| < 2^128`.
pub fn div(a: i128, sa: u8, b: i128, sb: u8, result_scale: u8) -> Result<i128> {
    if b == 0 {
        return Err(division_by_zero());
    }
    let exponent = i32::from(result_scale) + i32::from(sb) - i32::from(sa);
    let negative = (a < 0) != (b < 0);
    if exponent < 0 {
        let (a, b) = (a.unsigned_abs(), b.unsigned_abs());
        let power = POWERS.get(exponent.unsigned_abs() as usize).map(|p| p.unsigned_abs());
        // A divisor of 2^128 or more is over twice the dividend: the quotient rounds to 0.
        let Some(divisor) = power.and_then(|p| p.checked_mul(b)) else { return Ok(0) };
        return signed(Some(div_round_u128(a, divisor)), negative);
    }
    let power = POWERS.get(exponent as usize);
    if let Some(numerator) = power.and_then(|p| a.checked_mul(*p)) {
        return signed(Some(div_round_u128(numerator.unsigned_abs(), b.unsigned_abs())), negative);
    }
    if a == 0 {
        return Ok(0);
    }
    let first = exponent.min(38) as usize;
    let mut numerator = U256::product(a.unsigned_abs(), POWERS[first].unsigned_abs());
    if exponent > 38 {
        let rest = POWERS.get(exponent as usize - 38).ok_or_else(overflow)?;
        numerator = numerator.checked_mul(rest.unsigned_abs()).ok_or_else(overflow)?;
    }
    signed(numerator.div_round(b.unsigned_abs()), negative)
}

/// `sum / count` for `avg`: a sum of scale `scale` over a positive count, to `result_scale` digits.
#[inline]
pub fn avg(sum: i128, scale: u8, count: i64, result_scale: u8) -> Result<i128> {
    let power = result_scale.checked_sub(scale).and_then(|digits| POWERS.get(usize::from(digits)));
    let power = power.and_then(|&power| i64::try_from(power).ok());
    // Of usual sums the product has at most 126 bits, so fewer than 38 digits: nothing can overflow.
    if let (Ok(sum), Some(power), 1..) = (i64::try_from(sum), power, count) {
        let numerator = i128::from(sum) * i128::from(power);
        let magnitude = div_round_u128(numerator.unsigned_abs(), count as u128) as i128;
        return Ok(if sum < 0 { -magnitude } else { magnitude });
    }
    div(sum, scale, count.into(), 0, result_scale)
}

/// `a % b` of one scale, with the sign of `a`.
#[inline]
pub fn rem(a: i128, b: i128) -> Result<i128> {
    if b == 0 {
        return Err(division_by_zero());
    }
    Ok(a.wrapping_rem(b))
}

/// The value of scale `from` at scale `to`: exact if `to >= from`, else rounded half away from zero.
#[inline]
pub fn rescale(value: i128, from: u8, to: u8) -> Result<i128> {
    if to >= from {
        if value == 0 {
            return Ok(0);
        }
        checked(POWERS.get(usize::from(to - from)).and_then(|p| value.checked_mul(*p)))
    } else {
        Ok(shift_right(value, u32::from(from - to)))
    }
}

/// The value of scale `from` as a `decimal(precision, scale)`: rounded, and 22003 if it has too many digits.
#[inline]
pub fn rescale_to(value: i128, from: u8, precision: u8, scale: u8) -> Result<i128> {
    let rescaled = rescale(value, from, scale).map_err(|_| field_overflow(precision, scale))?;
    check_field(rescaled, precision, scale)
}

/// `value / 10^digits`, rounded half away from zero.
#[inline]
pub fn shift_right(value: i128, digits: u32) -> i128 {
    let Some(&power) = POWERS.get(digits as usize) else { return 0 };
    let (quotient, remainder) = if let (Ok(v), Ok(p)) = (i64::try_from(value), i64::try_from(power)) {
        (i128::from(v / p), i128::from(v % p))
    } else {
        (value / power, value % power)
    };
    if digits > 0 && remainder.unsigned_abs() >= power.unsigned_abs() / 2 {
        quotient + value.signum()
    } else {
        quotient
    }
}

/// How [`round_digits`] and its siblings treat the digits that go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounding {
    /// To the nearest, half away from zero: `round`.
    HalfAway,
    /// Towards zero: `trunc`.
    Zero,
    /// Up: `ceil`.
    Up,
    /// Down: `floor`.
    Down,
}

/// Rounds a value of scale `scale` to `digits` digits after the point (before it, if negative); the scale stays.
pub fn round_digits(value: i128, scale: u8, digits: i32, rounding: Rounding) -> Result<i128> {
    let drop = i64::from(scale) - i64::from(digits);
    if drop <= 0 || value == 0 {
        return Ok(value);
    }
    let Some(&unit) = POWERS.get(drop as usize) else {
        return match rounding {
            Rounding::Up if value > 0 => Err(overflow()),
            Rounding::Down if value < 0 => Err(overflow()),
            _ => Ok(0),
        };
    };
    let (quotient, remainder) = (value / unit, value % unit);
    let quotient = match rounding {
        Rounding::HalfAway => shift_right(value, drop as u32),
        Rounding::Zero => quotient,
        Rounding::Up => quotient + i128::from(remainder > 0),
        Rounding::Down => quotient - i128::from(remainder < 0),
    };
    checked(quotient.checked_mul(unit))
}

/// `round(value, digits)`; the scale stays.
pub fn round(value: i128, scale: u8, digits: i32) -> Result<i128> {
    round_digits(value, scale, digits, Rounding::HalfAway)
}
/// `trunc(value, digits)`; the scale stays.
pub fn trunc(value: i128, scale: u8, digits: i32) -> Result<i128> {
    round_digits(value, scale, digits, Rounding::Zero)
}
/// `ceil(value)` with scale 0.
pub fn ceil(value: i128, scale: u8) -> i128 {
    let unit = POWERS[usize::from(scale)];
    value / unit + i128::from(value % unit > 0)
}
/// `floor(value)` with scale 0.
pub fn floor(value: i128, scale: u8) -> i128 {
    value.div_euclid(POWERS[usize::from(scale)])
}

#[inline]
fn div_round_u128(a: u128, b: u128) -> u128 {
    let (quotient, remainder) = match (u64::try_from(a), u64::try_from(b)) {
        (Ok(a), Ok(b)) => (u128::from(a / b), u128::from(a % b)),
        // One division of 128 bits: they are calls.
        _ => {
            let quotient = a / b;
            (quotient, a - quotient * b)
        }
    };
    quotient + u128::from(remainder >= b - remainder)
}

#[inline]
fn signed(magnitude: Option<u128>, negative: bool) -> Result<i128> {
    let magnitude = checked(magnitude.and_then(|m| i128::try_from(m).ok()))?;
    Ok(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests;
