//! Sorted rows: their addresses, or the words that hold all of each. From words a row is restored when it is read, in the
//! memory that some row came in: then it is in the cache, and the memory is written one row after the other.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use base::memory::{Buffer, Reservation};

use crate::rows::{Segment, Sequence};
use crate::source::{Address, Complete};
use base::prefetch::prefetch;

/// Sorted rows in words.
pub(super) trait Words: Debug + Send + Sync {
    /// Writes the rows from number `at` on.
    ///
    /// # Safety
    /// They must be rows of the state, or copies, that nobody else reads or writes.
    unsafe fn restore(&self, at: usize, rows: &[*mut u8]);
}

/// Sorted rows.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// The rows, or room for them.
    rows: Sequence,
    words: Option<Arc<dyn Words>>,
    addresses: Option<Arc<(Buffer<Address>, Reservation)>>,
}

impl Output {
    pub(super) fn of_addresses(addresses: Buffer<Address>, charged: Reservation) -> Self {
        let rows = addresses.len();
        let segment = Segment::Pointers { start: addresses.as_ptr().cast(), rows };
        Self { rows: Sequence::new(vec![segment]), words: None, addresses: Some(Arc::new((addresses, charged))) }
    }

    /// Rows that lie in their order.
    pub(super) fn of_rows(rows: Vec<Segment>) -> Self {
        Self { rows: Sequence::new(rows), words: None, addresses: None }
    }

    /// Rows that are restored where these are, which are all.
    pub(super) fn of_words(words: impl Words + 'static, rows: Vec<Segment>) -> Self {
        Self { rows: Sequence::new(rows), words: Some(Arc::new(words)), addresses: None }
    }

    /// Their number.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Where some of the rows are, or will be [restored](Complete).
    pub(crate) fn slice(&self, rows: Range<usize>) -> Vec<Segment> {
        self.rows.slice(rows)
    }

    /// The addresses, where they are what is sorted.
    pub(super) fn addresses(&self) -> &[Address] {
        self.addresses.as_ref().map_or(&[], |addresses| &addresses.0)
    }

    /// What restores the rows from number `first` on, if that has to be done.
    pub(super) fn restoring(&self, first: usize) -> Option<Arc<dyn Complete>> {
        let words = self.words.clone()?;
        Some(Arc::new(From { first, words }))
    }

    /// Restores rows from number `at` on if that has to be done.
    ///
    /// # Safety
    /// They must be these rows, and nobody else may read or write them.
    pub(crate) unsafe fn restore(&self, at: usize, rows: &[*mut u8]) {
        if let Some(words) = &self.words {
            // SAFETY: as the caller promises.
            unsafe { words.restore(at, rows) };
        }
    }

    /// To look at rows.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { output: self, addresses: Vec::new(), copies: Vec::new() }
    }
}

/// Restored rows count from another one.
#[derive(Debug)]
struct From {
    first: usize,
    words: Arc<dyn Words>,
}

impl Complete for From {
    unsafe fn complete(&self, at: usize, rows: &[*mut u8]) {
        // SAFETY: as the caller promises.
        unsafe { self.words.restore(self.first + at, rows) };
    }
}

/// Looks at rows, of which nothing is written.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    output: &'a Output,
    addresses: Vec<*mut u8>,
    /// Memory for what is restored, in the cache.
    copies: Vec<u128>,
}

impl Reader<'_> {
    /// The rows, or copies of them that last until the next call.
    ///
    /// # Safety
    /// They must exist, and the state must be alive.
    pub(crate) unsafe fn rows(&mut self, rows: Range<usize>) -> &[*mut u8] {
        self.addresses.resize(rows.len(), std::ptr::null_mut());
        // SAFETY: as the caller promises.
        unsafe { self.output.rows.addresses(rows.start, &mut self.addresses) };
        match &self.output.words {
            None => self.addresses.iter().for_each(|&row| prefetch(row)),
            Some(words) => {
                self.copy();
                // SAFETY: the copies are the reader's own.
                unsafe { words.restore(rows.start, &self.addresses) };
            }
        }
        &self.addresses
    }

    /// Makes addresses those of copies. What all rows share is not restored, so each begins as a copy of a row.
    fn copy(&mut self) {
        let Some(&any) = self.addresses.first() else { return };
        let cells = self.output.rows.stride().div_ceil(size_of::<u128>());
        let known = self.copies.len() / cells;
        self.copies.resize((cells * self.addresses.len()).max(self.copies.len()), 0);
        let copies = self.copies.chunks_exact_mut(cells);
        for (number, (copy, address)) in copies.zip(&mut self.addresses).enumerate() {
            *address = copy.as_mut_ptr().cast();
            if number >= known {
                // SAFETY: a row of the state has so many bytes, and the copy room for them; no value is read here, so that
                // it does not matter what others restore there meanwhile: it is overwritten.
                unsafe { address.copy_from_nonoverlapping(any, self.output.rows.stride()) };
            }
        }
    }
}
