//! What each worker does, and has done: for views, readable at any time.
//!
//! A worker writes to a line of its own, with plain stores: a few nanoseconds a morsel.

use crate::observe::Run;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What a worker is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerState {
    /// It runs a morsel.
    Running = 0,
    /// It looks for one.
    Looking = 1,
    /// It sleeps until there is one.
    Parked = 2,
    /// There are more workers than may run at present, and it is one of the surplus.
    Inactive = 3,
}

/// What one worker does, and what it has done since it was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerReport {
    /// Its number.
    pub worker: usize,
    /// The node that it sits on, as the system numbers it.
    pub node: u32,
    /// What it is at.
    pub state: WorkerState,
    /// The number of the job that it runs a morsel of, and that of the stage.
    pub serves: Option<(u64, usize)>,
    /// The name of that stage.
    pub stage: Option<String>,
    /// Morsels that it has begun.
    pub morsels: u64,
    /// Rows, of all phases, that it has done.
    pub rows: u64,
    /// Time that it has spent on morsels.
    pub busy: Duration,
    /// All other time.
    pub idle: Duration,
}

/// See the module.
#[repr(align(128))]
pub(crate) struct Duty {
    started: Instant,
    state: AtomicU8,
    job: AtomicU64,
    stage: AtomicU64,
    /// When the morsel that it runs was begun, in nanoseconds after `started`.
    begun: AtomicU64,
    morsels: AtomicU64,
    rows: AtomicU64,
    busy_nanos: AtomicU64,
}

/// Only its worker adds to a count.
fn add(count: &AtomicU64, more: u64) {
    count.store(count.load(Relaxed) + more, Relaxed);
}

impl Duty {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            state: AtomicU8::new(WorkerState::Looking as u8),
            job: AtomicU64::new(0),
            stage: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            morsels: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            busy_nanos: AtomicU64::new(0),
        }
    }

    /// It is at something else than a morsel.
    pub(crate) fn is(&self, state: WorkerState) {
        self.state.store(state as u8, Relaxed);
    }

    /// It has claimed a morsel.
    pub(crate) fn begins(&self, job: u64, stage: usize, at: Instant) {
        self.job.store(job, Relaxed);
        self.stage.store(stage as u64, Relaxed);
        self.begun.store(self.nanos(at), Relaxed);
        self.is(WorkerState::Running);
    }

    /// It has run the morsel, to its end or up to a rest.
    pub(crate) fn ran(&self, run: &Run) {
        self.is(WorkerState::Looking);
        add(&self.morsels, u64::from(!run.resumed));
        add(&self.rows, run.rows());
        add(&self.busy_nanos, run.time.as_nanos() as u64);
    }

    fn nanos(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.started).as_nanos() as u64
    }

    /// What there is to tell; `name` knows the names of stages. What is read while the worker goes on is of moments that
    /// lie close together.
    pub(crate) fn report(
        &self,
        worker: usize,
        node: u32,
        name: impl FnOnce(u64, usize) -> Option<String>,
    ) -> WorkerReport {
        let state = match self.state.load(Relaxed) {
            0 => WorkerState::Running,
            1 => WorkerState::Looking,
            2 => WorkerState::Parked,
            _ => WorkerState::Inactive,
        };
        let running = state == WorkerState::Running;
        let serves = running.then(|| (self.job.load(Relaxed), self.stage.load(Relaxed) as usize));
        let (now, done) = (self.nanos(Instant::now()), self.busy_nanos.load(Relaxed));
        let current = if running { now.saturating_sub(self.begun.load(Relaxed)) } else { 0 };
        let busy = (done + current).min(now);
        WorkerReport {
            worker,
            node,
            state,
            serves,
            stage: serves.and_then(|(job, stage)| name(job, stage)),
            morsels: self.morsels.load(Relaxed),
            rows: self.rows.load(Relaxed),
            busy: Duration::from_nanos(busy),
            idle: Duration::from_nanos(now - busy),
        }
    }
}
