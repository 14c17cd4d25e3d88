//! The query's result: columns that code fills, batches that leave as they are produced, and the queue between workers
//! and consumer.
//!
//! Workers never wait for the consumer. [`ResultQueue::is_full`] tells the driver to claim no further morsel (the
//! scheduler's `NotNow`), so the queue holds at most its limit and what the running morsels still produce; all of it is
//! charged to the query's budget. In an ordered result only what the consumer could take now counts as full, for
//! otherwise the morsel that it waits for might never be claimed.

mod local;
mod queue;
#[cfg(test)]
mod tests;

use std::ops::Range;

use base::{Budget, Result};
use scheduler::TaskSet;
use types::SqlType;

use crate::abi::ResultLocal;
use crate::rows::PerWorker;

pub use local::LocalResult;
pub use queue::{Next, ResultQueue};

const OPERATOR: &str = "result";

/// A result state.
#[derive(Debug)]
pub(crate) struct Results {
    locals: PerWorker<ResultLocal>,
    types: Box<[SqlType]>,
    queue: ResultQueue,
}

impl Results {
    pub(crate) fn new(types: &[SqlType], budget: &Budget, ordered: bool) -> Self {
        Self { locals: PerWorker::default(), types: types.into(), queue: ResultQueue::new(budget.clone(), ordered) }
    }

    pub(crate) fn queue(&self) -> &ResultQueue {
        &self.queue
    }

    /// The worker's part, made when it first comes.
    pub(crate) fn local(&self, worker: usize) -> *mut ResultLocal {
        self.locals.get_or(worker, || ResultLocal::new(&self.types))
    }

    /// Hands the worker's rows on.
    pub(crate) fn flush(&self, worker: usize, morsel: Range<u64>) -> Result<()> {
        // SAFETY: called by the worker itself.
        let local = unsafe { &mut *self.locals.get(worker) };
        match local.take() {
            Some(chunk) => self.queue.push(morsel, chunk),
            None => Ok(()),
        }
    }

    pub(crate) fn end_morsel(&self, worker: usize, morsel: Range<u64>) -> Result<()> {
        self.flush(worker, morsel.clone())?;
        self.queue.end_morsel(morsel);
        Ok(())
    }

    /// Nothing is left to do: the ends of the morsels have handed everything on.
    pub(crate) fn finalize(&self) -> Result<Option<Box<dyn TaskSet>>> {
        self.queue.finish(Ok(()));
        Ok(None)
    }
}
