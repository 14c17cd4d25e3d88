//! Locks that a panic elsewhere does not close: whoever panics with one has what it began undone when that is dropped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
