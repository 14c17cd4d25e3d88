//! Optimistic Lock Coupling (section 3.3): readers remember the version of a node and look whether it is still the same; writers
//! lock what they change. The word is that of Figure 3.5: a version, whether the node is locked, and whether it has left the
//! tree.

use super::{Concurrent, Coupling, Protocol, Restart, epochs, sealed};
use crate::sync::{Acquire, AtomicU64, Relaxed, Release, fence, pause};

/// Lookups restart when somebody changed what they read; changes lock one node or two.
#[derive(Clone, Copy, Debug)]
pub struct OptimisticLockCoupling;

const OBSOLETE: u64 = 1;
const LOCKED: u64 = 2;

/// The locks of Figure 3.5.
#[derive(Debug)]
pub struct Versions;

/// Waits until the node is not locked. The figure's loop does not load the version anew, and would wait forever.
#[inline(always)]
fn unlocked(word: &AtomicU64) -> u64 {
    let version = word.load(Acquire);
    if version & LOCKED == 0 { version } else { wait(word) }
}

#[cold]
fn wait(word: &AtomicU64) -> u64 {
    let mut tries = 0;
    loop {
        let version = word.load(Acquire);
        if version & LOCKED == 0 {
            return version;
        }
        pause(tries);
        tries += 1;
    }
}

// SAFETY: who turns a version into a locked one is alone until the word changes again, and each locking changes the version
// for good.
unsafe impl Coupling for Versions {
    type Word = AtomicU64;
    type Version = u64;

    #[inline(always)]
    fn read(word: &AtomicU64) -> Result<u64, Restart> {
        let version = unlocked(word);
        if version & OBSOLETE == 0 { Ok(version) } else { Err(Restart) }
    }
    #[inline(always)]
    fn check(word: &AtomicU64, version: u64) -> Result<(), Restart> {
        // What was read before was read before the version is.
        fence(Acquire);
        if word.load(Relaxed) == version { Ok(()) } else { Err(Restart) }
    }
    #[inline(always)]
    fn read_unlock(_: &AtomicU64) {}
    fn upgrade(word: &AtomicU64, version: u64) -> Result<(), Restart> {
        word.compare_exchange(version, version + LOCKED, Acquire, Relaxed).map_err(|_| Restart)?;
        // Whoever sees what is written now sees the lock, too.
        fence(Release);
        Ok(())
    }
    fn write(word: &AtomicU64) -> Result<(), Restart> {
        loop {
            let version = Self::read(word)?;
            if Self::upgrade(word, version).is_ok() {
                return Ok(());
            }
        }
    }
    fn write_unlock(word: &AtomicU64) {
        // The bit of the lock overflows into the version.
        word.fetch_add(LOCKED, Release);
    }
    fn write_unlock_obsolete(word: &AtomicU64) {
        word.fetch_add(LOCKED + OBSOLETE, Release);
    }
    #[inline(always)]
    fn snapshot<T>(word: &AtomicU64, mut read: impl FnMut() -> T) -> T {
        loop {
            let version = unlocked(word);
            let value = read();
            if Self::check(word, version).is_ok() {
                return value;
            }
        }
    }
}

impl sealed::Sealed for OptimisticLockCoupling {}
impl Concurrent for OptimisticLockCoupling {}

// SAFETY: as `Versions` does; nodes are retired by epochs.
unsafe impl Protocol for OptimisticLockCoupling {
    type Word = AtomicU64;
    type Latch = ();
    type Lookup = Versions;
    type Change = Versions;
    type Guard = epochs::Guard;

    const NAME: &'static str = "optimistic lock coupling";
    const KEEPS_SLOTS: bool = false;

    fn pin() -> epochs::Guard {
        epochs::pin()
    }
    unsafe fn retire<F: FnOnce() + 'static>(guard: &epochs::Guard, free: F) {
        // SAFETY: as the caller says.
        unsafe { guard.defer_unchecked(free) };
    }
}
