//! Protocols with a mistake, which the model checker must find: else it would not find one of the others.
//!
//! Neither mistake frees memory early: nodes stay in memory by epochs, slots have links of nodes or rows at any time.

use super::none::Nothing;
use super::optimistic::Versions;
use super::{Concurrent, Coupling, Protocol, Restart, epochs, sealed};
use crate::sync::AtomicU64;

/// Versions that readers never look at again.
#[derive(Debug)]
pub struct Unread;

// SAFETY: none; it is what a wrong protocol would be. Writers lock by versions, as in the right one.
unsafe impl Coupling for Unread {
    type Word = AtomicU64;
    type Version = u64;

    fn read(word: &AtomicU64) -> Result<u64, Restart> {
        Versions::read(word)
    }
    fn check(_: &AtomicU64, _: u64) -> Result<(), Restart> {
        Ok(())
    }
    fn read_unlock(word: &AtomicU64) {
        Versions::read_unlock(word);
    }
    fn upgrade(word: &AtomicU64, version: u64) -> Result<(), Restart> {
        Versions::upgrade(word, version)
    }
    fn write(word: &AtomicU64) -> Result<(), Restart> {
        Versions::write(word)
    }
    fn write_unlock(word: &AtomicU64) {
        Versions::write_unlock(word);
    }
    fn write_unlock_obsolete(word: &AtomicU64) {
        Versions::write_unlock_obsolete(word);
    }
    fn snapshot<T>(_: &AtomicU64, mut read: impl FnMut() -> T) -> T {
        read()
    }
}

macro_rules! mutants {
    ($($(#[$doc:meta])* $name:ident: $lookup:ty),*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name;

        impl sealed::Sealed for $name {}
        impl Concurrent for $name {}

        // SAFETY: as `Versions` does, among writers; readers are wrong, which is what tests are to see.
        unsafe impl Protocol for $name {
            type Word = AtomicU64;
            type Latch = ();
            type Lookup = $lookup;
            type Change = Versions;
            type Guard = epochs::Guard;

            const NAME: &'static str = stringify!($name);
            const KEEPS_SLOTS: bool = false;

            fn pin() -> epochs::Guard {
                epochs::pin()
            }
            unsafe fn retire<F: FnOnce() + 'static>(guard: &epochs::Guard, free: F) {
                // SAFETY: as the caller says.
                unsafe { guard.defer_unchecked(free) };
            }
        }
    )*};
}
mutants!(
    /// Optimistic Lock Coupling whose lookups check no version.
    Unchecked: Unread,
    /// ROWEX whose slots are used for other bytes while readers may see them.
    ReusesSlots: Nothing<AtomicU64>
);
