//! What a consumer that has made room and workers that wait for it tell each other, so that no call is lost.
//!
//! A worker remembers how many calls there have been, asks whether there is room, says that it pauses if there is none, and
//! then looks whether there have been further calls; the consumer makes room, counts its call, and then looks whether
//! somebody has paused. So one of them sees the other, and a call costs no lock as long as nobody waits.
//!
//! The synchronisation comes from `super::sync`, so that model checkers can put their own there.

use super::sync::{AtomicU64, Ordering::*};

/// See the module.
#[derive(Default)]
pub(crate) struct Calls {
    calls: AtomicU64,
    /// 1 if something has, or is about to be, paused.
    paused: AtomicU64,
}

impl Calls {
    /// How many there have been: to be read before a worker looks whether there is room.
    pub(crate) fn so_far(&self) -> u64 {
        self.calls.load(Acquire)
    }

    /// A worker pauses, with the job's lock held, as there was no room when there had been so many calls. False if there has
    /// been a further one: then it has to look again.
    pub(crate) fn pause(&self, so_far: u64) -> bool {
        self.paused.store(1, SeqCst);
        self.calls.load(SeqCst) == so_far
    }

    /// The consumer has made room. Whether something has paused, which it then resumes with the job's lock held.
    pub(crate) fn call(&self) -> bool {
        self.calls.fetch_add(1, SeqCst);
        self.paused.load(SeqCst) == 1
    }

    /// Nothing is paused any more, with the job's lock held.
    pub(crate) fn resume(&self) {
        self.paused.store(0, SeqCst);
    }
}
