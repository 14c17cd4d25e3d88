//! Sums and averages of integers over any frames, by the sums of all rows before each row: two reads a range, where a tree
//! reads nodes on every level. For what wraps around and takes away exactly, hence not for doubles; 16 bytes a row.

use std::ops::Range;
use std::sync::OnceLock;

use base::memory::{Buffer, Reservation};
use base::{Budget, Result};

use super::integer::{Integer, Sum};
use crate::window::column::Sink;
use crate::window::frame::Frames;
use crate::window::members::{Condition, Members};
use crate::window::phases::{self, Built};
use crate::window::pick::count;
use crate::window::{Evaluation, OPERATOR, Operand, Out, PIECE, chunks};

/// A sum or an average over frames.
#[derive(Debug)]
pub(super) struct Prefixed<R> {
    sum: Sum<i64, R>,
    members: Option<Members>,
    prefix: Prefix,
    frames: Frames,
}

/// The sums of the rows before each row.
#[derive(Debug)]
struct Prefix {
    value: Operand,
    condition: Condition,
    rows: usize,
    /// For each row, and behind the last one: the sum of the rows of its piece before it.
    within: Buffer<i128>,
    /// For each piece, and behind the last one: the sums of pieces, then those of all pieces before.
    sums: Buffer<i128>,
    before: OnceLock<Box<[i128]>>,
    _charged: Reservation,
}

impl<R: Integer> Prefixed<R> {
    pub(super) fn new(
        sum: Sum<i64, R>,
        value: Operand,
        condition: Condition,
        frames: Frames,
        budget: &Budget,
    ) -> Result<Self> {
        let rows = frames.positions.rows;
        let places = rows + 1 + rows.div_ceil(PIECE) + 1;
        let charged = budget.reserve(places * size_of::<i128>(), OPERATOR)?;
        // SAFETY: any bits are an integer.
        let (within, sums) = unsafe { (Buffer::recycled(rows + 1), Buffer::recycled(rows.div_ceil(PIECE) + 1)) };
        let members = Members::new(condition.clone(), rows, budget)?;
        let before = OnceLock::new();
        let prefix = Prefix { value, condition, rows, within, sums, before, _charged: charged };
        Ok(Self { sum, members, prefix, frames })
    }

    fn with_parts<T>(&self, with: impl FnOnce(&[&dyn Built]) -> T) -> T {
        with(&[&self.members, &self.prefix])
    }
}

impl Prefix {
    fn sum_piece(&self, piece: usize) {
        let rows = piece * PIECE..self.rows.min((piece + 1) * PIECE);
        let (values, asked) = (self.value.cells::<i64>(), self.condition.ask());
        let mut sum = 0;
        // SAFETY: pieces do not overlap, and nobody reads before all are summed.
        let (within, total) = unsafe { (self.within.places(rows.clone()), self.sums.places(piece..piece + 1)) };
        for (row, before) in rows.clone().zip(within) {
            *before = sum;
            if asked.admits(row) {
                sum += i128::from(values.value(row));
            }
        }
        total[0] = sum;
        if rows.end == self.rows {
            let is_in_piece = !self.rows.is_multiple_of(PIECE);
            // SAFETY: the last piece alone writes there.
            let last = unsafe { self.within.places(self.rows..self.rows + 1) };
            last.fill(if is_in_piece { sum } else { 0 });
        }
    }

    fn sum_pieces(&self) {
        let pieces = self.rows.div_ceil(PIECE);
        // SAFETY: all pieces are summed.
        let sums = unsafe { self.sums.places(0..pieces) };
        let mut sum = 0;
        let mut before: Vec<i128> = Vec::with_capacity(pieces + 1);
        for piece in sums {
            before.push(sum);
            sum += *piece;
        }
        before.push(sum);
        self.before.set(before.into()).expect("one piece of a phase");
    }
}

impl Built for Prefix {
    fn phases(&self) -> usize {
        2
    }

    fn pieces(&self, phase: usize) -> usize {
        if phase == 0 { self.rows.div_ceil(PIECE) } else { 1 }
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        if phase == 0 {
            self.sum_piece(piece)
        } else {
            self.sum_pieces()
        }
        Ok(())
    }
}

impl<R: Integer> Evaluation for Prefixed<R> {
    fn pieces(&self, phase: usize) -> Option<usize> {
        self.with_parts(|parts| phases::pieces(parts, phase))
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        self.frames.cancel.check()?;
        self.with_parts(|parts| phases::build(parts, phase, piece))
    }

    fn evaluate(&self, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        match self.frames.excludes() {
            true => self.write::<true>(rows, out.form()),
            false => self.write::<false>(rows, out.form()),
        }
    }
}

impl<R: Integer> Prefixed<R> {
    fn write<const EXCLUDES: bool>(&self, rows: Range<usize>, mut out: Sink<'_, R>) -> Result<()> {
        let members = self.members.as_ref().map(Members::set);
        let before = self.prefix.before.get().expect("built");
        // SAFETY: everything is built, so nobody writes.
        let within = unsafe { self.prefix.within.places(0..self.prefix.rows + 1) };
        let at = |row: usize| before[row / PIECE] + within[row];
        let mut batch = self.frames.batch();
        for chunk in chunks(rows.clone()) {
            self.frames.fill(&mut batch, chunk.clone())?;
            let mut out = out.part(chunk.start - rows.start..chunk.end - rows.start);
            batch.each::<EXCLUDES>(|row, ranges| {
                let (mut sum, mut seen) = (0, 0);
                for range in ranges {
                    sum += at(range.end) - at(range.start);
                    seen += count(members, range);
                }
                out.set(row, self.sum.of(sum, seen as i64)?);
                Ok(())
            })?;
        }
        Ok(())
    }
}
