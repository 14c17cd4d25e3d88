//! The query's result: columns that code fills, batches that leave as they are produced, and the queue between workers
//! and consumer. The rows of a change leave the same way, for its [`Sink`].
//!
//! Workers never wait for the consumer. [`ResultQueue::is_full`] tells the driver to claim no further morsel (the
//! scheduler's `NotNow`), so the queue holds at most its limit and what the running morsels still produce; all of it is
//! charged to the query's budget. In an ordered result only what the consumer could take now counts as full, for
//! otherwise the morsel that it waits for might never be claimed.

mod layout;
mod local;
mod queue;
mod sink;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use base::{Budget, Result};
use scheduler::{Cutting, TaskSet};
use types::SqlType;

use crate::rows::PerWorker;
use crate::state::{State, Workers};

pub use layout::{ResultColumn, ResultLocal};
pub use local::LocalResult;
pub use queue::{Next, ResultQueue};
pub use sink::Sink;

const OPERATOR: &str = "result";

/// A result state.
#[derive(Debug)]
pub(crate) struct Results {
    locals: PerWorker<ResultLocal>,
    types: Box<[SqlType]>,
    destination: Destination,
}

/// Where rows go.
#[derive(Clone, Debug)]
struct Destination {
    /// Of a change, it has no rows and tells the end.
    queue: Arc<ResultQueue>,
    /// Where the rows of a change go.
    sink: Option<Arc<dyn Sink>>,
}

impl Results {
    pub(crate) fn new(types: &[SqlType], budget: &Budget, ordered: bool, sink: Option<Arc<dyn Sink>>) -> Self {
        let queue = Arc::new(ResultQueue::new(budget.clone(), ordered));
        Self { locals: PerWorker::default(), types: types.into(), destination: Destination { queue, sink } }
    }

    pub(crate) fn queue(&self) -> &Arc<ResultQueue> {
        &self.destination.queue
    }
}

impl State for Results {
    fn local(&self, worker: usize) -> *mut u8 {
        self.locals.get_or(worker, || ResultLocal::new(&self.types, worker, &self.destination)).cast()
    }

    fn end_morsel(&self, worker: usize, rows: Range<u64>, broken: bool) -> Result<()> {
        // SAFETY: called by the worker itself.
        unsafe { (*self.locals.get(worker)).flush(rows.clone())? };
        match &self.destination.sink {
            Some(sink) => sink.end_morsel(worker, rows, broken),
            None => self.destination.queue.end_morsel(rows),
        }
        Ok(())
    }

    /// The ends of the morsels have handed everything on: only a change has to take effect.
    fn finalize(self: Arc<Self>, _: &dyn Workers, _: usize, _: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
        if let Some(sink) = &self.destination.sink {
            sink.finish()?;
        }
        self.destination.queue.finish(Ok(()));
        Ok(None)
    }
}
