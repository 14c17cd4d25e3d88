//! Sums of doubles that depend on nothing but the values: not on their order, nor on who has added which of them.
//!
//! A [`Pair`] holds a sum and what rounding has lost of it, both doubles, which is exact as long as the losses add up
//! without a loss of their own; [`Pair::add`] notices when they would not. Then the pair's content goes to a
//! [`LongSum`], a fixed-point number wide enough for all sums and squares of doubles (Kulisch's long accumulator), which
//! is exact always. So the sum is known exactly, and rounded once, to the nearest double.
//!
//! The error-free addition is Knuth's *TwoSum* (TAOCP 4.2.2); the product is Dekker's (Numerische Mathematik 18, 1971).
//! O(1) a value.

mod long;
mod moments;
#[cfg(test)]
mod tests;

pub use long::LongSum;
pub use moments::{IntegerMoments, Moments, PairMoments};

use base::{Error, Result, SqlState};

/// A sum of doubles, exactly: `high + low`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Pair {
    /// The sum, rounded.
    pub high: f64,
    /// What the roundings have lost.
    pub low: f64,
}

/// The rounded sum and the rest: `a + b` exactly, unless it overflows (the rest is not finite then).
#[inline]
pub fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// Bounds within which no part of a square and none of its halves over- or underflows.
pub const SQUARES: std::ops::Range<f64> = 1e-140..1e140;

/// The rounded square and the rest, if both are exactly `x * x`.
#[inline]
pub fn two_square(x: f64) -> Option<(f64, f64)> {
    if x != 0.0 && !SQUARES.contains(&x.abs()) {
        return None;
    }
    let cut = 134_217_729.0 * x; // 2^27 + 1
    let high = cut - (cut - x);
    let low = x - high;
    let square = x * x;
    Some((square, ((high * high - square) + 2.0 * (high * low)) + low * low))
}

/// The rounded product and the rest, if both are exactly `x * y`.
#[inline]
pub fn two_product(x: f64, y: f64) -> Option<(f64, f64)> {
    if [x, y].iter().any(|f| *f != 0.0 && !SQUARES.contains(&f.abs())) {
        return None;
    }
    let halves = |f: f64| {
        let cut = 134_217_729.0 * f; // 2^27 + 1
        let high = cut - (cut - f);
        (high, f - high)
    };
    let ((a, b), (c, d)) = (halves(x), halves(y));
    let product = x * y;
    Some((product, ((a * c - product) + a * d + b * c) + b * d))
}

impl Pair {
    /// Adds `x`, or says that it cannot without a loss; the pair is as it was then.
    #[inline]
    #[must_use]
    pub fn add(&mut self, x: f64) -> bool {
        let (high, lost) = two_sum(self.high, x);
        let low = self.low + lost;
        // The sum of two doubles is exact if and only if subtracting either of them gives the other. The differences are
        // +0 or not 0; what is not finite gives NaN.
        let inexact = ((low - self.low) - lost).to_bits() | ((low - lost) - self.low).to_bits();
        if inexact == 0 {
            *self = Self { high, low };
        }
        inexact == 0
    }

    /// The sum, rounded to the nearest double; 22003 if it is too large.
    #[inline]
    pub fn round(self) -> Result<f64> {
        let sum = self.high + self.low;
        if sum.is_finite() { Ok(sum) } else { Err(overflow()) }
    }
}

#[cold]
fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "value out of range: overflow")
}

/// Up to here integers are doubles.
pub const EXACT_INTEGERS: u128 = 1 << 53;

/// The doubles whose sum `x` is, the largest first; the others are 0 if that one is `x`.
#[inline]
pub fn terms(x: i128) -> [f64; 3] {
    let first = x as f64;
    if x.unsigned_abs() <= EXACT_INTEGERS {
        return [first, 0.0, 0.0];
    }
    // Each has 53 bits of the 127; a rest fits, as decimals end at 10^38.
    let rest = x - first as i128;
    let second = rest as f64;
    [first, second, (rest - second as i128) as f64]
}

/// The variance of `count` numbers, doubles or integers that count units of 10^-`scale`, from the exact sums of the values and of their squares, `(n * squares - sum^2) / d`,
/// where `d` is `n * (n - 1)` for a sample and `n * n` else: the difference is exact, so nothing cancels. NaN if a value
/// was not finite; `count` is at least 1, and 2 for a sample.
pub fn variance(count: u64, sum: &LongSum, squares: &LongSum, sample: bool, scale: u8) -> Result<f64> {
    if !sum.is_finite() {
        return Ok(f64::NAN);
    }
    let n = u128::from(count);
    let divisor = if sample { n * (n - 1) } else { n * n };
    let unit = 10u128.pow(scale.into()) as f64;
    quotient(long::deviations(count, [sum, sum], squares), divisor as f64, unit * unit)
}

/// [`variance`] from sums that are integers up to 2^53 of less than 2^40 numbers: the same bits.
pub fn variance_of_integers(count: u64, sum: i64, squares: i64, sample: bool, scale: u8) -> Result<f64> {
    let (n, sum) = (i128::from(count), i128::from(sum));
    let divisor = if sample { n * (n - 1) } else { n * n };
    let unit = 10u128.pow(scale.into()) as f64;
    quotient(((n * i128::from(squares) - sum * sum) as f64, 0), divisor as f64, unit * unit)
}

/// A number with its power of two, divided by two others; 22003 if it is too large.
fn quotient((mantissa, exponent): (f64, i32), divisor: f64, unit: f64) -> Result<f64> {
    let quotient = mantissa / divisor / unit;
    // In two steps, as a power of two may be out of range by itself.
    let half = exponent / 2;
    let power = |e: i32| f64::from_bits(((e + 1023) as u64) << 52);
    if quotient == 0.0 {
        return Ok(0.0);
    }
    if !(-2040..2040).contains(&exponent) {
        return if exponent < 0 { Ok(0.0) } else { Err(overflow()) };
    }
    let value = quotient * power(half) * power(exponent - half);
    if value.is_finite() { Ok(value) } else { Err(overflow()) }
}
