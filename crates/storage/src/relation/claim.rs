//! Relations that one transaction has for itself, because it changes what holds of all rows, or writes them anew as another
//! relation: a table gets constraints, or other columns.
//!
//! From the moment that it does nobody else commits changes of the relation. When it has committed, those cannot who began
//! before, as they may not know of it; and nobody can who still means a relation that was written anew. Whoever sees an older
//! moment than that commit cannot read the new relation, whose rows it would not see. All this is error 40001.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::Relation;
use crate::clock::{Conflict, Stamp, View};
use crate::lock::lock;

/// Who has a relation for itself, or had it last.
#[derive(Debug, Default)]
pub(super) struct Claim {
    /// Whether anybody ever had: most relations are never asked more.
    made: AtomicBool,
    by: Mutex<Option<Claimant>>,
    /// Of a relation with the rows of another one: the transaction that makes it.
    heir_of: OnceLock<Arc<Stamp>>,
}

#[derive(Debug)]
struct Claimant {
    stamp: Arc<Stamp>,
    /// Whether the rows are another relation's once it has committed.
    replaced: bool,
}

impl Relation {
    /// A transaction has it for itself from now on; the clock's commits stand still meanwhile.
    pub(crate) fn claim(&self, stamp: &Arc<Stamp>, replaced: bool, moment: &View) -> Result<(), Conflict> {
        self.check_unclaimed(Some(&moment.of_statement(stamp, 0)))?;
        *lock(&self.claim.by) = Some(Claimant { stamp: stamp.clone(), replaced });
        self.claim.made.store(true, Ordering::Release);
        Ok(())
    }

    /// It is anybody's again, unless an earlier statement of the transaction has claimed it, to replace it or not.
    pub(crate) fn unclaim(&self, stamp: &Arc<Stamp>, earlier: Option<bool>) {
        *lock(&self.claim.by) = earlier.map(|replaced| Claimant { stamp: stamp.clone(), replaced });
    }

    /// Whether a transaction that sees this moment may commit changes of rows; none: one that is known by nothing but them.
    pub(crate) fn check_unclaimed(&self, moment: Option<&View>) -> Result<(), Conflict> {
        if !self.claim.made.load(Ordering::Acquire) {
            return Ok(());
        }
        let by = lock(&self.claim.by);
        let Some(Claimant { stamp, replaced }) = &*by else { return Ok(()) };
        let own = moment.and_then(|moment| moment.own()).map(|(own, _)| own);
        if own.is_some_and(|own| Arc::ptr_eq(own, stamp)) {
            return Ok(());
        }
        match stamp.committed() {
            Some(at) if *replaced || moment.is_some_and(|moment| moment.timestamp() < at) => Err(Conflict::Newer),
            None if !stamp.has_ended() => Err(Conflict::Running(stamp.clone())),
            _ => Ok(()),
        }
    }

    /// A transaction writes the rows of another relation into this one.
    pub(crate) fn inherits(&self, stamp: &Arc<Stamp>) {
        // Nobody else has a new relation.
        let _ = self.claim.heir_of.set(stamp.clone());
    }

    /// Whether a view sees the rows that the relation began with.
    pub(super) fn is_there_for(&self, view: &View) -> bool {
        self.claim.heir_of.get().is_none_or(|by| match view.own() {
            Some((own, _)) if Arc::ptr_eq(own, by) => true,
            _ => by.committed().is_some_and(|timestamp| timestamp <= view.timestamp()),
        })
    }
}
