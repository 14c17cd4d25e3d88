//! Where idle workers sleep without using the processor, and how they are called: an event count.
//!
//! A worker reads the signal, looks for work, and sleeps only if the signal has not changed since; whoever makes work
//! changes the signal first and looks for sleepers then. So no work is announced without somebody noticing.
//!
//! The synchronisation comes from `super::sync`, so that the model checker can put its own there.

use super::sync::{Arc, AtomicU64, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering::*};
use std::sync::PoisonError;

/// See the module.
#[derive(Default)]
pub(crate) struct Dormitory {
    signal: AtomicU64,
    /// Length of `sleepers`, and those about to be in it.
    sleeping: AtomicUsize,
    /// The one that fell asleep last is at the end, and is called first: its caches are the warmest.
    sleepers: Mutex<Vec<Arc<Bed>>>,
}

/// Where one worker sleeps.
#[derive(Default)]
pub(crate) struct Bed {
    called: Mutex<bool>,
    call: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Dormitory {
    /// To be read before looking for work.
    pub(crate) fn signal(&self) -> u64 {
        self.signal.load(SeqCst)
    }

    /// There is work: whoever is about to sleep looks again, and up to `calls` sleepers are called.
    pub(crate) fn announce(&self, calls: usize) {
        self.signal.fetch_add(1, SeqCst);
        for _ in 0..calls {
            if !self.call_one() {
                return;
            }
        }
    }

    /// Whether it may be worth calling; may be late.
    pub(crate) fn has_sleepers(&self) -> bool {
        self.sleeping.load(Relaxed) > 0
    }

    /// Calls one sleeper; false if there is none.
    pub(crate) fn call_one(&self) -> bool {
        // After the change of the signal in the one order of all SeqCst operations, as `sleep` counts itself before it
        // reads the signal: either it is counted here, or it sees the new signal.
        if self.sleeping.load(SeqCst) == 0 {
            return false;
        }
        let Some(bed) = lock(&self.sleepers).pop() else { return false };
        self.sleeping.fetch_sub(1, SeqCst);
        *lock(&bed.called) = true;
        bed.call.notify_one();
        true
    }

    /// Sleeps until called, unless the signal is no longer `seen`. Returns whether it was called.
    pub(crate) fn sleep(&self, bed: &Arc<Bed>, seen: u64) -> bool {
        let mut sleepers = lock(&self.sleepers);
        self.sleeping.fetch_add(1, SeqCst);
        if self.signal() != seen {
            self.sleeping.fetch_sub(1, SeqCst);
            return false;
        }
        sleepers.push(bed.clone());
        drop(sleepers);
        let mut called = lock(&bed.called);
        while !*called {
            called = bed.call.wait(called).unwrap_or_else(PoisonError::into_inner);
        }
        *called = false;
        true
    }
}
