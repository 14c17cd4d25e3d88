//! `real` and `double precision`: arithmetic that reports overflow, underflow and division by zero, and functions.
//!
//! What IEEE 754 does not define to the last bit is ours (`exp`, `ln`, `power`: [`elementary`]) or the `libm` crate's
//! (trigonometry and the rest), so that it is the same on every machine; methods of `f64` would call the C library's.

use base::{Error, Result, SqlState};

use super::elementary;
use crate::ops::error::division_by_zero;

/// An SQL float: `f32` or `f64`.
pub trait Float: Copy + PartialEq + PartialOrd + Into<f64> {
    /// The exact result of an operation, computed in double precision, as this type.
    fn narrow(value: f64) -> Self;
}
impl Float for f64 {
    #[inline]
    fn narrow(value: f64) -> Self {
        value
    }
}
impl Float for f32 {
    #[inline]
    fn narrow(value: f64) -> Self {
        value as f32
    }
}

#[cold]
fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: overflow")
}
#[cold]
fn underflow() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: underflow")
}
#[cold]
pub(super) fn input_out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "input is out of range")
}
const INVALID_POWER: SqlState = SqlState("2201F");
const INVALID_LOGARITHM: SqlState = SqlState("2201E");

/// Double rounding is harmless: sums, products and quotients of singles computed in double and then rounded are the
/// correctly rounded single results (53 >= 2 * 24 + 2).
#[inline]
fn finish<T: Float>(result: f64, may_be_infinite: bool, may_be_zero: bool) -> Result<T> {
    let result = T::narrow(result);
    if result.into().is_infinite() && !may_be_infinite {
        return Err(overflow());
    }
    if result.into() == 0.0 && !may_be_zero {
        return Err(underflow());
    }
    Ok(result)
}

/// `a + b`
#[inline]
pub fn add<T: Float>(a: T, b: T) -> Result<T> {
    let (a, b) = (a.into(), b.into());
    finish(a + b, a.is_infinite() || b.is_infinite(), true)
}
/// `a - b`
#[inline]
pub fn sub<T: Float>(a: T, b: T) -> Result<T> {
    let (a, b) = (a.into(), b.into());
    finish(a - b, a.is_infinite() || b.is_infinite(), true)
}
/// `a * b`
#[inline]
pub fn mul<T: Float>(a: T, b: T) -> Result<T> {
    let (a, b) = (a.into(), b.into());
    finish(a * b, a.is_infinite() || b.is_infinite(), a == 0.0 || b == 0.0)
}
/// `a / b`
#[inline]
pub fn div<T: Float>(a: T, b: T) -> Result<T> {
    let (a, b) = (a.into(), b.into());
    if b == 0.0 && !a.is_nan() {
        return Err(division_by_zero());
    }
    finish(a / b, a.is_infinite(), a == 0.0 || b.is_infinite())
}
/// `mod(a, b)`, with the sign of `a`.
#[inline]
pub fn rem<T: Float>(a: T, b: T) -> Result<T> {
    let (a, b) = (a.into(), b.into());
    if b == 0.0 && !a.is_nan() {
        return Err(division_by_zero());
    }
    Ok(T::narrow(a % b))
}

/// A `double precision` as a `real`: 22003 if it becomes infinite or zero.
#[inline]
pub fn to_f32(x: f64) -> Result<f32> {
    finish(x, x.is_infinite(), x == 0.0)
}

/// `sqrt(x)`
pub fn sqrt(x: f64) -> Result<f64> {
    if x < 0.0 {
        return Err(Error::new(INVALID_POWER, "cannot take square root of a negative number"));
    }
    Ok(x.sqrt())
}

fn logarithm(x: f64, log: fn(f64) -> f64) -> Result<f64> {
    if x == 0.0 {
        return Err(Error::new(INVALID_LOGARITHM, "cannot take logarithm of zero"));
    }
    if x < 0.0 {
        return Err(Error::new(INVALID_LOGARITHM, "cannot take logarithm of a negative number"));
    }
    Ok(log(x))
}

/// `ln(x)`
pub fn ln(x: f64) -> Result<f64> {
    logarithm(x, elementary::ln)
}
/// `log(x)` and `log10(x)`
pub fn log10(x: f64) -> Result<f64> {
    logarithm(x, elementary::log10)
}
/// `log2(x)`
pub fn log2(x: f64) -> Result<f64> {
    logarithm(x, elementary::log2)
}
/// `log(base, x)`
pub fn log(base: f64, x: f64) -> Result<f64> {
    let (x, base) = (ln(x)?, ln(base)?);
    div(x, base)
}
/// `exp(x)`
pub fn exp(x: f64) -> Result<f64> {
    finish(elementary::exp(x), x.is_infinite(), x == f64::NEG_INFINITY)
}

/// `power(x, y)` and `x ^ y`
pub fn power(x: f64, y: f64) -> Result<f64> {
    if x == 0.0 && y < 0.0 {
        return Err(Error::new(INVALID_POWER, "zero raised to a negative power is undefined"));
    }
    if x < 0.0 && !y.is_nan() && y.floor() != y {
        let text = "a negative number raised to a non-integer power yields a complex result";
        return Err(Error::new(INVALID_POWER, text));
    }
    let infinite = x.is_infinite() || y.is_infinite();
    finish(elementary::pow(x, y), infinite, x == 0.0 || infinite)
}

/// `round(x)`: to the nearest integer, ties to even.
pub fn round(x: f64) -> f64 {
    x.round_ties_even()
}
/// `trunc(x)`
pub fn trunc(x: f64) -> f64 {
    x.trunc()
}
/// Powers of ten that are exact.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Applies a rounding to the digit so many places behind the point; far digits change nothing (or leave nothing).
pub fn at_digit(x: f64, digits: i32, round: fn(f64) -> f64) -> f64 {
    let power = match POWERS.get(usize::try_from(digits).unwrap_or(usize::MAX)) {
        Some(1.0) => return round(x),
        Some(power) => *power,
        // Not `powi`, whose result may differ between machines.
        None => match power(10.0, digits.into()) {
            Ok(power) => power,
            Err(_) => return if digits > 0 { x } else { 0.0 },
        },
    };
    let scaled = x * power;
    if scaled.is_finite() { round(scaled) / power } else { x }
}

/// `round(x, digits)`, of a whole number of digits.
pub fn round_to(x: f64, digits: f64) -> Result<f64> {
    Ok(at_digit(x, digits.clamp(-400.0, 400.0) as i32, round))
}
/// `trunc(x, digits)`, of a whole number of digits.
pub fn trunc_to(x: f64, digits: f64) -> Result<f64> {
    Ok(at_digit(x, digits.clamp(-400.0, 400.0) as i32, trunc))
}
/// By what [`at_digit`] multiplies and divides, if that is more than 1, and exact.
pub(super) fn exact_power(digits: f64) -> Option<f64> {
    POWERS.get(digits as usize).copied().filter(|power| *power > 1.0)
}

/// `ceil(x)`
pub fn ceil(x: f64) -> f64 {
    x.ceil()
}
/// `floor(x)`
pub fn floor(x: f64) -> f64 {
    x.floor()
}
/// `sign(x)`: -1, 0 or 1; 0 of NaN, as in PostgreSQL.
pub fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { 0.0 } else { x.signum() }
}
/// `cbrt(x)`
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}

/// `asin(x)`
pub fn asin(x: f64) -> Result<f64> {
    if x.abs() > 1.0 { Err(input_out_of_range()) } else { Ok(libm::asin(x)) }
}
/// `acos(x)`
pub fn acos(x: f64) -> Result<f64> {
    if x.abs() > 1.0 { Err(input_out_of_range()) } else { Ok(libm::acos(x)) }
}
/// `sin(x)`
pub fn sin(x: f64) -> Result<f64> {
    if x.is_infinite() { Err(input_out_of_range()) } else { Ok(elementary::sin(x)) }
}
/// `cos(x)`
pub fn cos(x: f64) -> Result<f64> {
    if x.is_infinite() { Err(input_out_of_range()) } else { Ok(elementary::cos(x)) }
}
/// `tan(x)`
pub fn tan(x: f64) -> Result<f64> {
    if x.is_infinite() { Err(input_out_of_range()) } else { Ok(libm::tan(x)) }
}
/// `cot(x)`
pub fn cot(x: f64) -> Result<f64> {
    Ok(1.0 / tan(x)?)
}
/// `atan(x)`
pub fn atan(x: f64) -> f64 {
    libm::atan(x)
}
/// `atan2(y, x)`
pub fn atan2(y: f64, x: f64) -> f64 {
    libm::atan2(y, x)
}
/// `sinh(x)`
pub fn sinh(x: f64) -> f64 {
    libm::sinh(x)
}
/// `cosh(x)`
pub fn cosh(x: f64) -> f64 {
    libm::cosh(x)
}
/// `tanh(x)`
pub fn tanh(x: f64) -> f64 {
    libm::tanh(x)
}
/// `asinh(x)`
pub fn asinh(x: f64) -> f64 {
    libm::asinh(x)
}
/// `acosh(x)`
pub fn acosh(x: f64) -> Result<f64> {
    if x < 1.0 { Err(input_out_of_range()) } else { Ok(libm::acosh(x)) }
}
/// `atanh(x)`, infinite at the ends of its domain.
pub fn atanh(x: f64) -> Result<f64> {
    if x.abs() > 1.0 { Err(input_out_of_range()) } else { Ok(libm::atanh(x)) }
}
/// `gamma(x)`: the factorial of x - 1, between integers, too; 22003 at 0 and at negative integers, and where it is too large.
pub fn gamma(x: f64) -> Result<f64> {
    if x == 0.0 || x == f64::NEG_INFINITY || (x < 0.0 && x.fract() == 0.0) {
        return Err(input_out_of_range());
    }
    finish(libm::tgamma(x), x.is_infinite(), true)
}
/// `lgamma(x)`: the logarithm of the absolute value of [`gamma`].
pub fn lgamma(x: f64) -> Result<f64> {
    finish(libm::lgamma(x), x.is_infinite() || (x <= 0.0 && x.fract() == 0.0), true)
}
/// `nextafter(x, y)`: the next double from x on the way to y.
pub fn next_after(x: f64, y: f64) -> f64 {
    libm::nextafter(x, y)
}
/// `erf(x)`, the error function.
pub fn erf(x: f64) -> f64 {
    libm::erf(x)
}
/// `erfc(x)`, which is 1 - `erf(x)`.
pub fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}
/// `degrees(x)`
pub fn degrees(x: f64) -> Result<f64> {
    div(x, std::f64::consts::PI / 180.0)
}
/// `radians(x)`
pub fn radians(x: f64) -> f64 {
    x * (std::f64::consts::PI / 180.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_reports_what_postgres_reports() {
        assert_eq!(add(1e308, 1e308).unwrap_err().to_string(), "22003: value out of range: overflow");
        assert_eq!(mul(1e-200, 1e-200).unwrap_err().to_string(), "22003: value out of range: underflow");
        assert_eq!(mul(f64::INFINITY, 2.0), Ok(f64::INFINITY));
        assert_eq!(div(1.0f64, 0.0).unwrap_err().to_string(), "22012: division by zero");
        assert!(div(f64::NAN, 0.0).unwrap().is_nan());
        assert_eq!(add(1e38f32, 3e38f32).unwrap_err().to_string(), "22003: value out of range: overflow");
        assert_eq!(div(1.0f32, 3.0), Ok(1.0f32 / 3.0));
        assert_eq!(div(1.0, f64::INFINITY), Ok(0.0));
    }

    #[test]
    fn functions_have_their_domains() {
        assert_eq!(sqrt(-1.0).unwrap_err().state().0, "2201F");
        assert_eq!(ln(0.0).unwrap_err().to_string(), "2201E: cannot take logarithm of zero");
        assert_eq!(log10(-1.0).unwrap_err().to_string(), "2201E: cannot take logarithm of a negative number");
        assert_eq!(log10(1000.0), Ok(3.0));
        assert_eq!(power(2.0, 10.0), Ok(1024.0));
        assert_eq!(power(0.0, -1.0).unwrap_err().message(), "zero raised to a negative power is undefined");
        assert_eq!(power(-8.0, 0.5).unwrap_err().state().0, "2201F");
        assert_eq!(exp(1000.0).unwrap_err().message(), "value out of range: overflow");
        assert_eq!(exp(-1000.0).unwrap_err().message(), "value out of range: underflow");
        assert_eq!((round(2.5), round(3.5), round(-2.5)), (2.0, 4.0, -2.0));
        assert!(asin(1.5).is_err() && sin(f64::INFINITY).is_err());
        assert_eq!(power(f64::NEG_INFINITY, 0.1).unwrap_err().state().0, "2201F");
        assert_eq!((sign(-0.0), sign(-3.0), sign(f64::NAN)), (0.0, -1.0, 0.0));
    }

    #[test]
    fn functions_have_these_bits_on_every_machine() {
        let bits: Vec<u64> = [
            exp(1.5).unwrap(),
            ln(3.0).unwrap(),
            log10(7.0).unwrap(),
            log2(7.0).unwrap(),
            power(1.1, 10.3).unwrap(),
            cbrt(5.0),
            sin(1e5).unwrap(),
            cos(2.5).unwrap(),
            tan(0.7).unwrap(),
            asin(0.3).unwrap(),
            acos(0.3).unwrap(),
            atan(2.0),
            atan2(1.0, 3.0),
            sinh(0.4),
            cosh(1.7),
            tanh(0.2),
        ]
        .map(f64::to_bits)
        .to_vec();
        assert_eq!(bits, BITS, "{bits:#x?}");
    }
    const BITS: [u64; 16] = [
        0x4011_ed3f_e64f_c541,
        0x3ff1_93ea_7aad_030b,
        0x3feb_0b0b_0b78_cc3f,
        0x4006_7576_7f54_042d,
        0x4005_5a10_0d65_c866,
        0x3ffb_5c0f_bcfe_c4d4,
        0x3fa2_4daa_9c52_7e96,
        0xbfe9_a2f7_ef85_8b7d,
        0x3fea_f406_c2fc_78ae,
        0x3fd3_8015_9e14_f6ff,
        0x3ff4_41f5_ecbe_ef59,
        0x3ff1_b6e1_92eb_be44,
        0x3fd4_978f_a326_9ee1,
        0x3fda_49c4_1f85_0ed2,
        0x4006_a063_dad3_44f6,
        0x3fc9_4398_30b3_a590,
    ];
}
