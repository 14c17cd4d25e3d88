//! Where values occur: what DISTINCT needs of a column. Rows of equal values are next to each other in the permutation by
//! value, in the order of rows, so the first, the last and the previous occurrence of a value are found there. What a
//! filter leaves out occurs nowhere: it is sorted behind the rest.

use std::ops::Range;
use std::sync::Arc;

use base::{Budget, Result};

use super::column::Sink;
use super::frame::Frames;
use super::members::{Condition, Members, piece_of};
use super::permutation::Permutation;
use super::phases::{self, Built};
use super::pick::count;
use super::wavelet::{Filled, Filling, Wavelet};
use super::{BitSet, Evaluation, Key, Operand, Out, PIECE, chunks};

/// The permutation by value of the rows that a condition admits; the others are behind them.
pub(super) fn by_value(value: Key, filter: Option<&Operand>, frames: &Frames, budget: &Budget) -> Result<Permutation> {
    let filter = filter.map(|filter| Key { operand: filter.clone(), descending: true, nulls_first: false });
    let keys = filter.into_iter().chain([value]).collect();
    Permutation::new(keys, frames.positions.clone(), None, budget, frames.cancel.clone())
}

/// The rows whose values occur for the first or the last time in their partitions.
#[derive(Debug)]
pub(super) struct Outermost {
    permutation: Permutation,
    rows: usize,
    last: bool,
    set: Arc<BitSet>,
}

impl Outermost {
    pub(super) fn new(permutation: Permutation, rows: usize, last: bool, budget: &Budget) -> Result<Self> {
        Ok(Self { permutation, rows, last, set: Arc::new(BitSet::new(rows, budget)?) })
    }

    /// The set, filled once this is built.
    pub(super) fn set(&self) -> Arc<BitSet> {
        self.set.clone()
    }
}

impl Built for Outermost {
    fn phases(&self) -> usize {
        self.permutation.phases() + 2
    }

    fn pieces(&self, phase: usize) -> usize {
        match phase.checked_sub(self.permutation.phases()) {
            None => self.permutation.pieces(phase),
            Some(0) => self.rows.div_ceil(PIECE),
            Some(_) => 1,
        }
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        let permutation = &self.permutation;
        match phase.checked_sub(permutation.phases()) {
            None => permutation.build(phase, piece)?,
            Some(0) => self.set.fill(piece_of(self.rows, piece), |row| {
                let place = permutation.place(row);
                let tied = permutation.tied(place);
                if self.last { tied.end == place + 1 } else { tied.start == place }
            }),
            Some(_) => self.set.finish(),
        }
        Ok(())
    }
}

/// `count(DISTINCT ...)` over frames of one range: how many of its rows have their value's previous occurrence before it
/// (Vogelsgesang et al., section 4.2), by a wavelet matrix of previous occurrences. O(log n) a row.
#[derive(Debug)]
pub(super) struct CountDistinct {
    frames: Frames,
    members: Option<Members>,
    permutation: Permutation,
    wavelet: Wavelet,
}

impl CountDistinct {
    pub(super) fn new(value: Operand, filter: Option<Operand>, frames: Frames, budget: &Budget) -> Result<Self> {
        let permutation = by_value(Key::ascending(value.clone()), filter.as_ref(), &frames, budget)?;
        let (rows, largest) = (frames.positions.rows, frames.positions.largest_partition());
        let members = Members::new(Condition { value: Some(value), filter, only: None }, rows, budget)?;
        let wavelet = Wavelet::new(rows, largest + 1, budget, frames.cancel.clone())?;
        Ok(Self { frames, members, permutation, wavelet })
    }

    fn with_parts<T>(&self, with: impl FnOnce(&[&dyn Built]) -> T) -> T {
        with(&[&self.members, &self.permutation, &Filling(&self.wavelet, self)])
    }
}

impl Filled for CountDistinct {
    fn numbers(&self) -> usize {
        self.members.as_ref().map_or(self.frames.positions.rows, |members| members.set().len())
    }

    /// Of each row, how many rows of the partition there are up to the previous occurrence.
    fn fill(&self, piece: usize, set: impl Fn(usize, usize)) {
        let members = self.members.as_ref().map(Members::set);
        let rows = piece_of(self.frames.positions.rows, piece);
        let mut at = count(members, &(0..rows.start));
        for (part, partition) in self.frames.positions.parts(rows) {
            for row in part.filter(|&row| members.is_none_or(|members| members.contains(row))) {
                let place = self.permutation.place(row);
                let is_first = self.permutation.tied(place).start == place;
                set(at, if is_first { 0 } else { self.permutation.row(place - 1) - partition.start + 1 });
                at += 1;
            }
        }
    }
}

impl Evaluation for CountDistinct {
    fn pieces(&self, phase: usize) -> Option<usize> {
        self.with_parts(|parts| phases::pieces(parts, phase))
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        self.with_parts(|parts| phases::build(parts, phase, piece))
    }

    fn evaluate(&self, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        let mut out: Sink<'_, i64> = out.form();
        let (members, numbers) = (self.members.as_ref().map(Members::set), self.numbers());
        let rank = |row: usize| members.map_or(row, |members| members.count_before(row));
        let mut batch = self.frames.batch();
        let mut before = None;
        for chunk in chunks(rows.clone()) {
            self.frames.fill(&mut batch, chunk.clone())?;
            let (starts, ends) = batch.bounds();
            for (part, partition) in self.frames.positions.parts(chunk.clone()) {
                for row in part {
                    let (at, in_batch) = (row - rows.start, row - chunk.start);
                    let range = starts[in_batch]..ends[in_batch];
                    if before.as_ref() == Some(&range) {
                        out.repeat(at, at - 1);
                        continue;
                    }
                    let ranges = [rank(range.start)..rank(range.end), 0..0, 0..0];
                    let bound = range.start - partition.start + 1;
                    out.set(at, Some(self.wavelet.below(ranges, bound, numbers) as i64));
                    before = Some(range);
                }
            }
        }
        Ok(())
    }
}
