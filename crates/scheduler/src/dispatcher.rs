//! What all workers share: the list of jobs, how many workers may run, and who sleeps (thesis 4.4, figure 4.5).
//!
//! The list is read at every morsel, hence by a generation number and a snapshot of one's own; changes are rare and
//! take a lock.
//!
//! A call wakes one worker; a worker that claims a morsel calls the next one, as long as there are sleepers and the
//! phase has not called as many as there are workers. So a phase with one morsel does not wake the whole machine.

use crate::graph::Phase;
use crate::job::Job;
use crate::policy::Clock;
use crate::sleep::Dormitory;
use crate::task::WorkerId;
use base::ids::Id;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// See the module.
pub(crate) struct Dispatcher {
    jobs: Mutex<Vec<Arc<Job>>>,
    generation: AtomicU64,
    pub(crate) dormitory: Dormitory,
    threads: AtomicUsize,
    /// Where workers beyond `threads` wait.
    bench: Mutex<()>,
    benched: Condvar,
    pub(crate) clock: Clock,
    shut: AtomicBool,
}

/// A worker's own copy of the list of jobs.
#[derive(Default)]
pub(crate) struct View {
    generation: u64,
    pub(crate) jobs: Vec<Arc<Job>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Dispatcher {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            jobs: Mutex::default(),
            generation: AtomicU64::new(1),
            dormitory: Dormitory::default(),
            threads: AtomicUsize::new(threads),
            bench: Mutex::new(()),
            benched: Condvar::new(),
            clock: Clock::default(),
            shut: AtomicBool::new(false),
        }
    }

    /// Lists a job and calls a worker to it.
    pub(crate) fn add(&self, job: Arc<Job>) {
        let mut jobs = lock(&self.jobs);
        jobs.push(job);
        self.generation.fetch_add(1, AcqRel);
        drop(jobs);
        self.dormitory.announce(1);
    }

    /// Takes an ended job off the list.
    pub(crate) fn remove(&self, job: &Job) {
        let mut jobs = lock(&self.jobs);
        let removed = jobs.iter().position(|other| std::ptr::eq(&raw const **other, job)).map(|at| jobs.remove(at));
        self.generation.fetch_add(1, AcqRel);
        drop(jobs);
        drop(removed);
    }

    pub(crate) fn jobs(&self) -> Vec<Arc<Job>> {
        lock(&self.jobs).clone()
    }

    /// Brings a worker's copy up to date: one load if it is.
    pub(crate) fn refresh(&self, view: &mut View) {
        if self.generation.load(Acquire) != view.generation {
            let jobs = lock(&self.jobs);
            view.generation = self.generation.load(Acquire);
            view.jobs.clone_from(&jobs);
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.load(Acquire)
    }

    /// Workers below `threads` run, others sit on the bench from their next morsel boundary on.
    pub(crate) fn set_threads(&self, threads: usize) {
        let bench = lock(&self.bench);
        self.threads.store(threads, Release);
        drop(bench);
        self.benched.notify_all();
        self.dormitory.announce(1);
    }

    /// Waits until `worker` may run or the dispatcher shuts.
    pub(crate) fn sit(&self, worker: WorkerId) {
        let mut bench = lock(&self.bench);
        while worker.index() >= self.threads() && !self.is_shut() {
            bench = self.benched.wait(bench).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn is_shut(&self) -> bool {
        self.shut.load(Acquire)
    }

    /// Lets all workers end.
    pub(crate) fn shut(&self) {
        let bench = lock(&self.bench);
        self.shut.store(true, Release);
        drop(bench);
        self.benched.notify_all();
        self.dormitory.announce(usize::MAX);
    }

    /// A worker has claimed a morsel of `phase`: there may be more for others.
    pub(crate) fn call_to(&self, phase: &Phase) {
        if self.dormitory.has_sleepers()
            && phase.calls.load(Relaxed) < self.threads()
            && phase.calls.fetch_add(1, Relaxed) < self.threads()
        {
            self.dormitory.call_one();
        }
    }
}

impl View {
    /// Forgets the jobs: a sleeper must not keep alive what they own.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The job to serve: the one that is furthest behind, of those that may have work.
    pub(crate) fn best(&self) -> Option<&Arc<Job>> {
        self.jobs.iter().filter(|job| job.is_runnable()).min_by_key(|job| job.share.time())
    }
}
