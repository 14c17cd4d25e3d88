//! The chunks of a relation by number: an array that only grows, in segments that never move. Adding a chunk copies
//! nothing, and whoever has a chunk's number reaches it without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Entries of the first segment; each further one has twice as many.
const FIRST: usize = 64;
/// Enough for 2^32 entries.
const SEGMENTS: usize = 27;

/// An array that grows at its end.
#[derive(Debug)]
pub(super) struct Directory<T> {
    segments: [OnceLock<Box<[OnceLock<T>]>>; SEGMENTS],
    next: AtomicUsize,
}

/// (segment, place in it)
fn place(number: usize) -> (usize, usize) {
    let segment = (number / FIRST + 1).ilog2() as usize;
    (segment, number - FIRST * ((1 << segment) - 1))
}

impl<T> Directory<T> {
    pub(super) fn new() -> Self {
        Self { segments: std::array::from_fn(|_| OnceLock::new()), next: AtomicUsize::new(0) }
    }

    /// Enters what `make` makes for its number, which it returns a reference to. Several threads may.
    pub(super) fn push(&self, make: impl FnOnce(usize) -> T) -> &T {
        // The numbers only have to differ: entries are published by their own locks.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (segment, at) = place(number);
        let segment = self.segments[segment].get_or_init(|| (0..FIRST << segment).map(|_| OnceLock::new()).collect());
        segment[at].get_or_init(|| make(number))
    }

    /// Numbers given out.
    pub(super) fn len(&self) -> usize {
        self.next.load(Ordering::Relaxed)
    }

    /// The entry of a number that a finished [`push`](Self::push) gave out.
    pub(super) fn get(&self, number: usize) -> &T {
        let (segment, at) = place(number);
        self.segments[segment].get().and_then(|segment| segment[at].get()).expect("pushed before")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_where_they_are_while_others_push() {
        const EACH: usize = if cfg!(miri) { 200 } else { 5000 };
        let directory = Directory::new();
        let first: *const usize = directory.push(|n| n);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        let number = *directory.push(|n| n);
                        assert_eq!(*directory.get(number), number);
                    }
                });
            }
        });
        assert_eq!(directory.len(), 3 * EACH + 1);
        assert!((0..directory.len()).all(|n| *directory.get(n) == n));
        assert_eq!(std::ptr::from_ref(directory.get(0)), first);
    }

    #[test]
    fn places_follow_each_other() {
        let mut expected = (0, 0);
        for number in 0..if cfg!(miri) { 1000 } else { 100_000 } {
            assert_eq!(place(number), expected);
            expected =
                if expected.1 + 1 == FIRST << expected.0 { (expected.0 + 1, 0) } else { (expected.0, expected.1 + 1) };
        }
        assert_eq!(place(u32::MAX as usize).0, SEGMENTS - 1);
    }
}
