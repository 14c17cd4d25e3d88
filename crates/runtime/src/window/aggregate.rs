//! Aggregates over frames (thesis 5.4.3). What an aggregate keeps is a [`Summary`]; what frames are made of is the same for
//! all: a [`Cursor`](cursor::Cursor) follows the frame of one row after the other, and computes a frame anew from a
//! [`Tree`] where following is not allowed or would take longer.
//!
//! - *Naive*: each frame from its rows.
//! - *Cumulative*: rows are added while the frame grows at either end.
//! - *Removable cumulative*: rows are added and taken away, if the summary can.
//! - *Segment tree*: each frame from nodes.
//!
//! Two take less for any frame, and follow none: of integers' sums the [sums](prefix) before a frame's first row and behind
//! its last, and of `min` and `max` the [best rows](least) of ranges.
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
mod least;
mod logic;
mod pairs;
mod prefix;
mod summary;

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use base::memory::Buffer;
use base::{Budget, Result};
use functions::{AggregateFunction as A, WindowFunction as F};
use plan::FrameExclusion;
use types::SqlType;

use super::call::{Call, pick};
use super::column::{Column, Element, Form, Sink, Values, with_form};
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
use least::Least;
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
            with_form!(argument, T => make.extreme::<T>(function == A::Max))
        }
        A::BitAnd => make.framed(logic::Bits { both: |a, b| a & b }),
        A::BitOr => make.framed(logic::Bits { both: |a, b| a | b }),
        A::BitXor => make.framed(logic::Xor),
        A::ArgMin | A::ArgMax => make.value_at(function == A::ArgMax),
        // Frames count exactly.
        A::ApproxCountDistinct => Make { call: Call { distinct: true, ..make.call }, ..make }.count(),
        A::BoolAnd | A::BoolOr => make.framed(logic::Logic { all: function == A::BoolAnd }),
        A::AnyValue => pick(Which::First, Call { ignore_nulls: true, ..make.call }, make.frames, budget),
        A::CountStar | A::Count => make.count(),
        A::ContinuousAt => make.percentile(F::PercentileCont),
        A::DiscreteAt => make.percentile(F::PercentileDisc),
        function if function.collects() => Err(base::Error::internal("an aggregate of groups, over frames")),
        A::RegrCount => make.paired(Make::count),
        _ => make.paired(|make| make.framed(pairs::Regression { function })),
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

    /// The first value in the order of the keys, of those that have one.
    fn value_at(self, greatest: bool) -> Result<Box<dyn Evaluation>> {
        let Self { mut call, frames, budget } = self;
        let key = call.arguments.remove(1);
        let value = call.arguments[0].clone();
        let mut charged = None;
        if key.nulls().is_some() {
            let rows = frames.positions.rows;
            charged = Some(budget.reserve(rows * size_of::<i64>(), super::OPERATOR)?);
            let asked = Condition { value: Some(key.clone()), filter: call.filter.take(), only: None };
            let asked = asked.ask();
            let admitted: Vec<i64> = (0..rows).map(|row| asked.admits(row).into()).collect();
            let column = Column { values: Values::I64(Buffer::from(&admitted[..])), nulls: None };
            call.filter = Some(Operand::column(Arc::new(column), SqlType::Bool));
        }
        call.function = F::FirstValue;
        call.distinct = false;
        call.ignore_nulls = true;
        call.order = vec![Key { operand: key, descending: greatest, nulls_first: false }, Key::ascending(value)];
        let evaluation = super::ordered::evaluation(call, frames, budget)?;
        Ok(match charged {
            Some(_charged) => Box::new(pairs::Charged { evaluation, _charged }),
            None => evaluation,
        })
    }

    /// The value at a fraction, in the order of the values.
    fn percentile(self, function: F) -> Result<Box<dyn Evaluation>> {
        let Self { mut call, frames, budget } = self;
        let value = call.arguments.remove(0);
        call.function = function;
        call.order = vec![Key::ascending(value)];
        super::ordered::evaluation(call, frames, budget)
    }

    /// Of pairs, which become one operand.
    fn paired(mut self, make: impl FnOnce(Self) -> Result<Box<dyn Evaluation>>) -> Result<Box<dyn Evaluation>> {
        let (pairs, charged) = pairs::zipped(&self.call.arguments, self.frames.positions.rows, self.budget)?;
        self.call.arguments = vec![pairs];
        Ok(Box::new(pairs::Charged { evaluation: make(self)?, _charged: charged }))
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

    /// By the best rows of ranges, unless frames only grow.
    fn extreme<T: Element>(self, greatest: bool) -> Result<Box<dyn Evaluation>> {
        let choice = Choice::new(&self.frames, false, self.call.algorithm);
        if self.call.algorithm.is_some() || choice.algorithm == Algorithm::Cumulative {
            return self.framed(extreme::Extreme::<T>::new(greatest));
        }
        let Self { call, frames, budget } = self;
        let value = call.arguments.into_iter().next().expect("a value");
        let condition = Condition { value: Some(value.clone()), filter: call.filter, only: None };
        Ok(match greatest {
            true => Box::new(Least::<T, true>::new(value, condition, frames, budget)?),
            false => Box::new(Least::<T, false>::new(value, condition, frames, budget)?),
        })
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
    fn chunk(&self, following: &mut Following<'_, S>, out: Sink<'_, S::Result>) -> Result<()> {
        let rows = 0..following.batch.rows.len();
        match (self.choice.excludes, self.choice.backward) {
            (true, _) => following.write_parts(rows, out),
            (false, false) => following.write(rows, out),
            (false, true) => following.write(rows.rev(), out),
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
    /// The result of the frame before.
    last: Option<S::Result>,
}

impl<S: Summary> Following<'_, S> {
    /// Writes the results for rows of the batch, of which nothing is excluded, in some order.
    fn write(&mut self, order: impl Iterator<Item = usize>, out: Sink<'_, S::Result>) -> Result<()> {
        let (starts, ends) = self.batch.bounds();
        let (values, nulls) = (&mut out.values[..starts.len()], &mut out.nulls[..starts.len()]);
        for at in order {
            let range = starts[at]..ends[at];
            if range != *self.before.range() {
                self.last = self.source.summary.result(self.before.follow(&self.source, range))?;
            }
            nulls[at] = u8::from(self.last.is_none());
            if let Some(value) = self.last {
                values[at] = value;
            }
        }
        Ok(())
    }

    /// As [`write`](Self::write) where something may be excluded.
    fn write_parts(&mut self, rows: Range<usize>, mut out: Sink<'_, S::Result>) -> Result<()> {
        let source = &self.source;
        for at in rows {
            let [before, itself, behind] = self.batch.ranges(at);
            S::clear(&mut self.both);
            source.summary.merge(&mut self.both, self.before.follow(source, before));
            source.summary.merge(&mut self.both, self.behind.follow(source, behind));
            source.add(&mut self.both, itself);
            out.set(at, source.summary.result(&self.both)?);
        }
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
        let source = self.source();
        // Of no rows, as what a cursor begins with.
        let last = source.summary.result(&S::State::default())?;
        let mut following = Following {
            source,
            batch: self.frames.batch(),
            before: Cursor::new(self.choice.algorithm),
            behind: Cursor::new(self.choice.algorithm),
            both: S::State::default(),
            last,
        };
        let mut each = |chunk: Range<usize>| {
            let at = chunk.start - rows.start..chunk.end - rows.start;
            self.frames.fill(&mut following.batch, chunk)?;
            self.chunk(&mut following, out.part(at))
        };
        match self.choice.backward {
            false => chunks(rows.clone()).try_for_each(&mut each),
            true => chunks(rows.clone()).rev().try_for_each(&mut each),
        }
    }
}
