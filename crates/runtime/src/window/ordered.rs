//! Functions with an order of their own, over frames: percentiles, ranks, and values of other rows in that order
//! (Vogelsgesang et al., SIGMOD 2022). The rows are numbered by it ([permutation](super::permutation)); in a [wavelet matrix](super::wavelet) of these
//! numbers a frame's k-th row, and how many of its rows come before a row, take O(log n), whatever the frame leaves out.
//!
//! Rows that are not looked at (no value, or a filter) are not in the matrix; ranges of rows become ranges of members.

mod percentile;
mod rank;

use std::ops::Range;

use base::{Budget, Result};
use functions::WindowFunction as F;

use super::call::Call;
use super::column::{Element, Form, Sink, with_form};
use super::frame::Frames;
use super::members::{Condition, Members, piece_of};
use super::permutation::Permutation;
use super::phases::{self, Built};
use super::pick::{Which, count};
use super::wavelet::{Filled, Filling, Wavelet};
use super::{Evaluation, Operand, Out, chunks, multiset};

/// Which function.
#[derive(Debug)]
enum What {
    /// The value at a fraction.
    Discrete(Operand),
    /// The value at a fraction, between two values if need be.
    Continuous(Operand),
    /// A number of the row.
    Rank(rank::Kind),
    /// The value of another row.
    Pick(Which),
}

/// A function with an order of its own.
#[derive(Debug)]
struct Ordered {
    what: What,
    /// What it gives values of.
    value: Operand,
    frames: Frames,
    members: Option<Members>,
    permutation: Permutation,
    wavelet: Wavelet,
}

/// What evaluates a function with an order of its own, if there is such a one.
pub(super) fn evaluation(call: Call, frames: Frames, budget: &Budget) -> Result<Box<dyn Evaluation>> {
    let mut arguments = call.arguments.clone().into_iter();
    let mut argument = || arguments.next().expect("as many arguments as the function takes");
    let first_key = call.order[0].operand.clone();
    let (what, value) = match call.function {
        F::PercentileDisc => (What::Discrete(argument()), first_key),
        F::PercentileCont => (What::Continuous(argument()), first_key),
        F::RowNumber => (What::Rank(rank::Kind::RowNumber), first_key),
        F::Rank => (What::Rank(rank::Kind::Rank), first_key),
        F::PercentRank => (What::Rank(rank::Kind::PercentRank), first_key),
        F::CumeDist => (What::Rank(rank::Kind::CumeDist), first_key),
        F::Ntile => (What::Rank(rank::Kind::Ntile(argument())), first_key),
        F::Lead | F::Lag => {
            let (value, offset, back) = (argument(), argument(), call.function == F::Lag);
            (What::Pick(Which::Away { offset, back, default: arguments.next() }), value)
        }
        F::FirstValue => (What::Pick(Which::First), argument()),
        F::LastValue => (What::Pick(Which::Last), argument()),
        F::NthValue => {
            let value = argument();
            (What::Pick(Which::Nth(argument())), value)
        }
        F::Mode => return multiset::mode(call, frames, budget),
        F::DenseRank => return multiset::dense_rank(call, frames, budget),
        F::Aggregate(_) | F::StringAgg | F::ArrayAgg => unreachable!("an aggregate knows no order"),
    };
    let ignores_nulls = call.ignore_nulls || matches!(what, What::Discrete(_) | What::Continuous(_));
    let condition = Condition { value: ignores_nulls.then(|| value.clone()), filter: call.filter, only: None };
    let (positions, cancel) = (frames.positions.clone(), frames.cancel.clone());
    let (rows, largest) = (positions.rows, positions.largest_partition());
    let members = Members::new(condition, rows, budget)?;
    let permutation = Permutation::new(call.order, positions, None, budget, cancel.clone())?;
    let wavelet = Wavelet::new(rows, largest, budget, cancel)?;
    Ok(Box::new(Ordered { what, value, frames, members, permutation, wavelet }))
}

impl Filled for Ordered {
    fn numbers(&self) -> usize {
        self.members.as_ref().map_or(self.frames.positions.rows, |members| members.set().len())
    }

    fn fill(&self, piece: usize, set: impl Fn(usize, usize)) {
        let members = self.members.as_ref().map(Members::set);
        let rows = piece_of(self.frames.positions.rows, piece);
        let mut at = count(members, &(0..rows.start));
        for (part, partition) in self.frames.positions.parts(rows) {
            for row in part.filter(|&row| members.is_none_or(|members| members.contains(row))) {
                set(at, self.permutation.place(row) - partition.start);
                at += 1;
            }
        }
    }
}

impl Ordered {
    fn with_parts<T>(&self, with: impl FnOnce(&[&dyn Built]) -> T) -> T {
        with(&[&self.members, &self.permutation, &Filling(&self.wavelet, self)])
    }

    /// Calls `each` with each row's place in the range, and what it sees.
    fn each(&self, rows: Range<usize>, mut each: impl FnMut(usize, Seen<'_>) -> Result<()>) -> Result<()> {
        let mut batch = self.frames.batch();
        let (members, numbers) = (self.members.as_ref().map(Members::set), self.numbers());
        let rank = |row: usize| members.map_or(row, |members| members.count_before(row));
        for chunk in chunks(rows.clone()) {
            self.frames.fill(&mut batch, chunk.clone())?;
            for (part, partition) in self.frames.positions.parts(chunk.clone()) {
                for row in part {
                    let frame = batch.ranges(row - chunk.start);
                    let ranges = frame.clone().map(|range| rank(range.start)..rank(range.end));
                    let includes = frame.iter().any(|range| range.contains(&row))
                        && members.is_none_or(|members| members.contains(row));
                    let seen = Seen { all: self, numbers, row, first: partition.start, ranges, includes };
                    each(row - rows.start, seen)?;
                }
            }
        }
        Ok(())
    }

    fn picks<T: Element>(&self, rows: Range<usize>, mut out: Sink<'_, T>, which: &Which) -> Result<()> {
        let values = self.value.cells::<T>();
        let default = match which {
            Which::Away { default, .. } => default.as_ref().map(Operand::cells::<T>),
            _ => None,
        };
        self.each(rows, |at, seen| {
            let place = match which {
                Which::First => Some(0),
                Which::Last => seen.rows().checked_sub(1),
                Which::Nth(nth) => super::pick::nth(nth.cells().get(seen.row))?,
                Which::Away { offset, back, .. } => match offset.cells::<i64>().get(seen.row) {
                    None => {
                        out.set(at, None);
                        return Ok(());
                    }
                    Some(0) => {
                        out.set(at, values.get(seen.row));
                        return Ok(());
                    }
                    Some(offset) => seen.away(if *back { offset.saturating_neg() } else { offset }),
                },
            };
            let found = place.filter(|&place| place < seen.rows()).map(|place| seen.nth(place));
            out.set(
                at,
                match found {
                    Some(row) => values.get(row),
                    None => default.as_ref().and_then(|default| default.get(seen.row)),
                },
            );
            Ok(())
        })
    }
}

impl Evaluation for Ordered {
    fn pieces(&self, phase: usize) -> Option<usize> {
        self.with_parts(|parts| phases::pieces(parts, phase))
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        self.with_parts(|parts| phases::build(parts, phase, piece))
    }

    fn evaluate(&self, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        match &self.what {
            What::Discrete(fraction) => {
                with_form!(self.value.sql_type, T => percentile::discrete::<T>(self, fraction, rows, out.form()))
            }
            What::Continuous(fraction) if Form::of(self.value.sql_type) == Form::Interval => {
                percentile::continuous::<types::Interval>(self, fraction, rows, out.form())
            }
            What::Continuous(fraction) => percentile::continuous::<f64>(self, fraction, rows, out.form()),
            What::Rank(kind @ (rank::Kind::PercentRank | rank::Kind::CumeDist)) => {
                rank::shares(self, kind, rows, out.form())
            }
            What::Rank(kind) => rank::integers(self, kind, rows, out.form()),
            What::Pick(which) => with_form!(self.value.sql_type, T => self.picks::<T>(rows, out.form(), which)),
        }
    }
}

/// What a row sees: the rows of its frame in the call's order.
struct Seen<'a> {
    all: &'a Ordered,
    numbers: usize,
    row: usize,
    /// The partition's first row.
    first: usize,
    /// The frame, in members.
    ranges: [Range<usize>; 3],
    /// Whether the row itself is among them.
    includes: bool,
}

impl Seen<'_> {
    /// How many rows.
    fn rows(&self) -> usize {
        self.ranges.iter().map(Range::len).sum()
    }

    /// The row that so many others come before.
    fn nth(&self, before: usize) -> usize {
        let place = self.all.wavelet.nth(self.ranges.clone(), before, self.numbers);
        self.all.permutation.row(self.first + place)
    }

    /// How many rows are at places before this one.
    fn below(&self, place: usize) -> usize {
        self.all.wavelet.below(self.ranges.clone(), place - self.first, self.numbers)
    }

    /// How many rows come before the row itself.
    fn before(&self) -> usize {
        self.below(self.all.permutation.place(self.row))
    }

    /// The number of the row so many steps behind the row itself, which need not be in the frame.
    fn away(&self, steps: i64) -> Option<usize> {
        let before = self.before() as i64;
        let gap = i64::from(steps > 0 && !self.includes);
        usize::try_from(before.saturating_add(steps) - gap).ok()
    }
}
