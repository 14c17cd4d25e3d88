//! Values that many read and few exchange. A reader reads one where it lies and writes nothing for it, not even a count: a line of the
//! cache that readers wrote would wander from core to core. What was exchanged is freed once nobody can have it any more.
//!
//! `crossbeam-epoch` says when that is. Its guard is for a statement, or a lookup, whose cost (a fence) is small beside it.

use std::fmt;
use std::sync::atomic::Ordering;

use crossbeam_epoch::{Atomic, Owned};
pub use crossbeam_epoch::{Guard, pin};

/// What was exchanged is free after so many looks, if nobody reads anything.
const LOOKS: usize = 3;

/// See the module.
pub(crate) struct Published<T>(Atomic<T>);

impl<T: Send + Sync + 'static> Published<T> {
    pub fn new(value: T) -> Self {
        Self(Atomic::new(value))
    }

    /// The value as it is now, for as long as the guard lives.
    #[inline]
    pub fn get<'g>(&'g self, guard: &'g Guard) -> &'g T {
        // SAFETY: there always is a value, and it was published as a whole. Exchanged, it lives as long as guards of before.
        unsafe { self.0.load(Ordering::Acquire, guard).deref() }
    }

    /// Publishes another one. Writers agree among one another who does so.
    pub fn set(&self, value: T) {
        let guard = pin();
        let old = self.0.swap(Owned::new(value), Ordering::AcqRel, &guard);
        // SAFETY: nobody finds it any more, and nobody else has exchanged it.
        unsafe { guard.defer_destroy(old) };
        guard.flush();
        drop(guard);
        (1..LOOKS).for_each(|_| pin().flush());
    }
}

impl<T> Drop for Published<T> {
    fn drop(&mut self) {
        // SAFETY: nobody else has it any more, and there always is a value.
        drop(unsafe { std::mem::take(&mut self.0).into_owned() });
    }
}

impl<T: Send + Sync + fmt::Debug + 'static> fmt::Debug for Published<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get(&pin()).fmt(f)
    }
}
