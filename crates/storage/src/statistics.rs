//! Statistics kept at load: bounds and null counts per chunk and table, distinct sketches, and a sample.
//!
//! The worker that fills a chunk summarises it; a commit merges the summaries, so they describe committed rows only. Of rows that
//! come one by one, bounds are widened before anybody sees them, and distinct values counted when somebody asks.

mod bounds;
mod distinct;
mod known;
mod sample;
mod sketch;
#[cfg(test)]
mod tests;

pub(crate) use bounds::used_entries;
pub use bounds::{Bounds, ValueRange};
pub(crate) use known::Known;
pub use sample::SAMPLE_ROWS;
pub(crate) use sample::Sample;
pub use sketch::Sketch;

use std::ops::Range;

use crate::values::Values;

/// What is known of all rows of a column.
#[derive(Clone, Debug, Default)]
pub struct ColumnSummary {
    /// Range and null count.
    pub bounds: Bounds,
    /// The distinct values.
    pub sketch: Sketch,
}

/// What is known of some rows: of a zone's chunks, of a table.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Number of rows.
    pub rows: u64,
    /// By attribute.
    pub columns: Vec<ColumnSummary>,
}

impl Summary {
    /// Nothing known, of no rows.
    pub fn new(attributes: usize) -> Self {
        Self { rows: 0, columns: vec![ColumnSummary::default(); attributes] }
    }

    /// Adds the rows `rows` of columns that end with them, and returns the bounds of these rows; but for the distinct values:
    /// [`add_distinct`](Self::add_distinct) wants them of each column, and [`add_range`](Self::add_range) the ranges that
    /// `bounds_of` has left.
    pub(crate) fn add_bounds<'a>(
        &mut self,
        columns: impl Iterator<Item = Values<'a>>,
        rows: Range<usize>,
        bounds_of: impl Fn(Values<'a>, usize, usize) -> Bounds,
    ) -> Box<[Bounds]> {
        self.rows += rows.len() as u64;
        let each = self.columns.iter_mut().zip(columns).map(|(summary, column)| {
            let bounds = bounds_of(column, rows.start, rows.end);
            if bounds.is_range_left() {
                summary.bounds.nulls += bounds.nulls;
            } else {
                summary.bounds.merge(&bounds);
            }
            bounds
        });
        each.collect()
    }

    /// Adds the values from `from` on to the distinct ones of a column; `bounds` are theirs.
    pub(crate) fn add_distinct(&mut self, attribute: usize, values: Values<'_>, from: usize, bounds: &Bounds) {
        distinct::add(&mut self.columns[attribute].sketch, values, from, bounds);
    }

    /// Adds the range of a column in rows whose NULLs are counted already.
    pub(crate) fn add_range(&mut self, attribute: usize, range: &ValueRange) {
        self.columns[attribute].bounds.merge_range(range);
    }

    /// Adds what another summary knows of other rows.
    pub fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        for (mine, theirs) in self.columns.iter_mut().zip(&other.columns) {
            mine.bounds.merge(&theirs.bounds);
            mine.sketch.merge(&theirs.sketch);
        }
    }
}
