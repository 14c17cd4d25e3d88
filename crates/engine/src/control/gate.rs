//! Who may be at it at once: any number of transactions of one control, or a serial one.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base::{CancelToken, Result};

use super::ConcurrencyControl;

/// About what it takes to wake a thread: shorter waits are not slept through.
const AWAKE: Duration = Duration::from_micros(20);
/// How often somebody who waits looks whether that is wanted.
const LOOK: Duration = Duration::from_millis(10);

/// See the module: the control of those inside, above how many they are.
#[derive(Default)]
pub(super) struct Gate {
    state: AtomicU64,
    /// How many sleep.
    waiting: AtomicU32,
    asleep: Mutex<()>,
    left: Condvar,
}

const COUNT: u64 = u32::MAX as u64;

impl Gate {
    /// Whether one has come in.
    fn try_enter(&self, control: ConcurrencyControl) -> bool {
        let kind = (control as u64) << 32;
        let come = |state: u64| {
            let inside = state & COUNT;
            let may = inside == 0 || state & !COUNT == kind && control != ConcurrencyControl::Serial;
            may.then_some(kind | (inside + 1))
        };
        self.state.fetch_update(Ordering::SeqCst, Ordering::SeqCst, come).is_ok()
    }

    /// Whether there are transactions of another control inside.
    pub fn has_others(&self, control: ConcurrencyControl) -> bool {
        let state = self.state.load(Ordering::SeqCst);
        state & COUNT > 0 && state & !COUNT != (control as u64) << 32
    }

    /// Waits until one can come in.
    pub fn enter(&self, control: ConcurrencyControl, token: &CancelToken) -> Result<()> {
        if self.try_enter(control) {
            return Ok(());
        }
        let begin = Instant::now();
        while begin.elapsed() < AWAKE {
            std::thread::yield_now();
            if self.try_enter(control) {
                return Ok(());
            }
        }
        let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        // Whoever leaves sees that somebody sleeps, or has left before this looks.
        let entered = loop {
            if self.try_enter(control) {
                break Ok(());
            }
            if let Err(error) = token.check() {
                break Err(error);
            }
            asleep = self.left.wait_timeout(asleep, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        entered
    }

    /// One goes.
    pub fn leave(&self) {
        let before = self.state.fetch_sub(1, Ordering::SeqCst);
        if before & COUNT == 1 && self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.asleep.lock().unwrap_or_else(PoisonError::into_inner));
            self.left.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ConcurrencyControl::{Mvcc, Serial, TwoPhaseLocking};
    use super::*;

    #[test]
    fn one_control_at_a_time_and_one_serial_transaction() {
        let gate = Gate::default();
        assert!(
            gate.try_enter(Mvcc) && gate.try_enter(Mvcc) && !gate.try_enter(Serial) && !gate.try_enter(TwoPhaseLocking)
        );
        gate.leave();
        assert!(!gate.try_enter(Serial));
        gate.leave();
        assert!(gate.try_enter(Serial) && !gate.try_enter(Serial) && !gate.try_enter(Mvcc));
        gate.leave();
        let (inside, most) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        gate.enter(Serial, &CancelToken::new()).unwrap();
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        gate.leave();
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
        assert!(gate.try_enter(Mvcc));
        let token = CancelToken::new();
        token.cancel();
        assert!(gate.enter(Serial, &token).is_err());
    }
}
