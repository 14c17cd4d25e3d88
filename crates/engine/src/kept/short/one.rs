//! Short plans of at most one row: what the query says itself, or what a primary key finds. The row lies in the frame, is pinned where
//! it was found, and is changed there.

use std::sync::Arc;

use storage::relation::FoundRow;
use storage::transaction::{Point, Reads};
use storage::{Relation, Transaction};
use types::Value;

use super::frame::Frame;
use super::{Row, Short, Step};

/// A run of such a plan.
pub(crate) struct OneRow<'t> {
    frame: Frame,
    point: Option<Point<'t>>,
    reads: Option<Arc<Reads>>,
    /// Where the row was found.
    found: Option<FoundRow>,
}

impl Short {
    /// Whether what it reads is this relation.
    pub fn is_of(&self, relation: &Arc<Relation>) -> bool {
        self.relations.first().is_some_and(|own| std::ptr::eq(own.as_ptr(), Arc::as_ptr(relation)))
    }

    /// A run in a transaction, in which nothing has happened yet; the arguments, if it has to be run in another way.
    pub fn one<'t>(&self, arguments: Vec<Value>, transaction: &'t Transaction) -> Result<OneRow<'t>, Vec<Value>> {
        if !self.is_of_one || arguments.len() != self.arguments {
            return Err(arguments);
        }
        let (point, reads) = match self.relations.first() {
            Some(relation) => match transaction.point(relation) {
                Some(point) => (Some(point), transaction.reads()),
                None => return Err(arguments),
            },
            None => (None, None),
        };
        Ok(OneRow { frame: Frame::new(arguments, self.places), point, reads, found: None })
    }

    /// Its row; none: there is none. If even that is not known, another way is needed.
    pub fn row_of(&self, run: &mut OneRow<'_>) -> Option<Option<Row>> {
        if !self.root.one(run)? {
            return Some(None);
        }
        Some(Some(if self.is_taken { run.frame.take(&self.output) } else { run.frame.row(&self.output) }))
    }
}

impl<'t> OneRow<'t> {
    /// The row, where it was found.
    pub fn found(&self) -> Option<(&Point<'t>, &FoundRow)> {
        self.point.as_ref().zip(self.found.as_ref())
    }
}

impl Step {
    /// Puts the row into the frame; false if there is none.
    fn one(&self, run: &mut OneRow<'_>) -> Option<bool> {
        match self {
            Self::Values { first, rows } => {
                for (place, formula) in rows.first()?.iter().enumerate() {
                    run.frame[first + place] = run.frame.value(formula)?;
                }
                Some(true)
            }
            Self::Scan(access) => {
                let point = run.point.as_ref()?;
                let found = access.find(&run.frame, |key| point.find(key))?;
                if let Some(reads) = &run.reads {
                    access.note_found(reads, point.relation(), found.as_ref(), &run.frame)?;
                }
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
