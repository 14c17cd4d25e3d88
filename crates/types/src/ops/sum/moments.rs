//! What covariances and regressions need of pairs of doubles, exactly.

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

    /// The sum of the squared distances of x from its average, rounded once; NaN if some x is not finite, 22003 if it is too
    /// large. There must be a pair.
    pub fn xx(&self) -> Result<f64> {
        self.distances([&self.x, &self.x], &self.xx)
    }

    /// The same of y.
    pub fn yy(&self) -> Result<f64> {
        self.distances([&self.y, &self.y], &self.yy)
    }

    /// The sum of the products of both distances.
    pub fn xy(&self) -> Result<f64> {
        self.distances([&self.x, &self.y], &self.xy)
    }

    /// `products - sum * sum / n`: the difference of `n * products` and `sum * sum` is exact, so nothing cancels.
    fn distances(&self, sums: [&LongSum; 2], products: &LongSum) -> Result<f64> {
        if !sums.iter().all(|sum| sum.is_finite()) {
            return Ok(f64::NAN);
        }
        quotient(long::deviations(self.count, sums, products), self.count as f64, 1.0)
    }
}
