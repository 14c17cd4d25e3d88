//! Top-k: bounding a worker's rows to those that may be among the first k.

use base::{Area, Budget, Result};

use super::OPERATOR;
use super::key::{Item, Order};
use crate::abi::RowsLocal;
use crate::rows::area_segments;

/// A worker keeps this many times the rows that are needed before it throws any away.
const SLACK: usize = 4;
/// Fewer rows than this are not worth looking at.
const LEAST: usize = 4 << 10;

/// If the worker has many more than `needed` rows, moves the first `needed` of them to a new area and drops the others:
/// O(rows), every `(SLACK - 1) * needed` rows or less often.
pub(super) fn prune(local: &mut RowsLocal, order: &Order, needed: usize, budget: &Budget) -> Result<()> {
    let rows: usize = area_segments(&local.area, local.stride).map(|s| s.rows()).sum();
    if rows < LEAST.max(needed.saturating_mul(SLACK)) {
        return Ok(());
    }
    let mut items = Vec::with_capacity(rows);
    for segment in area_segments(&local.area, local.stride) {
        for at in 0..segment.rows() {
            // SAFETY: the row exists, and all of its fields have been stored.
            unsafe {
                let row = segment.row(at);
                items.push(Item { prefix: order.prefix(row), row });
            }
        }
    }
    if needed > 0 {
        // SAFETY: rows of this state.
        items.select_nth_unstable_by(needed - 1, |a, b| unsafe { order.compare(a, b) });
    }
    let mut kept = Area::new(budget.clone(), OPERATOR);
    for item in &items[..needed] {
        let to = kept.allocate(local.stride)?;
        // SAFETY: both are rows of `stride` bytes, in different areas.
        unsafe { to.as_ptr().copy_from_nonoverlapping(item.row, local.stride) };
    }
    local.area = kept;
    Ok(())
}
