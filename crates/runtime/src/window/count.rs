//! `count` over frames: the difference of two ranks in the set of rows that count, so O(1) for any frame and without a
//! state that moves along.

use std::ops::Range;

use base::Result;

use super::column::Sink;
use super::frame::Frames;
use super::members::Members;
use super::pick::count;
use super::{Evaluation, Out, chunks, phases};

/// A count of the frame's rows.
#[derive(Debug)]
pub(super) struct Count {
    /// The rows that count; none if all do.
    pub(super) members: Option<Members>,
    pub(super) frames: Frames,
}

impl Evaluation for Count {
    fn pieces(&self, phase: usize) -> Option<usize> {
        phases::pieces(&[&self.members], phase)
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        self.frames.cancel.check()?;
        phases::build(&[&self.members], phase, piece)
    }

    fn evaluate(&self, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        match self.frames.excludes() {
            true => self.write::<true>(rows, out.form()),
            false => self.write::<false>(rows, out.form()),
        }
    }
}

impl Count {
    fn write<const EXCLUDES: bool>(&self, rows: Range<usize>, out: Sink<'_, i64>) -> Result<()> {
        let members = self.members.as_ref().map(Members::set);
        out.nulls.fill(0);
        let mut batch = self.frames.batch();
        for chunk in chunks(rows.clone()) {
            self.frames.fill(&mut batch, chunk.clone())?;
            let out = &mut out.values[chunk.start - rows.start..][..chunk.len()];
            batch.each::<EXCLUDES>(|at, ranges| {
                out[at] = ranges.iter().map(|range| count(members, range)).sum::<usize>() as i64;
                Ok(())
            })?;
        }
        Ok(())
    }
}
