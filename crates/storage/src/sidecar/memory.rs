//! What windows take of a budget, and what is reserved for them: some more, so that not every change asks for it.

use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base::memory::Reservation;
use base::{Budget, Result};

/// Bytes that are reserved beyond those that are used.
const MORE: usize = 4096;

/// See the module.
#[derive(Debug)]
pub(super) struct Memory {
    reserved: Mutex<Reservation>,
    /// How much that is.
    most: AtomicIsize,
    used: AtomicIsize,
}

impl Memory {
    pub(super) fn new(budget: &Budget) -> Result<Self> {
        let reserved = Mutex::new(budget.reserve(0, "update")?);
        Ok(Self { reserved, most: AtomicIsize::new(0), used: AtomicIsize::new(0) })
    }

    fn reserved(&self) -> MutexGuard<'_, Reservation> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves so much and some more.
    fn reserve(&self, reserved: &mut Reservation) -> Result<()> {
        let done = reserved.resize(self.used.load(Relaxed).max(0) as usize + MORE);
        self.most.store(reserved.bytes() as isize, Relaxed);
        done
    }

    /// A change is about to take about so many bytes.
    pub(super) fn charge(&self, bytes: usize) -> Result<()> {
        let used = self.used.fetch_add(bytes as isize, Relaxed) + bytes as isize;
        if used <= self.most.load(Relaxed) {
            return Ok(());
        }
        self.reserve(&mut self.reserved()).inspect_err(|_| _ = self.used.fetch_sub(bytes as isize, Relaxed))
    }

    /// What took `before` bytes takes `after`, of which `charged` are charged already.
    pub(super) fn settle(&self, before: usize, after: usize, charged: usize) {
        let more = after as isize - (before + charged) as isize;
        let used = self.used.fetch_add(more, Relaxed) + more;
        let most = self.most.load(Relaxed);
        // What was estimated too low by little is not worth an error.
        if used > most || used.max(0) + 4 * (MORE as isize) < most {
            let _ = self.reserve(&mut self.reserved());
        }
    }
}
