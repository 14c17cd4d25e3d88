//! Inserting a row into a slot: thesis figure 4.8.

use std::sync::atomic::{AtomicU64, Ordering};

use super::tags::{ADDRESS, tag};

/// A slot: the standard library's atomic, or a model checker's.
pub(super) trait Slot {
    fn load(&self) -> u64;
    /// Replaces `old` by `new`; else what it found.
    fn exchange(&self, old: u64, new: u64) -> Result<(), u64>;
}

impl Slot for AtomicU64 {
    #[inline(always)]
    fn load(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }
    #[inline(always)]
    fn exchange(&self, old: u64, new: u64) -> Result<(), u64> {
        // Release suffices: readers start after the build, and the scheduler orders that.
        self.compare_exchange_weak(old, new, Ordering::Release, Ordering::Relaxed).map(drop)
    }
}

/// Pushes the row at address `row` onto the slot's chain; `link` stores the next row's address in it (again after each
/// lost race).
#[inline(always)]
pub(super) fn insert(slot: &impl Slot, row: u64, hash: u64, mut link: impl FnMut(u64)) {
    debug_assert!(row & !ADDRESS == 0);
    let mut old = slot.load();
    loop {
        link(old & ADDRESS);
        match slot.exchange(old, row | (old & !ADDRESS) | tag(hash)) {
            Ok(()) => return,
            Err(found) => old = found,
        }
    }
}
