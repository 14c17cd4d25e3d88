//! Deadlines of statements: a thread of the database sleeps until the next of them and does what is to be done then.
//!
//! A deadline costs a statement a lock and a place in a tree, and the thread is woken only for one that is earlier than what
//! it sleeps for: statements one after the other with the same time allowed wake it once in that time. A database without
//! such statements has no such thread.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use base::{Error, Result, SqlState};

/// What happens at a deadline.
type Action = Box<dyn FnOnce() + Send>;

/// The deadlines of a database.
pub(crate) struct Timeouts {
    shared: Arc<Shared>,
    /// Whose thread it is: after a fork the child has none, and the lock may be anyone's.
    process: u32,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The number tells equal times apart.
    deadlines: BTreeMap<(Instant, u64), Action>,
    last: u64,
    /// Whether the thread is there, and until when it sleeps; none: until it is woken.
    started: bool,
    sleeps_until: Option<Instant>,
    shut: bool,
}

/// A deadline, until it is dropped.
pub(crate) struct Deadline {
    shared: Arc<Shared>,
    key: (Instant, u64),
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { shared: Arc::default(), process: std::process::id() }
    }
}

impl Timeouts {
    /// Does this at that time, unless the deadline is dropped before.
    pub fn at(&self, time: Instant, action: impl FnOnce() + Send + 'static) -> Result<Deadline> {
        let mut state = self.shared.lock();
        if !state.started {
            self.start()?;
            state.started = true;
        }
        state.last += 1;
        let key = (time, state.last);
        state.deadlines.insert(key, Box::new(action));
        let wake = state.sleeps_until.is_none_or(|until| time < until);
        drop(state);
        if wake {
            self.shared.changed.notify_one();
        }
        Ok(Deadline { shared: self.shared.clone(), key })
    }

    fn start(&self) -> Result<()> {
        let shared = self.shared.clone();
        let spawned = std::thread::Builder::new().name("timeouts".into()).spawn(move || shared.watch());
        spawned.map(drop).map_err(|e| {
            Error::new(SqlState::INSUFFICIENT_RESOURCES, format!("the system grants no thread for timeouts: {e}"))
        })
    }
}

impl Drop for Timeouts {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.shared.lock().shut = true;
            self.shared.changed.notify_one();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the thread does.
    fn watch(&self) {
        let mut state = self.lock();
        while !state.shut {
            let now = Instant::now();
            if let Some(due) = state.deadlines.first_entry().filter(|first| first.key().0 <= now) {
                let action = due.remove();
                // It may take locks under which deadlines go.
                drop(state);
                action();
                state = self.lock();
                continue;
            }
            state.sleeps_until = state.deadlines.first_key_value().map(|(key, _)| key.0);
            state = match state.sleeps_until {
                Some(until) => {
                    let woken = self.changed.wait_timeout(state, until.saturating_duration_since(now));
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.shared.lock().deadlines.remove(&self.key);
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Deadline").field(&self.key.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base::CancelToken;

    use super::*;

    #[test]
    fn deadlines_come_in_their_order_and_those_of_ended_statements_do_not() {
        let timeouts = Timeouts::default();
        let now = Instant::now();
        let tokens: Vec<CancelToken> = (0..3).map(|_| CancelToken::new()).collect();
        let stop = |token: &CancelToken, ms| {
            let token = token.clone();
            timeouts.at(now + Duration::from_millis(ms), move || token.time_out())
        };
        // The later one first: the thread has to be woken for the other.
        let late = stop(&tokens[0], 60_000).unwrap();
        let soon = stop(&tokens[1], 30).unwrap();
        let ended = stop(&tokens[2], 20).unwrap();
        drop(ended);
        while !tokens[1].is_cancelled() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(now.elapsed() >= Duration::from_millis(30));
        assert!(!tokens[0].is_cancelled() && !tokens[2].is_cancelled());
        drop((late, soon));
        assert!(timeouts.shared.lock().deadlines.is_empty());
    }
}
