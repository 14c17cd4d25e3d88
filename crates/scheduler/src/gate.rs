//! How workers come into a phase and leave it without a lock.
//!
//! The synchronisation comes from `super::sync`, so that model checkers can put their own there.

use super::sync::{AtomicU64, Ordering::*};

/// Counts the workers inside of a phase. While it is barred they come and go under the job's lock only.
#[derive(Default)]
pub(crate) struct Gate(AtomicU64);

const BARRED: u64 = 1 << 63;

impl Gate {
    /// Enters, unless it is barred.
    pub(crate) fn enter(&self) -> bool {
        let enter = |state| (state & BARRED == 0).then_some(state + 1);
        self.0.fetch_update(AcqRel, Acquire, enter).is_ok()
    }

    /// Leaves, unless it is barred. What was done inside is visible to whoever ends the phase.
    pub(crate) fn leave(&self) -> bool {
        let leave = |state| (state & BARRED == 0).then_some(state - 1);
        self.0.fetch_update(AcqRel, Acquire, leave).is_ok()
    }

    /// As the other methods, with the job's lock held.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, AcqRel);
    }
    pub(crate) fn remove(&self) {
        self.0.fetch_sub(1, AcqRel);
    }
    pub(crate) fn bar(&self, barred: bool) {
        match barred {
            true => self.0.fetch_or(BARRED, AcqRel),
            false => self.0.fetch_and(!BARRED, AcqRel),
        };
    }
    /// Whether there is something that only the lock tells.
    pub(crate) fn is_barred(&self) -> bool {
        self.0.load(Acquire) & BARRED != 0
    }
    pub(crate) fn inside(&self) -> u64 {
        self.0.load(Acquire) & !BARRED
    }
}
