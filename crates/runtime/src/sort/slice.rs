//! LIMIT and OFFSET of each group in sorted rows.

use std::sync::OnceLock;

use super::output::Output;
use crate::rows::Segment;
use crate::source::Address;

/// Rows of a stretch.
const STRETCH: usize = 32 << 10;

/// Sorted rows in stretches that are cut independently.
#[derive(Debug)]
pub(super) struct Slices {
    rows: Output,
    /// What is left of each stretch.
    kept: Box<[OnceLock<Vec<*mut u8>>]>,
    /// Places in its group of the rows that stay.
    first: usize,
    end: usize,
    /// Behind this place it does not matter which one a row has.
    furthest: usize,
}

// SAFETY: rows are only read here.
unsafe impl Send for Slices {}
// SAFETY: as for `Send`; what is kept of a stretch is written once, under its lock.
unsafe impl Sync for Slices {}

impl Slices {
    pub(super) fn new(rows: Output, offset: u64, limit: Option<u64>) -> Self {
        let kept = (0..rows.len().div_ceil(STRETCH)).map(|_| OnceLock::new()).collect();
        let place = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let end = limit.map(|limit| place(offset.saturating_add(limit)));
        let furthest = end.unwrap_or(place(offset));
        Self { rows, kept, first: place(offset), end: end.unwrap_or(usize::MAX), furthest }
    }

    pub(super) fn stretches(&self) -> usize {
        self.kept.len()
    }

    /// Keeps the rows of a stretch that lie in the slice of their group; each stretch once.
    ///
    /// The group that reaches into the stretch is followed back only as far as its slice reaches.
    pub(super) fn cut(&self, stretch: usize, same_group: impl Fn(*const u8, *const u8) -> bool) {
        let start = stretch * STRETCH;
        let addresses = self.rows.addresses();
        let (earlier, here) = addresses.split_at(start);
        let here = &here[..here.len().min(STRETCH)];
        let earlier = earlier.iter().rev().take(self.furthest);
        let mut place = earlier.take_while(|row| same_group(row.0, here[0].0)).count();
        let mut kept = Vec::new();
        let mut before = None;
        for &Address(row) in here {
            if before.is_some_and(|before| !same_group(before, row)) {
                place = 0;
            }
            if (self.first..self.end).contains(&place) {
                kept.push(row);
            }
            place += 1;
            before = Some(row);
        }
        self.kept[stretch].set(kept).expect("each stretch is cut once");
    }

    /// What is left. Called when all stretches have been cut.
    pub(super) fn segments(&self) -> Vec<Segment> {
        let kept = self.kept.iter().map(|kept| kept.get().expect("every stretch was cut"));
        kept.map(|rows| Segment::Pointers { start: rows.as_ptr(), rows: rows.len() }).filter(|s| s.rows() > 0).collect()
    }
}
