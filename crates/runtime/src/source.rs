//! Reading a finished state: its rows as one range of numbers that the scheduler cuts into morsels.
//!
//! Some states finish a partition only when it is read, while its rows are in the reader's cache. Such a partition has as
//! many numbers as it may have rows, and is one morsel.

use std::fmt::Debug;
use std::sync::Arc;

use base::Result;
use pipeline::ir::RowSet;
use scheduler::{Cutting, Morsel, MorselRanges, Offsets};

use crate::rows::{Segment, cut_rows, offsets};
use crate::state::State;
use crate::worker::Worker;
use base::prefetch::prefetch;

/// Partitions that are finished when they are read.
pub(crate) trait Partitions: Debug + Send + Sync {
    /// The most rows that each may have.
    fn sizes(&self) -> Vec<usize>;
    /// The rows of a partition, or none if there is more to do for them after so many steps.
    fn open(&self, partition: usize, worker: &mut Worker, steps: u64) -> Result<Option<Arc<[Address]>>>;
}

/// What is added to rows when they are read.
pub(crate) trait Complete: Debug + Send + Sync {
    /// Completes rows from number `at` on.
    ///
    /// # Safety
    /// They must be these rows of the state, which nobody else reads or writes.
    unsafe fn complete(&self, at: usize, rows: &[*mut u8]);
}

/// The address of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address(pub(crate) *mut u8);
// SAFETY: rows of finished states are read, or touched by whoever opens their partition, one at a time.
unsafe impl Send for Address {}
// SAFETY: as for `Send`.
unsafe impl Sync for Address {}

/// The rows of a finished state, numbered from 0. Sorted rows are numbered in order.
#[derive(Debug)]
pub struct RowSource {
    parts: Parts,
    offsets: Offsets,
    rows: RowSet,
    complete: Option<Arc<dyn Complete>>,
    /// Keeps the rows alive.
    _state: Arc<dyn State>,
}

#[derive(Debug)]
enum Parts {
    Segments(Vec<Segment>),
    Partitions(Arc<dyn Partitions>),
}

impl RowSource {
    pub(crate) fn new(segments: Vec<Segment>, rows: RowSet, state: Arc<dyn State>) -> Self {
        let offsets = offsets(&segments);
        Self { offsets, parts: Parts::Segments(segments), rows, complete: None, _state: state }
    }

    /// All rows of these segments, each completed when it is read: once, as whoever reads them claims them.
    pub(crate) fn completed(segments: Vec<Segment>, state: Arc<dyn State>, complete: Arc<dyn Complete>) -> Self {
        Self { complete: Some(complete), ..Self::new(segments, RowSet::All, state) }
    }

    pub(crate) fn of_partitions(partitions: Arc<dyn Partitions>, state: Arc<dyn State>) -> Self {
        let offsets = Offsets::new(partitions.sizes().into_iter().map(|rows| rows as u64));
        let parts = Parts::Partitions(partitions);
        Self { offsets, parts, rows: RowSet::All, complete: None, _state: state }
    }

    /// Number of rows, or more, before `Marked` and `Unmarked` choose among them.
    pub fn len(&self) -> u64 {
        self.offsets.rows()
    }
    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the rows of a batch have numbers that follow each other, so that a morsel can be divided behind any.
    pub fn is_dense(&self) -> bool {
        matches!(self.parts, Parts::Segments(_)) && matches!(self.rows, RowSet::All | RowSet::Round)
    }

    /// The morsels: a partition is one.
    pub fn cut(&self, cut: &Cutting) -> MorselRanges {
        match &self.parts {
            Parts::Segments(segments) => cut_rows(segments, &self.offsets, cut),
            Parts::Partitions(_) => cut.pieces(&self.offsets),
        }
    }

    /// Makes sure that the rows from `at` on can be read; false if there is more to do for it after so many steps, by
    /// whoever comes.
    pub fn prepare(&self, worker: &mut Worker, at: u64, steps: u64) -> Result<bool> {
        match &self.parts {
            Parts::Partitions(partitions) if at < self.len() => {
                Ok(partitions.open(self.offsets.piece(at), worker, steps)?.is_some())
            }
            _ => Ok(true),
        }
    }

    /// Fills `out` with the next rows of `*cursor..end` that belong to the set, advances the cursor behind the last row
    /// looked at, and returns how many there are: 0 only at the end.
    pub fn fill(&self, worker: &mut Worker, cursor: &mut u64, end: u64, out: &mut [*mut u8]) -> Result<usize> {
        let end = end.min(self.len()).max(*cursor);
        match &self.parts {
            Parts::Segments(segments) => {
                let at = *cursor as usize;
                let filled = self.fill_from_segments(segments, cursor, end, out);
                if let Some(complete) = &self.complete {
                    // SAFETY: rows from number `at` on, all of the set, which the caller has claimed.
                    unsafe { complete.complete(at, &out[..filled]) };
                }
                Ok(filled)
            }
            Parts::Partitions(partitions) => self.fill_from_partitions(&**partitions, worker, cursor, end, out),
        }
    }

    fn fill_from_partitions(
        &self,
        partitions: &dyn Partitions,
        worker: &mut Worker,
        cursor: &mut u64,
        end: u64,
        out: &mut [*mut u8],
    ) -> Result<usize> {
        for (partition, numbers) in self.offsets.within(Morsel { begin: *cursor, end }) {
            let rows = partitions.open(partition, worker, u64::MAX)?.expect("as many steps as it takes");
            let left = rows.get(numbers.start..rows.len().min(numbers.end)).unwrap_or_default();
            if left.is_empty() {
                *cursor += numbers.len() as u64;
                continue;
            }
            let n = left.len().min(out.len());
            for (out, row) in out.iter_mut().zip(left) {
                // They lie where workers have written them, anywhere: the misses of a batch overlap.
                prefetch(row.0);
                *out = row.0;
            }
            *cursor += n as u64;
            return Ok(n);
        }
        Ok(0)
    }

    fn fill_from_segments(&self, segments: &[Segment], cursor: &mut u64, end: u64, out: &mut [*mut u8]) -> usize {
        let mut filled = 0;
        for (number, rows) in self.offsets.within(Morsel { begin: *cursor, end }) {
            let (seen, taken) = self.fill_from(&segments[number], rows.start, rows.end, &mut out[filled..]);
            *cursor += seen as u64;
            filled += taken;
            segments[number].note_read(seen);
            if seen < rows.len() {
                break;
            }
        }
        filled
    }

    /// (rows looked at, rows taken)
    fn fill_from(&self, segment: &Segment, from: usize, to: usize, out: &mut [*mut u8]) -> (usize, usize) {
        let (offset, wanted) = match self.rows {
            RowSet::All | RowSet::Round => {
                let n = (to - from).min(out.len());
                for (i, row) in out[..n].iter_mut().enumerate() {
                    // SAFETY: rows `from..to` exist, and `_state` keeps them alive.
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
