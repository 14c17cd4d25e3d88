//! What the submitter of a job holds: the result, cancellation, and progress.

use crate::cancel::CancelToken;
use crate::counts::{Reached, StageCounts, Sum};
use crate::job::Job;
use crate::times::JobTimes;
use crate::worker::is_worker;
use base::Result;
use base::traffic::Traffic;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How often a waiter looks at the cancellation token.
const POLL: Duration = Duration::from_millis(50);

/// A submitted job. Clones are handles of the same job.
#[derive(Clone)]
pub struct JobHandle {
    job: Arc<Job>,
}

/// Wakes a job as [`JobHandle::wake`] does, and keeps nothing of it alive.
#[derive(Clone)]
pub struct Waker(Weak<Job>);

impl Waker {
    /// Task sets that said [`NotNow`](crate::Claim::NotNow) are asked again.
    pub fn wake(&self) {
        if let Some(job) = self.0.upgrade() {
            job.wake();
        }
    }
}

/// How far a job has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobProgress {
    /// Morsels done.
    pub morsels: u64,
    /// Rows done, of all phases.
    pub rows: u64,
    /// Rows of the phases so far, and of the estimates of stages that have not begun.
    pub total_rows: u64,
    /// Stages done.
    pub stages: usize,
    /// Stages in all.
    pub total_stages: usize,
}

impl JobProgress {
    /// The part that is done, from 0 to 1; 0 while nothing is known.
    pub fn fraction(&self) -> f64 {
        if self.stages == self.total_stages {
            1.0
        } else if self.total_rows == 0 {
            0.0
        } else {
            (self.rows as f64 / self.total_rows as f64).min(1.0)
        }
    }
}

/// What one stage has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageReport {
    /// The stage's name.
    pub name: String,
    /// Morsels of all its phases.
    pub morsels: u64,
    /// Those of them that workers cut from others' lanes.
    pub stolen: u64,
    /// How often a morsel stopped to go on later.
    pub yields: u64,
    /// Rows of all its phases that are done.
    pub rows: u64,
    /// All rows of its phases so far; of a stage that has not begun, an estimate.
    pub total_rows: u64,
    /// Those of the rows done that lay on another node than the worker that ran them.
    pub remote_rows: u64,
    /// What all workers together have read and written.
    pub traffic: Traffic,
    /// Time of all workers together.
    pub busy: Duration,
    /// Whether it has begun.
    pub started: bool,
    /// Whether it has finished.
    pub finished: bool,
}

impl JobHandle {
    pub(crate) fn new(job: Arc<Job>) -> Self {
        Self { job }
    }

    /// The job's number, which no other one of its scheduler has.
    pub fn number(&self) -> u64 {
        self.job.number
    }

    /// Waits for the end: the first error, `QUERY_CANCELED`, or success. By then all that the job owned is dropped.
    ///
    /// # Panics
    /// If called by a worker, which would wait for itself.
    pub fn wait(&self) -> Result<()> {
        loop {
            if let Some(result) = self.wait_timeout(Duration::from_secs(3600)) {
                return result;
            }
        }
    }

    /// Waits for the end, but not longer than `timeout`.
    ///
    /// # Panics
    /// If called by a worker.
    pub fn wait_timeout(&self, timeout: Duration) -> Option<Result<()>> {
        assert!(!is_worker(), "a worker must not wait for a job: use SingleThreaded");
        // A timeout beyond what the clock can express is not distinguishable from a long one.
        let begin = Instant::now();
        let until = begin.checked_add(timeout).unwrap_or(begin + Duration::from_secs(1 << 30));
        loop {
            // Somebody may have cancelled the token while no worker looks at it.
            self.job.settle();
            let now = Instant::now();
            let result = self.job.wait_until(until.min(now + POLL));
            if result.is_some() || now >= until {
                return result;
            }
        }
    }

    /// Waits for the end, and calls `tick` every `interval` meanwhile: to draw a progress bar, or to look for Ctrl-C
    /// and [`cancel`](Self::cancel).
    ///
    /// # Panics
    /// If called by a worker.
    pub fn wait_with(&self, interval: Duration, mut tick: impl FnMut(JobProgress)) -> Result<()> {
        loop {
            if let Some(result) = self.wait_timeout(interval.max(Duration::from_millis(1))) {
                return result;
            }
            tick(self.progress());
        }
    }

    /// Stops the job: workers leave at their next morsel boundary. Does not wait for them.
    pub fn cancel(&self) {
        self.job.cancel.cancel();
        self.job.settle();
    }

    /// The token that the job looks at.
    pub fn token(&self) -> &CancelToken {
        &self.job.cancel
    }

    /// The consumer has made room: task sets that said [`NotNow`](crate::Claim::NotNow) are asked again. Cheap if none did.
    pub fn wake(&self) {
        self.job.wake();
    }

    /// Who can do that from afar.
    pub fn waker(&self) -> Waker {
        Waker(Arc::downgrade(&self.job))
    }

    /// Whether the job has ended.
    pub fn is_finished(&self) -> bool {
        self.job.result().is_some()
    }

    /// The result, if the job has ended.
    pub fn result(&self) -> Option<Result<()>> {
        self.job.result()
    }

    /// How far the job has come.
    pub fn progress(&self) -> JobProgress {
        let mut progress = JobProgress { total_stages: self.job.stages.len(), ..Default::default() };
        for stage in &self.job.stages {
            let sum = stage.sum();
            progress.morsels += sum.morsels;
            progress.rows += sum.rows;
            progress.total_rows += total_rows(stage, sum.rows);
            progress.stages += usize::from(stage.reached() == Reached::Done);
        }
        progress
    }

    /// What became of its time so far.
    pub fn times(&self) -> JobTimes {
        self.job.times.sum()
    }

    /// What each stage has taken, in their order.
    pub fn report(&self) -> Vec<StageReport> {
        let report = |stage: &StageCounts| {
            let Sum { morsels, stolen, yields, rows, remote_rows, busy_nanos, traffic } = stage.sum();
            let busy = Duration::from_nanos(busy_nanos);
            let total_rows = total_rows(stage, rows);
            let (started, finished) = (stage.reached() != Reached::Nothing, stage.reached() == Reached::Done);
            let name = stage.name.clone();
            StageReport {
                name,
                morsels,
                stolen,
                yields,
                rows,
                total_rows,
                remote_rows,
                traffic,
                busy,
                started,
                finished,
            }
        };
        self.job.stages.iter().map(report).collect()
    }
}

/// The rows that a stage has, as far as they are known when so many are done.
fn total_rows(stage: &StageCounts, done: u64) -> u64 {
    match stage.reached() {
        Reached::Nothing => stage.estimated_rows,
        Reached::Started | Reached::Done => stage.total_rows().max(done),
    }
}
