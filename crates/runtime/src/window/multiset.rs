//! Functions that follow the frame's rows as a multiset of values: the most frequent value, aggregates of distinct values,
//! dense ranks in an order of the call's own. A value is the place of its first row in the permutation by value; how often
//! it occurs in the frame is counted as rows enter and leave, and whatever depends on that is told. Equal values are one.
//!
//! O(1) or O(log n) for each row that enters or leaves: frames that only move on are linear, those that jump at will are
//! not. Each range of rows begins with its first frame, which must be gone through.

mod distinct;
mod ordered;

use std::ops::Range;

use base::{Budget, Result};

use super::call::Call;
use super::column::{Element, Sink, with_form};
use super::frame::{Frames, partition_point};
use super::members::{Asked, Condition};
use super::occurrences::by_value;
use super::permutation::Permutation;
use super::phases;
use super::{Evaluation, Key, OPERATOR, Operand, Out, PIECE, chunks};
pub(super) use distinct::{Counting, Distinct};
use ordered::{DenseRank, Mode};

/// What is known of a multiset of values, and the result for a row. Values are numbers from 0, in their order.
pub(super) trait Content {
    /// The result's form.
    type Result: Element;
    /// What is known.
    type State;

    /// Bytes for each value that there can be, besides its count.
    const BYTES: usize;

    /// What is known of no values, of so many that there can be.
    fn empty(&self, values: usize) -> Self::State;

    /// A value occurs so many times now, once more or less than before; `row` has it.
    fn change(&self, state: &mut Self::State, value: usize, count: u32, entered: bool, row: usize);

    /// The result for a row with that value. `row_of`: the frame's first row with a value.
    fn result(
        &self,
        state: &Self::State,
        value: usize,
        row_of: impl Fn(usize) -> usize,
    ) -> Result<Option<Self::Result>>;
}

/// A function of the frame's multiset.
#[derive(Debug)]
pub(super) struct Followed<W> {
    what: W,
    frames: Frames,
    condition: Condition,
    permutation: Permutation,
    budget: Budget,
}

/// What makes a content for a form of values.
pub(super) trait Contents: std::fmt::Debug + Send + Sync {
    /// Evaluates rows.
    fn evaluate(followed: &Followed<Self>, rows: Range<usize>, out: Out<'_>) -> Result<()>
    where
        Self: Sized;
}

/// What evaluates `mode`.
pub(super) fn mode(call: Call, frames: Frames, budget: &Budget) -> Result<Box<dyn Evaluation>> {
    let key = call.order.into_iter().next().expect("what is counted");
    let value = key.operand.clone();
    let permutation = by_value(key, call.filter.as_ref(), &frames, budget)?;
    let condition = Condition { value: Some(value.clone()), filter: call.filter, only: None };
    Ok(Box::new(Followed { what: Mode(value), frames, condition, permutation, budget: budget.clone() }))
}

/// What evaluates `dense_rank` with an order of its own.
pub(super) fn dense_rank(call: Call, frames: Frames, budget: &Budget) -> Result<Box<dyn Evaluation>> {
    let condition = Condition { value: None, filter: call.filter, only: None };
    let cancel = frames.cancel.clone();
    let permutation = Permutation::new(call.order, frames.positions.clone(), PIECE, budget, cancel)?;
    Ok(Box::new(Followed { what: DenseRank, frames, condition, permutation, budget: budget.clone() }))
}

/// What evaluates an aggregate of the frame's distinct values.
pub(super) fn distinct<W: Contents + 'static>(
    what: W,
    value: Operand,
    filter: Option<Operand>,
    frames: Frames,
    budget: &Budget,
) -> Result<Box<dyn Evaluation>> {
    let permutation = by_value(Key::ascending(value.clone()), filter.as_ref(), &frames, budget)?;
    let condition = Condition { value: Some(value), filter, only: None };
    Ok(Box::new(Followed { what, frames, condition, permutation, budget: budget.clone() }))
}

impl<W: Contents> Evaluation for Followed<W> {
    fn pieces(&self, phase: usize) -> Option<usize> {
        phases::pieces(&[&self.permutation], phase)
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        phases::build(&[&self.permutation], phase, piece)
    }

    fn evaluate(&self, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        W::evaluate(self, rows, out)
    }
}

impl<W> Followed<W> {
    /// Writes the results of a content.
    fn follow<C: Content>(&self, content: &C, rows: Range<usize>, mut out: Sink<'_, C::Result>) -> Result<()> {
        let parts = self.frames.positions.parts(rows.clone());
        let values = parts.map(|(_, partition)| partition.len()).max().unwrap_or(0);
        let bytes = values * (size_of::<u32>() + C::BYTES);
        let _charged = self.budget.reserve(bytes, OPERATOR)?;
        let mut bag = Bag {
            content,
            state: content.empty(values),
            counts: vec![0; values],
            asked: self.condition.ask(),
            permutation: &self.permutation,
            first: 0,
        };
        let mut batch = self.frames.batch();
        let mut before: [Range<usize>; 3] = [0..0, 0..0, 0..0];
        for chunk in chunks(rows.clone()) {
            self.frames.fill(&mut batch, chunk.clone())?;
            for (part, partition) in self.frames.positions.parts(chunk.clone()) {
                if bag.first != partition.start {
                    let old = std::mem::replace(&mut before, [0..0, 0..0, 0..0]);
                    self.change(&mut bag, &old, &before)?;
                    bag.first = partition.start;
                }
                for row in part {
                    let ranges = batch.ranges(row - chunk.start);
                    self.change(&mut bag, &before, &ranges)?;
                    before = ranges;
                    let row_of = |value| self.first_of(partition.start + value, &before);
                    out.set(row - rows.start, content.result(&bag.state, bag.value(row), row_of)?);
                }
            }
        }
        Ok(())
    }

    /// The first row of ranges, of those that are equal to the one at a place, which is the first of them.
    fn first_of(&self, place: usize, ranges: &[Range<usize>; 3]) -> usize {
        let tied = self.permutation.tied(place);
        let first = |range: &Range<usize>| {
            let at = partition_point(tied.clone(), |place| self.permutation.row(place) < range.start);
            Some(at).filter(|&at| at < tied.end).map(|at| self.permutation.row(at)).filter(|row| range.contains(row))
        };
        ranges.iter().find_map(first).expect("a value that occurs in the frame")
    }

    /// From ranges to others: what is new enters before what is old leaves.
    fn change<C: Content>(&self, bag: &mut Bag<'_, C>, from: &[Range<usize>; 3], to: &[Range<usize>; 3]) -> Result<()> {
        for (from, to, entered) in [(from, to, true), (to, from, false)] {
            for (from, to) in from.iter().zip(to) {
                let (start, end) = (from.start.clamp(to.start, to.end), from.end.clamp(to.start, to.end));
                let parts = if start < end { [to.start..start, end..to.end] } else { [to.clone(), 0..0] };
                for part in parts.into_iter().flat_map(chunks) {
                    if part.len() > 1 {
                        self.frames.cancel.check()?;
                    }
                    part.for_each(|row| bag.change(row, entered));
                }
            }
        }
        Ok(())
    }
}

/// A multiset of the values of rows of a partition.
struct Bag<'a, C: Content> {
    content: &'a C,
    state: C::State,
    counts: Vec<u32>,
    asked: Asked<'a>,
    permutation: &'a Permutation,
    /// The partition's first row.
    first: usize,
}

impl<C: Content> Bag<'_, C> {
    fn value(&self, row: usize) -> usize {
        self.permutation.tied(self.permutation.place(row)).start - self.first
    }

    #[inline]
    fn change(&mut self, row: usize, entered: bool) {
        if !self.asked.admits(row) {
            return;
        }
        let value = self.value(row);
        let count = &mut self.counts[value];
        *count = if entered { *count + 1 } else { *count - 1 };
        self.content.change(&mut self.state, value, *count, entered, self.permutation.row(self.first + value));
    }
}

impl Contents for Mode {
    fn evaluate(followed: &Followed<Self>, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        let value = &followed.what.0;
        with_form!(value.sql_type, T => {
            followed.follow(&ordered::Frequent(value.cells::<T>()), rows, out.form())
        })
    }
}

impl Contents for DenseRank {
    fn evaluate(followed: &Followed<Self>, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        followed.follow(&followed.what, rows, out.form())
    }
}
