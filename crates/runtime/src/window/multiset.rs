//! Functions that follow the frame's rows as a multiset of values: the most frequent value, aggregates of distinct values,
//! dense ranks in an order of the call's own. A value is the place of its first row in the permutation by value; how often
//! it occurs in the frame is counted as rows enter and leave, and whatever depends on that is told. Equal values are one.
//!
//! O(1) or O(log n) for each row that enters or leaves: frames that only move on are linear, those that jump at will are
//! not. A multiset is kept when its range of rows is done: the next range goes on from the one that is nearest, so that of
//! long frames no more than one a worker is gone through.

mod bag;
mod distinct;
mod ordered;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use base::{Budget, Result};

use super::call::Call;
use super::column::{Element, Sink, with_form};
use super::frame::Frames;
use super::members::Condition;
use super::occurrences::by_value;
use super::permutation::Permutation;
use super::phases;
use super::{Evaluation, Key, OPERATOR, Operand, Out, chunks};
use bag::{Bag, Follower};
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
    /// Whether rows with the same frame have the same result.
    const BY_FRAME: bool;

    /// What is known of no values, of so many that there can be.
    fn empty(&self, values: usize) -> Self::State;

    /// A value occurs so many times now, once more or less than before; `row` is the first that has it.
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
pub(super) struct Followed<W: Contents> {
    what: W,
    frames: Frames,
    condition: Condition,
    permutation: Permutation,
    budget: Budget,
    kept: Mutex<Vec<Bag<W::State>>>,
}

/// What makes a content for a form of values.
pub(super) trait Contents: Debug + Send + Sync + Sized {
    /// What is known of a multiset.
    type State: Debug + Send;

    /// Evaluates rows.
    fn evaluate(followed: &Followed<Self>, rows: Range<usize>, out: Out<'_>) -> Result<()>;
}

/// What evaluates `mode`.
pub(super) fn mode(call: Call, frames: Frames, budget: &Budget) -> Result<Box<dyn Evaluation>> {
    let key = call.order.into_iter().next().expect("what is counted");
    let value = key.operand.clone();
    let permutation = by_value(key, call.filter.as_ref(), &frames, budget)?;
    let condition = Condition { value: Some(value.clone()), filter: call.filter, only: None };
    Ok(Box::new(Followed {
        what: Mode(value),
        frames,
        condition,
        permutation,
        budget: budget.clone(),
        kept: Mutex::default(),
    }))
}

/// What evaluates `dense_rank` with an order of its own.
pub(super) fn dense_rank(call: Call, frames: Frames, budget: &Budget) -> Result<Box<dyn Evaluation>> {
    let condition = Condition { value: None, filter: call.filter, only: None };
    let cancel = frames.cancel.clone();
    let permutation = Permutation::new(call.order, frames.positions.clone(), None, budget, cancel)?;
    Ok(Box::new(Followed {
        what: DenseRank,
        frames,
        condition,
        permutation,
        budget: budget.clone(),
        kept: Mutex::default(),
    }))
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
    Ok(Box::new(Followed { what, frames, condition, permutation, budget: budget.clone(), kept: Mutex::default() }))
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

impl<W: Contents> Followed<W> {
    /// Writes the results of a content.
    fn follow<C: Content<State = W::State>>(
        &self,
        content: &C,
        rows: Range<usize>,
        mut out: Sink<'_, C::Result>,
    ) -> Result<()> {
        let Self { frames, permutation, .. } = self;
        let Some(mut bag) = self.nearest(content, &rows)? else { return Ok(()) };
        let follower = Follower { content, asked: self.condition.ask(), permutation, cancel: &frames.cancel };
        let mut batch = frames.batch();
        for chunk in chunks(rows.clone()) {
            frames.fill(&mut batch, chunk.clone())?;
            for (part, partition) in frames.positions.parts(chunk.clone()) {
                follower.enter(&mut bag, partition.start)?;
                for row in part {
                    let (at, ranges) = (row - rows.start, batch.ranges(row - chunk.start));
                    if C::BY_FRAME && at > 0 && *bag.ranges() == ranges {
                        out.repeat(at, at - 1);
                        continue;
                    }
                    follower.go_to(&mut bag, ranges)?;
                    out.set(at, follower.result(&bag, row)?);
                }
            }
        }
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(bag);
        Ok(())
    }

    /// A multiset for rows: one that was kept, if that is nearer than an empty one; none for no rows.
    fn nearest<C: Content<State = W::State>>(&self, content: &C, rows: &Range<usize>) -> Result<Option<Bag<W::State>>> {
        let positions = &self.frames.positions;
        let Some(values) = positions.parts(rows.clone()).map(|(_, partition)| partition.len()).max() else {
            return Ok(None);
        };
        let mut batch = self.frames.batch();
        self.frames.fill(&mut batch, rows.start..rows.start + 1)?;
        let (first, ranges) = (positions.partitions.begin(rows.start), batch.ranges(0));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let near = |(at, bag): (usize, &Bag<W::State>)| Some((bag.steps(first, &ranges, values)?, at));
        let nearest = kept.iter().enumerate().filter_map(near).min();
        let empty = ranges.iter().map(Range::len).sum::<usize>() + values / 16;
        if let Some((_, at)) = nearest.filter(|&(steps, _)| steps <= empty) {
            return Ok(Some(kept.swap_remove(at)));
        }
        drop(kept);
        let charged = self.budget.reserve(values * (size_of::<u32>() + C::BYTES), OPERATOR)?;
        Ok(Some(Bag::new(first, values, content.empty(values), charged)))
    }
}

impl Contents for Mode {
    type State = Vec<u32>;

    fn evaluate(followed: &Followed<Self>, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        let value = &followed.what.0;
        with_form!(value.sql_type, T => {
            followed.follow(&ordered::Frequent(value.cells::<T>()), rows, out.form())
        })
    }
}

impl Contents for DenseRank {
    type State = Vec<u32>;

    fn evaluate(followed: &Followed<Self>, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        followed.follow(&followed.what, rows, out.form())
    }
}
