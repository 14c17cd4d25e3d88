//! The scheduler as its users see it: a pool of workers that takes jobs.

use crate::cutting::Cutting;
use crate::dispatcher::Dispatcher;
use crate::duty::WorkerReport;
use crate::handle::JobHandle;
use crate::job::Job;
use crate::morsel::WorkerId;
use crate::options::{JobOptions, SchedulerOptions};
use crate::sync::{Arc, Builder, JoinHandle, Mutex, current};
use crate::task::JobSpec;
use crate::topology::{Placement, Topology, available_threads};
use crate::worker;
use base::ids::Id;
use base::memory::set_machine;
use base::traffic;
use base::{Error, Result, SqlState};
use std::sync::PoisonError;

/// Stack of a worker: the reference interpreter recurses over nested expressions. It takes memory only where it is used.
const STACK: usize = if cfg!(shuttle) { 256 << 10 } else { 64 << 20 };

/// A pool of workers. Dropping it cancels its jobs and waits for the workers.
pub struct Scheduler {
    dispatcher: Arc<Dispatcher>,
    pin: bool,
    workers: Mutex<Vec<JoinHandle<()>>>,
    /// The process that it was made in, and whose threads the workers are.
    process: u32,
}

impl Scheduler {
    /// Starts the workers. Fails if the system gives no threads, or `threads` is 0 or more than `max_threads`.
    pub fn new(options: &SchedulerOptions) -> Result<Self> {
        let max = options.max_threads.max(1);
        let threads = options.threads.unwrap_or_else(|| available_threads().min(max));
        let topology = options.topology.clone().unwrap_or_else(Topology::detect);
        if topology.is_machine() {
            set_machine(&topology.os_nodes());
        }
        let scheduler = Self {
            dispatcher: Arc::new(Dispatcher::new(options, Placement::new(topology, max))),
            pin: options.pin,
            workers: Mutex::default(),
            process: std::process::id(),
        };
        scheduler.set_threads(threads)?;
        Ok(scheduler)
    }

    /// Workers that run at present.
    pub fn threads(&self) -> usize {
        self.dispatcher.threads()
    }

    /// Workers that there may be at most.
    pub fn max_workers(&self) -> usize {
        self.placement().max_workers()
    }

    /// What each worker that has been started does.
    pub fn workers(&self) -> Vec<WorkerReport> {
        self.dispatcher.duties()
    }

    /// Where the workers sit.
    pub fn placement(&self) -> &Arc<Placement> {
        &self.dispatcher.placement
    }

    /// How a phase that starts now would be cut.
    pub fn cutting(&self) -> Cutting {
        self.dispatcher.cutting()
    }

    /// Changes the number of workers that run, between their morsels; jobs go on.
    pub fn set_threads(&self, threads: usize) -> Result<()> {
        if threads == 0 || threads > self.max_workers() {
            let message =
                format!("{threads} is outside of the valid range for \"threads\" (1 .. {})", self.max_workers());
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        while workers.len() < threads {
            let id = WorkerId::from_index(workers.len());
            // It is to be seen from now on.
            self.dispatcher.duty(id);
            let (dispatcher, pin) = (self.dispatcher.clone(), self.pin);
            let spawned = Builder::new().name(format!("morsel-{}", id.index())).stack_size(STACK).spawn(move || {
                let node = dispatcher.placement.node(id);
                let topology = dispatcher.placement.topology();
                let sit = if topology.is_machine() { traffic::sit_on_machine } else { traffic::sit };
                sit(node.0 as u16, topology.hops(node));
                worker::serve(&dispatcher, id, pin);
            });
            // 53000 is PostgreSQL's class for a machine that gives no more.
            workers.push(spawned.map_err(|e| Error::new(SqlState("53000"), format!("could not start a thread: {e}")))?);
        }
        self.dispatcher.set_threads(threads);
        Ok(())
    }

    /// Hands a job to the workers. Dropping the handle does not stop the job.
    pub fn submit(&self, spec: JobSpec, options: JobOptions) -> JobHandle {
        let job = Arc::new(Job::new(spec, options, self.dispatcher.clone()));
        self.dispatcher.add(job.clone());
        // One without stages, or cancelled already, ends here.
        job.settle();
        JobHandle::new(job)
    }

    /// Runs a job to its end.
    pub fn run(&self, spec: JobSpec, options: JobOptions) -> Result<()> {
        self.submit(spec, options).wait()
    }

    /// Number of jobs that have not ended.
    pub fn active_jobs(&self) -> usize {
        self.dispatcher.jobs().len()
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // After a fork: the workers, and whatever locks they held, are the parent's.
            std::mem::take(self.workers.get_mut().unwrap_or_else(PoisonError::into_inner))
                .into_iter()
                .for_each(std::mem::forget);
            return;
        }
        self.dispatcher.shut();
        for job in self.dispatcher.jobs() {
            job.cancel.cancel();
            job.settle();
        }
        let workers = std::mem::take(&mut *self.workers.lock().unwrap_or_else(PoisonError::into_inner));
        for worker in workers {
            // A job may own the last handle of its scheduler, and be dropped by a worker, which cannot join itself.
            if worker.thread().id() != current().id() {
                // A worker catches the panics of what it runs; there is nothing to do about one of its own here.
                let _ = worker.join();
            }
        }
    }
}
