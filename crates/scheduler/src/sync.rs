//! The synchronisation that `event_count` and `gate` use: the standard library's.

pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use std::sync::PoisonError;
use std::time::Duration;

/// Waits for so long, or until notified. Returns whether the time is over.
pub(crate) fn wait_a_while<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    most: Duration,
) -> (MutexGuard<'a, T>, bool) {
    let waited = condvar.wait_timeout(guard, most);
    let (guard, result) = waited.unwrap_or_else(PoisonError::into_inner);
    (guard, result.timed_out())
}
