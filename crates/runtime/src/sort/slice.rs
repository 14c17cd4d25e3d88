//! LIMIT and OFFSET of each group in sorted rows.

use std::sync::{Mutex, PoisonError};

use super::exchange::BATCH;
use super::output::Output;
use crate::rows::Segment;
use crate::source::Address;

/// Rows of a stretch.
const STRETCH: usize = 32 << 10;

/// Sorted rows in stretches that are cut independently.
#[derive(Debug)]
pub(super) struct Slices {
    rows: Output,
    cut: Box<[Mutex<Cut>]>,
    /// Places in its group of the rows that stay.
    first: usize,
    end: usize,
}

/// What is known of a stretch.
#[derive(Debug, Default)]
struct Cut {
    looked_at: usize,
    /// The place of the next row in the group of the one before.
    place: usize,
    kept: Vec<*mut u8>,
}

// SAFETY: rows are only read here.
unsafe impl Send for Slices {}
// SAFETY: as for `Send`; what is kept of a stretch is written under its lock.
unsafe impl Sync for Slices {}

impl Slices {
    pub(super) fn new(rows: Output, offset: u64, limit: Option<u64>) -> Self {
        let cut = (0..rows.len().div_ceil(STRETCH)).map(|_| Mutex::default()).collect();
        let place = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let end = limit.map_or(usize::MAX, |limit| place(offset.saturating_add(limit)));
        Self { rows, cut, first: place(offset), end }
    }

    pub(super) fn stretches(&self) -> usize {
        self.cut.len()
    }

    /// Keeps the rows of a stretch that lie in the slice of their group; true once all of them are looked at.
    pub(super) fn cut(
        &self,
        stretch: usize,
        same_group: impl Fn(*const u8, *const u8) -> bool,
        steps: &mut u64,
    ) -> bool {
        let start = stretch * STRETCH;
        let (earlier, here) = self.rows.addresses().split_at(start);
        let here = &here[..here.len().min(STRETCH)];
        let mut cut = self.cut[stretch].lock().unwrap_or_else(PoisonError::into_inner);
        let Cut { looked_at, place, kept } = &mut *cut;
        if *looked_at == 0 {
            // The group that reaches into the stretch begins somewhere among the rows before it.
            *place = start - earlier.partition_point(|row| !same_group(row.0, here[0].0));
        }
        while *looked_at < here.len() && *steps > 0 {
            for &Address(row) in &here[*looked_at..here.len().min(*looked_at + BATCH)] {
                if *looked_at > 0 && !same_group(here[*looked_at - 1].0, row) {
                    *place = 0;
                }
                if (self.first..self.end).contains(place) {
                    kept.push(row);
                }
                *place += 1;
                *looked_at += 1;
            }
            *steps = steps.saturating_sub(BATCH as u64);
        }
        *looked_at == here.len()
    }

    /// What is left. Called when all stretches have been cut.
    pub(super) fn segments(&self) -> Vec<Segment> {
        let segment = |cut: &Mutex<Cut>| {
            // Nobody changes what is kept any more.
            let rows = &cut.lock().unwrap_or_else(PoisonError::into_inner).kept;
            Segment::Pointers { start: rows.as_ptr(), rows: rows.len() }
        };
        self.cut.iter().map(segment).filter(|s| s.rows() > 0).collect()
    }
}
