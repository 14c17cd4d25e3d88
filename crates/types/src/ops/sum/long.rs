//! A fixed-point number wide enough for 2^63 doubles or squares of doubles.
//!
//! Limbs of 32 bits in 64-bit words: each addition touches at most five of them and carries nothing; carries are settled
//! every 2^30 additions, before a word can overflow.

use base::Result;

use super::{Pair, overflow};

/// The lowest bit is worth 2^-LOWEST: below all squares (2^-2148), and a multiple of the limbs' size.
const LOWEST: i32 = 68 * 32;
/// The highest limb is above 2^63 squares (2^2048 each).
const LIMBS: usize = 136;
/// Additions until carries must be settled.
const SETTLE: u32 = 1 << 30;
const LIMB: i64 = 1 << 32;

/// An exact sum; zeroed memory is the sum of nothing.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct LongSum {
    limbs: [i64; LIMBS],
    /// Additions since carries were settled.
    pending: u32,
    nan: bool,
    positive_infinity: bool,
    negative_infinity: bool,
}

impl Default for LongSum {
    fn default() -> Self {
        Self { limbs: [0; LIMBS], pending: 0, nan: false, positive_infinity: false, negative_infinity: false }
    }
}

/// A finite double as a sign, an integer, and the power of two that it counts.
fn parts(x: f64) -> (bool, u64, i32) {
    let bits = x.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let integer = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    (bits >> 63 == 1, integer, exponent.max(1) - 1075)
}

impl LongSum {
    /// Adds a double.
    pub fn add(&mut self, x: f64) {
        if x.is_finite() {
            let (negative, integer, power) = parts(x);
            self.add_integer(negative, integer.into(), power);
        } else {
            self.nan |= x.is_nan();
            self.positive_infinity |= x == f64::INFINITY;
            self.negative_infinity |= x == f64::NEG_INFINITY;
        }
    }

    /// An integer as a sum.
    pub(super) fn of_integer(x: i128) -> Self {
        let mut sum = Self::default();
        sum.add_integer(x < 0, x.unsigned_abs(), 0);
        sum
    }

    /// Adds the square of a double.
    pub fn add_square(&mut self, x: f64) {
        self.add_product(x, x);
    }

    /// Takes away the square of the sum of such doubles.
    pub fn subtract_square_of_sum(&mut self, terms: [f64; 3]) {
        let [a, b, c] = terms;
        terms.iter().for_each(|&x| self.add_product(-x, x));
        [(a, b), (a, c), (b, c)].iter().for_each(|&(x, y)| self.add_product(-2.0 * x, y));
    }

    /// Adds a product of doubles.
    pub fn add_product(&mut self, x: f64, y: f64) {
        if x.is_finite() && y.is_finite() {
            let (a, b) = (parts(x), parts(y));
            self.add_integer(a.0 != b.0, u128::from(a.1) * u128::from(b.1), a.2 + b.2);
        } else {
            self.add(x * y);
        }
    }

    /// Adds the square of the sum of such doubles, which are finite.
    pub fn add_square_of_sum(&mut self, terms: [f64; 3]) {
        let [a, b, c] = terms;
        terms.iter().for_each(|&x| self.add_square(x));
        [(a, b), (a, c), (b, c)].iter().for_each(|&(x, y)| self.add_product(2.0 * x, y));
    }

    /// Adds what a pair holds.
    pub fn add_pair(&mut self, pair: Pair) {
        self.add(pair.high);
        self.add(pair.low);
    }

    /// Adds `integer * 2^power`, with a sign.
    fn add_integer(&mut self, negative: bool, integer: u128, power: i32) {
        let at = (power + LOWEST) as usize;
        let (first, shift) = (at / 32, at % 32);
        // The lowest limb takes what the shift leaves of 32 bits; the rest goes on 32 bits at a time.
        let mut rest = integer;
        let mut part = (rest << shift) as u32;
        rest >>= 32 - shift;
        for limb in &mut self.limbs[first..] {
            *limb += if negative { -i64::from(part) } else { i64::from(part) };
            if rest == 0 {
                break;
            }
            part = rest as u32;
            rest >>= 32;
        }
        self.pending += 1;
        if self.pending == SETTLE {
            self.settle();
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        other.settle();
        self.settle();
        self.limbs.iter_mut().zip(other.limbs).for_each(|(limb, other)| *limb += other);
        self.settle();
        self.nan |= other.nan;
        self.positive_infinity |= other.positive_infinity;
        self.negative_infinity |= other.negative_infinity;
    }

    /// Settles carries: all limbs but the highest are in 0..2^32 then, and that one has the sign.
    fn settle(&mut self) {
        let mut carry = 0;
        for limb in &mut self.limbs[..LIMBS - 1] {
            let value = *limb + carry;
            *limb = value & (LIMB - 1);
            carry = value >> 32;
        }
        self.limbs[LIMBS - 1] += carry;
        self.pending = 0;
    }

    /// Whether all values were finite.
    pub fn is_finite(&self) -> bool {
        !(self.nan || self.positive_infinity || self.negative_infinity)
    }

    /// The sum, rounded to the nearest double, ties to even; 22003 if it is too large.
    pub fn round(&self) -> Result<f64> {
        if self.nan || (self.positive_infinity && self.negative_infinity) {
            return Ok(f64::NAN);
        }
        if self.positive_infinity || self.negative_infinity {
            return Ok(if self.positive_infinity { f64::INFINITY } else { f64::NEG_INFINITY });
        }
        let Magnitude { negative, digits, lowest } = self.magnitude();
        let magnitude = round(&digits, 32 * lowest as i32 - LOWEST);
        if magnitude.is_infinite() {
            return Err(overflow());
        }
        Ok(if negative { -magnitude } else { magnitude })
    }

    /// The sum as a sign and digits: only those that are not zero cost anything.
    pub(super) fn magnitude(&self) -> Magnitude {
        let is_set = |limb: &i64| *limb != 0;
        let Some(lowest) = self.limbs.iter().position(is_set) else { return Magnitude::default() };
        let end = self.limbs.iter().rposition(is_set).map_or(lowest, |last| last + 1);
        let mut digits = Vec::with_capacity(end - lowest + 2);
        let mut carry = 0;
        for limb in &self.limbs[lowest..end] {
            let value = limb + carry;
            digits.push(value as u32);
            carry = value >> 32;
        }
        // What is carried out is less than a limb; its sign is the sum's.
        digits.push(carry as u32);
        let negative = carry < 0;
        if negative {
            let mut one = true;
            for digit in &mut digits {
                (*digit, one) = (!*digit).overflowing_add(one.into());
            }
        }
        trim(&mut digits);
        Magnitude { negative, digits, lowest }
    }
}

/// An integer with a sign: digits of 32 bits, the lowest first, without zeros at the upper end, and how many zeros there are
/// below.
#[derive(Debug, Default)]
pub(super) struct Magnitude {
    negative: bool,
    pub(super) digits: Vec<u32>,
    lowest: usize,
}

impl Magnitude {
    fn times(&self, other: &Self) -> Self {
        let mut digits = multiply(&self.digits, &other.digits);
        trim(&mut digits);
        Self { negative: self.negative != other.negative, digits, lowest: self.lowest + other.lowest }
    }

    /// The digits with fewer zeros left out below.
    fn from(mut self, lowest: usize) -> Vec<u32> {
        self.digits.splice(0..0, std::iter::repeat_n(0, self.lowest - lowest));
        self.digits
    }

    pub(super) fn minus(mut self, other: Self) -> Self {
        if self.digits.is_empty() {
            return Self { negative: !other.negative, ..other };
        }
        if other.digits.is_empty() {
            return self;
        }
        let (lowest, negative, adds) = (self.lowest.min(other.lowest), self.negative, self.negative != other.negative);
        self.negative = false;
        let (a, b) = (self.from(lowest), other.from(lowest));
        let (negative, digits) = match () {
            () if adds => (negative, sum(a, &b)),
            () if is_less(&a, &b) => (!negative, subtract(b, &a)),
            () => (negative, subtract(a, &b)),
        };
        Self { negative, digits, lowest }
    }
}

fn trim(digits: &mut Vec<u32>) {
    while digits.last() == Some(&0) {
        digits.pop();
    }
}

/// The upper 64 bits of an integer and the power of two that they count; the lowest bit also says whether anything
/// follows. 0 of 0.
fn leading(digits: &[u32]) -> (u64, i32) {
    let digit = |i: usize| digits.len().checked_sub(i).map_or(0, |at| u128::from(digits[at]));
    let Some(&top) = digits.last() else { return (0, 0) };
    let zeros = top.leading_zeros();
    let upper = (digit(1) << 64 | digit(2) << 32 | digit(3)) << zeros;
    let below = digits[..digits.len().saturating_sub(3)].iter().any(|&d| d != 0);
    let sticky = upper as u32 != 0 || below;
    ((upper >> 32) as u64 | u64::from(sticky), digits.len() as i32 * 32 - 64 - zeros as i32)
}

/// `digits * 2^power` as the nearest double, ties to even.
fn round(digits: &[u32], power: i32) -> f64 {
    let (upper, shift) = leading(digits);
    if upper == 0 {
        return 0.0;
    }
    // The lowest bit that a double of this size has.
    let lowest = (power + shift + 11).max(-1074);
    let cut = (lowest - power - shift) as u32;
    if cut > 64 {
        return 0.0;
    }
    let kept = upper.checked_shr(cut).unwrap_or(0);
    let rest = upper << (64 - cut).min(63) << u32::from(cut == 0);
    let half = 1 << 63;
    let kept = kept + u64::from(rest > half || (rest == half && kept & 1 == 1));
    if kept == 0 {
        return 0.0;
    }
    // A carry out of the mantissa is one into the exponent, as doubles are laid out.
    let exponent = (lowest + 1074) as u64;
    if exponent + (kept >> 52) > 2046 { f64::INFINITY } else { f64::from_bits((exponent << 52) + kept) }
}

fn multiply(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut product = vec![0u32; a.len() + b.len()];
    for (i, &x) in a.iter().enumerate().filter(|(_, x)| **x != 0) {
        let mut carry = 0;
        for (j, &y) in b.iter().enumerate() {
            let value = u64::from(x) * u64::from(y) + u64::from(product[i + j]) + carry;
            product[i + j] = value as u32;
            carry = value >> 32;
        }
        product[i + b.len()] = carry as u32;
    }
    product
}

/// `a + b`.
fn sum(mut a: Vec<u32>, b: &[u32]) -> Vec<u32> {
    a.resize(a.len().max(b.len()) + 1, 0);
    let mut carry = 0;
    for (i, digit) in a.iter_mut().enumerate() {
        let value = u64::from(*digit) + u64::from(b.get(i).copied().unwrap_or(0)) + carry;
        *digit = value as u32;
        carry = value >> 32;
    }
    trim(&mut a);
    a
}

/// `a - b`, which is not negative.
fn subtract(mut a: Vec<u32>, b: &[u32]) -> Vec<u32> {
    a.resize(a.len().max(b.len()), 0);
    let mut borrow = 0;
    for (i, digit) in a.iter_mut().enumerate() {
        let value = i64::from(*digit) - i64::from(b.get(i).copied().unwrap_or(0)) + borrow;
        *digit = value as u32;
        borrow = value >> 32;
    }
    debug_assert_eq!(borrow, 0, "the first is not the smaller one");
    trim(&mut a);
    a
}

/// Whether `a` is less than `b`, both without zeros at the upper end.
fn is_less(a: &[u32], b: &[u32]) -> bool {
    a.len().cmp(&b.len()).then_with(|| a.iter().rev().cmp(b.iter().rev())).is_lt()
}

/// `count * products - a * b`, as a double with 53 bits and a power of two. All sums are finite.
pub(super) fn deviations(count: u64, [a, b]: [&LongSum; 2], products: &LongSum) -> (f64, i32) {
    let mut count = vec![count as u32, (count >> 32) as u32];
    trim(&mut count);
    // Both in units of the square of the lowest bit.
    let of_products =
        products.magnitude().times(&Magnitude { negative: false, digits: count, lowest: LOWEST as usize / 32 });
    let Magnitude { negative, digits, lowest } = of_products.minus(a.magnitude().times(&b.magnitude()));
    let (upper, shift) = leading(&digits);
    let rounded = round(&[upper as u32, (upper >> 32) as u32], 0);
    let power = if upper == 0 { 0 } else { shift + 32 * lowest as i32 - 2 * LOWEST };
    (if negative { -rounded } else { rounded }, power)
}
