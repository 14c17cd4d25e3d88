//! Top-k: bounding a worker's rows to those that may be among the first k.

use std::sync::Arc;

use base::Result;

use super::few;
use super::order::Order;
use crate::rows::{Bound, Look, Segment};
use crate::threshold::Threshold;

/// A worker keeps this many times the rows that are needed before it throws any away.
const SLACK: usize = 4;
/// Fewer rows than this are not worth looking at.
const LEAST: usize = 256;

/// The first rows of an order.
#[derive(Debug)]
pub(super) struct Top {
    order: Arc<Order>,
    needed: usize,
    /// Of the first key, if there is one.
    threshold: Option<Threshold>,
}

impl Top {
    pub(super) fn new(order: &Arc<Order>, needed: usize) -> Self {
        let key = order.fields[..order.keys].first();
        let threshold = key.map(|key| Threshold::new(needed as u64, key.descending, key.nulls_first));
        Self { order: order.clone(), needed, threshold }
    }

    pub(super) fn threshold(&self) -> Option<&Threshold> {
        self.threshold.as_ref()
    }
}

impl Bound for Top {
    fn least(&self) -> usize {
        LEAST.max(self.needed.saturating_mul(SLACK))
    }

    fn fewest(&self) -> usize {
        self.needed.saturating_mul(2).max(1)
    }

    /// The first rows: O(rows), every `(SLACK - 1) * needed` rows or less often.
    fn look(&self, rows: &[Segment]) -> Result<Look> {
        // SAFETY: rows of this state, all fields of which have been stored, with strings that are alive.
        let first = unsafe { few::first(rows, &self.order, self.needed) };
        if let (Some(threshold), Some(&last)) = (&self.threshold, first.last()) {
            // SAFETY: likewise.
            threshold.tighten(unsafe { self.order.fields[0].value(last) });
        }
        Ok(Look { kept: Some(first), next: self.least() })
    }
}
