//! The synchronisation that the dispatcher is made of: the standard library's, or under `--cfg shuttle` that of the model
//! checker, which then decides in which order the threads of the whole scheduler go on (`make shuttle`).
//!
//! What guards nothing (counts, times, estimates) takes the standard library's in any case: so there is less to try.

#[cfg(shuttle)]
use shuttle::{sync, thread as threads};
#[cfg(not(shuttle))]
use std::{sync, thread as threads};

#[cfg(shuttle)]
pub(crate) use shuttle::thread_local;
pub(crate) use std::sync::atomic::Ordering;
#[cfg(not(shuttle))]
pub(crate) use std::thread_local;
pub(crate) use sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
pub(crate) use sync::{Arc, Condvar, Mutex, MutexGuard};
pub(crate) use threads::{Builder, JoinHandle, current};

use std::time::Duration;

/// Waits for so long, or until notified. Returns whether the time is over.
#[cfg(not(shuttle))]
pub(crate) fn wait_a_while<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    most: Duration,
) -> (MutexGuard<'a, T>, bool) {
    let waited = condvar.wait_timeout(guard, most);
    let (guard, result) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
    (guard, result.timed_out())
}

/// The time is over at once.
#[cfg(shuttle)]
pub(crate) fn wait_a_while<'a, T>(_: &Condvar, guard: MutexGuard<'a, T>, _: Duration) -> (MutexGuard<'a, T>, bool) {
    (guard, true)
}
