//! Aggregates over frames (thesis 5.4.3). What an aggregate keeps is a [`Summary`]; what frames are made of is the same for
//! all: a [`Cursor`](cursor::Cursor) follows the frame of one row after the other, and computes a frame anew from a
//! [`Tree`] where following is not allowed or would take longer.
//!
//! - *Naive*: each frame from its rows.
//! - *Cumulative*: rows are added while the frame grows at either end.
//! - *Removable cumulative*: rows are added and taken away, if the summary can.
//! - *Segment tree*: each frame from nodes; or, of integers' sums, from the sums before its first row and behind its last.
//!
//! The two that follow have a tree, too, though one with few large nodes, for the first row of a range: so ranges of one
//! partition are evaluated in parallel. No tree has nodes that more than one partition lies under: no frame asks for them.
//!
//! Of DISTINCT, frames from the partition's first row on see the rows only that bring a value for the first time, and frames
//! to its last row those that bring it for the last; others follow the frame as a [multiset](super::multiset).
//!
//! All give the same bits, since summaries are exact (decision 12) and say what they result in only at the end.

mod choice;
mod cursor;
mod extreme;
mod float;
mod integer;
mod interval;
mod logic;
mod prefix;
mod summary;

use std::marker::PhantomData;
use std::ops::Range;

use base::{Budget, Result};
use functions::AggregateFunction as A;
use plan::FrameExclusion;
use types::SqlType;

use super::call::{Call, pick};
use super::column::{Form, Sink, with_form};
use super::count::Count;
use super::frame::Frames;
use super::members::{Condition, Members};
use super::multiset::{self, Counting, Distinct};
use super::occurrences::{CountDistinct, Outermost, by_value};
use super::phases::{self, Built};
use super::pick::Which;
use super::tree::Tree;
use super::{Evaluation, Key, Operand, Out, chunks};
pub use choice::Algorithm;
use choice::Choice;
use cursor::{Cursor, Source};
use prefix::Prefixed;
pub(super) use summary::Summary;

/// An aggregate over frames.
#[derive(Debug)]
struct Framed<S: Summary> {
    summary: S,
    value: Operand,
    condition: Condition,
    /// The rows that bring a value of which others are like, if only distinct ones count.
    outermost: Option<Outermost>,
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
                    make.summed(integer::Sum::<i64, i64>::new(average, argument, result))
                }
                Form::I64 => make.summed(integer::Sum::<i64, i128>::new(average, argument, result)),
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
        let Self { call, frames, budget } = self;
        let value = call.arguments.into_iter().next();
        if let Some(value) = value.clone().filter(|_| call.distinct) {
            if frames.frame.exclude == FrameExclusion::NoOthers {
                return Ok(Box::new(CountDistinct::new(value, call.filter, frames, budget)?));
            }
            return with_form!(value.sql_type, T => {
                let what = Distinct { summary: Counting::<T>(PhantomData), value: value.clone() };
                multiset::distinct(what, value, call.filter, frames, budget)
            });
        }
        let condition = Condition { value, filter: call.filter, only: None };
        let members = Members::new(condition, frames.positions.rows, budget)?;
        Ok(Box::new(Count { members, frames }))
    }

    /// By prefix sums, unless rows are only added or few.
    fn summed<R: integer::Integer>(self, sum: integer::Sum<i64, R>) -> Result<Box<dyn Evaluation>> {
        let choice = Choice::new(&self.frames, true, self.call.algorithm);
        let is_prefixed = matches!(choice.algorithm, Algorithm::Removable | Algorithm::SegmentTree);
        if self.call.distinct || self.call.algorithm.is_some() || !is_prefixed {
            return self.framed(sum);
        }
        let Self { call, frames, budget } = self;
        let value = call.arguments.into_iter().next().expect("a value");
        let condition = Condition { value: Some(value.clone()), filter: call.filter, only: None };
        Ok(Box::new(Prefixed::new(sum, value, condition, frames, budget)?))
    }

    fn framed<S: Summary>(self, summary: S) -> Result<Box<dyn Evaluation>> {
        let Self { call, frames, budget } = self;
        let value = call.arguments.into_iter().next().expect("a value");
        let choice = Choice::new(&frames, S::REMOVABLE, call.algorithm);
        let outermost = if call.distinct && S::REMOVABLE {
            let Some(last) = choice.outermost else {
                let what = Distinct { summary, value: value.clone() };
                return multiset::distinct(what, value, call.filter, frames, budget);
            };
            let permutation = by_value(Key::ascending(value.clone()), call.filter.as_ref(), &frames, budget)?;
            Some(Outermost::new(permutation, frames.positions.rows, last, budget)?)
        } else {
            None
        };
        let tree = choice.leaf(call.fanout).map(|leaf| Tree::new(frames.positions.rows, leaf, call.fanout, budget));
        let only = outermost.as_ref().map(Outermost::set);
        let condition = Condition { value: Some(value.clone()), filter: call.filter, only };
        let (tree, budget) = (tree.transpose()?, budget.clone());
        Ok(Box::new(Framed { summary, value, condition, outermost, frames, choice, tree, budget }))
    }
}

/// The tree of an aggregate, to be built.
struct Nodes<'a, S: Summary>(&'a Framed<S>, &'a Tree<S::State>);

impl<S: Summary> Built for Nodes<'_, S> {
    fn phases(&self) -> usize {
        self.1.levels()
    }

    fn pieces(&self, phase: usize) -> usize {
        self.1.pieces(phase)
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        let Self(framed, tree) = self;
        let (source, partitions) = (framed.source(), &framed.frames.positions.partitions);
        let mut heap = 0;
        tree.build(phase, piece, |rows, below| {
            framed.frames.cancel.check()?;
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
        tree.charge(&framed.budget, heap)
    }
}

impl<S: Summary> Framed<S> {
    fn with_parts<T>(&self, with: impl FnOnce(&[&dyn Built]) -> T) -> T {
        let tree = self.tree.as_ref().map(|tree| Nodes(self, tree));
        with(&[&self.outermost, &tree])
    }

    fn source(&self) -> Source<'_, S> {
        Source::new(&self.summary, &self.value, &self.condition, self.tree.as_ref())
    }

    /// The results of a chunk, whose frames are in the batch.
    fn chunk(&self, state: &mut Following<'_, S>, out: &mut Sink<'_, S::Result>, first: usize) -> Result<()> {
        let rows = state.batch.rows.clone();
        let mut step = |at: usize| state.write(at, rows.start + at - first, self.choice.backward, out);
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
    /// Writes the result for the batch's `at`th row.
    #[inline]
    fn write(&mut self, at: usize, to: usize, backward: bool, out: &mut Sink<'_, S::Result>) -> Result<()> {
        let source = &self.source;
        if !self.excludes {
            let range = self.batch.bounds(at);
            if self.started && range == *self.before.range() {
                out.repeat(to, if backward { to + 1 } else { to - 1 });
                return Ok(());
            }
            self.started = true;
            out.set(to, source.summary.result(self.before.follow(source, range))?);
            return Ok(());
        }
        let [before, itself, behind] = self.batch.ranges(at);
        S::clear(&mut self.both);
        source.summary.merge(&mut self.both, self.before.follow(source, before));
        source.summary.merge(&mut self.both, self.behind.follow(source, behind));
        source.add(&mut self.both, itself);
        out.set(to, source.summary.result(&self.both)?);
        Ok(())
    }
}

impl<S: Summary> Evaluation for Framed<S> {
    fn pieces(&self, phase: usize) -> Option<usize> {
        self.with_parts(|parts| phases::pieces(parts, phase))
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        self.with_parts(|parts| phases::build(parts, phase, piece))
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
