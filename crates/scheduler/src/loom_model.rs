//! The lanes, the gate, the event count and the consumer's calls under loom, which tries what weak orders of memory allow, too: `make loom`.

/// Loom's synchronisation, under the names that the files expect.
mod sync {
    pub(super) use loom::sync::atomic::Ordering;
    pub(super) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
    use std::ops::Deref;
    use std::time::Duration;

    /// The time is over at once.
    pub(super) fn wait_a_while<'a, T>(_: &Condvar, guard: MutexGuard<'a, T>, _: Duration) -> (MutexGuard<'a, T>, bool) {
        (guard, true)
    }

    /// Loom takes what is sequentially consistent for acquire and release but for fences: so they stand beside it.
    macro_rules! sequential {
        ($name:ident, $value:ty) => {
            #[derive(Default)]
            pub(super) struct $name(loom::sync::atomic::$name);

            impl $name {
                fn ordered<T>(order: Ordering, operation: impl FnOnce() -> T) -> T {
                    let fence = || {
                        if order == Ordering::SeqCst {
                            loom::sync::atomic::fence(order);
                        }
                    };
                    fence();
                    let result = operation();
                    fence();
                    result
                }
                #[allow(dead_code, reason = "of two types, one stores")]
                pub(super) fn store(&self, value: $value, order: Ordering) {
                    Self::ordered(order, || self.0.store(value, order));
                }
                pub(super) fn load(&self, order: Ordering) -> $value {
                    Self::ordered(order, || self.0.load(order))
                }
                pub(super) fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                    Self::ordered(order, || self.0.fetch_add(value, order))
                }
                pub(super) fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                    Self::ordered(order, || self.0.fetch_sub(value, order))
                }
            }

            impl Deref for $name {
                type Target = loom::sync::atomic::$name;
                fn deref(&self) -> &Self::Target {
                    &self.0
                }
            }
        };
    }
    sequential!(AtomicU64, u64);
    sequential!(AtomicUsize, usize);
}

#[path = "calls.rs"]
#[allow(clippy::duplicate_mod, reason = "the same text over another `sync`")]
mod calls;
#[path = "event_count.rs"]
#[allow(clippy::duplicate_mod, dead_code, reason = "the same text over another `sync`")]
mod event_count;
#[path = "gate.rs"]
#[allow(clippy::duplicate_mod, dead_code, reason = "the same text over another `sync`")]
mod gate;

use base::ids::Id;
use calls::Calls;
use event_count::{EventCount, Parker};
use gate::Gate;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread::spawn;

use crate::morsel::{Claim, Morsel, WorkerId};
use crate::ranges::{MorselRanges, Word};
use crate::size::{Sizes, Wanted};

impl Word for AtomicU64 {
    fn new(value: u64) -> Self {
        AtomicU64::new(value)
    }
    fn load(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }
    fn exchange(&self, current: u64, new: u64) -> Result<(), u64> {
        self.compare_exchange(current, new, Ordering::Relaxed, Ordering::Relaxed).map(drop)
    }
}

#[test]
fn every_morsel_is_claimed_once() {
    loom::model(|| {
        let ranges = Arc::new(MorselRanges::<AtomicU64>::cut(3, 2, Sizes::fixed(1)));
        let claimed = |ranges: &MorselRanges<AtomicU64>, worker| -> Vec<Morsel> {
            let claim = || match ranges.claim(WorkerId::from_index(worker), Wanted::USUAL) {
                Claim::Morsel { morsel, .. } => Some(morsel),
                Claim::NotNow | Claim::Done => None,
            };
            std::iter::from_fn(claim).collect()
        };
        let other = {
            let ranges = ranges.clone();
            spawn(move || claimed(&ranges, 1))
        };
        let mut all = claimed(&ranges, 0);
        all.extend(other.join().unwrap());
        all.sort();
        assert_eq!(all, [0, 1, 2].map(|begin| Morsel { begin, end: begin + 1 }));
    });
}

#[test]
fn what_was_done_inside_is_visible_to_whoever_finds_nobody_inside() {
    let mut builder = loom::model::Builder::new();
    // All interleavings take a minute.
    builder.preemption_bound = Some(3);
    builder.check(|| {
        // Loom finds it if a cell is read while it is written, or before that is visible.
        let shared = Arc::new((Gate::default(), [UnsafeCell::new(0), UnsafeCell::new(0)]));
        let workers = [0, 1].map(|worker| {
            let shared = shared.clone();
            spawn(move || {
                let (gate, cells) = &*shared;
                if gate.enter() {
                    // SAFETY: the worker's own cell, which nobody else reads before it has left.
                    cells[worker].with_mut(|cell| unsafe { *cell += 1 });
                    if !gate.leave() {
                        gate.remove();
                    }
                }
            })
        });
        let (gate, cells) = &*shared;
        gate.bar(true);
        if gate.inside() == 0 {
            // SAFETY: nobody is inside, and nobody can enter.
            let sum: i32 = cells.iter().map(|cell| cell.with(|cell| unsafe { *cell })).sum();
            assert!(sum <= 2);
        }
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn no_notification_is_lost() {
    loom::model(|| {
        // A lost notification is a deadlock, which loom reports.
        let shared = Arc::new((EventCount::default(), AtomicU64::new(0)));
        let consumer = {
            let shared = shared.clone();
            spawn(move || {
                let (events, work) = &*shared;
                let parker = Arc::new(Parker::default());
                loop {
                    let seen = events.epoch();
                    if work.load(Ordering::Relaxed) > 0 {
                        return;
                    }
                    events.park(&parker, seen);
                }
            })
        };
        let (events, work) = &*shared;
        work.fetch_add(1, Ordering::Relaxed);
        events.announce(1);
        consumer.join().unwrap();
    });
}

#[test]
fn no_call_of_the_consumer_is_lost() {
    loom::model(|| {
        // Room for a morsel is made once. Either the worker sees it, or that there was a call, or the consumer sees that it
        // has paused, and resumes it under the lock.
        let shared = Arc::new((Calls::default(), AtomicU64::new(0), loom::sync::Mutex::new(false)));
        let consumer = {
            let shared = shared.clone();
            spawn(move || {
                let (calls, room, paused) = &*shared;
                room.store(1, Ordering::Relaxed);
                if calls.call() {
                    let mut paused = paused.lock().unwrap();
                    calls.resume();
                    *paused = false;
                }
            })
        };
        let (calls, room, paused) = &*shared;
        let so_far = calls.so_far();
        if room.load(Ordering::Relaxed) == 0 {
            let mut paused = paused.lock().unwrap();
            *paused = true;
            if !calls.pause(so_far) {
                *paused = false;
            }
        }
        consumer.join().unwrap();
        assert!(!*paused.lock().unwrap(), "the worker waits, and nobody will call again");
    });
}
