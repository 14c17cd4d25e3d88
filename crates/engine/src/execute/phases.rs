//! What each phase of a finalisation took, for EXPLAIN ANALYZE: phases are morsels of their own, so a clock read for each
//! costs nothing that shows.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use base::Result;
use base::ids::Id;
use pipeline::ir::PipelineId;
use scheduler::{EachWorker, Progress, WorkerId};

/// A phase that runs or has run.
#[derive(Debug)]
pub(crate) struct Phase {
    /// Behind which pipeline.
    pub pipeline: PipelineId,
    /// What is done.
    pub name: &'static str,
    morsels: AtomicU64,
    /// Nanoseconds of each worker.
    busy: EachWorker<AtomicU64>,
}

impl Phase {
    pub fn new(pipeline: PipelineId, name: &'static str) -> Self {
        Self { pipeline, name, morsels: AtomicU64::new(0), busy: EachWorker::default() }
    }

    /// Runs a morsel of the phase.
    pub fn time(&self, worker: WorkerId, run: impl FnOnce() -> Result<Progress>) -> Result<Progress> {
        let begin = Instant::now();
        let result = run();
        self.morsels.fetch_add(1, Relaxed);
        let busy = self.busy.get_or(worker.index(), AtomicU64::default);
        busy.fetch_add(begin.elapsed().as_nanos() as u64, Relaxed);
        result
    }

    /// Morsels that ran.
    pub fn morsels(&self) -> u64 {
        self.morsels.load(Relaxed)
    }

    /// The time of all workers together, and of the one that took the longest.
    pub fn busy(&self) -> (Duration, Duration) {
        let each = || self.busy.iter().map(|(_, nanos)| Duration::from_nanos(nanos.load(Relaxed)));
        (each().sum(), each().max().unwrap_or_default())
    }
}
