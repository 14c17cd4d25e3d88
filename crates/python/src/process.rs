//! Which process this is.

use base::{Error, SqlState};

/// Where something was made: a forked process has its memory, but not its threads.
#[derive(Clone, Copy)]
pub struct Process(u32);

impl Process {
    pub fn this() -> Self {
        Self(std::process::id())
    }

    /// An error in any other process.
    pub fn check(self) -> base::Result<()> {
        if self.0 == std::process::id() {
            return Ok(());
        }
        Err(Error::new(SqlState::CONNECTION_DOES_NOT_EXIST, "the connection belongs to another process")
            .hint("connect anew after a fork"))
    }
}
