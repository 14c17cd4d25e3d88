//! What group rows keep for covariances and regressions: the moments of pairs of doubles, exact as all sums of doubles are
//! ([`sum`](crate::sum), decision 12).

use base::Result;
use types::ops::sum::Moments;

use crate::sum::{ExactProducts, ExactSum};
use crate::worker::Worker;

/// How many pairs, and the sums of y, x, their squares and their products. Zeroed memory is no pair.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ExactMoments {
    count: u64,
    y: ExactSum,
    x: ExactSum,
    yy: ExactProducts,
    xx: ExactProducts,
    xy: ExactProducts,
}

impl ExactMoments {
    /// Adds a pair.
    ///
    /// # Safety
    /// As for [`ExactSum::add`], of all sums.
    pub(crate) unsafe fn add(&mut self, worker: &mut Worker, y: f64, x: f64) -> Result<()> {
        self.count += 1;
        // SAFETY: as the caller promises.
        unsafe {
            self.y.add(worker, y)?;
            self.x.add(worker, x)?;
            self.yy.add(worker, y, y)?;
            self.xx.add(worker, x, x)?;
            self.xy.add(worker, x, y)
        }
    }

    /// Adds another one's.
    ///
    /// # Safety
    /// As for [`ExactSum::add`], of all sums of both.
    pub(crate) unsafe fn merge(&mut self, worker: &mut Worker, other: &Self) -> Result<()> {
        self.count += other.count;
        // SAFETY: as the caller promises.
        unsafe {
            self.y.merge(worker, &other.y)?;
            self.x.merge(worker, &other.x)?;
            self.yy.merge(worker, &other.yy)?;
            self.xx.merge(worker, &other.xx)?;
            self.xy.merge(worker, &other.xy)
        }
    }

    /// The exact sums.
    ///
    /// # Safety
    /// As for [`ExactSum::add`], of all sums.
    pub(crate) unsafe fn exact(&self) -> Moments {
        // SAFETY: as the caller promises.
        unsafe {
            Moments {
                count: self.count,
                y: self.y.exact(),
                x: self.x.exact(),
                yy: self.yy.exact(),
                xx: self.xx.exact(),
                xy: self.xy.exact(),
            }
        }
    }
}
