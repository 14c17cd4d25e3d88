//! Who looks into an index: readers in several places, so that they do not write to one cache line, and the few who have to wait for
//! all of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// Places of readers: threads that share one write to the same line.
const PLACES: usize = 16;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Looking([Place; PLACES]);

/// In a line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Place(RwLock<()>);

thread_local! {
    /// The thread's place in all indexes.
    static OWN: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % PLACES
    };
}

impl Looking {
    /// Somebody looks, until this is dropped.
    pub(crate) fn look(&self) -> RwLockReadGuard<'_, ()> {
        let own = OWN.with(|own| *own);
        self.0[own].0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody looks who has begun before.
    pub(crate) fn wait(&self) {
        self.0.iter().for_each(|place| drop(place.0.write().unwrap_or_else(PoisonError::into_inner)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn who_waits_waits_for_those_that_look_and_for_nobody_else() {
        let (looking, looked) = (Looking::default(), AtomicBool::new(false));
        looking.wait();
        let (looks, begun) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..2 * PLACES {
                let (looking, looked, looks) = (&looking, &looked, looks.clone());
                scope.spawn(move || {
                    let guard = looking.look();
                    looks.send(()).unwrap();
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    looked.store(true, Ordering::SeqCst);
                    drop(guard);
                });
            }
            (0..2 * PLACES).for_each(|_| begun.recv().unwrap());
            looking.wait();
            assert!(looked.load(Ordering::SeqCst));
        });
    }
}
