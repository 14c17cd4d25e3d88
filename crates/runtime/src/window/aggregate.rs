//! Aggregates over frames (thesis 5.4.3). What an aggregate keeps is a [`Summary`]; what frames are made of is the same for
//! all: a [`Cursor`](cursor::Cursor) follows the frame of one row after the other, and computes a frame anew from a
//! [`Tree`] where following is not allowed or would take longer.
//!
//! - *Naive*: each frame from its rows.
//! - *Cumulative*: rows are added while the frame grows at either end.
//! - *Removable cumulative*: rows are added and taken away, if the summary can.
//! - *Segment tree*: each frame from nodes.
//!
//! The two that follow have a tree, too, though one with few large nodes, for the first row of a range: so ranges of one
//! partition are evaluated in parallel. No tree has nodes that more than one partition lies under: no frame asks for them.
//! All give the same bits, since summaries are exact (decision 12) and say what they result in only at the end.

mod choice;
mod cursor;
mod extreme;
mod float;
mod integer;
mod interval;
mod logic;
mod summary;

use std::ops::Range;

use base::{Budget, Result};
use functions::AggregateFunction as A;
use types::SqlType;

use super::call::{Call, pick};
use super::column::{Form, Sink, with_form};
use super::count::Count;
use super::frame::Frames;
use super::members::{Condition, Members};
use super::pick::Which;
use super::tree::Tree;
use super::{Evaluation, Operand, Out, chunks};
pub use choice::Algorithm;
use choice::Choice;
use cursor::{Cursor, Source};
use summary::Summary;

/// An aggregate over frames.
#[derive(Debug)]
struct Framed<S: Summary> {
    summary: S,
    value: Operand,
    condition: Condition,
    frames: Frames,
    choice: Choice,
    tree: Option<Tree<S::State>>,
    budget: Budget,
}

/// What evaluates an aggregate.
pub(super) fn evaluation(function: A, call: Call, frames: Frames, budget: &Budget) -> Result<Box<dyn Evaluation>> {
    let (argument, result) = (call.arguments.first().map_or(SqlType::Null, |a| a.sql_type), call.result);
    let make = Make { call, frames, budget };
    match function {
        A::Sum | A::Avg => {
            let average = function == A::Avg;
            match Form::of(argument) {
                Form::F64 => make.framed(float::Sum { average, single: result == SqlType::Real }),
                Form::Interval => make.framed(interval::Sum { average }),
                Form::I64 if Form::of(result) == Form::I64 => {
                    make.framed(integer::Sum::<i64, i64>::new(average, argument, result))
                }
                Form::I64 => make.framed(integer::Sum::<i64, i128>::new(average, argument, result)),
                _ => make.framed(integer::Sum::<i128, i128>::new(average, argument, result)),
            }
        }
        A::StddevSamp | A::StddevPop | A::VarSamp | A::VarPop => {
            let (sample, root) =
                (matches!(function, A::StddevSamp | A::VarSamp), matches!(function, A::StddevSamp | A::StddevPop));
            match Form::of(argument) {
                Form::I64 => make.framed(float::Variance::<i64>::new(sample, root, argument.scale())),
                Form::I128 => make.framed(float::Variance::<i128>::new(sample, root, argument.scale())),
                _ => make.framed(float::Variance::<f64>::new(sample, root, 0)),
            }
        }
        A::Min | A::Max => {
            let greatest = function == A::Max;
            with_form!(argument, T => make.framed(extreme::Extreme::<T>::new(greatest)))
        }
        A::BoolAnd | A::BoolOr => make.framed(logic::Logic { all: function == A::BoolAnd }),
        A::AnyValue => pick(Which::First, Call { ignore_nulls: true, ..make.call }, make.frames, budget),
        A::CountStar | A::Count => make.count(),
    }
}

struct Make<'a> {
    call: Call,
    frames: Frames,
    budget: &'a Budget,
}

impl Make<'_> {
    fn count(self) -> Result<Box<dyn Evaluation>> {
        let condition = Condition { value: self.call.arguments.into_iter().next(), filter: self.call.filter };
        let members = Members::new(condition, self.frames.positions.rows, self.budget)?;
        Ok(Box::new(Count { members, frames: self.frames }))
    }

    fn framed<S: Summary>(self, summary: S) -> Result<Box<dyn Evaluation>> {
        let Self { call, frames, budget } = self;
        let value = call.arguments.into_iter().next().expect("a value");
        let choice = Choice::new(&frames, S::REMOVABLE, call.algorithm);
        let tree = choice.leaf(call.fanout).map(|leaf| Tree::new(frames.positions.rows, leaf, call.fanout, budget));
        let condition = Condition { value: Some(value.clone()), filter: call.filter };
        let (tree, budget) = (tree.transpose()?, budget.clone());
        Ok(Box::new(Framed { summary, value, condition, frames, choice, tree, budget }))
    }
}

impl<S: Summary> Framed<S> {
    fn source(&self) -> Source<'_, S> {
        Source::new(&self.summary, &self.value, &self.condition, self.tree.as_ref())
    }

    /// The results of a chunk, whose frames are in the batch.
    fn chunk(&self, state: &mut Following<'_, S>, out: &mut Sink<'_, S::Result>, first: usize) -> Result<()> {
        let rows = state.batch.rows.clone();
        let mut step = |at: usize| {
            let to = rows.start + at - first;
            match state.result(at)? {
                Some(result) => out.set(to, result),
                None => out.repeat(to, if self.choice.backward { to + 1 } else { to - 1 }),
            }
            Ok(())
        };
        match self.choice.backward {
            false => (0..rows.len()).try_for_each(&mut step),
            true => (0..rows.len()).rev().try_for_each(&mut step),
        }
    }
}

/// What follows the frames of a range of rows.
struct Following<'a, S: Summary> {
    source: Source<'a, S>,
    batch: super::frame::Batch,
    /// What is before an excluded part, or all.
    before: Cursor<S>,
    /// What is behind it.
    behind: Cursor<S>,
    both: S::State,
    excludes: bool,
    started: bool,
}

impl<S: Summary> Following<'_, S> {
    /// The result for the batch's `at`th row; none if it is that of the row before.
    #[inline]
    fn result(&mut self, at: usize) -> Result<Option<Option<S::Result>>> {
        let source = &self.source;
        if !self.excludes {
            let range = self.batch.bounds(at);
            if self.started && range == *self.before.range() {
                return Ok(None);
            }
            self.started = true;
            return source.summary.result(self.before.follow(source, range)).map(Some);
        }
        let [before, itself, behind] = self.batch.ranges(at);
        S::clear(&mut self.both);
        source.summary.merge(&mut self.both, self.before.follow(source, before));
        source.summary.merge(&mut self.both, self.behind.follow(source, behind));
        source.add(&mut self.both, itself);
        source.summary.result(&self.both).map(Some)
    }
}

impl<S: Summary> Evaluation for Framed<S> {
    fn pieces(&self, phase: usize) -> Option<usize> {
        self.tree.as_ref()?.pieces(phase)
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        let Some(tree) = &self.tree else { return Ok(()) };
        let (source, partitions) = (self.source(), &self.frames.positions.partitions);
        let mut heap = 0;
        tree.build(phase, piece, |rows, below| {
            self.frames.cancel.check()?;
            let mut state = S::State::default();
            if partitions.next_from(rows.start + 1) >= rows.end {
                match phase {
                    0 => source.add(&mut state, below),
                    _ => tree.nodes(phase - 1, below, |node| source.summary.merge(&mut state, node)),
                }
            }
            heap += S::heap(&state);
            Ok(state)
        })?;
        tree.charge(&self.budget, heap)
    }

    fn evaluate(&self, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        let mut out = out.form();
        let mut state = Following {
            source: self.source(),
            batch: self.frames.batch(),
            before: Cursor::new(self.choice.algorithm),
            behind: Cursor::new(self.choice.algorithm),
            both: S::State::default(),
            excludes: self.choice.excludes,
            started: false,
        };
        let mut each = |chunk| {
            self.frames.fill(&mut state.batch, chunk)?;
            self.chunk(&mut state, &mut out, rows.start)
        };
        match self.choice.backward {
            false => chunks(rows.clone()).try_for_each(&mut each),
            true => chunks(rows.clone()).rev().try_for_each(&mut each),
        }
    }
}
