//! What there is of a table of ranges until it is finished: sorted runs, then parts of the directory.

use std::ops::Range;
use std::sync::{Mutex, OnceLock};

use base::memory::{Pages, Reservation};
use scheduler::Offsets;

/// Where a range begins, and the address of its row.
pub(super) type Entry = (i64, u64);

/// What is made until the table is there.
#[derive(Debug, Default)]
pub(super) struct Sorting {
    pub(super) runs: Mutex<Vec<Vec<Entry>>>,
    pub(super) parts: OnceLock<Parts>,
    /// The memory of the runs.
    pub(super) charged: Mutex<Option<Reservation>>,
}

#[derive(Debug)]
pub(super) struct Parts {
    pub(super) directory: Pages,
    pub(super) charged: Mutex<Option<Reservation>>,
    pub(super) offsets: Offsets,
    /// The greatest end in each part.
    pub(super) reaches: Box<[OnceLock<i64>]>,
}

impl Parts {
    pub(super) fn rows(&self) -> usize {
        self.offsets.rows() as usize
    }

    /// Where the begins of a part's ranges stand, and the addresses of its rows.
    pub(super) fn place(&self, part: &Range<usize>) -> (*mut i64, *mut u64) {
        assert!(part.end <= self.rows());
        let start: *mut i64 = self.directory.as_ptr().cast();
        // SAFETY: the directory has both for all rows.
        unsafe { (start.add(part.start), start.add(self.rows() + part.start).cast()) }
    }
}
