//! Roots, logarithms and powers, with the digits that PostgreSQL gives them (`numeric.c`): about 16 that count, and no fewer
//! than the operands. They are computed with integers that stand for binary fractions, with some bits more than are shown.

use base::{Error, Result, SqlState};
use num_bigint::{BigInt, Sign};

use super::Numeric::{Finite as Number, Infinity, NaN, NegativeInfinity};
use super::arithmetic::{MOST_DISPLAYED, SIGNIFICANT, displayed};
use super::{Finite, Numeric, count_digits, is_negative, is_zero, power_of_ten, to_f64};
use crate::ops::decimal::overflow;
use crate::ops::number::float;

/// Digits that results of the logarithm have in between, besides those shown.
const GUARD: u64 = 12;
/// Results whose logarithm is beyond are too large for a `numeric`, or 0.
const LARGEST_EXPONENT: f64 = 6_000.0;
/// Powers are multiplied out if they have no more digits.
const EXACT_DIGITS: u64 = 40_000;
const LN_10: f64 = std::f64::consts::LN_10;
const LOG10_E: f64 = std::f64::consts::LOG10_E;

/// A fraction: `digits` / 2^`bits`.
struct Fixed {
    digits: BigInt,
    bits: u64,
}

/// Bits for so many decimal digits.
fn bits_of(digits: u64) -> u64 {
    digits * 3322 / 1000 + 16
}

impl Fixed {
    fn new(n: &Finite, bits: u64) -> Self {
        Self { digits: (&n.digits << bits) / &*power_of_ten(n.scale), bits }
    }

    fn one(bits: u64) -> BigInt {
        BigInt::from(1) << bits
    }

    fn to_finite(&self, scale: u32) -> Finite {
        let scaled = &self.digits * &*power_of_ten(scale);
        Finite { digits: super::divide_rounded(&scaled, &Self::one(self.bits)), scale }
    }

    /// 2 * artanh(n / d), by its series; the quotient is small.
    fn twice_artanh(n: &BigInt, d: &BigInt, bits: u64) -> BigInt {
        let z = (n << bits) / d;
        let square = (&z * &z) >> bits;
        let (mut power, mut sum, mut odd) = (z.clone(), z, 3u32);
        loop {
            power = (power * &square) >> bits;
            let term = &power / odd;
            if is_zero(&term) || term == BigInt::from(-1) {
                return sum * 2;
            }
            sum += term;
            odd += 2;
        }
    }

    fn ln_2(bits: u64) -> BigInt {
        Self::twice_artanh(&BigInt::from(1), &BigInt::from(3), bits)
    }

    /// The natural logarithm of a positive number.
    fn ln(n: &Finite, bits: u64) -> Self {
        let divisor = power_of_ten(n.scale);
        // n = m * 2^shift, with m about 1.
        let shift = n.digits.bits() as i64 - divisor.bits() as i64;
        let moved = |x: &BigInt, by: i64| if by > 0 { x << by.unsigned_abs() } else { x.clone() };
        let (a, b) = (moved(&n.digits, -shift), moved(&divisor, shift));
        // ln m = 2 artanh((m - 1) / (m + 1))
        let within = Self::twice_artanh(&(&a - &b), &(&a + &b), bits);
        let digits = if shift == 0 { within } else { within + Self::ln_2(bits) * shift };
        Self { digits, bits }
    }

    /// e raised to the number.
    fn exp(&self) -> Self {
        // e^x = 2^k * e^r, r below ln 2; and e^r = (e^(r / 2^halves))^(2^halves).
        let halves = 8 + self.bits.isqrt() / 4;
        let bits = self.bits + 2 * halves + 32;
        let x = &self.digits << (bits - self.bits);
        let ln_2 = Self::ln_2(bits);
        let mut k = &x / &ln_2;
        if is_negative(&x) {
            k -= 1;
        }
        let r: BigInt = (x - &k * ln_2) >> halves;
        let one = Self::one(bits);
        let (mut term, mut sum, mut n) = (one.clone(), one, 1u32);
        loop {
            term = ((term * &r) >> bits) / n;
            if is_zero(&term) {
                break;
            }
            sum += &term;
            n += 1;
        }
        for _ in 0..halves {
            sum = (&sum * &sum) >> bits;
        }
        let k = i64::try_from(&k).unwrap_or(0);
        let sum = if k >= 0 { sum << k.unsigned_abs() } else { sum >> k.unsigned_abs() };
        Self { digits: sum >> (bits - self.bits), bits: self.bits }
    }
}

/// About the number of digits of a logarithm before the point, less one (`estimate_ln_dweight`).
fn ln_weight(n: &Finite) -> i64 {
    let one = Finite::integer(1);
    let near = n.digits.clone() - one.rescaled(n.scale).digits;
    let distance = Finite { digits: near, scale: n.scale };
    if !distance.is_zero() && distance.magnitude() <= -1 || distance.is_zero() {
        if distance.is_zero() {
            return 0;
        }
        let (weight, first) = distance.weight();
        return weight * 4 + i64::from(first.max(1).ilog10());
    }
    approximate_ln(n).abs().log10() as i64
}

/// The logarithm as a double.
fn approximate_ln(n: &Finite) -> f64 {
    let excess = (count_digits(&n.digits) as i64 - 17).max(0) as u32;
    let leading = &n.digits / &*power_of_ten(excess);
    let leading = i64::try_from(&leading).unwrap_or(1) as f64;
    leading.ln() + (f64::from(excess) - f64::from(n.scale)) * LN_10
}

fn refuse_logarithm(n: &Numeric) -> Result<()> {
    let sign = match n {
        Number(n) if n.is_zero() => 0.0,
        Number(n) if is_negative(&n.digits) => -1.0,
        NegativeInfinity => -1.0,
        _ => 1.0,
    };
    float::ln(sign).map(|_| ())
}

impl Numeric {
    /// Square root; 2201F of negative numbers.
    pub fn sqrt(&self) -> Result<Self> {
        match self {
            NaN | Infinity => Ok(self.clone()),
            NegativeInfinity => float::sqrt(-1.0).map(|_| NaN),
            Number(n) if is_negative(&n.digits) => float::sqrt(-1.0).map(|_| NaN),
            Number(n) => {
                let (weight, _) = n.weight();
                let digits = if n.is_zero() { 1 } else { (weight + 1) * 2 - 1 };
                Ok(Number(n.root(displayed(SIGNIFICANT - digits, n.scale))))
            }
        }
    }

    /// e raised to the number.
    pub fn exp(&self) -> Result<Self> {
        match self {
            NaN | Infinity => Ok(self.clone()),
            NegativeInfinity => Ok(Self::integer(0)),
            Number(n) => {
                let value = to_f64(self);
                let weight = (value * LOG10_E).clamp(-1_000.0, 1_000.0) as i64;
                let scale = displayed(SIGNIFICANT - weight, n.scale);
                Ok(Number(n.exponential(value, scale)?))
            }
        }
    }

    /// Natural logarithm; 2201E of what is not positive.
    pub fn ln(&self) -> Result<Self> {
        refuse_logarithm(self)?;
        let Number(n) = self else { return Ok(self.clone()) };
        let scale = displayed(SIGNIFICANT - ln_weight(n), n.scale);
        Ok(Number(n.logarithm(scale)))
    }

    /// Logarithm to a base.
    pub fn log(&self, base: &Self) -> Result<Self> {
        if matches!(self, NaN) || matches!(base, NaN) {
            return Ok(NaN);
        }
        refuse_logarithm(base)?;
        refuse_logarithm(self)?;
        let (n, base) = match (self, base) {
            (Number(n), Number(base)) => (n, base),
            (Infinity, Infinity) => return Ok(NaN),
            (Number(_), _) => return Ok(Self::integer(0)),
            _ => return Ok(Infinity),
        };
        let (of_base, of_n) = (ln_weight(base), ln_weight(n));
        let weight = of_n - of_base;
        let scale = displayed(SIGNIFICANT - weight, base.scale.max(n.scale));
        let digits = |own: i64| displayed(i64::from(scale) + weight - own + 20, 0);
        let divisor = base.logarithm(digits(of_base));
        if divisor.is_zero() {
            return Err(crate::ops::error::division_by_zero());
        }
        Ok(Number(n.logarithm(digits(of_n)).divided(&divisor, scale)))
    }

    /// The number raised to a power.
    pub fn power(&self, exponent: &Self) -> Result<Self> {
        let (base, power) = match (self, exponent) {
            (Number(base), Number(power)) => (base, power),
            _ => return self.special_power(exponent),
        };
        if base.is_zero() && is_negative(&power.digits) {
            return float::power(0.0, -1.0).map(|_| NaN);
        }
        let whole = power.cut(0);
        let is_whole = whole.compare(power).is_eq();
        if is_negative(&base.digits) && !is_whole {
            return float::power(-1.0, 0.5).map(|_| NaN);
        }
        let whole = if is_whole { i32::try_from(&whole.digits).ok() } else { None };
        if base.is_zero() {
            return Ok(match whole {
                Some(0) => Number(Finite::integer(1).rescaled(displayed(SIGNIFICANT, base.scale))),
                Some(_) => Number(base.rescaled(displayed(SIGNIFICANT, base.scale))),
                None => Number(base.rescaled(SIGNIFICANT as u32)),
            });
        }
        let magnitude = Finite { digits: BigInt::from(base.digits.magnitude().clone()), scale: base.scale };
        let ln = approximate_ln(&magnitude) * to_f64(exponent);
        let weight = ln * LOG10_E;
        // Of whole powers PostgreSQL shows 16 digits behind the point, however large they are.
        let scale = match whole {
            Some(_) => displayed(SIGNIFICANT, base.scale),
            None => displayed(SIGNIFICANT - weight.clamp(-1e6, 1e6) as i64, base.scale.max(power.scale)),
        };
        let digits = count_digits(&base.digits) * whole.map_or(u64::MAX / 64, |w| w.unsigned_abs().into()).min(1 << 40);
        let result = match whole {
            Some(_) if weight + 1.0 < -(MOST_DISPLAYED as f64) => Finite { digits: BigInt::ZERO, scale },
            Some(_) if weight > super::MAX_WHOLE as f64 => return Err(overflow()),
            Some(n) if digits <= EXACT_DIGITS => {
                let exact = Finite { digits: base.digits.pow(n.unsigned_abs()), scale: base.scale * n.unsigned_abs() };
                if n < 0 { Finite::integer(1).divided(&exact, scale) } else { exact.rescaled(scale) }
            }
            _ => {
                let odd = is_negative(&base.digits) && (&power.digits / &*power_of_ten(power.scale)).bit(0);
                // As many digits of the logarithm as the result has, and those of the exponent.
                let shown = (weight.max(0.0) as i64 + i64::from(scale) + 8) as u32;
                let wanted = shown + power.magnitude().max(0) as u32;
                let product =
                    Finite { digits: magnitude.logarithm(wanted).digits * &power.digits, scale: wanted + power.scale };
                let result = product.rescaled(shown).exponential(ln, scale)?;
                if odd { Finite { digits: -result.digits, scale } } else { result }
            }
        };
        Ok(Number(result.checked()?))
    }

    /// Powers with infinities and NaN, which follow the rules of doubles.
    fn special_power(&self, exponent: &Self) -> Result<Self> {
        let is = |n: &Self, what: i32| n.finite().is_some_and(|n| n.compare(&Finite::integer(what)).is_eq());
        if is(exponent, 0) || is(self, 1) {
            return Ok(Self::integer(1));
        }
        let (x, y) = (to_f64(self), to_f64(exponent));
        if x.is_nan() || y.is_nan() {
            return Ok(NaN);
        }
        let result = float::power(x, y)?;
        Ok(super::of_f64(result))
    }

    /// The product of the numbers up to this one; 22003 of negative ones and of those with too many digits.
    pub fn factorial(n: i64) -> Result<Self> {
        if n < 0 {
            let message = "factorial of a negative number is undefined";
            return Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message));
        }
        if n > 32_177 {
            return Err(overflow());
        }
        // Halves first: numbers of one length multiply faster.
        fn product(from: u32, to: u32) -> BigInt {
            if to - from < 8 {
                return (from..=to).fold(BigInt::from(1), |product, n| product * n);
            }
            let middle = (from + to) / 2;
            product(from, middle) * product(middle + 1, to)
        }
        Ok(Self::integer(product(1, (n as u32).max(1))))
    }
}

impl Finite {
    /// The square root with so many digits behind the point, of what is not negative.
    pub(super) fn root(&self, scale: u32) -> Self {
        let more = scale + 1;
        let wanted = self.scale.max(2 * more) + self.scale.max(2 * more) % 2;
        let root = self.rescaled(wanted).digits.sqrt();
        Self { digits: root, scale: wanted / 2 }.rescaled(scale)
    }

    /// e raised to it, which is about `value`, with so many digits behind the point.
    fn exponential(&self, value: f64, scale: u32) -> Result<Self> {
        if value.abs() >= LARGEST_EXPONENT {
            return if value > 0.0 { Err(overflow()) } else { Ok(Self { digits: BigInt::ZERO, scale }) };
        }
        let whole = (value * LOG10_E).max(0.0) as u64;
        let bits = bits_of(whole + u64::from(scale) + GUARD);
        Ok(Fixed::new(self, bits).exp().to_finite(scale))
    }

    /// The natural logarithm with so many digits behind the point, of what is positive.
    fn logarithm(&self, scale: u32) -> Self {
        debug_assert!(self.digits.sign() == Sign::Plus, "a logarithm of what is positive");
        Fixed::ln(self, bits_of(u64::from(scale) + GUARD)).to_finite(scale)
    }
}
