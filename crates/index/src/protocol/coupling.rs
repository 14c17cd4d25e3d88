//! Lock coupling (section 3.3, Figure 3.3 on the left): every node on the way is locked, for reading as long as possible, the
//! child before its parent is let go. Simple, and slow where threads meet: each lookup writes to the root.

use super::{Concurrent, Coupling, Protocol, Restart, epochs, sealed};
use crate::sync::{Acquire, AtomicU32, Relaxed, Release, pause};

/// Lookups lock nodes for reading, changes turn that into locks for writing.
#[derive(Clone, Copy, Debug)]
pub struct LockCoupling;

/// Somebody writes.
const WRITER: u32 = 1 << 31;
/// Somebody waits to write: no new readers.
const WAITING: u32 = 1 << 30;
/// So often a reader tries to become a writer while others read, of whom one may want the same.
const TRIES: usize = 64;

/// Locks for reading and writing, in four bytes: a number of readers and two bits.
#[derive(Debug)]
pub struct SharedLocks;

// SAFETY: `WRITER` is set only when there is no other reader, and neither readers nor writers come while it is.
unsafe impl Coupling for SharedLocks {
    type Word = AtomicU32;
    type Version = ();

    #[inline(always)]
    fn read(word: &AtomicU32) -> Result<(), Restart> {
        let mut tries = 0;
        loop {
            let readers = word.load(Relaxed);
            if readers & (WRITER | WAITING) == 0
                && word.compare_exchange(readers, readers + 1, Acquire, Relaxed).is_ok()
            {
                return Ok(());
            }
            pause(tries);
            tries += 1;
        }
    }
    #[inline(always)]
    fn check(_: &AtomicU32, (): ()) -> Result<(), Restart> {
        Ok(())
    }
    #[inline(always)]
    fn read_unlock(word: &AtomicU32) {
        word.fetch_sub(1, Release);
    }
    fn upgrade(word: &AtomicU32, (): ()) -> Result<(), Restart> {
        for tries in 0..TRIES {
            let readers = word.load(Relaxed);
            if readers & !WAITING == 1 && word.compare_exchange(readers, readers - 1 + WRITER, Acquire, Relaxed).is_ok()
            {
                return Ok(());
            }
            pause(tries);
        }
        Err(Restart)
    }
    fn write(word: &AtomicU32) -> Result<(), Restart> {
        let mut tries = 0;
        loop {
            let readers = word.load(Relaxed);
            if readers & !WAITING == 0 {
                if word.compare_exchange(readers, WRITER, Acquire, Relaxed).is_ok() {
                    return Ok(());
                }
            } else if readers & WAITING == 0 {
                let _ = word.compare_exchange(readers, readers | WAITING, Relaxed, Relaxed);
            }
            pause(tries);
            tries += 1;
        }
    }
    fn write_unlock(word: &AtomicU32) {
        word.fetch_sub(WRITER, Release);
    }
    fn write_unlock_obsolete(word: &AtomicU32) {
        // Nobody can be waiting for it: who comes here has locked the parent.
        Self::write_unlock(word);
    }
    fn snapshot<T>(word: &AtomicU32, mut read: impl FnMut() -> T) -> T {
        let Ok(()) = Self::read(word) else { return read() };
        let value = read();
        Self::read_unlock(word);
        value
    }
}

impl sealed::Sealed for LockCoupling {}
impl Concurrent for LockCoupling {}

// SAFETY: as `SharedLocks` does; nodes are retired by epochs, as scans keep nodes that they have not locked.
unsafe impl Protocol for LockCoupling {
    type Word = AtomicU32;
    type Latch = ();
    type Lookup = SharedLocks;
    type Change = SharedLocks;
    type Guard = epochs::Guard;

    const NAME: &'static str = "lock coupling";
    const KEEPS_SLOTS: bool = false;

    fn pin() -> epochs::Guard {
        epochs::pin()
    }
    unsafe fn retire<F: FnOnce() + 'static>(guard: &epochs::Guard, free: F) {
        // SAFETY: as the caller says.
        unsafe { guard.defer_unchecked(free) };
    }
}
