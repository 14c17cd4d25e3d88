//! The rows that a function looks at: those that have a value, and for which FILTER holds.

use std::ops::Range;
use std::sync::Arc;

use base::{Budget, Result};

use super::column::Cells;
use super::phases::Built;
use super::{Operand, PIECE};
use crate::bits::BitSet;

/// What decides whether a row is looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Condition {
    /// What may not be NULL.
    pub(super) value: Option<Operand>,
    /// What must be true.
    pub(super) filter: Option<Operand>,
    /// What must be so besides; filled before it is asked.
    pub(super) only: Option<Arc<BitSet>>,
}

/// A condition, to be asked row by row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    nulls: Option<&'a [u8]>,
    mask: usize,
    filter: Option<Cells<'a, i64>>,
    only: Option<&'a BitSet>,
}

impl Condition {
    /// Whether all rows are looked at.
    pub(super) fn is_always(&self) -> bool {
        self.filter.is_none() && self.only.is_none() && self.value.as_ref().is_none_or(|value| value.nulls().is_none())
    }

    pub(super) fn ask(&self) -> Asked<'_> {
        let mask = if self.value.as_ref().is_some_and(Operand::is_constant) { 0 } else { usize::MAX };
        let nulls = self.value.as_ref().and_then(Operand::nulls);
        Asked { nulls, mask, filter: self.filter.as_ref().map(Operand::cells), only: self.only.as_deref() }
    }
}

impl Asked<'_> {
    /// Whether the row is looked at.
    #[inline]
    pub(super) fn admits(&self, row: usize) -> bool {
        self.nulls.is_none_or(|nulls| nulls[row & self.mask] == 0)
            && self.filter.is_none_or(|filter| filter.value(row) != 0 && !filter.is_null(row))
            && self.only.is_none_or(|only| only.contains(row))
    }
}

/// The set of the rows for which a condition holds. Two phases: its words in pieces, then what is above them.
#[derive(Debug)]
pub(super) struct Members {
    condition: Condition,
    rows: usize,
    set: BitSet,
}

impl Members {
    /// The rows for which a condition holds; none if that is all of them.
    pub(super) fn new(condition: Condition, rows: usize, budget: &Budget) -> Result<Option<Self>> {
        if condition.is_always() {
            return Ok(None);
        }
        Ok(Some(Self { condition, rows, set: BitSet::new(rows, budget)? }))
    }

    /// The set, once it is built.
    pub(super) fn set(&self) -> &BitSet {
        &self.set
    }
}

impl Built for Members {
    fn phases(&self) -> usize {
        2
    }

    fn pieces(&self, phase: usize) -> usize {
        if phase == 0 { self.rows.div_ceil(PIECE) } else { 1 }
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        if phase == 0 {
            let condition = self.condition.ask();
            self.set.fill(piece_of(self.rows, piece), |row| condition.admits(row));
        } else {
            self.set.finish();
        }
        Ok(())
    }
}

/// The rows of a piece.
pub(super) fn piece_of(rows: usize, piece: usize) -> Range<usize> {
    piece * PIECE..rows.min((piece + 1) * PIECE)
}
