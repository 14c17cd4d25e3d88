//! Frames (thesis 5.4.2): for each row the rows of its partition that a function looks at, as up to three ranges.
//!
//! Computed a batch of rows at a time: bounds first, one loop for each kind of bound, then what is excluded. ROWS adds and
//! clips. GROUPS goes from one group's bound to the next, or asks the set of boundaries for the group of that number.
//! RANGE moves a cursor where the distance is constant, and searches where it varies: O(1) and O(log n) a row.

mod groups;
mod range;
#[cfg(test)]
pub(super) mod tests;

use std::ops::Range;

use base::{CancelToken, Error, Result, SqlState};
use plan::{Frame, FrameBound, FrameExclusion, FrameUnit};

use super::column::Cells;
use super::{Key, Operand, Positions};

/// Rows of a batch.
pub(super) const BATCH: usize = 1024;

/// Frames of all rows.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    pub(super) positions: Positions,
    pub(super) frame: Frame<Operand>,
    /// The key that distances of RANGE are added to.
    key: Option<Key>,
    pub(super) cancel: CancelToken,
}

/// Which end of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Its first row.
    Start,
    /// Behind its last row.
    End,
}

/// The frames of a batch of rows, before anything is excluded.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) rows: Range<usize>,
    starts: Box<[usize]>,
    ends: Box<[usize]>,
    /// What is excluded; empty, if it is only the row itself.
    holes: Box<[(usize, usize)]>,
    exclude: FrameExclusion,
}

impl Frames {
    /// Frames of rows; what can be said of constant distances is checked. `key`: what distances of RANGE are added to.
    pub(super) fn new(
        positions: Positions,
        frame: Frame<Operand>,
        key: Option<Key>,
        cancel: CancelToken,
    ) -> Result<Self> {
        let frames = Self { positions, frame, key, cancel };
        for (bound, end) in [(&frames.frame.start, End::Start), (&frames.frame.end, End::End)] {
            if let Some(offset) = bound.offset().filter(|o| o.is_constant() && frames.positions.rows > 0) {
                let ranged = frames.frame.unit == FrameUnit::Range;
                if ranged && offset.is_null(0) {
                    return Err(null_offset(end));
                } else if !ranged {
                    distance(&offset.cells(), 0, end)?;
                }
            }
        }
        Ok(frames)
    }

    /// Room for the frames of a batch.
    pub(super) fn batch(&self) -> Batch {
        let (zeros, exclude) = (|| vec![0; BATCH].into(), self.frame.exclude);
        let holes = if matches!(exclude, FrameExclusion::NoOthers) { 0 } else { BATCH };
        Batch { rows: 0..0, starts: zeros(), ends: zeros(), holes: vec![(0, 0); holes].into(), exclude }
    }

    /// Computes the frames of `rows`, at most [`BATCH`].
    pub(super) fn fill(&self, batch: &mut Batch, rows: Range<usize>) -> Result<()> {
        self.cancel.check()?;
        batch.rows = rows.clone();
        let Self { positions, frame, .. } = self;
        for (part, partition) in positions.parts(rows.clone()) {
            let at = part.start - rows.start..part.end - rows.start;
            self.bounds(&frame.start, End::Start, part.clone(), &partition, &mut batch.starts[at.clone()])?;
            self.bounds(&frame.end, End::End, part, &partition, &mut batch.ends[at])?;
        }
        if self.may_cross() {
            let bounds = batch.starts.iter_mut().zip(&batch.ends).take(rows.len());
            bounds.for_each(|(start, end)| *start = (*start).min(*end));
        }
        match frame.exclude {
            FrameExclusion::NoOthers => {}
            FrameExclusion::CurrentRow => {
                batch.holes.iter_mut().zip(rows).for_each(|(hole, row)| *hole = (row, row + 1));
            }
            FrameExclusion::Group | FrameExclusion::Ties => {
                let mut row = rows.start;
                while row < rows.end {
                    let peers = positions.peers_of(row);
                    let last = peers.end.min(rows.end);
                    batch.holes[row - rows.start..last - rows.start].fill((peers.start, peers.end));
                    row = last;
                }
            }
        }
        Ok(())
    }

    /// One end of the frames of the rows of a part of a partition.
    fn bounds(
        &self,
        bound: &FrameBound<Operand>,
        end: End,
        part: Range<usize>,
        partition: &Range<usize>,
        out: &mut [usize],
    ) -> Result<()> {
        let behind = usize::from(end == End::End);
        let clip = |row: usize| row.clamp(partition.start, partition.end);
        match (bound, self.frame.unit) {
            (FrameBound::UnboundedPreceding, _) => out.fill(partition.start),
            (FrameBound::UnboundedFollowing, _) => out.fill(partition.end),
            (FrameBound::CurrentRow, FrameUnit::Rows) => {
                out.iter_mut().zip(part).for_each(|(out, row)| *out = row + behind);
            }
            (FrameBound::CurrentRow, _) => self.peers(end, part, out),
            (FrameBound::Preceding(offset), FrameUnit::Rows) => match offset.cells::<i64>().constant() {
                Some(by) => back(part.start + behind, checked(by, end)?, partition, out),
                None => {
                    let back = |row: usize, by: usize| clip((row + behind).saturating_sub(by));
                    rows(&offset.cells(), end, part, out, back)?;
                }
            },
            (FrameBound::Following(offset), FrameUnit::Rows) => match offset.cells::<i64>().constant() {
                Some(by) => ahead(part.start + behind, checked(by, end)?, partition, out),
                None => rows(&offset.cells(), end, part, out, |row, by| clip((row + behind).saturating_add(by)))?,
            },
            (FrameBound::Preceding(offset), FrameUnit::Groups) => {
                groups::bounds(self, offset, true, end, part, partition, out)?;
            }
            (FrameBound::Following(offset), FrameUnit::Groups) => {
                groups::bounds(self, offset, false, end, part, partition, out)?;
            }
            (FrameBound::Preceding(offset), FrameUnit::Range) => {
                range::bounds(self, offset, true, end, part, partition, out)?;
            }
            (FrameBound::Following(offset), FrameUnit::Range) => {
                range::bounds(self, offset, false, end, part, partition, out)?;
            }
        }
        Ok(())
    }

    /// Where the rows' peers begin or end.
    fn peers(&self, end: End, part: Range<usize>, out: &mut [usize]) {
        let first = part.start;
        let mut row = first;
        while row < part.end {
            let peers = self.positions.peers_of(row);
            let last = peers.end.min(part.end);
            out[row - first..last - first].fill(if end == End::Start { peers.start } else { peers.end });
            row = last;
        }
    }

    /// Whether something is excluded from frames.
    pub(super) fn excludes(&self) -> bool {
        self.frame.exclude != FrameExclusion::NoOthers
    }

    /// Whether a frame may begin behind its end.
    fn may_cross(&self) -> bool {
        use FrameBound::{CurrentRow, Following, Preceding, UnboundedFollowing, UnboundedPreceding};
        let Frame { unit, start, end, .. } = &self.frame;
        let around = matches!(start, Preceding(_) | CurrentRow) && matches!(end, Following(_) | CurrentRow);
        !(matches!(start, UnboundedPreceding)
            || matches!(end, UnboundedFollowing)
            || (around && *unit == FrameUnit::Rows))
    }

    /// Whether each end of the frame only moves on from a row to the next in its partition.
    pub(super) fn moves_on(&self) -> [bool; 2] {
        [&self.frame.start, &self.frame.end].map(|bound| bound.offset().is_none_or(Operand::is_constant))
    }
}

/// The first of a range for which the predicate, true of the first ones only, does not hold.
pub(super) fn partition_point(rows: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let Range { start: mut low, end: mut high } = rows;
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Bounds that lie `by` rows before the rows from `first` on.
fn back(first: usize, by: usize, partition: &Range<usize>, out: &mut [usize]) {
    let clipped = partition.start.saturating_add(by).saturating_sub(first).min(out.len());
    let (clip, others) = out.split_at_mut(clipped);
    clip.fill(partition.start);
    // Without others that may wrap around.
    let from = (first + clipped).wrapping_sub(by);
    others.iter_mut().enumerate().for_each(|(at, bound)| *bound = from.wrapping_add(at));
}

/// Bounds that lie `by` rows behind the rows from `first` on.
fn ahead(first: usize, by: usize, partition: &Range<usize>, out: &mut [usize]) {
    let from = first.saturating_add(by);
    let (others, clip) = out.split_at_mut(partition.end.saturating_sub(from).min(out.len()));
    others.iter_mut().enumerate().for_each(|(at, bound)| *bound = from + at);
    clip.fill(partition.end);
}

/// Bounds that lie a distance of each row's own away.
fn rows(
    offsets: &Cells<'_, i64>,
    end: End,
    part: Range<usize>,
    out: &mut [usize],
    bound: impl Fn(usize, usize) -> usize,
) -> Result<()> {
    for (out, row) in out.iter_mut().zip(part) {
        *out = bound(row, distance(offsets, row, end)?);
    }
    Ok(())
}

/// The row's distance of a bound of ROWS or GROUPS.
#[inline]
fn distance(offsets: &Cells<'_, i64>, row: usize, end: End) -> Result<usize> {
    checked(offsets.get(row), end)
}

#[inline]
fn checked(offset: Option<i64>, end: End) -> Result<usize> {
    match offset {
        Some(offset) => usize::try_from(offset).map_err(|_| bad_offset(end, "negative", "22013")),
        None => Err(null_offset(end)),
    }
}

#[cold]
fn null_offset(end: End) -> Error {
    bad_offset(end, "null", "22004")
}

#[cold]
fn bad_offset(end: End, what: &str, state: &'static str) -> Error {
    let end = if end == End::Start { "starting" } else { "ending" };
    Error::new(SqlState(state), format!("frame {end} offset must not be {what}"))
}

impl Batch {
    /// Where the frames of the batch's rows begin and end, before anything is excluded.
    #[inline]
    pub(super) fn bounds(&self) -> (&[usize], &[usize]) {
        (&self.starts[..self.rows.len()], &self.ends[..self.rows.len()])
    }

    /// Calls `of` with the place of each row and the ranges that its frame consists of: one, unless the frames exclude
    /// something, which the caller knows, so that the usual loop is compiled for itself.
    #[inline]
    pub(super) fn each<const EXCLUDES: bool>(
        &self,
        mut of: impl FnMut(usize, &[Range<usize>]) -> Result<()>,
    ) -> Result<()> {
        let (starts, ends) = self.bounds();
        for (at, (&start, &end)) in starts.iter().zip(ends).enumerate() {
            if EXCLUDES {
                of(at, &self.ranges(at))?;
            } else {
                of(at, std::slice::from_ref(&(start..end)))?;
            }
        }
        Ok(())
    }

    /// The frame of the batch's `at`th row: ranges that follow each other, some of them empty.
    #[inline]
    pub(super) fn ranges(&self, at: usize) -> [Range<usize>; 3] {
        let (start, end) = (self.starts[at], self.ends[at]);
        let Some(&(from, to)) = self.holes.get(at) else { return [start..end, end..end, end..end] };
        let before = start..from.clamp(start, end);
        let after = to.clamp(start, end)..end;
        let row = self.rows.start + at;
        let itself = self.exclude == FrameExclusion::Ties && (start..end).contains(&row);
        [before, row..row + usize::from(itself), after]
    }
}
