//! Which process this is.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

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

/// What is only dropped where it was made: in a forked process, locks in it may be held by threads that are not there.
pub struct Own<T> {
    value: ManuallyDrop<T>,
    process: Process,
}

impl<T> Own<T> {
    pub fn new(value: T) -> Self {
        Self { value: ManuallyDrop::new(value), process: Process::this() }
    }
}

impl<T: Default> Default for Own<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Deref for Own<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Own<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.process.check().is_ok() {
            // SAFETY: nobody uses it any more.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}
