//! No synchronisation: one writer at a time, which nobody watches. The compiler sees to it.

use std::marker::PhantomData;

use super::{Coupling, Protocol, Restart, sealed};

/// A tree that is changed by whoever has it alone, and read by any number of threads meanwhile not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unsynchronised;

/// No locks, over whatever word the nodes have.
#[derive(Debug)]
pub struct Nothing<W>(PhantomData<W>);

// SAFETY: used where a latch or the borrow checker keeps others away, or by readers who may see changes.
unsafe impl<W: Default + Send + Sync + 'static> Coupling for Nothing<W> {
    type Word = W;
    type Version = ();

    #[inline(always)]
    fn read(_: &W) -> Result<(), Restart> {
        Ok(())
    }
    #[inline(always)]
    fn check(_: &W, (): ()) -> Result<(), Restart> {
        Ok(())
    }
    #[inline(always)]
    fn read_unlock(_: &W) {}
    #[inline(always)]
    fn upgrade(_: &W, (): ()) -> Result<(), Restart> {
        Ok(())
    }
    #[inline(always)]
    fn write(_: &W) -> Result<(), Restart> {
        Ok(())
    }
    #[inline(always)]
    fn write_unlock(_: &W) {}
    #[inline(always)]
    fn write_unlock_obsolete(_: &W) {}
    #[inline(always)]
    fn snapshot<T>(_: &W, mut read: impl FnMut() -> T) -> T {
        read()
    }
}

impl sealed::Sealed for Unsynchronised {}

// SAFETY: changes need the tree alone ([`Tree::writer_mut`](crate::Tree::writer_mut)), so nobody has a retired node.
unsafe impl Protocol for Unsynchronised {
    type Word = ();
    type Latch = ();
    type Lookup = Nothing<()>;
    type Change = Nothing<()>;
    type Guard = ();

    const NAME: &'static str = "unsynchronised";
    const KEEPS_SLOTS: bool = false;

    fn pin() {}
    unsafe fn retire<F: FnOnce() + 'static>((): &(), free: F) {
        free();
    }
}
