//! `sleep` under a model checker: the same file over the checker's synchronisation.

/// The checker's synchronisation, under the names that `sleep` expects.
mod sync {
    pub(super) use shuttle::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    pub(super) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
}

#[path = "sleep.rs"]
#[allow(clippy::duplicate_mod, reason = "the same text over another `sync`")]
mod sleep;

use sleep::{Bed, Dormitory};
use sync::{Arc, AtomicUsize, Ordering::SeqCst};

/// Producers announce pieces of work, consumers take them and sleep when there are none. A lost call is a deadlock,
/// which the checker reports.
fn nobody_oversleeps(producers: usize, consumers: usize) {
    let dormitory = Arc::new(Dormitory::default());
    let (work, taken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut threads = Vec::new();
    for _ in 0..consumers {
        let (dormitory, work, taken) = (dormitory.clone(), work.clone(), taken.clone());
        threads.push(shuttle::thread::spawn(move || {
            let bed = Arc::new(Bed::default());
            loop {
                let seen = dormitory.signal();
                if work.fetch_update(SeqCst, SeqCst, |work| work.checked_sub(1)).is_ok() {
                    if taken.fetch_add(1, SeqCst) + 1 == producers {
                        dormitory.announce(usize::MAX);
                    } else if dormitory.has_sleepers() {
                        dormitory.call_one();
                    }
                }
                if taken.load(SeqCst) == producers {
                    return;
                }
                if work.load(SeqCst) == 0 {
                    dormitory.sleep(&bed, seen);
                }
            }
        }));
    }
    for _ in 0..producers {
        let (dormitory, work) = (dormitory.clone(), work.clone());
        threads.push(shuttle::thread::spawn(move || {
            work.fetch_add(1, SeqCst);
            dormitory.announce(1);
        }));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn no_call_is_lost() {
    shuttle::check_random(|| nobody_oversleeps(2, 2), 3_000);
    shuttle::check_random(|| nobody_oversleeps(3, 2), 1_000);
    shuttle::check_pct(|| nobody_oversleeps(1, 3), 1_000, 3);
}
