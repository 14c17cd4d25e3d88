//! The query's result: columns that code fills, batches that leave as they are produced, and the queue between workers
//! and consumer. The rows of a change leave the same way, for its [`Sink`].
//!
//! Workers never wait for the consumer. [`ResultQueue::is_full`] tells the driver to claim no further morsel (the
//! scheduler's `NotNow`), so the queue holds at most its limit and what the running morsels still produce; all of it is
//! charged to the query's budget. In an ordered result only what the consumer could take now counts as full, for
//! otherwise the morsel that it waits for might never be claimed.

mod local;
mod queue;
mod sink;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use base::{Budget, Result};
use scheduler::TaskSet;
use types::SqlType;

use crate::abi::ResultLocal;
use crate::rows::PerWorker;

pub use local::LocalResult;
pub use queue::{Next, ResultQueue};
pub use sink::Sink;

const OPERATOR: &str = "result";

/// A result state.
#[derive(Debug)]
pub(crate) struct Results {
    locals: PerWorker<ResultLocal>,
    types: Box<[SqlType]>,
    /// Of a change, it has no rows and tells the end.
    queue: ResultQueue,
    /// Where the rows of a change go.
    sink: Option<Arc<dyn Sink>>,
}

impl Results {
    pub(crate) fn new(types: &[SqlType], budget: &Budget, ordered: bool) -> Self {
        Self {
            locals: PerWorker::default(),
            types: types.into(),
            queue: ResultQueue::new(budget.clone(), ordered),
            sink: None,
        }
    }

    /// As [`new`](Self::new), for the rows of a change.
    pub(crate) fn to_sink(types: &[SqlType], budget: &Budget, sink: Arc<dyn Sink>) -> Self {
        Self { sink: Some(sink), ..Self::new(types, budget, false) }
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
        match (local.take(), &self.sink) {
            (Some(chunk), Some(sink)) => sink.append(worker, morsel.start, chunk),
            (Some(chunk), None) => self.queue.push(morsel, chunk),
            (None, _) => Ok(()),
        }
    }

    pub(crate) fn end_morsel(&self, worker: usize, morsel: Range<u64>) -> Result<()> {
        self.flush(worker, morsel.clone())?;
        match &self.sink {
            Some(sink) => sink.end_morsel(worker, morsel),
            None => self.queue.end_morsel(morsel),
        }
        Ok(())
    }

    /// The ends of the morsels have handed everything on: only a change has to take effect.
    pub(crate) fn finalize(&self) -> Result<Option<Box<dyn TaskSet>>> {
        if let Some(sink) = &self.sink {
            sink.finish()?;
        }
        self.queue.finish(Ok(()));
        Ok(None)
    }
}
