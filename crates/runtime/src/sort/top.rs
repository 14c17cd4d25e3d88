//! Top-k: bounding a worker's rows to those that may be among the first k.

use std::sync::Arc;

use super::few;
use super::order::Order;
use crate::rows::{Bound, Segment};

/// A worker keeps this many times the rows that are needed before it throws any away.
const SLACK: usize = 4;
/// Fewer rows than this are not worth looking at.
const LEAST: usize = 4 << 10;

/// The first rows of an order.
#[derive(Debug)]
pub(super) struct Top {
    pub(super) order: Arc<Order>,
    pub(super) needed: usize,
}

impl Bound for Top {
    /// If the worker has many more rows than are needed, the first ones: O(rows), every `(SLACK - 1) * needed` rows or
    /// less often.
    fn keep(&self, rows: &[Segment]) -> Option<Vec<*mut u8>> {
        let count: usize = rows.iter().map(Segment::rows).sum();
        // SAFETY: rows of this state, all fields of which have been stored, with strings that are alive.
        (count >= LEAST.max(self.needed.saturating_mul(SLACK)))
            .then(|| unsafe { few::first(rows, &self.order, self.needed) })
    }
}
