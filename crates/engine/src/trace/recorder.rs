//! Records the morsels of a job: each worker's in a buffer of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::Result;
use base::ids::Id;
use scheduler::{EachWorker, Observer, Run};

use super::Trace;

/// Runs that a worker keeps, and for how long, before it writes them.
const MOST_KEPT: usize = 1024;
const LONGEST_KEPT: Duration = Duration::from_secs(1);

/// Runs of a worker that a recorder keeps that writes none; what comes later is left out.
const MOST_PICTURED: usize = 1 << 16;

/// A worker, and what it has run.
pub(crate) type WorkerRuns = (usize, Vec<Run>);

/// Sees the morsels of a job.
pub(crate) struct Recorder {
    /// Where they are written; none: they are kept.
    trace: Option<Arc<Trace>>,
    /// The number of the statement.
    query: u64,
    /// The names of the job's stages.
    stages: Vec<String>,
    kept: EachWorker<Mutex<Vec<Run>>>,
    /// Who else sees them.
    then: Option<Arc<dyn Observer>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    pub fn new(trace: Option<Arc<Trace>>, query: u64, stages: Vec<String>, then: Option<Arc<dyn Observer>>) -> Self {
        Self { trace, query, stages, kept: EachWorker::default(), then }
    }

    /// Writes what the workers have kept.
    pub fn write(&self) {
        let Some(trace) = &self.trace else { return };
        for (_, kept) in self.kept.iter() {
            let runs = std::mem::take(&mut *lock(kept));
            Trace::runs(&mut trace.lock(), self.query, &self.stages, &runs);
        }
    }

    /// The names of the stages, and what each worker has run, if nothing is written.
    pub fn kept(&self) -> Option<(Vec<String>, Vec<WorkerRuns>)> {
        let kept = self.kept.iter().map(|(worker, kept)| (worker, lock(kept).clone())).collect();
        self.trace.is_none().then(|| (self.stages.clone(), kept))
    }
}

impl Observer for Recorder {
    fn ran(&self, run: &Run) {
        if let Some(then) = &self.then {
            then.ran(run);
        }
        let mut kept = lock(self.kept.get_or(run.worker.index(), || Mutex::new(Vec::with_capacity(MOST_KEPT))));
        let Some(trace) = &self.trace else {
            if kept.len() < MOST_PICTURED {
                kept.push(*run);
            }
            return;
        };
        kept.push(*run);
        let is_old = run.begin.duration_since(kept[0].begin) > LONGEST_KEPT;
        if (kept.len() >= MOST_KEPT || is_old)
            // Nobody waits for another worker's writing.
            && let Ok(mut out) = trace.out.try_lock()
        {
            Trace::runs(&mut out, self.query, &self.stages, &kept);
            kept.clear();
        }
    }

    fn ended(&self, result: &Result<()>) {
        // Before anybody hears of the end, who may want to read what was recorded.
        self.write();
        if let Some(then) = &self.then {
            then.ended(result);
        }
    }
}
