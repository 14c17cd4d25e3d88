//! The synchronisation that `event_count` and `gate` use: the standard library's.

pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use std::sync::PoisonError;
use std::time::Duration;

/// Waits for a second, or until notified. Returns whether the second is over.
pub(crate) fn wait_a_while<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> (MutexGuard<'a, T>, bool) {
    let waited = condvar.wait_timeout(guard, Duration::from_millis(500));
    let (guard, result) = waited.unwrap_or_else(PoisonError::into_inner);
    (guard, result.timed_out())
}
