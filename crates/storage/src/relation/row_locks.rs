//! Rows that transactions have locked without changing them (SELECT ... FOR UPDATE).
//!
//! Who locks a row counts itself first, and looks then, under the latch of the locks, whether the row was changed; who changes
//! rows does so first and asks then whether there are locks. So one of both notices the other, and never both.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex};

use super::{Relation, WindowRows};
use crate::clock::{Conflict, Stamp, View};
use crate::lock::lock;
use crate::{RowId, WINDOW};

/// How strongly a row is locked, as PostgreSQL has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Strength {
    /// Nobody deletes it or changes its keys.
    KeyShare,
    /// Nobody changes it.
    Share,
    /// Nobody else changes it, or locks it so that it must not be changed. So is a row locked whose values are updated.
    NoKeyUpdate,
    /// Nobody else does anything with it but read it. So is a row locked that is deleted, or gets another key.
    Update,
}

impl Strength {
    fn excludes(self, other: Self) -> bool {
        self as u8 + other as u8 >= Self::Update as u8
    }
}

/// A lock of a row.
#[derive(Debug)]
struct Held {
    stamp: Arc<Stamp>,
    strength: Strength,
    statement: u32,
}

impl Held {
    /// The transaction that keeps another one from locking the row so.
    fn against(&self, own: &Arc<Stamp>, strength: Strength) -> Option<&Arc<Stamp>> {
        let excludes = !Arc::ptr_eq(&self.stamp, own) && self.strength.excludes(strength) && !self.stamp.has_ended();
        excludes.then_some(&self.stamp)
    }
}

/// The locks of a relation's rows.
#[derive(Debug, Default)]
pub(super) struct RowLocks {
    /// How many there are, or are about to be.
    count: AtomicUsize,
    held: Mutex<HashMap<RowId, Vec<Held>>>,
}

impl Relation {
    /// Locks a row for a transaction's statement, as it sees the row.
    pub(crate) fn lock_row(&self, row: RowId, strength: Strength, view: &View) -> Result<(), Conflict> {
        let (stamp, statement) = view.own().expect("only transactions lock rows");
        self.row_locks.count.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let mut held = lock(&self.row_locks.held);
        let locks = held.entry(row).or_default();
        let other = locks.iter().find_map(|held| held.against(stamp, strength)).cloned();
        let free = match other {
            Some(other) => Err(Conflict::Running(other)),
            None => self
                .sidecar_of(row.chunk())
                .map_or(Ok(()), |sidecar| sidecar.check_row(row.offset(), strength == Strength::KeyShare, view)),
        };
        let is_new =
            free.is_ok() && !locks.iter().any(|held| Arc::ptr_eq(&held.stamp, stamp) && held.strength >= strength);
        if is_new {
            locks.push(Held { stamp: stamp.clone(), strength, statement });
        } else {
            if locks.is_empty() {
                held.remove(&row);
            }
            self.row_locks.count.fetch_sub(1, Ordering::SeqCst);
        }
        free
    }

    /// Whether rows that a transaction has just changed are locked by others.
    pub(crate) fn check_locks(
        &self,
        windows: &[WindowRows],
        strength: Strength,
        own: &Arc<Stamp>,
    ) -> Result<(), Conflict> {
        fence(Ordering::SeqCst);
        if self.row_locks.count.load(Ordering::SeqCst) == 0 {
            return Ok(());
        }
        let held = lock(&self.row_locks.held);
        for window in windows {
            for row in window.rows.iter() {
                let locks = held.get(&RowId::new(window.chunk, window.number * WINDOW + row));
                let other = locks.into_iter().flatten().find_map(|held| held.against(own, strength));
                if let Some(other) = other {
                    return Err(Conflict::Running(other.clone()));
                }
            }
        }
        Ok(())
    }

    /// The same of one row.
    pub(crate) fn check_row_lock(&self, row: RowId, strength: Strength, own: &Arc<Stamp>) -> Result<(), Conflict> {
        fence(Ordering::SeqCst);
        if self.row_locks.count.load(Ordering::SeqCst) == 0 {
            return Ok(());
        }
        let held = lock(&self.row_locks.held);
        let other = held.get(&row).into_iter().flatten().find_map(|held| held.against(own, strength));
        other.map_or(Ok(()), |other| Err(Conflict::Running(other.clone())))
    }

    /// Gives up what a transaction's statements from number `first` on have locked of these rows.
    pub(crate) fn unlock_rows(&self, rows: impl Iterator<Item = RowId>, stamp: &Arc<Stamp>, first: u32) {
        let mut held = lock(&self.row_locks.held);
        for row in rows {
            let Some(locks) = held.get_mut(&row) else { continue };
            let before = locks.len();
            locks.retain(|held| !Arc::ptr_eq(&held.stamp, stamp) || held.statement < first);
            self.row_locks.count.fetch_sub(before - locks.len(), Ordering::SeqCst);
            if locks.is_empty() {
                held.remove(&row);
            }
        }
    }
}
