//! Read-Optimized Write EXclusion (section 3.4): readers never wait, never restart, and look at no lock.
//!
//! Writers lock and restart among themselves as in Optimistic Lock Coupling, but every store must leave the tree right for
//! those who look on:
//! - a byte is seen in a node once its slot counts, which is stored last, and a slot stays its byte's until the node is replaced;
//! - a node that takes another's place has all its children before a slot has it;
//! - level and path of a node never change, so that splitting and joining compressed paths is one store (the paper needs two,
//!   and a reader that sees one of them);
//! - what a reader finds in a node that has left the tree was true while it was looking.

use super::none::Nothing;
use super::optimistic::Versions;
use super::{Concurrent, Protocol, epochs, sealed};
use crate::sync::AtomicU64;

/// Lookups never wait nor restart; changes lock one node or two.
#[derive(Clone, Copy, Debug)]
pub struct Rowex;

impl sealed::Sealed for Rowex {}
impl Concurrent for Rowex {}

// SAFETY: as `Versions` does, among writers; readers see changes, and slots are kept. Nodes are retired by epochs.
unsafe impl Protocol for Rowex {
    type Word = AtomicU64;
    type Latch = ();
    type Lookup = Nothing<AtomicU64>;
    type Change = Versions;
    type Guard = epochs::Guard;

    const NAME: &'static str = "ROWEX";
    const KEEPS_SLOTS: bool = true;

    fn pin() -> epochs::Guard {
        epochs::pin()
    }
    unsafe fn retire<F: FnOnce() + 'static>(guard: &epochs::Guard, free: F) {
        // SAFETY: as the caller says.
        unsafe { guard.defer_unchecked(free) };
    }
}
