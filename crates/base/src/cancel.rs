//! A flag that stops a statement, wherever it is: reading a file, planning, running.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, Result, SqlState};

/// Shared by whoever may stop a statement and by all that works for it, which looks at it in every loop that may be long.
///
/// The scheduler looks at it between morsels (thesis 4.4.1), so that workers clean up instead of being killed. A job
/// with no worker inside (one that waits for its consumer, say) notices within 50 ms of somebody waiting for it.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }
    /// Asks the statement to stop. Safe in a signal handler.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }
    /// Whether it shall stop: one load.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
    /// Fails with `QUERY_CANCELED` once cancelled.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(canceled()) } else { Ok(()) }
    }
    /// The flag itself, for generated code to poll: non-zero means stop. Valid while a clone of the token lives.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }
}

/// What a cancelled statement ends with.
pub fn canceled() -> Error {
    Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request")
}
