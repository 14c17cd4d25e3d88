//! What rows were before a statement.

use std::ops::Range;
use std::sync::Arc;

use types::{Column, ColumnBuilder};

use super::patch::Patch;
use crate::bits::Bits;
use crate::body::Overlay;
use crate::clock::{Stamp, View};
use crate::values::Values;

/// What rows of a window were before a statement of a transaction changed them.
#[derive(Debug)]
pub(crate) struct Version {
    pub(super) stamp: Arc<Stamp>,
    statement: u32,
    /// The rows that were alive.
    pub(super) deleted: Bits,
    pub(super) before: Vec<Before>,
}

/// Values of an attribute. Those that nothing had changed before are the body's, and are not copied.
#[derive(Debug)]
pub(crate) struct Before {
    pub(super) attribute: usize,
    /// Rows that had the body's values.
    pub(super) of_body: Bits,
    /// Others, and their values in the order of the rows.
    pub(super) rows: Bits,
    pub(super) values: Option<Column>,
}

impl Before {
    /// What rows have whose newest values are in a patch, unless they are the body's.
    pub(super) fn of(patch: &Patch, rows: &Bits, like: &Column) -> Self {
        let own = rows.and(patch.rows());
        let values = (!own.is_empty()).then(|| patch.copy(&own, like.sql_type()));
        Self { attribute: patch.attribute, of_body: rows.without(&own), rows: own, values }
    }

    /// All of its rows.
    fn all(&self) -> Bits {
        let mut all = self.of_body;
        all.add(&self.rows);
        all
    }

    /// Becomes what both say, of which the other one is about what came later.
    fn absorb(&mut self, newer: &Self) {
        let known = self.all();
        self.of_body.add(&newer.of_body.without(&known));
        let more = newer.rows.without(&known);
        let Some(theirs) = newer.values.as_ref().filter(|_| !more.is_empty()) else { return };
        let mut all = self.rows;
        all.add(&more);
        let mut to = ColumnBuilder::new(theirs.sql_type(), all.count());
        let (own_ranks, their_ranks) = (self.rows.ranks(), newer.rows.ranks());
        for row in all.iter() {
            match self.values.as_ref().filter(|_| self.rows.has(row)) {
                Some(own) => crate::body::copy(own.into(), own_ranks.of(row), &mut to),
                None => crate::body::copy(theirs.into(), their_ranks.of(row), &mut to),
            }
        }
        (self.rows, self.values) = (all, Some(to.finish()));
    }

    /// Where the value of a row is, if it is not the body's.
    pub(super) fn find(&self, row: usize) -> Option<(Values<'_>, usize)> {
        let values = self.values.as_ref().filter(|_| self.rows.has(row))?;
        Some((values.into(), self.rows.rank(row)))
    }

    /// Writes the values of rows of a range, but for some, over others, of which the first is the range's.
    pub(super) fn over(&self, range: &Range<usize>, but: &Bits, to: &mut Overlay<'_>) {
        let Some(values) = &self.values else { return };
        let (wanted, ranks) = (self.rows.and(&Bits::of_range(range.clone())).without(but), self.rows.ranks());
        to.put(values.into(), wanted.iter().map(|row| (ranks.of(row), row - range.start)));
    }
}

impl Version {
    pub(super) fn new(stamp: Arc<Stamp>, statement: u32) -> Self {
        Self { stamp, statement, deleted: Bits::default(), before: Vec::new() }
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
    pub(super) fn touches(&self, rows: &Bits) -> bool {
        let changed = |before: &Before| before.of_body.touches(rows) || before.rows.touches(rows);
        self.deleted.touches(rows) || self.before.iter().any(changed)
    }

    /// What rows had of an attribute.
    pub(super) fn before(&self, attribute: usize) -> Option<&Before> {
        self.before.iter().find(|before| before.attribute == attribute)
    }

    pub(super) fn bytes(&self) -> usize {
        let before = |before: &Before| size_of::<Before>() + before.values.as_ref().map_or(0, Column::bytes);
        size_of::<Self>() + self.before.iter().map(before).sum::<usize>()
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
