//! `min` and `max` over frames that slide: the best row of each range of the frame, in any order and without a state that
//! moves along, so that any worker begins anywhere; a dozen instructions for each end of a frame, whatever lies between.

use std::marker::PhantomData;
use std::ops::Range;

use base::{Budget, Result};

use crate::window::column::{Cells, Element, Sink};
use crate::window::extremes::{Extremes, Ranked};
use crate::window::frame::Frames;
use crate::window::members::{Asked, Condition};
use crate::window::{Evaluation, Operand, Out, chunks};

/// The least value of frames, or the greatest.
#[derive(Debug)]
pub(super) struct Least<T, const GREATEST: bool> {
    value: Operand,
    condition: Condition,
    extremes: Extremes,
    frames: Frames,
    form: PhantomData<T>,
}

/// The values of rows; `ALL`: each counts.
struct Values<'a, T, const GREATEST: bool, const ALL: bool> {
    values: Cells<'a, T>,
    condition: Asked<'a>,
}

impl<T: Element, const GREATEST: bool, const ALL: bool> Ranked for Values<'_, T, GREATEST, ALL> {
    type Value = T;
    const ALL: bool = ALL;

    #[inline]
    fn counts(&self, row: usize) -> bool {
        self.condition.admits(row)
    }

    #[inline]
    fn value(&self, row: usize) -> T {
        self.values.value(row)
    }

    /// Of values that are equal and not the same always the same one is better.
    #[inline]
    fn holds_against(&self, value: T, other: T) -> bool {
        let order = value.order(&other).then_with(|| value.tell_apart(&other));
        if GREATEST { order.is_ge() } else { order.is_le() }
    }
}

impl<T: Element, const GREATEST: bool> Least<T, GREATEST> {
    pub(super) fn new(value: Operand, condition: Condition, frames: Frames, budget: &Budget) -> Result<Self> {
        let extremes = Extremes::new(frames.positions.rows, budget)?;
        Ok(Self { value, condition, extremes, frames, form: PhantomData })
    }

    fn values<const ALL: bool>(&self) -> Values<'_, T, GREATEST, ALL> {
        Values { values: self.value.cells(), condition: self.condition.ask() }
    }

    fn write<const ALL: bool, const EXCLUDES: bool>(&self, rows: Range<usize>, mut out: Sink<'_, T>) -> Result<()> {
        let (mut finder, mut batch) = (self.extremes.finder(self.values::<ALL>()), self.frames.batch());
        for chunk in chunks(rows.clone()) {
            self.frames.fill(&mut batch, chunk.clone())?;
            let mut out = out.part(chunk.start - rows.start..chunk.end - rows.start);
            batch.each::<EXCLUDES>(|at, ranges| {
                out.set(at, finder.best(ranges));
                Ok(())
            })?;
        }
        Ok(())
    }
}

impl<T: Element, const GREATEST: bool> Evaluation for Least<T, GREATEST> {
    fn pieces(&self, phase: usize) -> Option<usize> {
        (phase < self.extremes.levels()).then(|| self.extremes.pieces(phase))
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        self.frames.cancel.check()?;
        match self.condition.is_always() {
            true => self.extremes.build(phase, piece, &self.values::<true>()),
            false => self.extremes.build(phase, piece, &self.values::<false>()),
        }
        Ok(())
    }

    fn evaluate(&self, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        match (self.condition.is_always(), self.frames.excludes()) {
            (true, true) => self.write::<true, true>(rows, out.form()),
            (true, false) => self.write::<true, false>(rows, out.form()),
            (false, true) => self.write::<false, true>(rows, out.form()),
            (false, false) => self.write::<false, false>(rows, out.form()),
        }
    }
}
