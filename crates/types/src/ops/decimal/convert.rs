//! Decimals to and from floats and integers.

use std::mem::MaybeUninit;

use base::{Error, Result, SqlState};

use crate::ops::number::many::{self, Common};

use super::{POWERS, field_overflow, fits, text};

/// The powers of ten that are doubles.
const EXACT_TENS: [f64; 23] = {
    let mut tens = [1.0; 23];
    let mut at = 1;
    while at < tens.len() {
        tens[at] = tens[at - 1] * 10.0;
        at += 1;
    }
    tens
};

/// The nearest `double precision`.
pub fn to_f64(value: i128, scale: u8) -> f64 {
    // Both exact in a double: one rounding.
    if let (true, Some(ten)) = (value.unsigned_abs() < 1 << 53, EXACT_TENS.get(usize::from(scale))) {
        return value as i64 as f64 / ten;
    }
    if scale == 0 {
        return value as f64;
    }
    quotient(value, scale).unwrap_or_else(|| text::format(value, scale).parse().expect("decimal digits are a float"))
}

/// The nearest double, where two doubles, one for what the other leaves, tell it for sure.
#[inline]
fn quotient(value: i128, scale: u8) -> Option<f64> {
    // What the error of the second one is less than, relatively.
    const DOUBT: f64 = 1.0 / (1u64 << 48) as f64;
    let ten = *EXACT_TENS.get(usize::from(scale))?;
    let magnitude = value.unsigned_abs();
    let length = u128::BITS - magnitude.leading_zeros();
    if length > 100 {
        return None;
    }
    // The first 53 bits and the rest: conversions of 128 bits take a call.
    let below = length.saturating_sub(f64::MANTISSA_DIGITS);
    let unit = f64::from_bits(u64::from(1023 + below) << 52);
    let high = (magnitude >> below) as u64 as f64 * unit;
    let rest = (magnitude & ((1 << below) - 1)) as u64 as f64;
    let first = high / ten;
    let (product, error) = exact_product(first, ten);
    let left = ((high - product) - error) + rest;
    let second = left / ten;
    let (low, high) = (first + second * (1.0 - DOUBT), first + second * (1.0 + DOUBT));
    (low == high).then(|| if value < 0 { -low } else { low })
}

/// A product, and what it lacks to be exact (Dekker, *A Floating-Point Technique for Extending the Available Precision*, 1971).
#[inline]
fn exact_product(a: f64, b: f64) -> (f64, f64) {
    let halves = |x: f64| {
        let shifted = x * ((1u64 << 27) + 1) as f64;
        let high = shifted - (shifted - x);
        (high, x - high)
    };
    let product = a * b;
    let ((a, of_a), (b, of_b)) = (halves(a), halves(b));
    (product, ((a * b - product) + a * of_b + of_a * b) + of_a * of_b)
}

/// The nearest `real`.
pub fn to_f32(value: i128, scale: u8) -> f32 {
    // Not by way of a double, which would round twice.
    text::format(value, scale).parse().expect("decimal digits are a float")
}

/// The value of a decimal as a `bigint`, rounded half away from zero; none if it does not fit.
#[inline]
pub fn to_i64(value: i128, scale: u8) -> Option<i64> {
    i64::try_from(super::shift_right(value, u32::from(scale))).ok()
}

fn from_digits(digits: String, value: f64, precision: u8, scale: u8) -> Result<i128> {
    if !value.is_finite() {
        let what = if value.is_nan() { "NaN" } else { "infinity" };
        return Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, format!("cannot convert {what} to numeric")));
    }
    text::parse(digits.as_bytes(), precision, scale).map_err(|_| field_overflow(precision, scale))
}

/// A `double precision` as a `decimal(precision, scale)`, through its first 15 significant digits as in PostgreSQL, so
/// that 0.1 + 0.2 becomes 0.3.
pub fn from_f64(value: f64, precision: u8, scale: u8) -> Result<i128> {
    match nearly_exact(value, scale).map(i128::from).or_else(|| by_digits(value, scale)) {
        Some(units) if fits(units, precision) => Ok(units),
        _ => from_many_digits(value, precision, scale),
    }
}

/// [`from_f64`] of many, whose units have 64 bits at most; whether one that matters fails (see [`OfOne`](many::OfOne)).
pub fn from_f64_of_many<T: Units>(
    values: &[f64],
    (precision, scale): (u8, u8),
    only_if: Option<&[u8]>,
    out: &mut [MaybeUninit<T>],
) -> bool {
    let most = POWERS[usize::from(precision)] as f64;
    let cast = ToDecimal { precision, scale, ten: TENS.get(usize::from(scale)).copied(), most: most.min(MOST) };
    many::common(cast, values, only_if, out)
}

/// A cast to a decimal.
#[derive(Clone, Copy)]
struct ToDecimal {
    precision: u8,
    scale: u8,
    /// 10^scale, if that is known.
    ten: Option<f64>,
    /// No units are as many.
    most: f64,
}

/// Integers that decimals are kept in.
pub trait Units: Copy {
    /// The low bits.
    fn of(units: i64) -> Self;
}

macro_rules! units {
    ($($t:ty),*) => { $(
        impl Units for $t {
            #[inline(always)]
            fn of(units: i64) -> Self {
                units as Self
            }
        }
    )* };
}
units!(i16, i32, i64);

impl<T: Units> Common<f64, T> for ToDecimal {
    #[inline(always)]
    fn common<const FUSED: bool>(self, value: f64) -> (T, bool) {
        let (units, is_sure) = units(value, self.ten.unwrap_or(f64::NAN), self.most - 1.0);
        (T::of(units), is_sure)
    }
    fn one(self, value: f64) -> Result<T> {
        from_f64(value, self.precision, self.scale).map(|units| T::of(units as i64))
    }
}

/// Units of values below have some digits more than the 15 that count.
const MOST: f64 = 1e12;
const TENS: [f64; 10] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// The value in units of the scale, where 15 digits and a few more come to the same: not too many digits, and not near the
/// middle between two units.
fn nearly_exact(value: f64, scale: u8) -> Option<i64> {
    let (units, is_sure) = units(value, *TENS.get(usize::from(scale))?, MOST);
    is_sure.then_some(units)
}

/// The same, of fewer units than `most`, without branches, and whether it is so.
#[inline(always)]
fn units(value: f64, ten: f64, most: f64) -> (i64, bool) {
    /// More than the digits behind the 15th and the product's rounding can move values below [`MOST`].
    const NEAR: f64 = 0.02;
    /// Numbers up to 2^52 are the last digits of a double's significand behind it.
    const SHIFT: f64 = 4_503_599_627_370_496.0;
    let scaled = value.abs() * ten;
    // To the nearest integer.
    let shifted = scaled + SHIFT;
    let whole = shifted - SHIFT;
    let is_sure = (scaled < most) & ((scaled - whole).abs() < 0.5 - NEAR);
    let units = shifted.to_bits().wrapping_sub(SHIFT.to_bits()) as i64;
    (if value < 0.0 { -units } else { units }, is_sure)
}

/// The value in units of the scale, by its first 15 digits, in integers; none where these have no room.
fn by_digits(value: f64, scale: u8) -> Option<i128> {
    /// 10^15: numbers below have 15 digits.
    const DIGITS: u64 = 1_000_000_000_000_000;
    let bits = value.abs().to_bits();
    let exponent = (bits >> 52) as i32;
    // A part of 53 bits, to be divided by a power of two.
    let (part, shift) = (bits & ((1 << 52) - 1) | 1 << 52, u32::try_from(1075 - exponent).ok()?);
    if exponent == 0 || !(1..128).contains(&shift) {
        return None;
    }
    // So many digits behind the point are the 15th and one more, or 15.
    let mut behind = 14 - (((exponent - 1023) * 1233) >> 12);
    let (whole, rest) = loop {
        // Up to 10^22, the product has 127 bits.
        let power = POWERS.get(usize::try_from(behind).ok().filter(|behind| *behind <= 22)?)?.unsigned_abs();
        let product = u128::from(part) * power;
        let whole = (product >> shift) as u64;
        if whole < DIGITS {
            break (whole, product & ((1 << shift) - 1));
        }
        behind -= 1;
    };
    // To the nearest, of two the even one.
    let half = 1 << (shift - 1);
    let digits = whole + u64::from(rest > half || rest == half && whole % 2 == 1);
    let more = i32::from(scale) - behind;
    let units = match more {
        ..=-16 => 0,
        -15..=-1 => {
            let by = POWERS[more.unsigned_abs() as usize] as u64;
            i128::from((digits + by / 2) / by)
        }
        _ => i128::from(digits).checked_mul(*POWERS.get(more as usize)?)?,
    };
    Some(if value < 0.0 { -units } else { units })
}

fn from_many_digits(value: f64, precision: u8, scale: u8) -> Result<i128> {
    from_digits(format!("{value:.14e}"), value, precision, scale)
}

/// A `real` as a `decimal(precision, scale)`, through its first 6 significant digits as in PostgreSQL.
pub fn from_f32(value: f32, precision: u8, scale: u8) -> Result<i128> {
    from_digits(format!("{value:.5e}"), value.into(), precision, scale)
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::*;

    #[test]
    fn doubles_of_decimals_are_the_nearest_ones() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut sure = 0;
        for round in 0..200_000u32 {
            let wide = i128::from(next()) << 64 | i128::from(next());
            let scale = (next() % 23) as u8;
            let value = match round % 4 {
                // Of all lengths, and near halves between doubles: odd multiples of what a double of that size cannot tell.
                0 | 1 => wide >> (next() % 127),
                2 => {
                    let odd = i128::from(next() >> 10) | 1;
                    odd.checked_mul(POWERS[usize::from(scale)]).unwrap_or(odd) / (1 << (next() % 3))
                }
                _ => (i128::from(next() >> 11) * 2 + 1) << (next() % 30),
            };
            if !fits(value, 38) {
                continue;
            }
            let expected: f64 = text::format(value, scale).parse().unwrap();
            assert_eq!(to_f64(value, scale).to_bits(), expected.to_bits(), "{value} {scale}");
            sure += u32::from(quotient(value, scale).is_some());
        }
        assert!(sure > 100_000, "{sure}");
    }

    #[test]
    fn fifteen_digits_are_found_in_every_way() {
        let mut random = Random(15);
        let (mut exact, mut values) = (0, Vec::new());
        for _ in 0..200_000 {
            let scale = random.index(12) as u8;
            let value = match random.index(5) {
                // Middles between two units, as nearly as a double has them.
                0 => (random.below(1 << 40) as f64 + 0.5) / 10f64.powi(scale.into()),
                1 => random.below(10_000_000) as f64 / 1000.0,
                2 => random.fraction() * 10f64.powi(random.index(30) as i32 - 12),
                // Of 16 digits and more, ties among them.
                3 => random.below(1 << 52) as f64 / 8.0,
                _ => f64::from_bits(random.bits() % (1200 << 52)),
            };
            let value = if random.one_in(2) { -value } else { value };
            let known = from_many_digits(value, 38, scale);
            if let Some(units) = by_digits(value, scale) {
                exact += 1;
                assert_eq!(known.as_ref().ok(), Some(&units).filter(|units| fits(**units, 38)), "{value:?} {scale}");
            }
            assert_eq!(from_f64(value, 38, scale).ok(), known.ok(), "{value:?} {scale}");
            values.push(value);
        }
        assert!(exact > 100_000);
        values.extend([f64::NAN, f64::INFINITY, 0.0, -0.0, 0.125, 999.995, 9_999_999.5]);
        for (precision, scale) in [(18, 4), (15, 0), (12, 2), (18, 18)] {
            let only_if: Vec<u8> = values.iter().map(|v| u8::from(from_f64(*v, precision, scale).is_ok())).collect();
            let mut out = vec![MaybeUninit::new(0i64); values.len()];
            assert!(from_f64_of_many(&values, (precision, scale), None, &mut out));
            assert!(!from_f64_of_many(&values, (precision, scale), Some(&only_if), &mut out));
            for (value, out) in values.iter().zip(&out) {
                if let Ok(units) = from_f64(*value, precision, scale) {
                    // SAFETY: it was 0 before.
                    assert_eq!(i128::from(unsafe { out.assume_init() }), units, "{value:?}");
                }
            }
        }
    }
}
