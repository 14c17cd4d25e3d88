//! What rows were before a statement.

mod old;

use std::ops::Range;
use std::sync::Arc;

use types::ColumnBuilder;

use super::patch::Patch;
use crate::bits::{Bits, Ranked};
use crate::body::Overlay;
use crate::clock::{Stamp, View};
use crate::row_set::RowSet;
use crate::values::Values;
use old::Old;

/// What rows of a window were before a statement of a transaction changed them.
#[derive(Debug)]
pub(crate) struct Version {
    pub(super) stamp: Arc<Stamp>,
    statement: u32,
    /// The rows that were alive.
    pub(super) deleted: RowSet,
    pub(super) before: Vec<Before>,
}

/// Values of an attribute. Those that nothing had changed before are the body's, and are not copied.
#[derive(Debug)]
pub(crate) struct Before {
    pub(super) attribute: usize,
    /// Rows that had the body's values.
    pub(super) of_body: RowSet,
    /// Others, and their values in the order of the rows.
    pub(super) rows: RowSet,
    pub(super) values: Old,
}

impl Before {
    /// What rows have whose newest values are in a patch, unless they are the body's.
    pub(super) fn of(patch: &Patch, rows: &Bits) -> Self {
        let own = rows.and(patch.rows());
        let values = if own.is_empty() { Old::None } else { Old::Column(patch.copy(&own)) };
        let of_body = RowSet::of(&rows.without(&own));
        Self { attribute: patch.attribute, of_body, rows: RowSet::of(&own), values }
    }

    /// The same of one row.
    pub(super) fn of_row(patch: &Patch, row: usize) -> Self {
        let (one, attribute) = (RowSet::one(row), patch.attribute);
        match patch.find(row) {
            None => Self { attribute, of_body: one, rows: RowSet::Empty, values: Old::None },
            Some((values, at)) => {
                Self { attribute, of_body: RowSet::Empty, rows: one, values: Old::value(values, patch.sql_type(), at) }
            }
        }
    }

    /// All of its rows.
    fn all(&self) -> Bits {
        let mut all = self.of_body.bits();
        self.rows.add_to(&mut all);
        all
    }

    /// Whether it is of one row, and so is the other, of the same.
    fn is_of_same_row(&self, other: &Self) -> bool {
        let single = |before: &Self| match (&before.of_body, &before.rows) {
            (RowSet::Empty, rows) | (rows, RowSet::Empty) => rows.single(),
            _ => None,
        };
        single(self).is_some_and(|row| single(other) == Some(row))
    }

    /// Becomes what both say, of which the other one is about what came later.
    fn absorb(&mut self, newer: &Self) {
        if self.is_of_same_row(newer) {
            return;
        }
        let known = self.all();
        self.of_body.add(&RowSet::of(&newer.of_body.bits().without(&known)));
        let more = newer.rows.bits().without(&known);
        let Some(theirs) = newer.values.values().filter(|_| !more.is_empty()) else { return };
        let mut all = self.rows.bits();
        all.add(&more);
        let mut to = ColumnBuilder::new(newer.values.sql_type(), all.count());
        let (own_ranks, their_ranks) = (Ranked::from(self.rows.bits()), Ranked::from(newer.rows.bits()));
        for row in all.iter() {
            match self.values.values().filter(|_| own_ranks.has(row)) {
                Some(own) => crate::body::copy(own, own_ranks.rank(row), &mut to),
                None => crate::body::copy(theirs, their_ranks.rank(row), &mut to),
            }
        }
        (self.rows, self.values) = (RowSet::of(&all), Old::Column(to.finish()));
    }

    /// Where the value of a row is, if it is not the body's.
    pub(super) fn find(&self, row: usize) -> Option<(Values<'_>, usize)> {
        let values = self.values.values().filter(|_| self.rows.has(row))?;
        Some((values, self.rows.rank(row)))
    }

    /// Writes the values of rows of a range, but for some, over others, of which the first is the range's.
    pub(super) fn over(&self, range: &Range<usize>, but: &Bits, to: &mut Overlay<'_>) {
        let Some(values) = self.values.values() else { return };
        let rows = Ranked::from(self.rows.bits());
        let wanted = rows.bits().and(&Bits::of_range(range.clone())).without(but);
        to.put(values, wanted.iter().map(|row| (rows.rank(row), row - range.start)));
    }

    /// Bytes of memory.
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.of_body.bytes() + self.rows.bytes() + self.values.bytes()
    }
}

impl Version {
    pub(super) fn new(stamp: Arc<Stamp>, statement: u32) -> Self {
        Self { stamp, statement, deleted: RowSet::Empty, before: Vec::new() }
    }

    /// Whether a view sees what came after it.
    pub(super) fn is_seen(&self, view: &View) -> bool {
        view.sees(&self.stamp, self.statement)
    }

    /// Whether a transaction has made it, in its statement `first` or later.
    pub(super) fn is_of(&self, stamp: &Arc<Stamp>, first: u32) -> bool {
        Arc::ptr_eq(&self.stamp, stamp) && self.statement >= first
    }

    /// Whether it is of any of the rows.
    pub(super) fn touches(&self, rows: &RowSet) -> bool {
        let changed = |before: &Before| before.of_body.touches(rows) || before.rows.touches(rows);
        self.deleted.touches(rows) || self.before.iter().any(changed)
    }

    /// What rows had of an attribute.
    pub(super) fn before(&self, attribute: usize) -> Option<&Before> {
        self.before.iter().find(|before| before.attribute == attribute)
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.deleted.bytes() + self.before.iter().map(Before::bytes).sum::<usize>()
    }

    /// Whether both are committed, and each view that sees one sees the other, too.
    pub(super) fn is_as(&self, newer: &Self, moments: &[u64]) -> bool {
        match (self.stamp.committed(), newer.stamp.committed()) {
            (Some(mine), Some(theirs)) => {
                let next = moments.partition_point(|moment| *moment < mine);
                mine <= theirs && moments.get(next).is_none_or(|moment| *moment >= theirs)
            }
            _ => false,
        }
    }

    /// Becomes both versions in one.
    pub(super) fn absorb(&mut self, newer: Self) {
        self.stamp = newer.stamp;
        self.statement = newer.statement;
        self.deleted.add(&newer.deleted);
        for newer in newer.before {
            match self.before.iter_mut().find(|before| before.attribute == newer.attribute) {
                None => self.before.push(newer),
                Some(mine) => mine.absorb(&newer),
            }
        }
    }
}
