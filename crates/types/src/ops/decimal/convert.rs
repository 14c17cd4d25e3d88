//! Decimals to and from floats and integers.

use base::{Error, Result, SqlState};

use super::{POWERS, field_overflow, fits, text};

/// The nearest `double precision`.
pub fn to_f64(value: i128, scale: u8) -> f64 {
    // Both exact in a double: one rounding.
    if value.unsigned_abs() < 1 << 53 && scale <= 22 {
        return value as i64 as f64 / POWERS[usize::from(scale)] as f64;
    }
    if scale == 0 {
        return value as f64;
    }
    text::format(value, scale).parse().expect("decimal digits are a float")
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
    match nearly_exact(value, scale) {
        Some(units) if fits(units, precision) => Ok(units),
        _ => from_many_digits(value, precision, scale),
    }
}

/// The value in units of the scale, where 15 digits and a few more come to the same: not too many digits, and not near the
/// middle between two units.
fn nearly_exact(value: f64, scale: u8) -> Option<i128> {
    /// More than the digits behind the 15th and the product's rounding can move values below [`MOST`].
    const NEAR: f64 = 0.02;
    const MOST: f64 = 1e12;
    const TENS: [f64; 10] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
    let scaled = value.abs() * TENS.get(usize::from(scale))?;
    if scaled.is_nan() || scaled >= MOST {
        return None;
    }
    let whole = scaled.floor();
    let rest = scaled - whole;
    if (rest - 0.5).abs() < NEAR {
        return None;
    }
    let units = i128::from(whole as i64 + i64::from(rest > 0.5));
    Some(if value < 0.0 { -units } else { units })
}

fn from_many_digits(value: f64, precision: u8, scale: u8) -> Result<i128> {
    from_digits(format!("{value:.14e}"), value, precision, scale)
}

/// A `real` as a `decimal(precision, scale)`, through its first 6 significant digits as in PostgreSQL.
pub fn from_f32(value: f32, precision: u8, scale: u8) -> Result<i128> {
    from_digits(format!("{value:.5e}"), value.into(), precision, scale)
}
