//! What rows were before a statement.

use std::sync::Arc;

use types::{Column, ColumnBuilder};

use crate::bits::Bits;
use crate::clock::{Stamp, View};
use crate::values::Values;

/// What rows of a window were before a statement of a transaction changed them.
#[derive(Debug)]
pub(crate) struct Version {
    pub(super) stamp: Arc<Stamp>,
    statement: u32,
    /// The rows that were alive.
    pub(super) deleted: Bits,
    /// By attribute, rows in order, and their values.
    pub(super) before: Vec<(usize, Bits, Column)>,
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
        self.deleted.touches(rows) || self.before.iter().any(|(_, changed, _)| changed.touches(rows))
    }

    /// Calls `with` with each row that had another value, and where that is.
    pub(super) fn each_before(&self, attribute: usize, mut with: impl FnMut(usize, Values<'_>, usize)) {
        for (_, rows, column) in self.before.iter().filter(|before| before.0 == attribute) {
            let values = Values::from(column);
            rows.iter().enumerate().for_each(|(at, row)| with(row, values, at));
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.before.iter().map(|(_, _, column)| column.bytes()).sum::<usize>()
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
        for (attribute, rows, column) in newer.before {
            match self.before.iter_mut().find(|before| before.0 == attribute) {
                None => self.before.push((attribute, rows, column)),
                Some((_, mine, values)) => {
                    let mut more = rows;
                    more.remove(mine);
                    if more.is_empty() {
                        continue;
                    }
                    let mut all = *mine;
                    all.add(&rows);
                    let mut to = ColumnBuilder::new(values.sql_type(), all.count());
                    for row in all.iter() {
                        match mine.has(row) {
                            true => crate::body::copy((&*values).into(), mine.rank(row), &mut to),
                            false => crate::body::copy((&column).into(), rows.rank(row), &mut to),
                        }
                    }
                    (*mine, *values) = (all, to.finish());
                }
            }
        }
    }
}
