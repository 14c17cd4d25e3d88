//! Top-k: bounding a worker's rows to those that may be among the first k.

use base::{Area, Budget, Result};

use super::order::Order;
use super::{OPERATOR, few};
use crate::abi::RowsLocal;
use crate::rows::{Segment, area_segments};

/// A worker keeps this many times the rows that are needed before it throws any away.
const SLACK: usize = 4;
/// Fewer rows than this are not worth looking at.
const LEAST: usize = 4 << 10;

/// If the worker has many more than `needed` rows, moves the first `needed` of them to a new area and drops the others:
/// O(rows), every `(SLACK - 1) * needed` rows or less often.
pub(super) fn prune(local: &mut RowsLocal, order: &Order, needed: usize, budget: &Budget) -> Result<()> {
    let segments: Vec<Segment> = area_segments(&local.area, local.stride).collect();
    if segments.iter().map(Segment::rows).sum::<usize>() < LEAST.max(needed.saturating_mul(SLACK)) {
        return Ok(());
    }
    // SAFETY: rows of this state, all fields of which have been stored.
    let first = unsafe { few::first(&segments, order, needed) };
    let mut kept = Area::new(budget.clone(), OPERATOR);
    for row in first {
        let to = kept.allocate(local.stride)?;
        // SAFETY: both are rows of `stride` bytes, in different areas.
        unsafe { to.as_ptr().copy_from_nonoverlapping(row, local.stride) };
    }
    local.area = kept;
    Ok(())
}
