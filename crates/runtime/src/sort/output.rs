//! Sorted rows: their addresses, written in independent ranges.

use base::memory::{Pages, Reservation};
use base::{Budget, Result};

use crate::rows::Segment;

use super::OPERATOR;

/// Room for the addresses of all sorted rows.
#[derive(Debug)]
pub(super) struct Output {
    pages: Pages,
    rows: usize,
    _charged: Reservation,
}

impl Output {
    pub(super) fn new(rows: usize, budget: &Budget) -> Result<Self> {
        let bytes = rows.max(1) * size_of::<*mut u8>();
        let charged = budget.reserve(bytes, OPERATOR)?;
        Ok(Self { pages: Pages::recycled(bytes).0, rows, _charged: charged })
    }

    fn start(&self) -> *mut *mut u8 {
        self.pages.as_ptr().cast()
    }

    /// Writes rows from place `at` on.
    ///
    /// # Safety
    /// Nobody else may read or write these places meanwhile.
    pub(super) unsafe fn write(&self, at: usize, rows: impl ExactSizeIterator<Item = *mut u8>) {
        assert!(at + rows.len() <= self.rows);
        for (i, row) in rows.enumerate() {
            // SAFETY: inside of the pages; the caller promises that the place is its own.
            unsafe { self.start().add(at + i).write(row) };
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Some of the rows, all of which must have been written.
    pub(super) fn segment(&self, from: usize, rows: usize) -> Segment {
        assert!(from + rows <= self.rows);
        // SAFETY: inside of the pages or at their end.
        Segment::Pointers { start: unsafe { self.start().add(from).cast_const() }, rows }
    }
}
