//! Window functions (thesis 5.4): from operands in the order of the sort, and where partitions and peers begin, to results,
//! a range of rows at a time. Only [`state`] and [`cells`] know how rows are stored, sorted and dealt out to workers.
//!
//! An [`Evaluation`] is one call of a function. What it must build first (a tree, a set of rows) are phases of independent
//! pieces; then any worker evaluates any rows. Inside of it, what depends on the function, on types and on the kind of
//! frame is asked once a range, and loops over rows are compiled for each.
//!
//! | module | holds |
//! |---|---|
//! | [`state`], [`cells`] | the operator: rows in, results out (thesis 5.3, decision 22) |
//! | [`call`] | which evaluation for which call |
//! | [`column`] | operands and results |
//! | [`frame`] | bounds of frames, a batch of rows at a time |
//! | [`numbering`] | `row_number`, ranks, `ntile` |
//! | [`pick`] | values of other rows: `lead`, `nth_value`, IGNORE NULLS |
//! | [`count`] | counts, by ranks |
//! | [`concat`] | `string_agg` |
//! | [`ordered`] | functions with an order of their own: percentiles, framed ranks |
//! | [`permutation`], [`wavelet`] | another order of the rows, and the k-th of a frame in it |
//! | [`occurrences`], [`multiset`] | DISTINCT, the most frequent value, framed dense ranks |
//! | [`aggregate`], [`tree`] | aggregates by four algorithms |
//! | [`extremes`] | the best row of any range, for `min` and `max` |
//!
//! Decision 23 says why, and what it costs.

mod aggregate;
mod call;
mod cells;
mod column;
mod concat;
mod count;
mod extremes;
mod frame;
mod members;
mod multiset;
mod numbering;
mod numbers;
mod occurrences;
mod ordered;
mod permutation;
mod phases;
mod pick;
#[cfg(test)]
mod reference;
mod state;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tree;
mod wavelet;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use base::{Area, Result};

use crate::bits::BitSet;
use frame::BATCH;

use call::{Call, evaluation};
#[cfg(test)]
use column::{Column, Values};
use column::{Operand, Out};

pub use aggregate::Algorithm;
pub(crate) use state::{Run, Windows};

/// How window functions are evaluated, for experiments: results are the same.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How aggregates are computed; none: as their frames suggest.
    pub algorithm: Option<Algorithm>,
    /// Children of a node in trees: from 2 to 128.
    pub fanout: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { algorithm: None, fanout: 16 }
    }
}

/// What the budget calls this.
pub(crate) const OPERATOR: &str = "window";

/// Rows of a piece of work that builds something: less than a millisecond, whatever the values are.
pub(crate) const PIECE: usize = 1 << 14;

/// The rows' partitions and peers: the sets of rows that begin one. Each partition begins peers, too.
#[derive(Clone, Debug)]
pub(crate) struct Positions {
    /// How many rows there are.
    pub(crate) rows: usize,
    /// Which rows begin a partition.
    pub(crate) partitions: Arc<BitSet>,
    /// Which rows begin a group of peers.
    pub(crate) peers: Arc<BitSet>,
}

impl Positions {
    /// The parts of `rows` that lie in one partition each, with that partition.
    pub(super) fn parts(&self, rows: Range<usize>) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let mut next = rows.start;
        std::iter::from_fn(move || {
            let from = next;
            if from >= rows.end {
                return None;
            }
            // Later parts begin where a partition does.
            let begin = if from == rows.start { self.partitions.begin(from) } else { from };
            let partition = begin..self.partitions.end(from);
            next = partition.end.min(rows.end);
            Some((from..next, partition))
        })
    }

    /// How many rows the largest partition has.
    pub(super) fn largest_partition(&self) -> usize {
        self.parts(0..self.rows).map(|(_, partition)| partition.len()).max().unwrap_or(0)
    }

    /// The row's peers, itself included.
    pub(super) fn peers_of(&self, row: usize) -> Range<usize> {
        self.peers.begin(row)..self.peers.end(row)
    }
}

/// A range of rows as chunks, at most a batch each.
fn chunks(rows: Range<usize>) -> impl DoubleEndedIterator<Item = Range<usize>> {
    let Range { start, end } = rows;
    (0..(end - start).div_ceil(BATCH)).map(move |chunk| {
        let first = start + chunk * BATCH;
        first..end.min(first + BATCH)
    })
}

/// A key of an order.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// The values.
    pub(crate) operand: Operand,
    /// From high to low.
    pub(crate) descending: bool,
    /// NULLs first.
    pub(crate) nulls_first: bool,
}

impl Key {
    /// Any order of values.
    fn ascending(operand: Operand) -> Self {
        Self { operand, descending: false, nulls_first: false }
    }
}

/// A function that can be evaluated for all rows.
pub(crate) trait Evaluation: Debug + Send + Sync {
    /// Of phase `phase` (from 0) of what must be built before rows are evaluated: how many pieces it has, each about a
    /// millisecond and independent of the others; none if there is no such phase. Asked when the phases before it are over.
    fn pieces(&self, phase: usize) -> Option<usize> {
        let _ = phase;
        None
    }

    /// Builds a piece of a phase. Each piece once.
    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        let _ = (phase, piece);
        Ok(())
    }

    /// Writes the results of rows `rows` into `out`, whose slices are as long. Called for disjoint ranges, in any order and
    /// by several threads, once everything is built.
    fn evaluate(&self, rows: Range<usize>, out: Out<'_>) -> Result<()>;

    /// What texts of results lie in that are no texts of rows; must be kept as long as these.
    fn owned(self: Box<Self>) -> Vec<Area> {
        Vec::new()
    }
}
