//! LIMIT and OFFSET of each group in sorted rows.

use std::sync::Mutex;

/// Rows of a stretch.
const STRETCH: usize = 32 << 10;

/// Sorted rows in stretches that are cut independently.
#[derive(Debug)]
pub(super) struct Windows {
    rows: Vec<*mut u8>,
    /// What is left of each stretch.
    kept: Vec<Mutex<Vec<*mut u8>>>,
    /// Places in its group of the rows that stay.
    first: usize,
    end: usize,
}

// SAFETY: rows are only read here.
unsafe impl Send for Windows {}
// SAFETY: as above.
unsafe impl Sync for Windows {}

impl Windows {
    pub(super) fn new(rows: Vec<*mut u8>, offset: u64, limit: Option<u64>) -> Self {
        let kept = (0..rows.len().div_ceil(STRETCH)).map(|_| Mutex::default()).collect();
        let place = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let end = limit.map_or(usize::MAX, |limit| place(offset.saturating_add(limit)));
        Self { rows, kept, first: place(offset), end }
    }

    pub(super) fn stretches(&self) -> usize {
        self.kept.len()
    }

    /// Keeps the rows of a stretch that lie in the window of their group; each stretch once.
    ///
    /// The group that reaches into the stretch is followed back only as far as its window reaches.
    pub(super) fn cut(&self, stretch: usize, same_group: impl Fn(*const u8, *const u8) -> bool) {
        let start = stretch * STRETCH;
        let stretch_rows = &self.rows[start..self.rows.len().min(start + STRETCH)];
        let earlier = self.rows[..start].iter().rev();
        let mut place = earlier.take(self.end).take_while(|&&row| same_group(row, stretch_rows[0])).count();
        let mut kept = Vec::new();
        let mut before = None;
        for &row in stretch_rows {
            if before.is_some_and(|before| !same_group(before, row)) {
                place = 0;
            }
            if (self.first..self.end).contains(&place) {
                kept.push(row);
            }
            place += 1;
            before = Some(row);
        }
        *self.kept[stretch].lock().expect("no panic while it is locked") = kept;
    }

    pub(super) fn into_rows(self) -> Vec<*mut u8> {
        self.kept.into_iter().flat_map(|kept| kept.into_inner().expect("no panic while it is locked")).collect()
    }
}
