//! The multiset of the values of a frame's rows, which moves along with frames.

use std::ops::Range;

use base::memory::Reservation;
use base::{CancelToken, Result};

use super::Content;
use crate::window::chunks;
use crate::window::frame::partition_point;
use crate::window::members::Asked;
use crate::window::permutation::Permutation;

/// A multiset of values of rows of one partition.
#[derive(Debug)]
pub(super) struct Bag<S> {
    /// The partition's first row.
    first: usize,
    /// The rows.
    ranges: [Range<usize>; 3],
    /// How often each value occurs.
    counts: Vec<u32>,
    /// What is known of them.
    state: S,
    _charged: Reservation,
}

/// How many rows enter and leave from a range to another.
fn distance(from: &Range<usize>, to: &Range<usize>) -> usize {
    let both = from.end.min(to.end).saturating_sub(from.start.max(to.start));
    from.len() + to.len() - 2 * both
}

impl<S> Bag<S> {
    /// No rows of a partition; values are below `values`.
    pub(super) fn new(first: usize, values: usize, state: S, charged: Reservation) -> Self {
        Self { first, ranges: [0..0, 0..0, 0..0], counts: vec![0; values], state, _charged: charged }
    }

    pub(super) fn ranges(&self) -> &[Range<usize>; 3] {
        &self.ranges
    }

    /// How many rows enter and leave on the way to ranges of a partition with so many values, if there is room for them.
    pub(super) fn steps(&self, first: usize, to: &[Range<usize>; 3], values: usize) -> Option<usize> {
        if self.counts.len() < values {
            return None;
        }
        if self.first != first {
            return Some(self.ranges.iter().chain(to).map(Range::len).sum());
        }
        Some(self.ranges.iter().zip(to).map(|(from, to)| distance(from, to)).sum())
    }
}

/// What moves a multiset.
pub(super) struct Follower<'a, C> {
    pub(super) content: &'a C,
    pub(super) asked: Asked<'a>,
    pub(super) permutation: &'a Permutation,
    pub(super) cancel: &'a CancelToken,
}

impl<C: Content> Follower<'_, C> {
    /// Goes to the partition that begins with a row: empties the multiset if that is another one.
    pub(super) fn enter(&self, bag: &mut Bag<C::State>, first: usize) -> Result<()> {
        if bag.first != first {
            self.go_to(bag, [0..0, 0..0, 0..0])?;
            bag.first = first;
        }
        Ok(())
    }

    /// Goes to ranges: what is new enters before what is old leaves.
    pub(super) fn go_to(&self, bag: &mut Bag<C::State>, ranges: [Range<usize>; 3]) -> Result<()> {
        let old = std::mem::replace(&mut bag.ranges, ranges.clone());
        for (from, to, entered) in [(&old, &ranges, true), (&ranges, &old, false)] {
            for (from, to) in from.iter().zip(to) {
                let (start, end) = (from.start.clamp(to.start, to.end), from.end.clamp(to.start, to.end));
                let parts = if start < end { [to.start..start, end..to.end] } else { [to.clone(), 0..0] };
                for part in parts.into_iter().flat_map(chunks) {
                    self.cancel.check()?;
                    part.for_each(|row| self.change(bag, row, entered));
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn change(&self, bag: &mut Bag<C::State>, row: usize, entered: bool) {
        if !self.asked.admits(row) {
            return;
        }
        let value = self.value(bag, row);
        let count = &mut bag.counts[value];
        *count = if entered { *count + 1 } else { *count - 1 };
        self.content.change(&mut bag.state, value, *count, entered, self.permutation.row(bag.first + value));
    }

    fn value(&self, bag: &Bag<C::State>, row: usize) -> usize {
        self.permutation.tied(self.permutation.place(row)).start - bag.first
    }

    /// The result for a row.
    pub(super) fn result(&self, bag: &Bag<C::State>, row: usize) -> Result<Option<C::Result>> {
        let row_of = |value| self.first_of(bag.first + value, &bag.ranges);
        self.content.result(&bag.state, self.value(bag, row), row_of)
    }

    /// The first row of ranges, of those that are equal to the one at a place, which is the first of them.
    fn first_of(&self, place: usize, ranges: &[Range<usize>; 3]) -> usize {
        let tied = self.permutation.tied(place);
        let first = |range: &Range<usize>| {
            let at = partition_point(tied.clone(), |place| self.permutation.row(place) < range.start);
            Some(at).filter(|&at| at < tied.end).map(|at| self.permutation.row(at)).filter(|row| range.contains(row))
        };
        ranges.iter().find_map(first).expect("a value that occurs in the frame")
    }
}
