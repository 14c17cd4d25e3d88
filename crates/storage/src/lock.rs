//! Locks that a panic elsewhere does not close: whoever panics with one has what it began undone when that is dropped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// So often it is looked for a lock before a thread sleeps for it: some microseconds.
const LOOKS: usize = 500;

/// Locks.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks, unless somebody has.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// As [`lock`], of what is held for microseconds: to be woken takes longer than to look for it a while.
pub(crate) fn lock_soon<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    for _ in 0..LOOKS {
        if let Some(guard) = try_lock(mutex) {
            return guard;
        }
        std::hint::spin_loop();
    }
    lock(mutex)
}

/// What mostly nobody puts anything into: to see that takes no lock.
#[derive(Debug, Default)]
pub(crate) struct Seldom<T> {
    is_used: AtomicBool,
    inner: Mutex<T>,
}

impl<T> Seldom<T> {
    /// Locks it, to put something into it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.is_used.store(true, Ordering::Release);
        lock(&self.inner)
    }

    /// Locks it; none if nobody has ever put anything into it.
    pub(crate) fn used(&self) -> Option<MutexGuard<'_, T>> {
        self.is_used.load(Ordering::Acquire).then(|| lock(&self.inner))
    }
}
