//! `numeric` without limits, as PostgreSQL has it: up to 131,072 digits before the point and 16,383 behind it, NaN and
//! infinities (decision 58). Decimals of up to 38 digits whose scale the type says are [`decimal`](super::decimal)s, and much
//! faster.
//!
//! A value lies in memory as a text, its form ([`encode`]), whose order of bytes is that of the numbers. Equal numbers have one
//! form, so that zeros at the end of a value are not kept: what is printed of 1.50 is 1.5, unless the type says the digits.

mod arithmetic;
mod convert;
mod form;
mod functions;
mod statistics;
mod text;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::LazyLock;

use base::{Error, Result, SqlState};
use num_bigint::{BigInt, Sign};

use super::decimal::overflow;

pub use convert::{of_decimal, of_f32, of_f64, of_i128, of_value, to_f64};
pub use form::{decode, encode, is_finite};
pub use statistics::Summary;
pub use text::{format, parse, write, write_form};

/// Most digits behind the point.
pub const MAX_SCALE: u32 = 16_383;
/// Most digits before the point.
pub const MAX_WHOLE: u64 = 131_072;
/// Most digits that a declaration `numeric(precision, scale)` asks for.
pub const MAX_PRECISION: u16 = 1_000;

/// A number.
#[derive(Clone, Debug)]
pub enum Numeric {
    /// Below all others.
    NegativeInfinity,
    /// A number.
    Finite(Finite),
    /// Above all numbers.
    Infinity,
    /// Above infinity, and equal to itself.
    NaN,
}

/// `digits` / 10^`scale`, printed with `scale` digits behind the point.
#[derive(Clone, Debug)]
pub struct Finite {
    /// The number without its point.
    pub digits: BigInt,
    /// Digits behind the point, at most [`MAX_SCALE`].
    pub scale: u32,
}

/// 10^`n`.
fn power_of_ten(n: u32) -> Cow<'static, BigInt> {
    static SMALL: LazyLock<Vec<BigInt>> = LazyLock::new(|| {
        let ten = BigInt::from(10);
        std::iter::successors(Some(BigInt::from(1)), |p| Some(p * &ten)).take(64).collect()
    });
    match SMALL.get(n as usize) {
        Some(power) => Cow::Borrowed(power),
        None => Cow::Owned(BigInt::from(10).pow(n)),
    }
}

fn is_zero(n: &BigInt) -> bool {
    n.sign() == Sign::NoSign
}

fn is_negative(n: &BigInt) -> bool {
    n.sign() == Sign::Minus
}

/// `n / d` to the nearest integer, halves away from zero; `d` is positive.
fn divide_rounded(n: &BigInt, d: &BigInt) -> BigInt {
    let (quotient, rest) = (n / d, n % d);
    if rest.magnitude() * 2u32 < *d.magnitude() {
        quotient
    } else if is_negative(n) {
        quotient - 1
    } else {
        quotient + 1
    }
}

/// How many decimal digits a number has; 0 has none.
fn count_digits(n: &BigInt) -> u64 {
    let bits = n.bits();
    if bits == 0 {
        return 0;
    }
    // Between 2^(bits - 1) and 2^bits: one of two counts, seldom to be decided.
    let least = ((bits - 1) as f64 * std::f64::consts::LOG10_2) as u64;
    let most = (bits as f64 * std::f64::consts::LOG10_2) as u64 + 1;
    let decides = |count: &u64| n.magnitude() < power_of_ten(*count as u32).magnitude();
    (least..most).find(decides).unwrap_or(most)
}

impl Finite {
    /// The integer.
    pub fn integer(value: impl Into<BigInt>) -> Self {
        Self { digits: value.into(), scale: 0 }
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        is_zero(&self.digits)
    }

    /// With so many digits behind the point, rounded half away from zero where some are lost.
    pub fn rescaled(&self, scale: u32) -> Self {
        let digits = match scale.cmp(&self.scale) {
            Ordering::Equal => self.digits.clone(),
            Ordering::Greater => &self.digits * &*power_of_ten(scale - self.scale),
            Ordering::Less => divide_rounded(&self.digits, &power_of_ten(self.scale - scale)),
        };
        Self { digits, scale }
    }

    /// With so many digits behind the point, the others cut off.
    pub fn cut(&self, scale: u32) -> Self {
        if scale >= self.scale {
            return self.rescaled(scale);
        }
        Self { digits: &self.digits / &*power_of_ten(self.scale - scale), scale }
    }

    /// The number of digits before the point: 3 of 123.4, 0 of 0.5, -1 of 0.05; the least number of 0.
    pub fn magnitude(&self) -> i64 {
        if self.is_zero() { i64::MIN / 2 } else { count_digits(&self.digits) as i64 - i64::from(self.scale) }
    }

    /// The exponent of the first digit to base 10,000, and that digit, which decide how many digits results have (PostgreSQL
    /// keeps its numbers that way, and `select_div_scale` says so); 0 and 0 of 0.
    fn weight(&self) -> (i64, u32) {
        if self.is_zero() {
            return (0, 0);
        }
        let weight = (self.magnitude() - 1).div_euclid(4);
        let shift = weight * 4 + i64::from(self.scale);
        let first = if shift >= 0 {
            self.digits.magnitude() / power_of_ten(shift as u32).magnitude()
        } else {
            self.digits.magnitude() * power_of_ten(-shift as u32).magnitude()
        };
        (weight, u32::try_from(first).unwrap_or(0))
    }

    /// The value, if it is not too long.
    fn checked(self) -> Result<Self> {
        // Bits first: counting digits costs more.
        if self.digits.bits() > 400_000 && self.magnitude() > MAX_WHOLE as i64 {
            return Err(overflow());
        }
        if self.scale > MAX_SCALE { Ok(self.rescaled(MAX_SCALE)) } else { Ok(self) }
    }

    /// Compares the numbers; the scale is nothing to them.
    pub fn compare(&self, other: &Self) -> Ordering {
        let scale = self.scale.max(other.scale);
        self.rescaled(scale).digits.cmp(&other.rescaled(scale).digits)
    }
}

impl Numeric {
    /// The integer.
    pub fn integer(value: impl Into<BigInt>) -> Self {
        Self::Finite(Finite::integer(value))
    }

    /// The number, of what is one.
    pub fn finite(&self) -> Option<&Finite> {
        if let Self::Finite(n) = self { Some(n) } else { None }
    }

    /// As a value of `numeric(precision, scale)`: rounded, and 22003 if it has more digits, or is infinite.
    pub fn fitted(self, precision: u16, scale: i16) -> Result<Self> {
        let beyond = |what: String| {
            Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "numeric field overflow")
                .detail(format!("A field with precision {precision}, scale {scale} {what}."))
        };
        match self {
            Self::NaN => Ok(Self::NaN),
            Self::Infinity | Self::NegativeInfinity => Err(beyond("cannot hold an infinite value".to_owned())),
            Self::Finite(n) => {
                let n = n.rounded(scale.into());
                let whole = i64::from(precision) - i64::from(scale);
                if n.magnitude() > whole {
                    let bound = if whole == 0 { "1".to_owned() } else { format!("10^{whole}") };
                    return Err(beyond(format!("must round to an absolute value less than {bound}")));
                }
                Ok(Self::Finite(n))
            }
        }
    }
}

/// A value in its form of a type `numeric(precision, scale)`, which may have no limits (a precision of 0).
pub fn fit(value: Numeric, precision: u16, scale: i16) -> Result<String> {
    Ok(encode(&if precision == 0 { value } else { value.fitted(precision, scale)? }))
}
