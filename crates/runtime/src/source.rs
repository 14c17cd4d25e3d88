//! Reading a finished state: its rows as one range of numbers that the scheduler cuts into morsels.

use std::sync::Arc;

use pipeline::ir::RowSet;
use scheduler::{Morsel, Offsets};

use crate::join::prefetch;
use crate::query::Shared;
use crate::rows::{Segment, offsets};

/// The rows of a finished state, numbered from 0. Sorted rows are numbered in order.
#[derive(Debug)]
pub struct RowSource {
    segments: Vec<Segment>,
    offsets: Offsets,
    rows: RowSet,
    /// Keeps the rows alive.
    _shared: Arc<Shared>,
}

impl RowSource {
    pub(crate) fn new(shared: Arc<Shared>, segments: Vec<Segment>, rows: RowSet) -> Self {
        let offsets = offsets(&segments);
        Self { segments, offsets, rows, _shared: shared }
    }

    /// Number of rows before `Marked` and `Unmarked` choose among them: what morsels are cut from.
    pub fn len(&self) -> u64 {
        self.offsets.rows()
    }
    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `out` with the next rows of `*cursor..end` that belong to the set, advances the cursor behind the last row
    /// looked at, and returns how many there are: 0 only at the end.
    pub fn fill(&self, cursor: &mut u64, end: u64, out: &mut [*mut u8]) -> usize {
        let end = end.min(self.len());
        let mut filled = 0;
        for (number, rows) in self.offsets.within(Morsel { begin: *cursor, end: end.max(*cursor) }) {
            let (seen, taken) = self.fill_from(&self.segments[number], rows.start, rows.end, &mut out[filled..]);
            *cursor += seen as u64;
            filled += taken;
            if seen < rows.len() {
                break;
            }
        }
        filled
    }

    /// (rows looked at, rows taken)
    fn fill_from(&self, segment: &Segment, from: usize, to: usize, out: &mut [*mut u8]) -> (usize, usize) {
        let (offset, wanted) = match self.rows {
            RowSet::All => {
                let n = (to - from).min(out.len());
                for (i, row) in out[..n].iter_mut().enumerate() {
                    // SAFETY: rows `from..to` exist, and `_shared` keeps them alive.
                    *row = unsafe { segment.row(from + i) };
                    // Pointers lead anywhere: the misses of a batch overlap.
                    if let Segment::Pointers { .. } = segment {
                        prefetch(*row);
                    }
                }
                return (n, n);
            }
            RowSet::Marked(offset) => (offset, 1),
            RowSet::Unmarked(offset) => (offset, 0),
        };
        let mut taken = 0;
        for at in from..to {
            if taken == out.len() {
                return (at - from, taken);
            }
            // SAFETY: the row exists, and the marker lies in it; the pipelines that set markers have ended.
            unsafe {
                let row = segment.row(at);
                out[taken] = row;
                taken += usize::from(*row.add(offset as usize) == wanted);
            }
        }
        (to - from, taken)
    }
}
