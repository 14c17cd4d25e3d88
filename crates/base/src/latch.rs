//! A lock for what takes some instructions: to give it back is a store, where a mutex exchanges values. Half of what an uncontended
//! lock costs is that exchange, and a statement of one row takes dozens of locks that nobody else wants.
//!
//! Whoever finds it taken looks for it a while, and then lets others run. So nothing is waited for by who has it: no memory that may not
//! be there, no input, no other thread. A panic does not close it.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// So often it is looked for before others are let run.
const LOOKS: usize = 100;

/// See the module.
#[derive(Default)]
pub struct Latch<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

impl<T> std::panic::RefUnwindSafe for Latch<T> {}

// SAFETY: one thread at a time has the value.
unsafe impl<T: Send> Sync for Latch<T> {}

/// Who has the value, until this is dropped.
pub struct LatchGuard<'l, T> {
    latch: &'l Latch<T>,
}

// SAFETY: as a reference to the value.
unsafe impl<T: Sync> Sync for LatchGuard<'_, T> {}

impl<T> Latch<T> {
    /// Around a value.
    pub const fn new(value: T) -> Self {
        Self { taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Takes it.
    #[inline]
    pub fn lock(&self) -> LatchGuard<'_, T> {
        if self.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.wait();
        }
        LatchGuard { latch: self }
    }

    #[cold]
    fn wait(&self) {
        loop {
            for _ in 0..LOOKS {
                // A look first: the line stays shared.
                if !self.taken.load(Ordering::Relaxed)
                    && self.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
                {
                    return;
                }
                std::hint::spin_loop();
            }
            std::thread::yield_now();
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Latch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Latch").field(&*self.lock()).finish()
    }
}

impl<T> Deref for LatchGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: nobody else has the value.
        unsafe { &*self.latch.value.get() }
    }
}

impl<T> DerefMut for LatchGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and this is borrowed mutably.
        unsafe { &mut *self.latch.value.get() }
    }
}

impl<T> Drop for LatchGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.latch.taken.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_has_the_value() {
        let rounds = if cfg!(miri) { 50 } else { 20_000 };
        let latch = Latch::new((0, 0));
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..rounds {
                        let mut value = latch.lock();
                        assert_eq!(value.0, value.1);
                        value.0 += 1;
                        value.1 += 1;
                    }
                });
            }
        });
        assert_eq!(*latch.lock(), (4 * rounds, 4 * rounds));
    }

    #[test]
    fn a_panic_gives_it_back() {
        let latch = Latch::new(1);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = latch.lock();
            panic!("as expected");
        }));
        assert!(caught.is_err() && *latch.lock() == 1);
    }
}
