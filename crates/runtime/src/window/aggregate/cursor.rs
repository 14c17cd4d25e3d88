//! Following a range from one row to the next.

use std::ops::Range;

use super::choice::Algorithm;
use super::summary::Summary;
use crate::window::Operand;
use crate::window::column::Cells;
use crate::window::members::{Asked, Condition};
use crate::window::tree::Tree;

/// Where summaries come from.
#[derive(Debug)]
pub(super) struct Source<'a, S: Summary> {
    pub(super) summary: &'a S,
    values: Cells<'a, S::Value>,
    condition: Asked<'a>,
    /// The values, if all rows are looked at.
    all: Option<&'a [S::Value]>,
    tree: Option<&'a Tree<S::State>>,
}

impl<'a, S: Summary> Source<'a, S> {
    pub(super) fn new(
        summary: &'a S,
        value: &'a Operand,
        condition: &'a Condition,
        tree: Option<&'a Tree<S::State>>,
    ) -> Self {
        let values = value.cells();
        let all = values.slice().filter(|_| condition.is_always());
        Self { summary, values, condition: condition.ask(), all, tree }
    }

    /// Adds rows.
    pub(super) fn add(&self, state: &mut S::State, rows: Range<usize>) {
        if let Some(all) = self.all {
            return all[rows].iter().for_each(|&value| self.summary.add(state, value));
        }
        for row in rows.filter(|&row| self.condition.admits(row)) {
            self.summary.add(state, self.values.value(row));
        }
    }

    /// Adds a row.
    #[inline]
    fn add_row(&self, state: &mut S::State, row: usize) {
        match self.all {
            Some(all) => self.summary.add(state, all[row]),
            None => self.add(state, row..row + 1),
        }
    }

    /// Takes a row away.
    #[inline]
    fn remove_row(&self, state: &mut S::State, row: usize) {
        match self.all {
            Some(all) => self.summary.remove(state, all[row]),
            None => self.remove(state, row..row + 1),
        }
    }

    /// Takes rows away.
    fn remove(&self, state: &mut S::State, rows: Range<usize>) {
        if let Some(all) = self.all {
            return all[rows].iter().for_each(|&value| self.summary.remove(state, value));
        }
        for row in rows.filter(|&row| self.condition.admits(row)) {
            self.summary.remove(state, self.values.value(row));
        }
    }

    /// Adds a range to an empty state, from nodes where there are any.
    fn compute(&self, state: &mut S::State, range: Range<usize>) {
        let Some(tree) = self.tree else { return self.add(state, range) };
        let state = std::cell::RefCell::new(state);
        tree.visit(
            range,
            |rows| self.add(&mut state.borrow_mut(), rows),
            |node| self.summary.merge(&mut state.borrow_mut(), node),
        );
    }

    /// How many steps it takes to compute a range, about.
    fn cost(&self, range: &Range<usize>) -> usize {
        range.len().min(self.tree.map_or(usize::MAX, Tree::cost))
    }
}

/// The summary of a range that moves.
#[derive(Debug)]
pub(super) struct Cursor<S: Summary> {
    range: Range<usize>,
    state: S::State,
    /// Whether values are added as the range grows, and taken away as it shrinks.
    adds: bool,
    removes: bool,
}

impl<S: Summary> Cursor<S> {
    /// A cursor at no range.
    pub(super) fn new(algorithm: Algorithm) -> Self {
        let removes = S::REMOVABLE && algorithm == Algorithm::Removable;
        let adds = removes || matches!(algorithm, Algorithm::Removable | Algorithm::Cumulative);
        Self { range: 0..0, state: S::State::default(), adds, removes }
    }

    /// Where it is.
    pub(super) fn range(&self) -> &Range<usize> {
        &self.range
    }

    /// Goes on to a range; what is there.
    #[inline(always)]
    pub(super) fn follow(&mut self, source: &Source<'_, S>, to: Range<usize>) -> &S::State {
        // Most frames are a row further than the one before, at one end or both.
        let Range { start, end } = self.range;
        let (left, entered) = (to.start.wrapping_sub(start), to.end.wrapping_sub(end));
        if !self.adds || entered > 1 || left > usize::from(self.removes) || to.start >= end {
            // Or it has grown by a row in front.
            if self.adds && to.start + 1 == start && entered == 0 && start < end {
                source.add_row(&mut self.state, to.start);
                self.range = to;
            } else {
                self.jump(source, to);
            }
            return &self.state;
        }
        if entered > 0 {
            source.add_row(&mut self.state, end);
        }
        if left > 0 {
            source.remove_row(&mut self.state, start);
        }
        self.range = to;
        &self.state
    }

    /// Goes to any range: from where it is if that is allowed and takes fewer steps, else anew.
    #[inline(never)]
    fn jump(&mut self, source: &Source<'_, S>, to: Range<usize>) {
        let from = std::mem::replace(&mut self.range, to.clone());
        if from == to {
            return;
        }
        let overlaps = to.start < from.end && from.start < to.end;
        let steps = to.start.abs_diff(from.start) + to.end.abs_diff(from.end);
        let shrinks = to.start > from.start || to.end < from.end;
        let follows = self.adds && overlaps && (self.removes || !shrinks);
        if !follows || (steps > 2 && steps > source.cost(&to)) {
            S::clear(&mut self.state);
            return source.compute(&mut self.state, to);
        }
        source.add(&mut self.state, to.start..from.start.max(to.start));
        source.add(&mut self.state, from.end.min(to.end)..to.end);
        if self.removes {
            source.remove(&mut self.state, from.start..to.start.max(from.start));
            source.remove(&mut self.state, to.end.min(from.end)..from.end);
        }
    }
}
