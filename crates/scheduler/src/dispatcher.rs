//! What all workers share: the list of jobs, how many workers may run, and who is parked (thesis 4.4, figure 4.5).
//!
//! The list is read at every morsel, hence by a generation number and a snapshot of one's own; changes are rare and
//! take a lock.
//!
//! A notification wakes one worker; a worker that claims a morsel notifies the next one, as long as there are parked
//! ones and the phase has not notified as many as there are workers. So a phase with one morsel does not wake the whole
//! machine.

use crate::cutting::{Cutting, Division, Strategy};
use crate::duty::{Duty, WorkerReport};
use crate::each_worker::EachWorker;
use crate::event_count::EventCount;
use crate::graph::Phase;
use crate::job::{Held, Job};
use crate::morsel::WorkerId;
use crate::options::SchedulerOptions;
use crate::policy::Clock;
use crate::sync::{Arc, AtomicBool, AtomicU64, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering::*};
use crate::topology::Placement;
use base::ids::Id;
use base::memory::Spread;
use base::traffic::MemoryPlacement;
use std::sync::PoisonError;
use std::time::Duration;

/// See the module.
pub(crate) struct Dispatcher {
    jobs: Mutex<Vec<Arc<Job>>>,
    /// Jobs that there have been.
    numbers: AtomicU64,
    duties: EachWorker<Duty>,
    generation: AtomicU64,
    pub(crate) events: EventCount,
    threads: AtomicUsize,
    /// Where workers beyond `threads` wait.
    inactive: Mutex<()>,
    activated: Condvar,
    pub(crate) clock: Clock,
    shut: AtomicBool,
    pub(crate) placement: Arc<Placement>,
    morsel_rows: u64,
    adapts: bool,
    pub(crate) slice: Duration,
    steps: u64,
}

/// A worker's own copy of the list of jobs.
#[derive(Default)]
pub(crate) struct View {
    generation: u64,
    jobs: Vec<Seen>,
    /// The number of the job that the worker has served last; none: 0.
    served: u64,
    /// Whether it was that one's turn.
    is_turn: bool,
}

/// A job, and the phase of it that the worker has left to come back to.
struct Seen {
    job: Arc<Job>,
    held: Option<Held>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Dispatcher {
    pub(crate) fn new(options: &SchedulerOptions, placement: Placement) -> Self {
        Self {
            jobs: Mutex::default(),
            numbers: AtomicU64::new(0),
            duties: EachWorker::default(),
            generation: AtomicU64::new(1),
            events: EventCount::default(),
            threads: AtomicUsize::new(1),
            inactive: Mutex::new(()),
            activated: Condvar::new(),
            clock: Clock::default(),
            shut: AtomicBool::new(false),
            placement: Arc::new(placement),
            morsel_rows: options.morsel_rows,
            adapts: options.adapts,
            slice: options.slice,
            steps: options.steps.max(1),
        }
    }

    /// How a phase that starts now is cut.
    pub(crate) fn cutting(&self) -> Cutting {
        Cutting {
            threads: self.threads(),
            placement: self.placement.clone(),
            morsel_rows: self.morsel_rows,
            adapts: self.adapts,
            slice: self.slice,
            steps: self.steps,
            strategy: Strategy::Lanes,
            division: Division::Morsels,
            memory: MemoryPlacement::FirstTouch,
            spread: Spread::default(),
        }
    }

    /// Lists a job and notifies a worker.
    pub(crate) fn add(&self, job: Arc<Job>) {
        let mut jobs = lock(&self.jobs);
        jobs.push(job);
        self.generation.fetch_add(1, AcqRel);
        drop(jobs);
        self.events.announce(1);
    }

    /// The number of a new job, from 1.
    pub(crate) fn new_number(&self) -> u64 {
        self.numbers.fetch_add(1, Relaxed) + 1
    }

    /// What a worker does.
    pub(crate) fn duty(&self, worker: WorkerId) -> &Duty {
        self.duties.get_or(worker.index(), Duty::new)
    }

    /// What the workers do that have been started.
    pub(crate) fn duties(&self) -> Vec<WorkerReport> {
        let jobs = self.jobs();
        let name = |job: u64, stage: usize| {
            let job = jobs.iter().find(|known| known.number == job)?;
            job.stages.get(stage).map(|stage| stage.name.clone())
        };
        let node = |number: usize| {
            let node = self.placement.node(WorkerId::from_index(number));
            self.placement.topology().os_node(node)
        };
        self.duties.iter().map(|(number, duty)| duty.report(number, node(number), name)).collect()
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
            let mut before = std::mem::take(&mut view.jobs);
            let seen = jobs.iter().map(|job| {
                let known = before.iter_mut().find(|seen| Arc::ptr_eq(&seen.job, job));
                Seen { job: job.clone(), held: known.and_then(|seen| seen.held.take()) }
            });
            view.jobs = seen.collect();
            drop(jobs);
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.load(Acquire)
    }

    /// Workers below `threads` run, others are inactive from their next morsel boundary on.
    pub(crate) fn set_threads(&self, threads: usize) {
        let inactive = lock(&self.inactive);
        self.threads.store(threads, Release);
        drop(inactive);
        self.activated.notify_all();
        self.events.announce(1);
    }

    /// Waits until `worker` may run or the dispatcher shuts.
    pub(crate) fn wait_until_active(&self, worker: WorkerId) {
        let mut inactive = lock(&self.inactive);
        while worker.index() >= self.threads() && !self.is_shut() {
            inactive = self.activated.wait(inactive).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn is_shut(&self) -> bool {
        self.shut.load(Acquire)
    }

    /// Lets all workers end.
    pub(crate) fn shut(&self) {
        let inactive = lock(&self.inactive);
        self.shut.store(true, Release);
        drop(inactive);
        self.activated.notify_all();
        self.events.announce(usize::MAX);
    }

    /// A worker has claimed a morsel of `phase`, which `most` workers may come to: there may be more for others.
    pub(crate) fn notify_for(&self, phase: &Phase, most: usize) {
        let most = most.min(self.threads());
        if self.events.has_parked()
            && phase.notified.load(Relaxed) < most
            && phase.notified.fetch_add(1, Relaxed) < most
        {
            self.events.notify_one();
        }
    }
}

impl View {
    /// Forgets the jobs: a parked worker must not keep alive what they own.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// The job to serve: the one that is furthest behind, of those that may have work, and a seat unless the worker serves
    /// it already.
    fn first(&self, serves: Option<&Arc<Job>>) -> Option<usize> {
        let has_seat = |job: &Arc<Job>| job.has_seats() || serves.is_some_and(|served| Arc::ptr_eq(served, job));
        let may = |seen: &Seen| seen.job.is_runnable() && has_seat(&seen.job);
        let runnable = self.jobs.iter().enumerate().filter(|(_, seen)| may(seen));
        runnable.min_by_key(|(_, seen)| seen.job.share.due()).map(|(at, _)| at)
    }

    /// Whether the worker goes on with `job`, which it serves.
    pub(crate) fn goes_on(&mut self, job: &Arc<Job>) -> bool {
        self.first(Some(job)).is_some_and(|at| {
            let first = &self.jobs[at].job;
            self.is_turn = Arc::ptr_eq(first, job);
            self.is_turn || job.share.may_go_on_beside(&first.share)
        })
    }

    /// Whether it is the turn of the job that the worker serves.
    pub(crate) fn is_turn(&self) -> bool {
        self.is_turn
    }

    /// The job to serve, and where the worker has left it: the one that it has served last, as long as it may go on with that.
    pub(crate) fn best(&mut self) -> Option<(Arc<Job>, Option<Held>)> {
        let first = self.first(None)?;
        let goes_on =
            |job: &Job| job.is_runnable() && job.has_seats() && job.share.may_go_on_beside(&self.jobs[first].job.share);
        let served = self.jobs.iter().position(|seen| seen.job.number == self.served && goes_on(&seen.job));
        self.is_turn = served.is_none_or(|served| served == first);
        let seen = &mut self.jobs[served.unwrap_or(first)];
        self.served = seen.job.number;
        Some((seen.job.clone(), seen.held.take()))
    }

    /// Remembers where the worker has left a job.
    pub(crate) fn hold(&mut self, job: &Arc<Job>, held: Held) {
        if let Some(seen) = self.jobs.iter_mut().find(|seen| Arc::ptr_eq(&seen.job, job)) {
            seen.held = Some(held);
        }
    }
}
