//! `event_count` under a model checker: the same file over the checker's synchronisation.

/// The checker's synchronisation, under the names that `event_count` expects.
mod sync {
    pub(super) use shuttle::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    pub(super) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};

    use std::time::Duration;

    /// The time is over at once.
    pub(super) fn wait_a_while<'a, T>(_: &Condvar, guard: MutexGuard<'a, T>, _: Duration) -> (MutexGuard<'a, T>, bool) {
        (guard, true)
    }
}

#[path = "event_count.rs"]
#[allow(clippy::duplicate_mod, reason = "the same text over another `sync`")]
mod event_count;

use event_count::{EventCount, Parker};
use sync::{Arc, AtomicUsize, Ordering::SeqCst};

/// Producers announce pieces of work, consumers take them and park when there are none. A lost notification is a deadlock,
/// which the checker reports.
fn nobody_oversleeps(producers: usize, consumers: usize) {
    let events = Arc::new(EventCount::default());
    let (work, taken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut threads = Vec::new();
    for _ in 0..consumers {
        let (events, work, taken) = (events.clone(), work.clone(), taken.clone());
        threads.push(shuttle::thread::spawn(move || {
            let parker = Arc::new(Parker::default());
            loop {
                let seen = events.epoch();
                if work.fetch_update(SeqCst, SeqCst, |work| work.checked_sub(1)).is_ok() {
                    if taken.fetch_add(1, SeqCst) + 1 == producers {
                        events.announce(usize::MAX);
                    } else if events.has_parked() {
                        events.notify_one();
                    }
                }
                if taken.load(SeqCst) == producers {
                    return;
                }
                if work.load(SeqCst) == 0 {
                    events.park(&parker, seen);
                }
            }
        }));
    }
    for _ in 0..producers {
        let (events, work) = (events.clone(), work.clone());
        threads.push(shuttle::thread::spawn(move || {
            work.fetch_add(1, SeqCst);
            events.announce(1);
        }));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn no_notification_is_lost() {
    shuttle::check_random(|| nobody_oversleeps(2, 2), 3_000);
    shuttle::check_random(|| nobody_oversleeps(3, 2), 1_000);
    shuttle::check_pct(|| nobody_oversleeps(1, 3), 1_000, 3);
}
