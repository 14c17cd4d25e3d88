//! Running statements in the foreground of a program that looks after other things meanwhile: signals, progress.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use base::panics::catch;
use base::{Error, Result, SqlState};
use types::Chunk;

use crate::QueryResult;

/// How often a client looks after other things.
const STEP: Duration = Duration::from_millis(50);

/// Does `work` in a thread of its own, and calls `look` every 50 ms until it is done. A panic becomes an error.
pub fn foreground<T: Send>(work: impl FnOnce() -> Result<T> + Send, mut look: impl FnMut()) -> Result<T> {
    let (sender, receiver) = sync_channel(1);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("statement".into());
        // The receiver waits for nothing else.
        let spawned = thread.spawn_scoped(scope, move || drop(sender.send(caught(work))));
        spawned.map_err(|e| {
            Error::new(SqlState::INSUFFICIENT_RESOURCES, format!("the system grants no thread for the statement: {e}"))
        })?;
        loop {
            match receiver.recv_timeout(STEP) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) => look(),
                Err(RecvTimeoutError::Disconnected) => return Err(panicked("its thread is gone")),
            }
        }
    })
}

/// The next rows of a result; none at the end. Calls `look` every 50 ms while it waits for them. A panic becomes an error.
pub fn next_chunk(result: &mut QueryResult, mut look: impl FnMut(&QueryResult)) -> Result<Option<Chunk>> {
    loop {
        match caught(|| result.poll_chunk(STEP))? {
            Some(chunk) => return Ok(chunk),
            None => look(result),
        }
    }
}

fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch(work).unwrap_or_else(|panic| Err(panicked(&panic)))
}

#[cold]
fn panicked(panic: &str) -> Error {
    Error::internal(format!("the statement ended unexpectedly: {panic}"))
}
