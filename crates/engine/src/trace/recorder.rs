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

/// Sees the morsels of a job.
pub(crate) struct Recorder {
    trace: Arc<Trace>,
    /// The number of the statement.
    query: u64,
    /// The names of the job's stages.
    stages: Vec<String>,
    kept: EachWorker<Mutex<Vec<Run>>>,
    /// Who else wants to know of the end.
    then: Option<Arc<dyn Observer>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    pub fn new(trace: Arc<Trace>, query: u64, stages: Vec<String>, then: Option<Arc<dyn Observer>>) -> Self {
        Self { trace, query, stages, kept: EachWorker::default(), then }
    }

    /// Writes what the workers have kept.
    pub fn write(&self) {
        for (_, kept) in self.kept.iter() {
            let runs = std::mem::take(&mut *lock(kept));
            Trace::runs(&mut self.trace.lock(), self.query, &self.stages, &runs);
        }
    }
}

impl Observer for Recorder {
    fn ran(&self, run: &Run) {
        let mut kept = lock(self.kept.get_or(run.worker.index(), || Mutex::new(Vec::with_capacity(MOST_KEPT))));
        kept.push(*run);
        let is_old = run.begin.duration_since(kept[0].begin) > LONGEST_KEPT;
        if (kept.len() >= MOST_KEPT || is_old)
            // Nobody waits for another worker's writing.
            && let Ok(mut out) = self.trace.out.try_lock()
        {
            Trace::runs(&mut out, self.query, &self.stages, &kept);
            kept.clear();
        }
    }

    fn ended(&self, result: &Result<()>) {
        if let Some(then) = &self.then {
            then.ended(result);
        }
        self.write();
    }
}
