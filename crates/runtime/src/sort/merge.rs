//! Merging sorted runs in parallel.

use std::cell::UnsafeCell;

use super::key::{Item, Order};

/// Rows of a part, about.
const PART: usize = 32 << 10;
/// Samples of all runs for each separator.
const SAMPLES: usize = 8;

/// Sorted runs, and how they are merged in independent parts.
#[derive(Debug)]
pub(super) struct Merge {
    runs: Vec<Vec<Item>>,
    /// By part, then by run: where the part begins in the run; one row more than parts.
    cuts: Vec<Vec<usize>>,
    /// By part: where it begins in the output.
    starts: Vec<usize>,
    output: Box<[UnsafeCell<*mut u8>]>,
}

// SAFETY: runs are read; each part writes its own range of the output.
unsafe impl Send for Merge {}
// SAFETY: as above.
unsafe impl Sync for Merge {}

impl Merge {
    /// Chooses separators. Parts that begin behind row `needed` are left out.
    pub(super) fn new(runs: Vec<Vec<Item>>, order: &Order, needed: Option<usize>) -> Self {
        let total: usize = runs.iter().map(Vec::len).sum();
        let parts = total.div_ceil(PART).max(1);
        let separators = separators(&runs, order, parts);
        let mut cuts = vec![vec![0; runs.len()]];
        for separator in &separators {
            // SAFETY: items of one sort state.
            let cut = |run: &Vec<Item>| run.partition_point(|item| unsafe { order.compare(item, separator) }.is_lt());
            cuts.push(runs.iter().map(cut).collect());
        }
        cuts.push(runs.iter().map(Vec::len).collect());
        let mut starts: Vec<usize> = cuts.iter().map(|cut| cut.iter().sum()).collect();
        if let Some(needed) = needed {
            let parts = starts.partition_point(|&start| start < needed).clamp(1, starts.len() - 1);
            cuts.truncate(parts + 1);
            starts.truncate(parts + 1);
        }
        let rows = *starts.last().expect("at least two");
        let output = (0..rows).map(|_| UnsafeCell::new(std::ptr::null_mut())).collect();
        Self { runs, cuts, starts, output }
    }

    pub(super) fn parts(&self) -> usize {
        self.starts.len() - 1
    }

    /// Merges a part into its range of the output; each part once.
    ///
    /// The standard library's stable sort finds the sorted pieces and merges them: O(rows log runs).
    pub(super) fn merge(&self, part: usize, order: &Order) {
        let mut items = Vec::with_capacity(self.starts[part + 1] - self.starts[part]);
        for (number, run) in self.runs.iter().enumerate() {
            items.extend_from_slice(&run[self.cuts[part][number]..self.cuts[part + 1][number]]);
        }
        // SAFETY: items of one sort state.
        items.sort_by(|a, b| unsafe { order.compare(a, b) });
        for (cell, item) in self.output[self.starts[part]..].iter().zip(items) {
            // SAFETY: the range belongs to this part, which one worker merges.
            unsafe { *cell.get() = item.row };
        }
    }

    pub(super) fn into_rows(self) -> Vec<*mut u8> {
        self.output.into_iter().map(UnsafeCell::into_inner).collect()
    }
}

/// `parts - 1` items that divide all runs together into about equal parts, by equidistant samples of each run.
fn separators(runs: &[Vec<Item>], order: &Order, parts: usize) -> Vec<Item> {
    let total: usize = runs.iter().map(Vec::len).sum();
    let step = (total / (parts * SAMPLES)).max(1);
    let mut samples: Vec<Item> = runs.iter().flat_map(|run| run.iter().skip(step / 2).step_by(step)).copied().collect();
    // SAFETY: items of one sort state.
    samples.sort_unstable_by(|a, b| unsafe { order.compare(a, b) });
    (1..parts).filter_map(|i| samples.get(i * samples.len() / parts)).copied().collect()
}
