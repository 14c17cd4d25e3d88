//! Rows that workers materialise into areas of their own (thesis 4.3), and what is made of them.
//!
//! A row that outlives its batch owns its strings: at the end of each morsel, the payload of what came in is copied to
//! memory that belongs to the same rows ([`strings`]). So no row keeps a chunk, a file or another state in memory, and a
//! partition goes, or is written to a file, by itself ([`chunks`], [`mod@file`]).

mod chunks;
pub mod file;
mod materialised;
mod strings;
#[cfg(test)]
mod tests;

use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::Arc;

use base::Area;
use base::ids::Id;
use base::traffic::{self, Access, MemoryPlacement};
use scheduler::{Cutting, EachWorker, Morsel, MorselRanges, NodeId, Offsets};

pub use chunks::{ChunkList, Pool};
pub(crate) use materialised::{Bound, Look, Mark, Materialised, RowLists};
pub use materialised::{LocalRows, RowsLocal};
pub use strings::StringFields;
pub(crate) use strings::{copy_text, keep_text};

/// One item for each worker that has come.
///
/// While a pipeline runs, worker i alone touches item i, through the pointer that [`get`](Self::get) gave it. Whoever
/// finalises a state reads and writes all items: no pipeline that fills the state runs then, and the scheduler orders
/// the end of a pipeline before its finalisation.
#[derive(Debug)]
pub(crate) struct PerWorker<T>(EachWorker<Local<T>>);

#[derive(Debug)]
struct Local<T>(UnsafeCell<T>);

// SAFETY: access is divided between threads as the type's documentation says.
unsafe impl<T: Send> Sync for Local<T> {}

impl<T> Default for PerWorker<T> {
    fn default() -> Self {
        Self(EachWorker::default())
    }
}

impl<T> PerWorker<T> {
    /// The item of a worker, made when it first comes.
    pub(crate) fn get_or(&self, worker: usize, make: impl FnOnce() -> T) -> *mut T {
        self.0.get_or(worker, || Local(UnsafeCell::new(make()))).0.get()
    }
    /// The item of a worker that has come.
    pub(crate) fn get(&self, worker: usize) -> *mut T {
        self.0.get(worker).expect("made when the worker came").0.get()
    }
    /// # Safety
    /// Nobody else may touch an item while its reference lives.
    pub(crate) unsafe fn iter_mut(&self) -> impl Iterator<Item = &mut T> {
        // SAFETY: the caller promises that the item is nobody else's.
        self.0.iter().map(|(_, item)| unsafe { &mut *item.0.get() })
    }
    /// # Safety
    /// No worker may write its item while the references live.
    pub(crate) unsafe fn iter(&self) -> impl Iterator<Item = &T> {
        // SAFETY: the caller promises that nobody writes.
        self.0.iter().map(|(_, item)| unsafe { &*item.0.get() })
    }
}

/// Bytes that are counted for a row that is read through a pointer: the pointer, and a cache line.
const POINTED: usize = 72;

/// Rows that lie one after the other, or pointers to rows.
#[derive(Clone, Copy, Debug)]
pub enum Segment {
    /// `rows` rows from `start` on, `stride` bytes apart.
    Block {
        /// The first row.
        start: *mut u8,
        /// Bytes from one row to the next.
        stride: usize,
        /// Their number.
        rows: usize,
        /// The node that they lie on.
        node: u16,
    },
    /// `rows` pointers to rows.
    Pointers {
        /// The first pointer.
        start: *const *mut u8,
        /// Their number.
        rows: usize,
    },
}

// SAFETY: segments are read while the state that they describe is finished and alive.
unsafe impl Send for Segment {}
// SAFETY: as for `Send`: nobody writes through a shared segment.
unsafe impl Sync for Segment {}

impl Segment {
    /// Their number.
    pub fn rows(&self) -> usize {
        match *self {
            Self::Block { rows, .. } | Self::Pointers { rows, .. } => rows,
        }
    }

    /// The node that they lie on; none if they may lie on several.
    pub(crate) fn node(&self) -> Option<u16> {
        match *self {
            Self::Block { node, .. } => Some(node),
            Self::Pointers { .. } => None,
        }
    }

    /// Somebody reads so many of them.
    pub(crate) fn note_read(&self, rows: usize) {
        match *self {
            Self::Block { stride, node, .. } => traffic::note(Access::Area, node, (rows * stride) as u64),
            Self::Pointers { .. } => traffic::note_spread(Access::Area, (rows * POINTED) as u64),
        }
    }

    /// Row number `at`.
    ///
    /// # Safety
    /// `at < rows()`, and the state must be alive.
    #[inline]
    pub unsafe fn row(&self, at: usize) -> *mut u8 {
        debug_assert!(at < self.rows());
        match *self {
            // SAFETY: inside of the block.
            Self::Block { start, stride, .. } => unsafe { start.add(at * stride) },
            // SAFETY: inside of the array.
            Self::Pointers { start, .. } => unsafe { *start.add(at) },
        }
    }

    /// Cuts into segments of at most `rows` rows.
    pub(crate) fn cut(self, rows: usize) -> impl Iterator<Item = Self> {
        let all = self.rows();
        (0..all).step_by(rows).map(move |from| self.slice(from..all.min(from + rows)))
    }

    /// Some of the rows.
    pub(crate) fn slice(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.rows());
        let (from, rows) = (range.start, range.len());
        // SAFETY: inside of the segment or at its end.
        unsafe {
            match self {
                Self::Block { start, stride, node, .. } => {
                    Self::Block { start: start.add(from * stride), stride, rows, node }
                }
                Self::Pointers { start, .. } => Self::Pointers { start: start.add(from), rows },
            }
        }
    }
}

/// The rows of some segments, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    segments: Arc<[Segment]>,
    offsets: Offsets,
}

impl Sequence {
    pub(crate) fn new(segments: Vec<Segment>) -> Self {
        Self { offsets: offsets(&segments), segments: segments.into() }
    }

    /// Their number.
    pub(crate) fn len(&self) -> usize {
        self.offsets.rows() as usize
    }

    /// Bytes from one row to the next, where rows lie one after the other.
    pub(crate) fn stride(&self) -> usize {
        match self.segments.first() {
            Some(Segment::Block { stride, .. }) => *stride,
            _ => 0,
        }
    }

    /// Some of them.
    pub(crate) fn slice(&self, rows: Range<usize>) -> Vec<Segment> {
        self.within(rows).map(|(segment, rows)| segment.slice(rows)).collect()
    }

    /// The addresses of as many rows as there are places, from number `at` on.
    ///
    /// # Safety
    /// They must exist, and the state must be alive.
    pub(crate) unsafe fn addresses(&self, at: usize, out: &mut [*mut u8]) {
        let mut out = out.iter_mut();
        for (segment, rows) in self.within(at..at + out.len()) {
            for (row, out) in rows.zip(&mut out) {
                // SAFETY: as the caller promises.
                *out = unsafe { segment.row(row) };
            }
        }
    }

    fn within(&self, rows: Range<usize>) -> impl Iterator<Item = (Segment, Range<usize>)> {
        let morsel = Morsel { begin: rows.start as u64, end: rows.end as u64 };
        self.offsets.within(morsel).map(|(number, rows)| (self.segments[number], rows))
    }
}

/// The rows of segments as one range of numbers.
pub(crate) fn offsets(segments: &[Segment]) -> Offsets {
    Offsets::new(segments.iter().map(|segment| segment.rows() as u64))
}

/// Morsels of rows that lie where they were written: workers of their nodes find them first (thesis 4.5.1).
pub(crate) fn cut_rows(segments: &[Segment], offsets: &Offsets, cut: &Cutting) -> MorselRanges {
    match on_nodes(segments, offsets, cut) {
        Some(parts) => cut.placed(&parts),
        None => cut.rows(offsets.rows()),
    }
}

/// The rows of each node, if there are several and it is known.
fn on_nodes(segments: &[Segment], offsets: &Offsets, cut: &Cutting) -> Option<Vec<(NodeId, Range<u64>)>> {
    let nodes = cut.placement.node_count();
    if nodes == 1 || cut.memory == MemoryPlacement::Interleaved {
        return None;
    }
    let mut parts: Vec<(NodeId, Range<u64>)> = Vec::new();
    for (segment, rows) in segments.iter().zip(offsets.ranges()) {
        // Pointers lead anywhere.
        let node = NodeId::from_index(usize::from(segment.node()?) % nodes);
        match parts.last_mut() {
            Some((last, part)) if *last == node => part.end = rows.end,
            _ => parts.push((node, rows)),
        }
    }
    Some(parts)
}

/// The rows of an area that holds nothing but rows of `stride` bytes.
pub(crate) fn area_segments(area: &Area, stride: usize) -> impl Iterator<Item = Segment> {
    let node = area.node();
    area.blocks()
        .map(move |(start, used)| Segment::Block { start, stride, rows: used / stride, node })
        .filter(|segment| segment.rows() > 0)
}
