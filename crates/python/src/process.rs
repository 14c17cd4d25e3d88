//! Which process this is.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use base::{Error, SqlState};

/// Where something was made: a forked process has its memory, but not its threads.
#[derive(Clone, Copy)]
pub struct Process(u32);

/// How many forks lie between this process and the one that loaded the module.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// What a process does first that was forked.
extern "C" fn forked() {
    FORKS.fetch_add(1, Relaxed);
}

/// A number that no ancestor of this process has had. To ask the system for the process's own takes as long as a tenth of a
/// statement by key, which needs it several times.
fn number() -> u32 {
    static COUNTED: OnceLock<bool> = OnceLock::new();
    // SAFETY: the function does nothing but what signal handlers may do, and is there as long as the process is.
    let count = || unsafe { libc::pthread_atfork(None, None, Some(forked)) } == 0;
    if *COUNTED.get_or_init(count) { FORKS.load(Relaxed) } else { std::process::id() }
}

impl Process {
    pub fn this() -> Self {
        Self(number())
    }

    /// An error in any other process.
    pub fn check(self) -> base::Result<()> {
        if self.0 == number() {
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
