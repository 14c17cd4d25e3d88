//! Functions that give the value of another row: so many rows away in the partition (`lead`, `lag`), or the first, last or
//! so-and-so-manieth of the frame. With IGNORE NULLS that is a rank in the set of rows that have a value, so O(1) for the
//! nearest and O(log n) for others, whatever lies between.

use std::ops::Range;

use base::{Error, Result, SqlState};

use super::column::{Cells, Element, Sink, with_form};
use super::frame::Frames;
use super::members::Members;
use super::{Evaluation, Operand, Out, chunks, phases};
use crate::bits::BitSet;

/// Which row.
#[derive(Clone, Debug)]
pub(super) enum Which {
    /// So many rows on, or back; and the value if there is no such row.
    Away { offset: Operand, back: bool, default: Option<Operand> },
    /// The first of the frame.
    First,
    /// The last of the frame.
    Last,
    /// That of the frame, from 1.
    Nth(Operand),
}

/// A function that gives the value of another row.
#[derive(Debug)]
pub(super) struct Pick {
    pub(super) which: Which,
    pub(super) value: Operand,
    /// The rows that count; none if all do.
    pub(super) members: Option<Members>,
    pub(super) frames: Frames,
}

impl Evaluation for Pick {
    fn pieces(&self, phase: usize) -> Option<usize> {
        phases::pieces(&[&self.members], phase)
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        self.frames.cancel.check()?;
        phases::build(&[&self.members], phase, piece)
    }

    fn evaluate(&self, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        with_form!(self.value.sql_type, T => self.typed::<T>(rows, out.form()))
    }
}

impl Pick {
    fn typed<T: Element>(&self, rows: Range<usize>, out: Sink<'_, T>) -> Result<()> {
        let (values, members) = (self.value.cells::<T>(), self.members.as_ref().map(Members::set));
        match &self.which {
            Which::Away { offset, back, default } => {
                let default = default.as_ref().map(Operand::cells::<T>);
                self.away(rows, out, &values, (&offset.cells(), *back), default.as_ref())
            }
            Which::First => {
                self.framed(rows, out, &values, |_, ranges| Ok(ranges.iter().find_map(|range| first(members, range))))
            }
            Which::Last => self
                .framed(rows, out, &values, |_, ranges| Ok(ranges.iter().rev().find_map(|range| last(members, range)))),
            Which::Nth(nth) => {
                let nth = nth.cells::<i64>();
                self.framed(rows, out, &values, |row, ranges| {
                    Ok(self::nth(nth.get(row))?.and_then(|before| so_many(members, ranges, before)))
                })
            }
        }
    }

    /// The values in the rows that `find` finds in frames.
    fn framed<T: Element>(
        &self,
        rows: Range<usize>,
        out: Sink<'_, T>,
        values: &Cells<'_, T>,
        find: impl Fn(usize, &[Range<usize>]) -> Result<Option<usize>>,
    ) -> Result<()> {
        match self.frames.excludes() {
            true => self.write::<T, true>(rows, out, values, find),
            false => self.write::<T, false>(rows, out, values, find),
        }
    }

    fn write<T: Element, const EXCLUDES: bool>(
        &self,
        rows: Range<usize>,
        mut out: Sink<'_, T>,
        values: &Cells<'_, T>,
        find: impl Fn(usize, &[Range<usize>]) -> Result<Option<usize>>,
    ) -> Result<()> {
        let mut batch = self.frames.batch();
        for chunk in chunks(rows.clone()) {
            self.frames.fill(&mut batch, chunk.clone())?;
            let mut out = out.part(chunk.start - rows.start..chunk.end - rows.start);
            batch.each::<EXCLUDES>(|at, ranges| {
                let found = find(chunk.start + at, ranges)?;
                out.set(at, found.and_then(|row| values.get(row)));
                Ok(())
            })?;
        }
        Ok(())
    }

    fn away<T: Element>(
        &self,
        rows: Range<usize>,
        mut out: Sink<'_, T>,
        values: &Cells<'_, T>,
        (offsets, back): (&Cells<'_, i64>, bool),
        defaults: Option<&Cells<'_, T>>,
    ) -> Result<()> {
        let members = self.members.as_ref().map(Members::set);
        for chunk in chunks(rows.clone()) {
            self.frames.cancel.check()?;
            for (part, partition) in self.frames.positions.parts(chunk) {
                for row in part {
                    let value = offsets.get(row).and_then(|offset| {
                        let steps = if back { offset.saturating_neg() } else { offset };
                        let found = match members {
                            Some(members) if steps != 0 => step(members, row, steps),
                            _ => usize::try_from((row as i64).saturating_add(steps)).ok(),
                        };
                        match found.filter(|found| partition.contains(found)) {
                            Some(found) => values.get(found),
                            None => defaults.and_then(|defaults| defaults.get(row)),
                        }
                    });
                    out.set(row - rows.start, value);
                }
            }
        }
        Ok(())
    }
}

/// How many rows come before the one that `nth_value` asks for.
pub(super) fn nth(number: Option<i64>) -> Result<Option<usize>> {
    match number {
        Some(..1) => Err(Error::new(SqlState("22016"), "argument of nth_value must be greater than zero")),
        number => Ok(number.map(|number| number as usize - 1)),
    }
}

/// The row so many members on, or back if negative.
fn step(members: &BitSet, row: usize, steps: i64) -> Option<usize> {
    let far = steps.unsigned_abs() as usize;
    match steps {
        1 => Some(members.next_from(row + 1)),
        -1 => members.last_through(row.checked_sub(1)?),
        2.. => Some(members.select(members.count_before(row + 1).saturating_add(far - 1))),
        _ => members.count_before(row).checked_sub(far).map(|index| members.select(index)),
    }
}

/// A range's first member.
#[inline]
fn first(members: Option<&BitSet>, range: &Range<usize>) -> Option<usize> {
    if range.is_empty() {
        return None;
    }
    let found = members.map_or(range.start, |members| members.next_from(range.start));
    Some(found).filter(|&found| found < range.end)
}

/// A range's last member.
#[inline]
fn last(members: Option<&BitSet>, range: &Range<usize>) -> Option<usize> {
    if range.is_empty() {
        return None;
    }
    let found = members.map_or(Some(range.end - 1), |members| members.last_through(range.end - 1));
    found.filter(|&found| found >= range.start)
}

/// The member of the ranges that so many others come before.
fn so_many(members: Option<&BitSet>, ranges: &[Range<usize>], mut before: usize) -> Option<usize> {
    for range in ranges.iter().filter(|range| !range.is_empty()) {
        let count = count(members, range);
        if before < count {
            let first = members.map_or(0, |members| members.count_before(range.start));
            return Some(members.map_or(range.start + before, |members| members.select(first + before)));
        }
        before -= count;
    }
    None
}

/// How many members a range has.
#[inline]
pub(super) fn count(members: Option<&BitSet>, range: &Range<usize>) -> usize {
    members.map_or(range.len(), |members| members.count_before(range.end) - members.count_before(range.start))
}
