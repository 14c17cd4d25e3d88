//! A flag that stops a statement, wherever it is: reading a file, planning, running.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::{Error, Result, SqlState};

/// Shared by whoever may stop a statement and by all that works for it, which looks at it in every loop that may be long.
///
/// The scheduler looks at it between morsels (thesis 4.4.1), so that workers clean up instead of being killed. A job
/// with no worker inside (one that waits for its consumer, say) notices within 50 ms of somebody waiting for it.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    /// Why it shall stop, if it shall: one of the reasons below.
    stopped: AtomicU8,
    /// What this is a part of, and stops with.
    outer: Option<CancelToken>,
}

/// Nobody has stopped it.
const NOT: u8 = 0;
/// A user has.
const CANCELLED: u8 = 1;
/// Its time was over.
const LATE: u8 = 2;

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }
    /// A token of a part of the statement, that may stop alone.
    pub fn nested(&self) -> Self {
        Self(Arc::new(Flags { outer: Some(self.clone()), ..Flags::default() }))
    }
    /// Asks the statement to stop. Safe in a signal handler.
    pub fn cancel(&self) {
        self.stop(CANCELLED);
    }
    /// Asks the statement to stop because its time is over. What came first is what it ends with.
    pub fn time_out(&self) {
        self.stop(LATE);
    }
    /// In one step, so that the first reason stays.
    fn stop(&self, reason: u8) {
        let _ = self.0.stopped.compare_exchange(NOT, reason, Ordering::Release, Ordering::Relaxed);
    }
    /// Whether it shall stop: one load, and one for each that it is a part of.
    pub fn is_cancelled(&self) -> bool {
        self.0.stopped.load(Ordering::Acquire) != NOT || self.0.outer.as_ref().is_some_and(Self::is_cancelled)
    }
    /// Whether both are one statement's.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
    /// Fails with `QUERY_CANCELED` once cancelled.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(self.error()) } else { Ok(()) }
    }
    /// What the statement ends with once cancelled.
    pub fn error(&self) -> Error {
        if let Some(outer) = self.0.outer.as_ref().filter(|outer| outer.is_cancelled()) {
            return outer.error();
        }
        match self.0.stopped.load(Ordering::Relaxed) == LATE {
            true => Error::new(SqlState::QUERY_CANCELED, "canceling statement due to statement timeout")
                .hint("statement_timeout says how long a statement may take"),
            false => canceled(),
        }
    }
}

/// What a statement that its user has cancelled ends with.
pub fn canceled() -> Error {
    Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stop_alone_and_with_the_whole() {
        let whole = CancelToken::new();
        let (one, other) = (whole.nested(), whole.nested());
        one.cancel();
        assert!(one.is_cancelled() && !other.is_cancelled() && !whole.is_cancelled());
        whole.time_out();
        assert!(other.check().unwrap_err().message().contains("statement timeout"));
    }

    #[test]
    fn what_came_first_is_the_reason() {
        let token = CancelToken::new();
        assert!(token.check().is_ok());
        token.clone().time_out();
        token.cancel();
        assert!(token.check().unwrap_err().message().contains("statement timeout"));
        let token = CancelToken::new();
        token.cancel();
        token.time_out();
        assert!(token.check().unwrap_err().message().contains("user request"));
    }
}
