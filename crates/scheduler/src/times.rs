//! When a job was taken up and when it ended, and how long it waited for its consumer.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Written where the job's state changes anyway, never for a morsel.
pub(crate) struct Times {
    submitted: Instant,
    taken_up: OnceLock<Instant>,
    ended: OnceLock<Instant>,
    held_up: Mutex<HeldUp>,
}

#[derive(Clone, Copy, Default)]
struct HeldUp {
    since: Option<Instant>,
    before: Duration,
}

/// What became of a job's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobTimes {
    /// Until a worker took it up; none as long as nobody has.
    pub queued: Option<Duration>,
    /// How long some pipeline could not go on because the consumer was behind.
    pub held_up: Duration,
    /// Whether one cannot go on now.
    pub is_held_up: bool,
    /// From its submission to its end, if it has ended.
    pub total: Option<Duration>,
}

impl Times {
    pub(crate) fn new() -> Self {
        let held_up = Mutex::default();
        Self { submitted: Instant::now(), taken_up: OnceLock::new(), ended: OnceLock::new(), held_up }
    }

    /// A worker starts a stage.
    pub(crate) fn take_up(&self) {
        self.taken_up.get_or_init(Instant::now);
    }

    /// A pipeline waits for the consumer from now on.
    pub(crate) fn hold_up(&self) {
        self.lock().since.get_or_insert_with(Instant::now);
    }

    /// Nothing waits for the consumer any more.
    pub(crate) fn go_on(&self) {
        let mut held_up = self.lock();
        if let Some(since) = held_up.since.take() {
            held_up.before += since.elapsed();
        }
    }

    pub(crate) fn end(&self) {
        self.go_on();
        self.ended.get_or_init(Instant::now);
    }

    pub(crate) fn sum(&self) -> JobTimes {
        let HeldUp { since, before } = *self.lock();
        let after = |at: &OnceLock<Instant>| Some(at.get()?.duration_since(self.submitted));
        JobTimes {
            queued: after(&self.taken_up),
            held_up: before + since.map_or(Duration::ZERO, |since| since.elapsed()),
            is_held_up: since.is_some(),
            total: after(&self.ended),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HeldUp> {
        self.held_up.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
