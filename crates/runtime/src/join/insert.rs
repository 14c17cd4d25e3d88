//! Inserting a row into a slot: thesis figure 4.8.

use std::sync::atomic::{AtomicU64, Ordering};

use super::tags::ADDRESS;

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

/// Pushes the row at address `row` onto the slot's chain, whose tag has `tag` too from then on; `link` stores the next row's
/// address in it (again after each lost race). Whether there is a next one.
#[inline(always)]
pub(super) fn insert(slot: &impl Slot, row: u64, tag: u64, mut link: impl FnMut(u64)) -> bool {
    debug_assert!(row & !ADDRESS == 0);
    let mut old = slot.load();
    loop {
        link(old & ADDRESS);
        match slot.exchange(old, row | (old & !ADDRESS) | tag) {
            Ok(()) => return old & ADDRESS != 0,
            Err(found) => old = found,
        }
    }
}

#[cfg(test)]
mod model {
    //! The insertion under a model checker: threads are interleaved at every access to the slot.

    use super::*;
    use shuttle::sync::atomic::AtomicU64 as Modelled;
    use std::sync::Arc;

    impl Slot for Modelled {
        fn load(&self) -> u64 {
            self.load(Ordering::Relaxed)
        }
        fn exchange(&self, old: u64, new: u64) -> Result<(), u64> {
            self.compare_exchange(old, new, Ordering::Release, Ordering::Relaxed).map(drop)
        }
    }

    #[test]
    fn no_row_is_lost_and_no_tag_forgotten() {
        const ROWS: u64 = 3;
        const THREADS: u64 = 3;
        let hash = |row: u64| types::ops::hash::hash_u64(row);
        shuttle::check_random(
            move || {
                let slot = Arc::new(Modelled::new(0));
                // Row r, for r from 1 on, links to links[r].
                let links: Arc<Vec<_>> = Arc::new((0..=ROWS * THREADS).map(|_| Modelled::new(0)).collect());
                let threads: Vec<_> = (0..THREADS)
                    .map(|thread| {
                        let (slot, links) = (slot.clone(), links.clone());
                        shuttle::thread::spawn(move || {
                            for row in thread * ROWS + 1..=(thread + 1) * ROWS {
                                let link = |next| links[row as usize].store(next, Ordering::Relaxed);
                                insert(&*slot, row, super::super::tags::tag(hash(row)), link);
                            }
                        })
                    })
                    .collect();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
                let word = Slot::load(&*slot);
                let (mut chain, mut row) = (Vec::new(), word & ADDRESS);
                while row != 0 {
                    assert!(super::super::tags::admits(word, hash(row)));
                    chain.push(row);
                    row = Slot::load(&links[row as usize]);
                }
                chain.sort_unstable();
                assert!(chain.into_iter().eq(1..=ROWS * THREADS));
            },
            500,
        );
    }
}
