//! Vectorised predicates: what a scan evaluates over a batch of rows before generated code sees any of them.
//!
//! Every fixed-width type maps to integers that order like its values (`lane`), and every comparison with a constant
//! to an inclusive range of these, possibly negated; so one kernel per width, compiled for the instruction sets that a
//! machine may have, does them all (`dense`). A batch begins as a bit mask of all rows. While many rows survive,
//! further predicates AND their masks; once few do, the mask becomes a selection vector, and the rest refine it without
//! branches. Predicates on strings and long lists always refine.

mod dense;
mod ends;
pub(crate) mod lane;
mod predicate;
mod refine;
mod skip;
#[cfg(test)]
mod tests;

pub(crate) use ends::{End, Point, Stretch};
pub use predicate::{Comparison, Computed, ScanOp, ScanPredicate};
pub(crate) use predicate::{Test, TextTest};
pub(crate) use refine::keep;
pub use skip::may_match;

use std::ops::Range;

use base::simd::{Level, level};

use crate::ColumnRef;
use dense::Bits;

/// Most rows that one call of [`select`] looks at.
pub const MAX_BATCH: usize = 2048;

/// A predicate is evaluated on all rows, by mask, while at least one in this many survives.
const DENSE_ABOVE: usize = 24;

/// Writes to `out` the rows of `begin..end`, as offsets from `begin` in increasing order, for which every predicate is
/// true, and returns how many they are. `columns` is indexed by the predicates' attributes.
///
/// At most [`MAX_BATCH`] rows at once; `out` has room for all of them. It is fastest with room for a multiple of 64.
///
/// # Safety
/// The columns that the predicates name must be alive, of the physical types for which the predicates were made, and
/// have at least `end` rows.
pub unsafe fn select(
    predicates: &[ScanPredicate],
    columns: &[ColumnRef],
    begin: usize,
    end: usize,
    out: &mut [u32],
) -> usize {
    // SAFETY: as promised by the caller, and with what the processor has.
    unsafe { select_with(level(), predicates, columns, begin, end, out) }
}

/// How many rows [`select`] would write; of `out` it makes what use it likes.
///
/// # Safety
/// As [`select`].
pub(crate) unsafe fn count(
    predicates: &[ScanPredicate],
    columns: &[ColumnRef],
    begin: usize,
    end: usize,
    out: &mut [u32],
) -> usize {
    let level = level();
    // SAFETY: as promised by the caller, and with what the processor has.
    unsafe {
        match masked(level, predicates, columns, begin, end) {
            (_, left, []) => left,
            (bits, left, rest) => refined(level, &bits, left, rest, columns, begin..end, out),
        }
    }
}

/// How many of any number of rows a single predicate that is evaluated by masks holds for; none if this one is not.
///
/// # Safety
/// As [`select`].
pub(crate) unsafe fn count_dense(predicate: &ScanPredicate, column: ColumnRef, rows: Range<usize>) -> Option<usize> {
    let level = level();
    let count = |begin: usize| {
        let rows = MAX_BATCH.min(rows.end - begin);
        // SAFETY: as promised by the caller, and with what the processor has.
        unsafe { dense::and(level, &mut Bits::all(rows), predicate, column, begin, rows) }
    };
    predicate.is_dense().then(|| rows.clone().step_by(MAX_BATCH).map(count).sum())
}

/// # Safety
/// As [`select`]; the processor has what `level` says.
unsafe fn select_with(
    level: Level,
    predicates: &[ScanPredicate],
    columns: &[ColumnRef],
    begin: usize,
    end: usize,
    out: &mut [u32],
) -> usize {
    // SAFETY: as promised by the caller.
    unsafe {
        let (bits, left, rest) = masked(level, predicates, columns, begin, end);
        refined(level, &bits, left, rest, columns, begin..end, out)
    }
}

/// Predicates by mask, as long as that pays: the rows that are left, how many they are, and the other predicates.
///
/// # Safety
/// As [`select_with`].
#[inline(always)]
unsafe fn masked<'p>(
    level: Level,
    predicates: &'p [ScanPredicate],
    columns: &[ColumnRef],
    begin: usize,
    end: usize,
) -> (Bits, usize, &'p [ScanPredicate]) {
    let rows = end - begin;
    assert!(rows <= MAX_BATCH);
    let mut bits = Bits::all(rows);
    let mut left = rows;
    let mut rest = predicates;
    while let [predicate, others @ ..] = rest {
        if left * DENSE_ABOVE < rows || !predicate.is_dense() {
            break;
        }
        // SAFETY: the caller vouches for the columns.
        left = unsafe { dense::and(level, &mut bits, predicate, columns[predicate.attribute], begin, rows) };
        rest = if left == 0 { &[] } else { others };
    }
    (bits, left, rest)
}

/// The positions of the rows that a mask has left, without those that further predicates refuse.
///
/// # Safety
/// As [`select_with`].
#[inline(always)]
unsafe fn refined(
    level: Level,
    bits: &Bits,
    left: usize,
    rest: &[ScanPredicate],
    columns: &[ColumnRef],
    Range { start: begin, end }: Range<usize>,
    out: &mut [u32],
) -> usize {
    if left == 0 {
        return 0;
    }
    let rows = end - begin;
    assert!(out.len() >= rows);
    let mut count = if left == rows { identity(rows, out) } else { bits.positions(level, rows, out) };
    for predicate in rest {
        if count == 0 {
            break;
        }
        // SAFETY: as above; the positions are below `rows`.
        count = unsafe { refine::refine(predicate, columns[predicate.attribute], begin, out, count) };
    }
    count
}

/// Keeps of the first `count` rows those for which the predicate holds. Returns how many.
///
/// # Safety
/// The column is alive, of the physical type for which the predicate was made, and has a value for each of the rows.
pub(crate) unsafe fn refine(predicate: &ScanPredicate, column: ColumnRef, rows: &mut [u32], count: usize) -> usize {
    // SAFETY: as promised by the caller.
    unsafe { refine::refine(predicate, column, 0, rows, count) }
}

fn identity(rows: usize, out: &mut [u32]) -> usize {
    out[..rows].iter_mut().enumerate().for_each(|(i, o)| *o = i as u32);
    rows
}
