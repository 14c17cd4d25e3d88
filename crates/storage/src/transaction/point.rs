//! Statements that look at single rows. What one of them needs to see these is there for the next: nothing is registered, locked or
//! counted a statement that the transaction as a whole has.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use base::{LatchGuard, Result};
use types::Value;

use super::done::Done;
use super::log::Transaction;
use super::seen::Seen;
use crate::clock::View;
use crate::index::KeyPart;
use crate::lock::lock;
use crate::published::{Guard, pin};
use crate::relation::{FoundRow, Relation};

/// A relation, for a statement that looks at single rows of it.
pub struct Point<'t> {
    transaction: &'t Transaction,
    seen: LatchGuard<'t, Seen>,
    /// Which of the relations.
    number: usize,
    guard: Guard,
}

impl Transaction {
    /// A relation whose rows are found by the primary key; none if it is gone, or has none, or some of its rows are the transaction's
    /// own: a [`snapshot`](Self::snapshot) has these.
    pub fn point(&self, relation: &Weak<Relation>) -> Option<Point<'_>> {
        let is_it = |known: &Arc<Relation>| std::ptr::eq(Arc::as_ptr(known), relation.as_ptr());
        let is_own = |done: &Done| done.inserted.is_some() && is_it(&done.relation);
        if self.has_inserted.load(Ordering::Relaxed) && lock(&self.done).iter().any(is_own) {
            return None;
        }
        let mut seen = self.seen.lock();
        match &mut seen.view {
            Some(view) => view.goes_to(self.statement()),
            none => *none = Some(self.view()),
        }
        let known = seen.relations.iter().position(|(known, _)| is_it(known));
        let number = match known {
            Some(number) => number,
            None => {
                let relation = relation.upgrade().filter(|relation| !relation.schema().primary_key().is_empty())?;
                let visible = relation.visible_at(seen.view.as_ref()?);
                seen.relations.push((relation, visible));
                seen.relations.len() - 1
            }
        };
        Some(Point { transaction: self, seen, number, guard: pin() })
    }

    /// Its moment is another one, or none.
    pub(super) fn forget_seen(&self) {
        *self.seen.lock() = Seen::default();
    }
}

impl Point<'_> {
    /// What the statement sees.
    pub fn view(&self) -> &View {
        self.seen.view.as_ref().expect("a point has one")
    }

    /// The relation.
    pub fn relation(&self) -> &Arc<Relation> {
        &self.seen.relations[self.number].0
    }

    /// The row with these values of the primary key, in its order, if the statement sees one. `expected` is told of a row that probably
    /// is it, before anything of it is read.
    pub fn find<'p>(&'p self, key: &[KeyPart<'_>], expected: impl Fn(&FoundRow<'p>)) -> Option<FoundRow<'p>> {
        let (relation, visible) = &self.seen.relations[self.number];
        relation.find_row(key, (visible, self.view()), (&self.guard, expected))
    }

    /// Gives a row that was found new values, of the attributes' types, which are not of keys. Checks NOT NULL. After an error the
    /// statement has to be rolled back.
    pub fn update(&self, row: &FoundRow<'_>, values: &[(usize, &Value)]) -> Result<()> {
        self.transaction.update_found(self.relation(), row, values, self.view())
    }

    /// Deletes a row that was found. After an error the statement has to be rolled back.
    pub fn delete(&self, row: &FoundRow<'_>) -> Result<()> {
        self.transaction.delete_found(self.relation(), row, self.view())
    }
}
