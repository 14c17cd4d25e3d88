//! One latch for the whole tree, elided by hardware transactions (section 2.4): nodes have no word, and the tree's code is the
//! unsynchronised one. A transaction that is aborted is begun anew, up to 20 times; then the latch is taken, which aborts all
//! transactions, as each has read it.
//!
//! Without transactions in the processor every operation takes the latch. For tests there is a stand-in that aborts at random;
//! as it cannot take back what was written, it aborts before anything is, and excludes others by the latch itself.

use std::marker::PhantomData;

use super::none::Nothing;
use super::{Concurrent, Protocol, epochs, sealed};
use crate::sync::{Acquire, AtomicBool, Relaxed, Release, pause};

/// So often a transaction is begun anew (section 3.5).
const RESTARTS: usize = 20;

/// A global latch that transactions elide.
#[derive(Clone, Copy, Debug)]
pub struct ElidedLatch<T = Hardware>(PhantomData<T>);

/// Transactions, of the hardware or not.
///
/// # Safety
/// `begin` is called where there are transactions. Between it, if it says that it has begun, and `end`, the thread sees and
/// changes memory as if it were alone, and the latch is not taken by others.
pub unsafe trait Transactions: Send + Sync + 'static {
    /// Whether there are any, so that it is worth while to begin one.
    fn are_there() -> bool;
    /// Begins a transaction; whether it has begun. After an abort it returns anew, with false.
    fn begin(latch: &Latch) -> bool;
    /// Ends it.
    fn end(latch: &Latch);
}

/// The latch.
#[derive(Debug, Default)]
pub struct Latch(AtomicBool);

impl Latch {
    fn is_taken(&self) -> bool {
        self.0.load(Acquire)
    }
    fn try_take(&self) -> bool {
        self.0.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }
    fn take(&self) {
        let mut tries = 0;
        while !self.try_take() {
            pause(tries);
            tries += 1;
        }
    }
    fn release(&self) {
        self.0.store(false, Release);
    }
}

/// The processor's transactions (RTM), where it has them.
#[derive(Clone, Copy, Debug)]
pub struct Hardware;

// SAFETY: the processor's transactions are atomic; the latch is read within, so that whoever takes it aborts them.
unsafe impl Transactions for Hardware {
    #[inline(always)]
    fn are_there() -> bool {
        rtm::is_there()
    }
    #[inline(always)]
    fn begin(latch: &Latch) -> bool {
        rtm::begin() && {
            if latch.is_taken() {
                rtm::abort();
            }
            true
        }
    }
    #[inline(always)]
    fn end(_: &Latch) {
        rtm::end();
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod rtm {
    use std::arch::asm;

    #[inline(always)]
    pub(super) fn is_there() -> bool {
        std::arch::is_x86_feature_detected!("rtm")
    }
    /// Returns a second time, with false, when the transaction is aborted: registers and memory are then as they were.
    #[inline(always)]
    pub(super) fn begin() -> bool {
        let mut status = u32::MAX;
        // SAFETY: the processor has the instruction, as whoever calls has asked.
        unsafe { asm!("xbegin 2f", "2:", inout("eax") status) };
        status == u32::MAX
    }
    #[inline(always)]
    pub(super) fn end() {
        // SAFETY: within a transaction.
        unsafe { asm!("xend") };
    }
    #[inline(always)]
    pub(super) fn abort() {
        // SAFETY: within a transaction, which goes on behind its beginning.
        unsafe { asm!("xabort 255") };
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod rtm {
    pub(super) fn is_there() -> bool {
        false
    }
    pub(super) fn begin() -> bool {
        false
    }
    pub(super) fn end() {}
    pub(super) fn abort() {}
}

/// What ends when an operation does, also by a panic of the rows' keys.
struct Ending<'l>(&'l Latch, fn(&Latch));

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        (self.1)(self.0);
    }
}

impl<T> sealed::Sealed for ElidedLatch<T> {}
impl<T: Transactions> Concurrent for ElidedLatch<T> {}

// SAFETY: every operation runs as if it were alone; nodes are retired by epochs, as scans keep nodes between operations.
unsafe impl<T: Transactions> Protocol for ElidedLatch<T> {
    type Word = ();
    type Latch = Latch;
    type Lookup = Nothing<()>;
    type Change = Nothing<()>;
    type Guard = epochs::Guard;

    const NAME: &'static str = "elided latch";
    const KEEPS_SLOTS: bool = false;

    fn pin() -> epochs::Guard {
        epochs::pin()
    }
    unsafe fn retire<F: FnOnce() + 'static>(guard: &epochs::Guard, free: F) {
        // SAFETY: as the caller says.
        unsafe { guard.defer_unchecked(free) };
    }
    #[inline]
    fn operate<R>(latch: &Latch, mut operation: impl FnMut() -> R) -> R {
        for tries in 0..if T::are_there() { RESTARTS } else { 0 } {
            if T::begin(latch) {
                let _ending = Ending(latch, T::end);
                return operation();
            }
            if latch.is_taken() {
                pause(tries);
            }
        }
        latch.take();
        let _ending = Ending(latch, Latch::release);
        operation()
    }
}

#[cfg(test)]
pub(crate) mod stand_in {
    use std::cell::RefCell;

    use base::Random;

    use super::{Latch, Transactions};

    thread_local!(static RANDOM: RefCell<Random> = const { RefCell::new(Random(11)) });

    /// Has this thread's transactions aborted in the same order as at first.
    pub(crate) fn begin_aborts_anew() {
        RANDOM.set(Random(11));
    }

    /// Transactions of which every other is aborted.
    #[derive(Debug)]
    pub(crate) struct Simulated;

    // SAFETY: whoever has begun has the latch.
    unsafe impl Transactions for Simulated {
        fn are_there() -> bool {
            true
        }
        fn begin(latch: &Latch) -> bool {
            !RANDOM.with_borrow_mut(|random| random.one_in(2)) && latch.try_take()
        }
        fn end(latch: &Latch) {
            latch.release();
        }
    }
}
