//! A run of units in one word, which is cut from both ends.
//!
//! The front only grows and the end only shrinks, so a word never comes again (no ABA), and a lane that is empty stays so.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// An atomic word: the standard library's, or a model checker's in tests. Relaxed throughout, as what the units refer to
/// is published otherwise.
pub trait Word: Send + Sync {
    /// A word that holds `value`.
    fn new(value: u64) -> Self;
    /// The value.
    fn load(&self) -> u64;
    /// Writes `new` if the word still holds `current`; otherwise what it holds.
    fn exchange(&self, current: u64, new: u64) -> Result<(), u64>;
}

impl Word for AtomicU64 {
    fn new(value: u64) -> Self {
        AtomicU64::new(value)
    }
    fn load(&self) -> u64 {
        self.load(Relaxed)
    }
    fn exchange(&self, current: u64, new: u64) -> Result<(), u64> {
        self.compare_exchange(current, new, Relaxed, Relaxed).map(drop)
    }
}

/// A run of units. Two cache lines, for processors that fetch pairs of them.
#[repr(align(128))]
pub(super) struct Lane<W> {
    /// The first unit, and one past the last one in the upper half.
    word: W,
    /// The lane that the worker whose lane this is helps to empty: a hint.
    helps: AtomicU32,
}

/// The worker helps nobody.
const NOBODY: u32 = u32::MAX;

fn pack(units: Range<u32>) -> u64 {
    u64::from(units.end) << 32 | u64::from(units.start)
}

fn unpack(word: u64) -> Range<u32> {
    word as u32..(word >> 32) as u32
}

impl<W: Word> Lane<W> {
    pub(super) fn new(units: Range<u32>) -> Self {
        Self { word: W::new(pack(units)), helps: AtomicU32::new(NOBODY) }
    }

    /// The units that are left.
    pub(super) fn rest(&self) -> u32 {
        unpack(self.word.load()).len() as u32
    }

    /// Cuts off what `choose` makes of the units that are left: some at one of their ends, at least one.
    #[inline]
    pub(super) fn cut(&self, choose: impl Fn(Range<u32>) -> Range<u32>) -> Option<Range<u32>> {
        let mut word = self.word.load();
        loop {
            let left = unpack(word);
            if left.is_empty() {
                return None;
            }
            let taken = choose(left.clone());
            debug_assert!(!taken.is_empty() && (taken.start == left.start || taken.end == left.end));
            let kept = if taken.start == left.start { taken.end..left.end } else { left.start..taken.start };
            // Whoever was quicker has made it smaller: this ends.
            match self.word.exchange(word, pack(kept)) {
                Ok(()) => return Some(taken),
                Err(now) => word = now,
            }
        }
    }

    /// Where the worker has helped last.
    pub(super) fn helps(&self) -> Option<usize> {
        Some(self.helps.load(Relaxed)).filter(|&lane| lane != NOBODY).map(|lane| lane as usize)
    }

    pub(super) fn help(&self, lane: usize) {
        self.helps.store(lane as u32, Relaxed);
    }
}
