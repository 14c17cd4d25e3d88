//! Running statements in the foreground of a program that looks after other things meanwhile: signals, progress.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base::panics::catch;
use base::{Error, Result, SqlState};
use types::Chunk;

use crate::QueryResult;

/// How often a client looks after other things.
const STEP: Duration = Duration::from_millis(50);
/// About what it takes to wake a thread.
const WAKING: Duration = Duration::from_micros(50);

/// Does `work` in a thread of its own, and calls `look` every 50 ms until it is done. A panic becomes an error.
pub fn foreground<T: Send>(work: impl FnOnce() -> Result<T> + Send, mut look: impl FnMut()) -> Result<T> {
    let (sender, receiver) = sync_channel(1);
    std::thread::scope(|scope| {
        // The receiver waits for nothing else.
        thread().spawn_scoped(scope, move || drop(sender.send(caught(work)))).map_err(no_thread)?;
        awaited(&receiver, &mut look)
    })
}

/// What a thread is given to do.
type Work = Box<dyn FnOnce() + Send>;

/// The thread in which a session's statements run, one after the other: made for the first, and kept, as making a thread takes
/// longer than many a statement.
#[derive(Default)]
pub struct Foreground(Mutex<Option<Sender<Work>>>);

impl Foreground {
    /// Does `work` in the thread, and calls `look` every 50 ms until it is done. A panic becomes an error.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
        mut look: impl FnMut(),
    ) -> Result<T> {
        let (sender, receiver) = sync_channel(1);
        let work: Work = Box::new(move || drop(sender.send(caught(work))));
        {
            let mut to = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if to.is_none() {
                let (sender, all) = channel::<Work>();
                thread()
                    .spawn(move || {
                        while let Some(work) = next(&all) {
                            work()
                        }
                    })
                    .map_err(no_thread)?;
                *to = Some(sender);
            }
            let sent = to.as_ref().map(|to| to.send(work));
            sent.and_then(std::result::Result::ok).ok_or_else(|| panicked("its thread is gone"))?;
        }
        awaited(&receiver, &mut look)
    }
}

/// What is sent within the time that it takes to wake somebody who waits for it.
fn at_once<T>(receiver: &Receiver<T>) -> Option<T> {
    let begin = Instant::now();
    while begin.elapsed() < WAKING {
        match receiver.try_recv() {
            Err(TryRecvError::Empty) => std::thread::yield_now(),
            sent => return sent.ok(),
        }
    }
    None
}

/// What the thread does next; none if nobody can say any more.
fn next(all: &Receiver<Work>) -> Option<Work> {
    at_once(all).or_else(|| all.recv().ok())
}

fn thread() -> std::thread::Builder {
    std::thread::Builder::new().name("statement".into())
}

#[cold]
fn no_thread(error: std::io::Error) -> Error {
    Error::new(SqlState::INSUFFICIENT_RESOURCES, format!("the system grants no thread for the statement: {error}"))
}

/// What the thread has sent when it is done.
fn awaited<T>(receiver: &Receiver<Result<T>>, look: &mut impl FnMut()) -> Result<T> {
    if let Some(result) = at_once(receiver) {
        return result;
    }
    loop {
        match receiver.recv_timeout(STEP) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => look(),
            Err(RecvTimeoutError::Disconnected) => return Err(panicked("its thread is gone")),
        }
    }
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

/// What work comes to; a panic becomes an error.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch(work).unwrap_or_else(|panic| Err(panicked(&panic)))
}

#[cold]
pub(crate) fn panicked(panic: &str) -> Error {
    Error::internal(format!("the statement ended unexpectedly: {panic}"))
}
