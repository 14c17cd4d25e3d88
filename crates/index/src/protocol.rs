//! What a protocol is: what happens to a node's word before it is read, after it was read, and around changes.
//!
//! The tree's code is one for all protocols and has the shape of Figures 3.3 and 3.4. Where these highlight a line, it calls
//! [`Held`] or [`Locked`], which do what the protocol says:
//!
//! | figure | here | unsynchronised |
//! |---|---|---|
//! | `readLockOrRestart(node)` | [`Held::read`] | nothing |
//! | `checkOrRestart(node, version)` | [`Held::check`] | nothing |
//! | `readUnlockOrRestart(node, version)` | [`Held::release`] | nothing |
//! | `upgradeToWriteLockOrRestart(node, version)` | [`Held::upgrade`] | nothing |
//! | `writeUnlock(node)` | [`Locked`] is dropped | nothing |
//! | `writeUnlockObsolete(node)` | [`Locked::obsolete`] | nothing |
//!
//! What a restart gives up (`readUnlockOrRestart(node, version, lockedNode)`) is given up because it is dropped.

mod coupling;
mod elided;
mod epochs;
#[cfg(test)]
pub(crate) mod mutants;
mod none;
mod optimistic;
mod rowex;

use std::mem;

use crate::sync::pause;

pub use coupling::LockCoupling;
#[cfg(test)]
pub(crate) use elided::stand_in::{Simulated, begin_aborts_anew};
pub use elided::{ElidedLatch, Hardware};
pub use none::Unsynchronised;
pub use optimistic::OptimisticLockCoupling;
#[cfg(test)]
pub(crate) use optimistic::Versions;
pub use rowex::Rowex;

/// The operation has to be begun anew: somebody else was faster.
#[derive(Clone, Copy, Debug)]
pub struct Restart;

/// How one kind of operation, lookups or changes, deals with a node's word.
///
/// # Safety
/// Between a successful `upgrade` or `write` and the following unlocking, nobody else's `upgrade` or `write` of the same word
/// succeeds, and each successful `check`, `upgrade` and `snapshot` means that nothing was written behind that word since `read`.
/// A protocol whose readers see changes says so ([`Protocol::KEEPS_SLOTS`]) and needs the first half only.
pub unsafe trait Coupling: 'static {
    /// In each node.
    type Word: Default + Send + Sync + 'static;
    /// What a reader remembers.
    type Version: Copy + Default;

    /// Begins to read.
    fn read(word: &Self::Word) -> Result<Self::Version, Restart>;
    /// Whether what was read is true.
    fn check(word: &Self::Word, version: Self::Version) -> Result<(), Restart>;
    /// Ends reading, right or not.
    fn read_unlock(word: &Self::Word);
    /// Turns reading into writing. If that fails, reading goes on.
    fn upgrade(word: &Self::Word, version: Self::Version) -> Result<(), Restart>;
    /// Begins to write, for whoever has been restarted too often.
    fn write(word: &Self::Word) -> Result<(), Restart>;
    /// Ends writing.
    fn write_unlock(word: &Self::Word);
    /// Ends writing, of a node that is no longer in the tree.
    fn write_unlock_obsolete(word: &Self::Word);
    /// Reads until what was read is true, in the tree or no longer.
    fn snapshot<T>(word: &Self::Word, read: impl FnMut() -> T) -> T;
}

/// A way to synchronise a tree. Sealed: the protocols are those of this crate.
///
/// # Safety
/// Its parts keep what [`Coupling`] says; nodes that are retired stay in memory while guards live that were made before.
pub unsafe trait Protocol: Sized + 'static + sealed::Sealed {
    /// In each node.
    #[doc(hidden)]
    type Word: Default + Send + Sync + 'static;
    /// One for the whole tree.
    #[doc(hidden)]
    type Latch: Default + Send + Sync;
    /// For lookups and scans.
    #[doc(hidden)]
    type Lookup: Coupling<Word = Self::Word>;
    /// For changes.
    #[doc(hidden)]
    type Change: Coupling<Word = Self::Word>;
    /// What keeps nodes in memory.
    #[doc(hidden)]
    type Guard;

    /// The protocol's name.
    const NAME: &'static str;

    /// Whether a slot belongs to its byte for as long as its node lives, because readers may see it at any time.
    #[doc(hidden)]
    const KEEPS_SLOTS: bool;

    /// From now on nodes stay in memory.
    #[doc(hidden)]
    fn pin() -> Self::Guard;
    /// Runs `free` when nobody looks any more.
    ///
    /// # Safety
    /// What is freed is no longer in the tree.
    #[doc(hidden)]
    unsafe fn retire<F: FnOnce() + 'static>(guard: &Self::Guard, free: F);
    /// Runs an operation.
    #[doc(hidden)]
    #[inline(always)]
    fn operate<T>(_: &Self::Latch, operation: impl FnMut() -> T) -> T {
        let mut operation = operation;
        operation()
    }
}

/// A protocol by which threads may change a tree at the same time.
pub trait Concurrent: Protocol {}

mod sealed {
    /// Keeps protocols within the crate.
    pub trait Sealed {}
}

/// A node that is being read; with `X` it is locked for writing all the same, so that nobody can be faster.
pub(crate) struct Held<'g, C: Coupling, const X: bool> {
    word: &'g C::Word,
    version: C::Version,
}

impl<'g, C: Coupling, const X: bool> Held<'g, C, X> {
    #[inline(always)]
    pub(crate) fn read(word: &'g C::Word) -> Result<Self, Restart> {
        let version = if X { C::write(word).map(|()| C::Version::default())? } else { C::read(word)? };
        Ok(Self { word, version })
    }

    #[inline(always)]
    pub(crate) fn check(&self) -> Result<(), Restart> {
        if X { Ok(()) } else { C::check(self.word, self.version) }
    }

    #[inline(always)]
    pub(crate) fn release(self) -> Result<(), Restart> {
        self.check()
    }

    #[inline(always)]
    pub(crate) fn upgrade(self) -> Result<Locked<'g, C>, Restart> {
        if !X {
            C::upgrade(self.word, self.version)?;
        }
        let word = self.word;
        mem::forget(self);
        Ok(Locked { word })
    }
}

impl<C: Coupling, const X: bool> Drop for Held<'_, C, X> {
    #[inline(always)]
    fn drop(&mut self) {
        if X { C::write_unlock(self.word) } else { C::read_unlock(self.word) }
    }
}

/// A node that is locked for writing.
pub(crate) struct Locked<'g, C: Coupling> {
    word: &'g C::Word,
}

impl<C: Coupling> Locked<'_, C> {
    /// Ends writing: the node is no longer in the tree.
    pub(crate) fn obsolete(self) {
        C::write_unlock_obsolete(self.word);
        mem::forget(self);
    }
}

impl<C: Coupling> Drop for Locked<'_, C> {
    fn drop(&mut self) {
        C::write_unlock(self.word);
    }
}

/// So often an operation begins anew before it locks every node on its way (section 3.3.2). Tests come to that soon.
const RESTARTS: usize = if cfg!(test) { 3 } else { 32 };

/// Runs an operation until nobody was faster. It is told whether to lock.
#[inline(always)]
pub(crate) fn until_done<T>(mut operation: impl FnMut(bool) -> Result<T, Restart>) -> T {
    match operation(false) {
        Ok(done) => done,
        Err(Restart) => again(operation),
    }
}

#[cold]
#[inline(never)]
fn again<T>(mut operation: impl FnMut(bool) -> Result<T, Restart>) -> T {
    let mut tries = 0;
    loop {
        tries += 1;
        pause(tries);
        if let Ok(done) = operation(tries >= RESTARTS) {
            return done;
        }
    }
}
