//! Tables whose rows are ranges of numbers, for joins by comparisons: sorted by where the ranges begin.
//!
//! Each row is chained to the one that begins before it, and has the greatest end of all ranges up to its own in the place of
//! its word (its *reach*). A probe finds the last row that begins at or before its number by binary search, and walks down
//! until no further row reaches its other number: so candidates are few where ranges are short beside the whole, whatever
//! their order; a range as long as everything makes all that begin after it candidates.
//!
//! Phases: runs of rows are sorted as they lie; separators deal them out into parts, which are sorted; each part is chained,
//! knowing how far the parts before it reach.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base::Result;
use base::memory::Pages;
use scheduler::{Cutting, Offsets, TaskSet, Tasks};

use super::layout::Places;
use super::parts::{Entry, Parts};
use super::{Join, OPERATOR};
use crate::rows::{Segment, cut_rows, offsets};

/// Rows of a part.
const PART: usize = 1 << 14;

/// The next phase of making the table.
pub(super) fn next(
    join: Arc<Join>,
    phase: usize,
    until: Option<u32>,
    cut: &Cutting,
) -> Result<Option<Box<dyn TaskSet>>> {
    match phase {
        0 => sort_runs(join, cut),
        1 => deal_out(join, until, cut),
        2 => chain(join, until, cut),
        3 => {
            publish(&join, until);
            Ok(None)
        }
        _ => Ok(None),
    }
}

fn sort_runs(join: Arc<Join>, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
    let segments = join.segments();
    let offsets = offsets(&segments);
    let charged = join.budget.reserve(offsets.rows() as usize * size_of::<Entry>(), OPERATOR)?;
    *join.sorting.charged.lock().unwrap_or_else(PoisonError::into_inner) = Some(charged);
    Ok(Some(Tasks::boxed(cut_rows(&segments, &offsets, cut), move |_, morsel| {
        let mut run = Vec::with_capacity((morsel.end - morsel.begin) as usize);
        for (number, rows) in offsets.within(morsel) {
            run.extend(rows.filter_map(|at| entry(&join, &segments[number], at)));
        }
        run.sort_unstable();
        join.sorting.runs.lock().unwrap_or_else(PoisonError::into_inner).push(run);
        Ok(())
    })))
}

/// None of a row that matches nothing.
fn entry(join: &Join, segment: &Segment, at: usize) -> Option<Entry> {
    // SAFETY: a complete row of the join.
    unsafe {
        let row = segment.row(at);
        join.keys.key(row).map(|key| (key, row as u64))
    }
}

fn deal_out(join: Arc<Join>, until: Option<u32>, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
    let runs = std::mem::take(&mut *join.sorting.runs.lock().unwrap_or_else(PoisonError::into_inner));
    let rows: usize = runs.iter().map(Vec::len).sum();
    let charged = join.budget.reserve(16 * rows, OPERATOR)?;
    let separators = separators(&runs, rows.div_ceil(PART));
    let bounds = |run: &Vec<Entry>| {
        let inner = separators.iter().map(|s| run.partition_point(|entry| entry < s));
        std::iter::once(0).chain(inner).chain([run.len()]).collect::<Vec<_>>()
    };
    let bounds: Vec<Vec<usize>> = runs.iter().map(bounds).collect();
    let sizes = (0..=separators.len()).map(|part| bounds.iter().map(|b| (b[part + 1] - b[part]) as u64).sum());
    let parts = Parts {
        directory: Pages::shared((16 * rows).max(1), cut.spread),
        charged: Mutex::new(Some(charged)),
        offsets: Offsets::new(sizes),
        reaches: (0..=separators.len()).map(|_| OnceLock::new()).collect(),
    };
    let ranges = cut.pieces(&parts.offsets);
    join.sorting.parts.set(parts).expect("dealt out once");
    Ok(Some(Tasks::boxed(ranges, move |_, morsel| {
        let parts = join.sorting.parts.get().expect("set above");
        let number = parts.offsets.piece(morsel.begin);
        let of_runs = runs.iter().zip(&bounds).map(|(run, b)| &run[b[number]..b[number + 1]]);
        let mut entries: Vec<Entry> = of_runs.flatten().copied().collect();
        // Which finds the runs, and merges them.
        entries.sort();
        let (begins, rows) = parts.place(&(morsel.begin as usize..morsel.end as usize));
        let mut reach = i64::MIN;
        for (at, (begin, row)) in entries.into_iter().enumerate() {
            // SAFETY: the part's own places, of which there are as many as entries; complete rows of the join.
            unsafe {
                begins.add(at).write(begin);
                rows.add(at).write(row);
                reach = reach.max(end_of(row as *const u8, until));
            }
        }
        parts.reaches[number].set(reach).expect("a part is sorted once");
        Ok(())
    })))
}

/// Entries that divide all into `parts` parts of about one size.
fn separators(runs: &[Vec<Entry>], parts: usize) -> Vec<Entry> {
    const SAMPLES: usize = 32;
    let step = (PART / SAMPLES).max(1);
    let mut samples: Vec<Entry> =
        runs.iter().flat_map(|run| run.iter().skip(step / 2).step_by(step)).copied().collect();
    samples.sort_unstable();
    let mut separators: Vec<Entry> =
        (1..parts).filter_map(|i| samples.get(i * samples.len() / parts)).copied().collect();
    separators.dedup();
    separators
}

/// # Safety
/// A complete row of the state's layout, which has an I64 there.
#[inline(always)]
unsafe fn end_of(row: *const u8, until: Option<u32>) -> i64 {
    // SAFETY: as the caller promises.
    until.map_or(i64::MAX, |offset| unsafe { row.add(offset as usize).cast::<i64>().read() })
}

fn chain(join: Arc<Join>, until: Option<u32>, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
    join.sorting.charged.lock().unwrap_or_else(PoisonError::into_inner).take();
    let parts = join.sorting.parts.get().expect("set in the phase before");
    let ranges = cut.pieces(&parts.offsets);
    Ok(Some(Tasks::boxed(ranges, move |_, morsel| {
        let parts = join.sorting.parts.get().expect("set in the phase before");
        let number = parts.offsets.piece(morsel.begin);
        let mut reach = parts.reaches[..number].iter().filter_map(OnceLock::get).copied().max().unwrap_or(i64::MIN);
        let (_, rows) = parts.place(&(0..parts.rows()));
        for at in morsel.begin as usize..morsel.end as usize {
            // SAFETY: rows of the directory, each in one morsel; a row begins with its chain and its word.
            unsafe {
                let row = rows.add(at).read() as *mut u8;
                reach = reach.max(end_of(row, until));
                let before = if at == 0 { 0 } else { rows.add(at - 1).read() };
                row.cast::<u64>().write(before);
                row.cast::<i64>().add(1).write(reach);
            }
        }
        Ok(())
    })))
}

fn publish(join: &Arc<Join>, until: Option<u32>) {
    let Some(parts) = join.sorting.parts.get() else { return };
    let charged = parts.charged.lock().unwrap_or_else(PoisonError::into_inner).take();
    let charged = charged.expect("a table is published once");
    let places = Places::Sorted { rows: parts.rows() as u64, until };
    join.publish(parts.directory.as_ptr().cast_const().cast(), places, None, None, charged);
}
