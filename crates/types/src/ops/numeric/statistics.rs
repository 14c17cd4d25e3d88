//! Sums, averages and variances of numbers, exact until the result: in whatever order they come.

use base::Result;
use num_bigint::BigInt;

use super::Numeric::{Finite as Number, Infinity, NaN, NegativeInfinity};
use super::{Finite, Numeric};

/// What is known of numbers.
#[derive(Clone, Debug)]
pub struct Summary {
    count: u64,
    sum: Finite,
    squares: Finite,
    has_squares: bool,
    nan: bool,
    above: bool,
    below: bool,
}

/// Adds without a copy where the scales agree.
fn add(sum: &mut Finite, n: Finite) {
    if n.scale > sum.scale {
        *sum = sum.rescaled(n.scale);
    }
    sum.digits += if n.scale < sum.scale { n.rescaled(sum.scale).digits } else { n.digits };
}

impl Summary {
    /// Of nothing yet; with the sum of squares if variances are wanted.
    pub fn new(has_squares: bool) -> Self {
        let zero = || Finite::integer(0);
        Self { count: 0, sum: zero(), squares: zero(), has_squares, nan: false, above: false, below: false }
    }

    /// Takes a number.
    pub fn add(&mut self, value: Numeric) {
        self.count += 1;
        match value {
            NaN => self.nan = true,
            Infinity => self.above = true,
            NegativeInfinity => self.below = true,
            Number(n) => {
                if self.has_squares {
                    add(&mut self.squares, Finite { digits: &n.digits * &n.digits, scale: n.scale * 2 });
                }
                add(&mut self.sum, n);
            }
        }
    }

    /// How many numbers there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn special(&self) -> Option<Numeric> {
        match (self.nan, self.above, self.below) {
            (false, false, false) => None,
            (false, true, false) => Some(Infinity),
            (false, false, true) => Some(NegativeInfinity),
            _ => Some(NaN),
        }
    }

    /// The sum.
    pub fn sum(&self) -> Result<Numeric> {
        match self.special() {
            Some(special) => Ok(special),
            None => self.sum.clone().checked().map(Number),
        }
    }

    /// The sum by the count.
    pub fn average(&self) -> Result<Numeric> {
        self.sum()?.over(&Numeric::integer(self.count))
    }

    /// The variance, of a sample (`less` is 1) or of all there is (0): (count * squares - sum^2) / (count * (count - less)).
    pub fn variance(&self, less: u64) -> Result<Numeric> {
        Ok(self.dispersion(less).map_or(NaN, |(n, d, scale)| Number(n.divided(&d, scale))))
    }

    /// The root of the variance.
    pub fn deviation(&self, less: u64) -> Result<Numeric> {
        Ok(self.dispersion(less).map_or(NaN, |(n, d, scale)| Number(n.divided(&d, scale).root(scale))))
    }

    fn dispersion(&self, less: u64) -> Option<(Finite, Finite, u32)> {
        if self.special().is_some() {
            return None;
        }
        let count = BigInt::from(self.count);
        let squares = self.squares.rescaled(self.sum.scale * 2);
        let digits = &count * squares.digits - &self.sum.digits * &self.sum.digits;
        let (n, d) = (Finite { digits, scale: squares.scale }, Finite::integer(count * (self.count - less)));
        if n.is_zero() {
            return Some((Finite::integer(0), d, 0));
        }
        let scale = n.quotient_scale(&d);
        Some((n, d, scale))
    }
}
