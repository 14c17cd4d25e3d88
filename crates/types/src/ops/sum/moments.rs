//! What covariances and regressions need of pairs of doubles or integers, exactly.

use base::Result;

use super::{LongSum, long, quotient};

/// Exact sums of pairs (y, x): of both, their squares and their products.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    /// How many pairs.
    pub count: u64,
    /// The sum of all y.
    pub y: LongSum,
    /// The sum of all x.
    pub x: LongSum,
    /// The sum of their squares.
    pub yy: LongSum,
    /// The sum of their squares.
    pub xx: LongSum,
    /// The sum of the products.
    pub xy: LongSum,
}

impl Moments {
    /// Adds a pair.
    pub fn add(&mut self, y: f64, x: f64) {
        self.count += 1;
        self.y.add(y);
        self.x.add(x);
        self.yy.add_square(y);
        self.xx.add_square(x);
        self.xy.add_product(x, y);
    }
}

/// What functions of pairs (y, x) are made of. There must be a pair.
pub trait PairMoments {
    /// How many pairs.
    fn count(&self) -> u64;
    /// The sum of all y, rounded once; 22003 if it is too large.
    fn y(&self) -> Result<f64>;
    /// The sum of all x.
    fn x(&self) -> Result<f64>;
    /// The sum of the squared distances of x from its average, rounded once; NaN if some x is not finite, 22003 if it is too
    /// large.
    fn xx(&self) -> Result<f64>;
    /// The same of y.
    fn yy(&self) -> Result<f64>;
    /// The sum of the products of both distances.
    fn xy(&self) -> Result<f64>;
}

impl PairMoments for Moments {
    fn count(&self) -> u64 {
        self.count
    }
    fn y(&self) -> Result<f64> {
        self.y.round()
    }
    fn x(&self) -> Result<f64> {
        self.x.round()
    }
    fn xx(&self) -> Result<f64> {
        distances(self.count, [&self.x, &self.x], &self.xx)
    }
    fn yy(&self) -> Result<f64> {
        distances(self.count, [&self.y, &self.y], &self.yy)
    }
    fn xy(&self) -> Result<f64> {
        distances(self.count, [&self.x, &self.y], &self.xy)
    }
}

/// `products - sum * sum / n`: the difference of `n * products` and `sum * sum` is exact, so nothing cancels.
fn distances(count: u64, sums: [&LongSum; 2], products: &LongSum) -> Result<f64> {
    if !sums.iter().all(|sum| sum.is_finite()) {
        return Ok(f64::NAN);
    }
    quotient(long::deviations(count, sums, products), count as f64, 1.0)
}

/// As [`Moments`], of integers.
#[derive(Clone, Copy, Debug, Default)]
pub struct IntegerMoments {
    /// How many pairs.
    pub count: u64,
    /// The sum of all y.
    pub y: i128,
    /// The sum of all x.
    pub x: i128,
    /// The sum of the squares of y.
    pub yy: i128,
    /// The sum of the squares of x.
    pub xx: i128,
    /// The sum of the products.
    pub xy: i128,
}

impl IntegerMoments {
    /// As [`distances`]: where the difference fits 128 bits, in these.
    fn distances(&self, [a, b]: [i128; 2], products: i128) -> Result<f64> {
        let of_products = i128::from(self.count).checked_mul(products);
        let difference = of_products.zip(a.checked_mul(b)).and_then(|(p, s)| p.checked_sub(s));
        match difference {
            Some(difference) => Ok(difference as f64 / self.count as f64),
            None => {
                let [a, b, products] = [a, b, products].map(LongSum::of_integer);
                distances(self.count, [&a, &b], &products)
            }
        }
    }
}

impl PairMoments for IntegerMoments {
    fn count(&self) -> u64 {
        self.count
    }
    fn y(&self) -> Result<f64> {
        Ok(self.y as f64)
    }
    fn x(&self) -> Result<f64> {
        Ok(self.x as f64)
    }
    fn xx(&self) -> Result<f64> {
        self.distances([self.x, self.x], self.xx)
    }
    fn yy(&self) -> Result<f64> {
        self.distances([self.y, self.y], self.yy)
    }
    fn xy(&self) -> Result<f64> {
        self.distances([self.x, self.y], self.xy)
    }
}
