//! Where idle workers park without using the processor, and how they are notified: an event count.
//!
//! A worker reads the epoch, looks for work, and parks only if the epoch has not changed since; whoever makes work changes
//! the epoch first and looks for parked workers then. So no work is announced without somebody noticing.
//!
//! The synchronisation comes from `super::sync`, so that model checkers can put their own there.

use super::sync::{Arc, AtomicU64, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering::*, wait_a_while};
use std::sync::PoisonError;
use std::time::Duration;

/// See the module.
#[derive(Default)]
pub(crate) struct EventCount {
    epoch: AtomicU64,
    /// Length of `waiters`, and those about to be in it.
    parked: AtomicUsize,
    /// The one that parked last is at the end, and is notified first: its caches are the warmest.
    waiters: Mutex<Vec<Arc<Parker>>>,
}

/// How long a worker has had nothing to do when it gives back what it holds on to, unless somebody is likely to come back soon, and how
/// much longer when it does so anyway.
const WAITS: [Duration; 2] = [Duration::from_millis(900), Duration::from_millis(9100)];

/// Where one worker parks.
#[derive(Default)]
pub(crate) struct Parker {
    notified: Mutex<bool>,
    notification: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EventCount {
    /// To be read before looking for work.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(SeqCst)
    }

    /// There is work: whoever is about to park looks again, and up to `waiters` that are parked are notified.
    pub(crate) fn announce(&self, waiters: usize) {
        self.epoch.fetch_add(1, SeqCst);
        for _ in 0..waiters {
            if !self.notify_one() {
                return;
            }
        }
    }

    /// Whether it may be worth notifying; may be late.
    pub(crate) fn has_parked(&self) -> bool {
        self.parked.load(Relaxed) > 0
    }

    /// Notifies one parked worker; false if there is none.
    pub(crate) fn notify_one(&self) -> bool {
        // After the change of the epoch in the one order of all SeqCst operations, as `park` counts itself before it
        // reads the epoch: either it is counted here, or it sees the new epoch.
        if self.parked.load(SeqCst) == 0 {
            return false;
        }
        let Some(parker) = lock(&self.waiters).pop() else { return false };
        self.parked.fetch_sub(1, SeqCst);
        *lock(&parker.notified) = true;
        parker.notification.notify_one();
        true
    }

    /// Parks until notified, unless the epoch is no longer `seen`. Returns whether it was notified. After a while, the memory that the
    /// thread holds on to goes back to the system.
    pub(crate) fn park(&self, parker: &Arc<Parker>, seen: u64) -> bool {
        let mut waiters = lock(&self.waiters);
        self.parked.fetch_add(1, SeqCst);
        if self.epoch() != seen {
            self.parked.fetch_sub(1, SeqCst);
            return false;
        }
        waiters.push(parker.clone());
        drop(waiters);
        let mut notified = lock(&parker.notified);
        let mut waits = WAITS.iter().enumerate();
        let mut wait = waits.next();
        while !*notified {
            let Some((number, most)) = wait else {
                notified = parker.notification.wait(notified).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let is_idle;
            (notified, is_idle) = wait_a_while(&parker.notification, notified, *most);
            if is_idle && !*notified {
                drop(notified);
                base::memory::thread_is_idle(number > 0);
                wait = waits.next();
                notified = lock(&parker.notified);
            }
        }
        *notified = false;
        true
    }
}
