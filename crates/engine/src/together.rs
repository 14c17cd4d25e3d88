//! Work that a client's thread does together with the workers, those of them that are free. It depends on none of them: they
//! may all be waiting for what this thread holds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use base::helpers::{Helpers, PieceStep};
use base::{Error, Result};
use scheduler::{Claim, JobOptions, JobSpec, Morsel, Pipeline, Progress, TaskSet, Wanted, WorkerId};

use crate::database::Database;

/// See the module.
pub(crate) struct Together {
    /// What they do.
    pub name: &'static str,
    pub database: Database,
    pub options: JobOptions,
}

/// Pieces that somebody takes.
struct Pieces {
    next: AtomicUsize,
    count: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// What is done with a piece, until all have been done: a worker that comes late keeps nothing of it.
    step: Option<PieceStep>,
    /// How many pieces are being done.
    running: usize,
    error: Option<Error>,
}

/// Somebody does a piece.
struct Doing<'a>(&'a Pieces);

impl Drop for Doing<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running -= 1;
        if std::thread::panicking() {
            state.error.get_or_insert_with(|| Error::internal("a piece of work has panicked"));
        }
        self.0.changed.notify_all();
    }
}

impl Pieces {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does one piece, from its beginning to its end; false if there is none left.
    fn next(&self) -> Result<bool> {
        let mut state = self.state();
        let piece = self.next.load(Ordering::Relaxed);
        let Some(step) = state.step.clone().filter(|_| piece < self.count && state.error.is_none()) else {
            return Ok(false);
        };
        self.next.store(piece + 1, Ordering::Relaxed);
        state.running += 1;
        drop(state);
        let _doing = Doing(self);
        let done = loop {
            match step(piece) {
                Ok(true) => break Ok(true),
                Ok(false) => {}
                Err(error) => break Err(error),
            }
        };
        if let Err(error) = &done {
            self.state().error.get_or_insert_with(|| error.clone());
        }
        done
    }
}

/// A worker's part.
struct Share(Arc<Pieces>);

impl TaskSet for Share {
    fn claim(&self, _worker: WorkerId, _wanted: Wanted) -> Claim {
        match self.0.next.load(Ordering::Relaxed) < self.0.count {
            true => Claim::Morsel { morsel: Morsel { begin: 0, end: 1 }, node: None, stolen: false },
            false => Claim::Done,
        }
    }

    fn run(&self, _worker: WorkerId, _morsel: Morsel) -> Result<Progress> {
        // Who has asked for it knows of errors.
        let _ = self.0.next();
        Ok(Progress::Done)
    }
}

impl Helpers for Together {
    fn each(&self, count: usize, step: PieceStep) -> Result<()> {
        let state = Mutex::new(State { step: Some(step), running: 0, error: None });
        let pieces = Arc::new(Pieces { next: AtomicUsize::new(0), count, state, changed: Condvar::new() });
        if count > 1 {
            let (mut job, pieces) = (JobSpec::new(), pieces.clone());
            job.add(Pipeline::new(self.name, move |_| Ok(Box::new(Share(pieces.clone())))), &[]);
            self.database.0.scheduler.submit(job, self.options.clone());
        }
        while pieces.next().unwrap_or(false) {}
        let mut state = pieces.state();
        while state.running > 0 {
            state = pieces.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let (error, step) = (state.error.take(), state.step.take());
        drop(state);
        drop(step);
        // Workers that come late find nothing to do.
        pieces.next.store(count, Ordering::Relaxed);
        error.map_or(Ok(()), Err)
    }
}
