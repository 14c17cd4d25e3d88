//! Reading a chunk: the one contract that scans, lookups, indexes and statistics use, whatever the body is like.
//!
//! A reader pins the body, so memory stays as long as it. Batches are at most a [`WINDOW`] long. Versions of rows will be
//! looked up here, and only here: one test a chunk while there are none.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use types::{Chunk, Column, ColumnBuilder, SqlType, Value};

use crate::body::{Body, Scratch};
use crate::scan;
use crate::values::Values;
use crate::{ColumnRef, ScanPredicate, WINDOW};

/// The rows of a chunk as of a snapshot.
#[derive(Clone, Debug)]
pub struct ChunkReader {
    body: Arc<Body>,
    rows: usize,
}

impl ChunkReader {
    pub(crate) fn new(body: Arc<Body>, rows: usize) -> Self {
        Self { body, rows }
    }

    /// A reader of rows that are in no relation.
    pub fn of(chunk: Chunk) -> Self {
        Self { rows: chunk.rows(), body: Arc::new(Body::plain(chunk)) }
    }

    /// As [`of`](Self::of), as a relation would store them.
    #[cfg(test)]
    pub(crate) fn frozen(chunk: Chunk) -> Self {
        let rows = chunk.rows();
        let bounds: Vec<_> = chunk.columns().iter().map(|c| crate::statistics::Bounds::of(c.into(), 0, rows)).collect();
        Self { body: Arc::new(Body::frozen(chunk, &bounds)), rows }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The predicates that have to be asked of each row: those on constant columns are decided here. None if no row can
    /// satisfy all.
    pub fn applicable<'p>(&self, predicates: &'p [ScanPredicate]) -> Option<Cow<'p, [ScanPredicate]>> {
        if predicates.iter().all(|p| self.body.constant(p.attribute).is_none()) {
            return Some(Cow::Borrowed(predicates));
        }
        let mut rest = Vec::new();
        for predicate in predicates {
            match self.body.constant(predicate.attribute) {
                None => rest.push(predicate.clone()),
                Some(constant) if predicate.holds(constant.values()) => {}
                Some(_) => return None,
            }
        }
        Some(Cow::Owned(rest))
    }

    /// Writes to `out` those of `rows` that satisfy all predicates, as offsets from the first, and returns how many they
    /// are. The predicates are [`applicable`](Self::applicable) ones; at most [`MAX_BATCH`](scan::MAX_BATCH) rows.
    #[inline]
    pub fn scan(&self, rows: Range<usize>, predicates: &[ScanPredicate], out: &mut [u32]) -> usize {
        assert!(rows.start <= rows.end && rows.end <= self.rows);
        for p in predicates {
            assert!(
                p.physical == self.body.sql_type(p.attribute).physical()
                    && !self.body.refs()[p.attribute].data.is_null()
            );
        }
        // SAFETY: the columns are arrays of at least `self.rows` published rows of the predicates' physical types, as
        // was just asserted, and pinned.
        unsafe { scan::select(predicates, self.body.refs(), rows.start, rows.end, out) }
    }

    /// The addresses of a column's values from `rows.start` on, for at most [`WINDOW`] rows: valid as long as `self`, and
    /// until `scratch` is asked for this attribute of another chunk.
    #[inline]
    pub fn column(&self, attribute: usize, rows: Range<usize>, scratch: &mut Scratch) -> ColumnRef {
        debug_assert!(rows.len() <= WINDOW && rows.end <= self.rows);
        match self.body.constant(attribute) {
            Some(constant) => scratch.repeat(attribute, constant),
            None => {
                let size = self.body.sql_type(attribute).physical().size();
                self.body.refs()[attribute].at_row(rows.start, size)
            }
        }
    }

    /// The type of an attribute.
    pub fn sql_type(&self, attribute: usize) -> SqlType {
        self.body.sql_type(attribute)
    }

    /// As [`column`](Self::column), as values with their lifetime.
    pub(crate) fn window<'a>(&'a self, attribute: usize, rows: Range<usize>, scratch: &'a mut Scratch) -> Values<'a> {
        assert!(rows.start <= rows.end && rows.len() <= WINDOW && rows.end <= self.rows);
        let of = self.column(attribute, rows.clone(), scratch);
        // SAFETY: `self` pins the published rows, and `scratch` is borrowed as long as the values.
        unsafe { Values::new(self.sql_type(attribute).physical(), of, rows.len()) }
    }

    /// Where one value lies: in some array, at some place.
    pub(crate) fn cell(&self, attribute: usize, row: usize) -> (Values<'_>, usize) {
        assert!(row < self.rows);
        self.body.cell(attribute, row)
    }

    /// The values of some rows, copied.
    pub fn gather(&self, attribute: usize, rows: impl ExactSizeIterator<Item = usize>) -> Column {
        let mut to = ColumnBuilder::new(self.sql_type(attribute), rows.len());
        self.gather_into(attribute, rows, &mut to);
        to.finish()
    }

    /// As [`gather`](Self::gather), behind what is in the column already.
    pub fn gather_into(&self, attribute: usize, rows: impl Iterator<Item = usize>, to: &mut ColumnBuilder) {
        for row in rows {
            assert!(row < self.rows);
            self.body.copy_to(attribute, row, to);
        }
    }

    /// Rows copied as a chunk.
    pub fn chunk(&self, rows: Range<usize>) -> Chunk {
        let column = |attribute| self.gather(attribute, rows.clone());
        Chunk::new(rows.len(), (0..self.body.refs().len()).map(column).collect())
    }

    /// One row.
    pub fn row(&self, row: usize) -> Vec<Value> {
        assert!(row < self.rows);
        (0..self.body.refs().len()).map(|attribute| self.body.value(attribute, row)).collect()
    }

    /// Number of columns that keep one value for all rows.
    pub fn constants(&self) -> usize {
        self.body.constants()
    }

    /// Bytes of memory that the columns hold (buffers shared with others count in full).
    pub fn bytes(&self) -> usize {
        self.body.bytes()
    }
}
