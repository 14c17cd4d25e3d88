//! Sums, products and quotients with the digits that PostgreSQL gives them.

use std::cmp::Ordering;

use base::Result;
use num_bigint::BigInt;

use super::Numeric::{Finite as Number, Infinity, NaN, NegativeInfinity};
use super::{Finite, Numeric, divide_rounded, is_negative, is_zero, power_of_ten};
use crate::ops::error::division_by_zero;

/// Digits that a quotient has at least.
pub(super) const SIGNIFICANT: i64 = 16;
/// Most digits behind the point that results of division and of functions have.
pub(super) const MOST_DISPLAYED: i64 = 1_000;

/// How many digits behind the point a result has that needs `least` of them, and operands with so many.
pub(super) fn displayed(least: i64, operands: u32) -> u32 {
    least.max(i64::from(operands)).clamp(0, MOST_DISPLAYED) as u32
}

impl Finite {
    fn aligned(&self, other: &Self) -> (BigInt, BigInt, u32) {
        let scale = self.scale.max(other.scale);
        (self.rescaled(scale).digits, other.rescaled(scale).digits, scale)
    }

    /// How many digits behind the point a quotient has: about 16 that count, and no fewer than the operands
    /// (`select_div_scale`).
    pub(super) fn quotient_scale(&self, divisor: &Self) -> u32 {
        let ((w1, first1), (w2, first2)) = (self.weight(), divisor.weight());
        let weight = w1 - w2 - i64::from(first1 <= first2);
        displayed(SIGNIFICANT - weight * 4, self.scale.max(divisor.scale))
    }

    /// The quotient with so many digits behind the point; the divisor is not 0.
    pub(super) fn divided(&self, divisor: &Self, scale: u32) -> Self {
        // self.digits / 10^s1 / (divisor.digits / 10^s2) * 10^scale
        let exponent = i64::from(scale) + i64::from(divisor.scale) - i64::from(self.scale);
        let power = power_of_ten(exponent.unsigned_abs() as u32);
        let (mut n, mut d) = (self.digits.clone(), divisor.digits.clone());
        if exponent >= 0 {
            n *= &*power
        } else {
            d *= &*power
        }
        if is_negative(&d) {
            (n, d) = (-n, -d);
        }
        Self { digits: divide_rounded(&n, &d), scale }
    }

    /// To so many digits behind the point, or before it.
    pub fn rounded(&self, digits: i64) -> Self {
        self.to_digits(digits, Self::rescaled)
    }

    fn to_digits(&self, digits: i64, change: fn(&Self, u32) -> Self) -> Self {
        let digits = digits.clamp(-200_000, i64::from(super::MAX_SCALE));
        if let Ok(scale) = u32::try_from(digits) {
            return change(self, scale);
        }
        // Digits before the point: as if the point stood further left.
        let shift = digits.unsigned_abs() as u32;
        let moved = change(&Self { digits: self.digits.clone(), scale: self.scale + shift }, 0);
        Self { digits: moved.digits * &*power_of_ten(shift), scale: 0 }
    }

    fn sign(&self) -> i32 {
        i32::from(!self.is_zero()) * if is_negative(&self.digits) { -1 } else { 1 }
    }
}

impl Numeric {
    /// -1, 0 or 1; 0 of NaN.
    fn sign(&self) -> i32 {
        match self {
            NaN => 0,
            Infinity => 1,
            NegativeInfinity => -1,
            Number(n) => n.sign(),
        }
    }

    fn infinite(sign: i32) -> Self {
        match sign {
            0 => NaN,
            1.. => Infinity,
            _ => NegativeInfinity,
        }
    }

    fn is_infinite(&self) -> bool {
        matches!(self, Infinity | NegativeInfinity)
    }

    /// The sum.
    pub fn plus(&self, other: &Self) -> Result<Self> {
        match (self, other) {
            (Number(a), Number(b)) => {
                let (x, y, scale) = a.aligned(b);
                Finite { digits: x + y, scale }.checked().map(Number)
            }
            (NaN, _) | (_, NaN) => Ok(NaN),
            (a, b) if a.is_infinite() && b.is_infinite() && a.sign() != b.sign() => Ok(NaN),
            (a, b) => Ok(if a.is_infinite() { a.clone() } else { b.clone() }),
        }
    }

    /// The number with the other sign.
    pub fn negated(&self) -> Self {
        match self {
            NaN => NaN,
            Infinity => NegativeInfinity,
            NegativeInfinity => Infinity,
            Number(n) => Number(Finite { digits: -&n.digits, scale: n.scale }),
        }
    }

    /// Without its sign.
    pub fn absolute(&self) -> Self {
        if self.sign() < 0 { self.negated() } else { self.clone() }
    }

    /// The difference.
    pub fn minus(&self, other: &Self) -> Result<Self> {
        self.plus(&other.negated())
    }

    /// The product, exactly.
    pub fn times(&self, other: &Self) -> Result<Self> {
        match (self, other) {
            (Number(a), Number(b)) => {
                Finite { digits: &a.digits * &b.digits, scale: a.scale + b.scale }.checked().map(Number)
            }
            (NaN, _) | (_, NaN) => Ok(NaN),
            (a, b) => Ok(Self::infinite(a.sign() * b.sign())),
        }
    }

    /// What both sides of a division become if one of them is no number; none if both are and the divisor is not 0.
    fn special_quotient(&self, divisor: &Self) -> Result<Option<Self>> {
        Ok(Some(match (self, divisor) {
            (NaN, _) | (_, NaN) => NaN,
            (_, Number(b)) if b.is_zero() => return Err(division_by_zero()),
            (Number(_), Number(_)) => return Ok(None),
            (a, b) if a.is_infinite() && b.is_infinite() => NaN,
            (a, b) if a.is_infinite() => Self::infinite(a.sign() * b.sign()),
            _ => Self::integer(0),
        }))
    }

    /// The quotient; 22012 by 0.
    pub fn over(&self, divisor: &Self) -> Result<Self> {
        match (self.special_quotient(divisor)?, self, divisor) {
            (None, Number(a), Number(b)) => a.divided(b, a.quotient_scale(b)).checked().map(Number),
            (special, ..) => Ok(special.unwrap_or(NaN)),
        }
    }

    /// The quotient without the digits behind the point.
    pub fn whole_quotient(&self, divisor: &Self) -> Result<Self> {
        match (self.special_quotient(divisor)?, self, divisor) {
            (None, Number(a), Number(b)) => {
                let (x, y, _) = a.aligned(b);
                Finite::integer(x / y).checked().map(Number)
            }
            (special, ..) => Ok(special.unwrap_or(NaN)),
        }
    }

    /// The rest of a division, with the sign of what was divided.
    pub fn modulo(&self, divisor: &Self) -> Result<Self> {
        match (self, divisor) {
            (NaN, _) | (_, NaN) => Ok(NaN),
            (_, Number(b)) if b.is_zero() => Err(division_by_zero()),
            (Number(a), Number(b)) => {
                let (x, y, scale) = a.aligned(b);
                Ok(Number(Finite { digits: x % y, scale }))
            }
            (Number(a), _) => Ok(Number(a.clone())),
            _ => Ok(NaN),
        }
    }

    /// Applied to numbers; infinities and NaN stay.
    pub fn map(&self, change: impl FnOnce(&Finite) -> Finite) -> Result<Self> {
        match self {
            Number(n) => change(n).checked().map(Number),
            other => Ok(other.clone()),
        }
    }

    /// To so many digits behind the point (or, below 0, before it), halves away from zero.
    pub fn rounded(&self, digits: i64) -> Result<Self> {
        self.map(|n| n.rounded(digits))
    }

    /// Without the digits after so many.
    pub fn truncated(&self, digits: i64) -> Result<Self> {
        self.map(|n| n.to_digits(digits, Finite::cut))
    }

    /// The greatest integer that is not above.
    pub fn floor(&self) -> Result<Self> {
        self.map(|n| {
            let cut = n.cut(0);
            let below = is_negative(&n.digits) && cut.compare(n) == Ordering::Greater;
            if below { Finite::integer(cut.digits - 1) } else { cut }
        })
    }

    /// The least integer that is not below.
    pub fn ceil(&self) -> Result<Self> {
        Ok(self.negated().floor()?.negated())
    }

    /// -1, 0 or 1; NaN of NaN.
    pub fn signum(&self) -> Self {
        if matches!(self, NaN) { NaN } else { Self::integer(self.sign()) }
    }

    /// The number with no zeros at its end behind the point.
    pub fn trimmed(&self) -> Self {
        super::decode(&super::encode(self))
    }

    /// The order of numbers: NaN above all.
    pub fn compare(&self, other: &Self) -> Ordering {
        let rank = |n: &Self| match n {
            NegativeInfinity => 0,
            Number(_) => 1,
            Infinity => 2,
            NaN => 3,
        };
        match (self, other) {
            (Number(a), Number(b)) => a.compare(b),
            _ => rank(self).cmp(&rank(other)),
        }
    }

    /// The greatest common divisor, with as many digits behind the point as the operands.
    pub fn gcd(&self, other: &Self) -> Self {
        let (Number(a), Number(b)) = (self, other) else { return NaN };
        let (mut x, mut y, scale) = a.aligned(b);
        while !is_zero(&y) {
            (x, y) = (y.clone(), x % y);
        }
        Number(Finite { digits: x, scale }).absolute()
    }

    /// The least common multiple; 0 if one of both is 0.
    pub fn lcm(&self, other: &Self) -> Result<Self> {
        let (Number(a), Number(b)) = (self, other) else { return Ok(NaN) };
        let (x, y, scale) = a.aligned(b);
        let Number(divisor) = self.gcd(other) else { return Ok(NaN) };
        if is_zero(&x) || is_zero(&y) {
            return Ok(Number(Finite { digits: BigInt::ZERO, scale }));
        }
        Ok(Number(Finite { digits: x / divisor.digits * y, scale }.checked()?).absolute())
    }
}
