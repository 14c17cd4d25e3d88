//! The atomics that trees are made of. In tests, each access is a point at which the model checker may go on with another
//! thread, if one runs; what it explores are interleavings, not weak orders of memory.

pub(crate) use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
pub(crate) use std::sync::atomic::fence;

#[cfg(not(test))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64};
#[cfg(test)]
pub(crate) use watched::model;
#[cfg(test)]
pub(crate) use watched::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64};

/// Waits a moment for another thread; `tries` says how often already.
pub(crate) fn pause(tries: usize) {
    #[cfg(test)]
    if watched::give_way() {
        return;
    }
    // Whoever holds the lock may be waiting for this processor.
    if tries % 64 == 63 { std::thread::yield_now() } else { std::hint::spin_loop() }
}

#[cfg(test)]
mod watched {
    use std::cell::Cell;
    use std::sync::atomic::Ordering;

    thread_local!(static MODELLED: Cell<bool> = const { Cell::new(false) });

    /// Runs what a model checker explores: all its threads are this one.
    pub(crate) fn model(explore: impl FnOnce()) {
        MODELLED.set(true);
        explore();
        MODELLED.set(false);
    }

    /// The checker may go on with another thread.
    pub(crate) fn point() {
        if MODELLED.get() {
            // What an access to an atomic of its own is.
            shuttle::sync::atomic::AtomicU8::new(0).load(Ordering::SeqCst);
        }
    }

    /// The checker should go on with another thread, if it runs.
    pub(crate) fn give_way() -> bool {
        let modelled = MODELLED.get();
        if modelled {
            shuttle::thread::yield_now();
        }
        modelled
    }

    macro_rules! watched {
        ($($name:ident $(<$t:ident>)?: $value:ty),*) => {$(
            #[derive(Debug, Default)]
            #[repr(transparent)]
            pub struct $name$(<$t>)?(std::sync::atomic::$name$(<$t>)?);

            #[allow(dead_code, reason = "not all of them need all")]
            impl$(<$t>)? $name$(<$t>)? {
                pub(crate) const fn new(value: $value) -> Self {
                    Self(std::sync::atomic::$name::new(value))
                }
                pub(crate) fn load(&self, order: Ordering) -> $value {
                    point();
                    self.0.load(order)
                }
                pub(crate) fn store(&self, value: $value, order: Ordering) {
                    point();
                    self.0.store(value, order);
                }
                pub(crate) fn compare_exchange(&self, from: $value, to: $value, yes: Ordering, no: Ordering) -> Result<$value, $value> {
                    point();
                    self.0.compare_exchange(from, to, yes, no)
                }
            }
        )*};
    }
    watched!(AtomicU8: u8, AtomicU32: u32, AtomicU64: u64, AtomicBool: bool, AtomicPtr<T>: *mut T);

    macro_rules! counting {
        ($($name:ident: $value:ty),*) => {$(
            #[allow(dead_code, reason = "not all of them need all")]
            impl $name {
                pub(crate) fn fetch_add(&self, by: $value, order: Ordering) -> $value {
                    point();
                    self.0.fetch_add(by, order)
                }
                pub(crate) fn fetch_sub(&self, by: $value, order: Ordering) -> $value {
                    point();
                    self.0.fetch_sub(by, order)
                }
            }
        )*};
    }
    counting!(AtomicU32: u32, AtomicU64: u64);
}
