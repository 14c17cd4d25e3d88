//! Building the directory in parallel.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Result;
use base::memory::Pages;
use scheduler::{Cutting, TaskSet, Tasks};

use super::insert::insert;
use super::{Join, JoinTable, OPERATOR, TableState};
use crate::prefetch::prefetch_write;
use crate::rows::{Segment, offsets};

/// How many rows ahead slots are prefetched.
const AHEAD: usize = 64;

/// Logarithm of the number of slots for so many rows: one to two slots a row.
fn slot_bits(rows: u64) -> u32 {
    rows.next_power_of_two().trailing_zeros().max(4)
}

/// Makes the empty table and the morsels that fill it.
pub(super) fn start(join: Arc<Join>, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
    let segments = join.segments();
    let offsets = offsets(&segments);
    let rows = offsets.rows();
    let bits = slot_bits(rows);
    let charged = join.budget.reserve(8 << bits, OPERATOR)?;
    let directory = Pages::zeroed(8 << bits);
    let table = Box::into_raw(Box::new(JoinTable {
        directory: directory.as_ptr().cast_const().cast(),
        shift: u64::from(64 - bits),
        inner: Box::new(TableState { rows, _directory: directory, _charged: charged, cancel: join.cancel.clone() }),
    }));
    let before = join.table.swap(table, Ordering::Release);
    assert!(before.is_null(), "a state is finalised once");
    if segments.is_empty() {
        return Ok(None);
    }
    // SAFETY: the table lives as long as its state, which the task set keeps.
    let (directory, shift) = unsafe { ((*table).directory as usize, (*table).shift) };
    Ok(Some(Tasks::boxed(cut.rows(rows), move |_, morsel| {
        let _alive = &join;
        for (number, rows) in offsets.within(morsel) {
            // SAFETY: the directory has 2^(64 - shift) zeroed slots that live as long as the state; only `insert` on
            // atomics touches it until the last of these morsels has ended, and each row is in one morsel.
            unsafe { insert_segment(directory as *const AtomicU64, shift, &segments[number], rows) };
        }
        Ok(())
    })))
}

/// Inserts rows of a segment, with their slots prefetched for writing.
///
/// # Safety
/// `directory` must have `2^(64 - shift)` slots; nobody else may touch the rows.
unsafe fn insert_segment(directory: *const AtomicU64, shift: u64, segment: &Segment, rows: Range<usize>) {
    // SAFETY: as the caller promises; a row starts with the chain and the hash, each 8 bytes.
    unsafe {
        let hash = |at: usize| segment.row(at).cast::<u64>().add(1).read();
        for from in rows.clone().step_by(AHEAD) {
            let to = (from + AHEAD).min(rows.end);
            for at in from..to {
                prefetch_write(directory.add((hash(at) >> shift) as usize));
            }
            for at in from..to {
                let (row, hash) = (segment.row(at), hash(at));
                insert(&*directory.add((hash >> shift) as usize), row as u64, hash, |next| {
                    row.cast::<u64>().write(next);
                });
            }
        }
    }
}
