//! Short plans of at most one row: what the query says itself, or what a primary key finds. The row lies in the frame, is pinned where
//! it was found, and is changed there.

use std::sync::Arc;

use storage::relation::FoundRow;
use storage::transaction::Point;
use storage::{Relation, Transaction};
use types::Value;

use super::frame::Frame;
use super::{Given, Row, Short, Step};

/// A run of such a plan.
pub(crate) struct OneRow<'t> {
    frame: Frame<'t>,
    /// Of the relation that it reads.
    point: Option<&'t Point<'t>>,
    transaction: &'t Transaction,
    /// Where the row was found.
    found: Option<FoundRow<'t>>,
}

impl Short {
    /// Whether what it reads is this relation.
    pub fn is_of(&self, relation: &Arc<Relation>) -> bool {
        self.relations.first().is_some_and(|own| std::ptr::eq(own.as_ptr(), Arc::as_ptr(relation)))
    }

    /// Whether it is one of at most one row.
    pub fn is_of_one(&self) -> bool {
        self.is_of_one
    }

    /// Of the relation that it reads, if it reads one; none: it has to be run in another way.
    pub fn point<'t>(&self, transaction: &'t Transaction) -> Option<Option<Point<'t>>> {
        Some(match self.relations.first().filter(|_| self.is_of_one) {
            Some(relation) => Some(transaction.point(relation)?),
            None => None,
        })
    }

    /// A run in a transaction by its [point](Self::point), in which nothing has happened yet; none: it has to be run in another way.
    /// `spare` was the memory of another run.
    pub fn one<'t>(
        &self,
        arguments: Given<'t>,
        (transaction, point): (&'t Transaction, Option<&'t Point<'t>>),
        spare: &mut Vec<Value>,
    ) -> Option<OneRow<'t>> {
        if !self.is_of_one || arguments.len() != self.arguments {
            return None;
        }
        let frame = Frame::new(arguments, self.places, std::mem::take(spare));
        Some(OneRow { frame, point, transaction, found: None })
    }

    /// Finds the row; false if there is none. If even that is not known, another way is needed.
    pub fn find_one(&self, run: &mut OneRow<'_>) -> Option<bool> {
        self.root.one(run)
    }

    /// The values of the row that was found.
    pub fn row_of(&self, run: &mut OneRow<'_>) -> Row {
        if self.is_taken { run.frame.take(&self.output) } else { run.frame.row(&self.output) }
    }

    /// The same, to where there is room for them.
    pub fn put_row(&self, run: &mut OneRow<'_>, to: &mut Row) {
        to.clear();
        match self.is_taken {
            true => to.extend(self.output.iter().map(|place| run.frame.take_one(*place))),
            false => to.extend(self.output.iter().map(|place| run.frame[*place].clone())),
        }
    }

    /// The values of the row, where they lie.
    pub fn each_of_row<'r>(&'r self, run: &'r OneRow<'_>) -> impl ExactSizeIterator<Item = &'r Value> + Clone {
        self.output.iter().map(|place| &run.frame[*place])
    }
}

impl<'t> OneRow<'t> {
    /// The row, where it was found.
    pub fn found(&self) -> Option<(&'t Point<'t>, FoundRow<'t>)> {
        self.point.zip(self.found)
    }

    /// Its memory, for another run.
    pub fn into_spare(self) -> Vec<Value> {
        self.frame.into_spare()
    }
}

impl Step {
    /// Puts the row into the frame; false if there is none.
    fn one(&self, run: &mut OneRow<'_>) -> Option<bool> {
        match self {
            Self::Values { rows } => {
                run.frame.compute(rows.first()?)?;
                Some(true)
            }
            Self::Scan(access) => {
                let point = run.point?;
                let found =
                    access.find(&run.frame, |key| point.find(key, |row| access.fetch(row, access.is_told())))?;
                run.transaction
                    .note_reads(|reads| access.note_found(reads, point.relation(), found.as_ref(), &run.frame))?;
                let Some(row) = found else { return Some(false) };
                let is_it = access.read(Some(&row), point.view(), access.is_told(), &mut run.frame)?;
                run.found = Some(row);
                Some(is_it)
            }
            Self::Filter { input, predicates } => Some(input.one(run)? && run.frame.is_true(predicates)?),
            Self::Map { input, columns } => {
                if !input.one(run)? {
                    return Some(false);
                }
                run.frame.compute(columns)?;
                Some(true)
            }
            _ => None,
        }
    }
}
