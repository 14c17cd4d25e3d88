//! A submitted job: its state machine behind a lock, what workers look at between morsels without one, and the calls
//! into operators' code, whose errors and panics end here.

use crate::cancel::{CancelToken, canceled};
use crate::counts::{Reached, StageCounts};
use crate::dispatcher::Dispatcher;
use crate::graph::{Graph, Phase, Step};
use crate::policy::Share;
use crate::task::{JobSpec, Stage, TaskSet, WorkerId};
use base::panics::catch;
use base::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// See the module.
pub(crate) struct Job {
    graph: Mutex<Graph>,
    pub(crate) share: Share,
    pub(crate) cancel: CancelToken,
    /// The job has failed: morsels are no longer claimed.
    failed: AtomicBool,
    /// Whether it is worth asking this job for work; changes under the lock.
    runnable: AtomicBool,
    /// Counts the publications of phases, so that workers notice an earlier one than theirs.
    version: AtomicU64,
    pub(crate) stages: Vec<StageCounts>,
    /// The result, once the job has ended; `Err` may be read many times.
    result: Mutex<Option<Result<()>>>,
    ended: Condvar,
    dispatcher: Arc<Dispatcher>,
}

/// What became of one attempt to run a morsel.
pub(crate) enum Ran {
    Morsel,
    Exhausted,
    Failed,
}

impl Job {
    pub(crate) fn new(spec: JobSpec, weight: u32, cancel: CancelToken, dispatcher: Arc<Dispatcher>) -> Self {
        let workers = dispatcher.threads();
        let stages = spec.stages.iter().map(|(stage, _)| StageCounts::new(&**stage, workers)).collect();
        Self {
            graph: Mutex::new(Graph::new(spec)),
            share: Share::new(weight, &dispatcher.clock),
            cancel,
            failed: AtomicBool::new(false),
            runnable: AtomicBool::new(true),
            version: AtomicU64::new(0),
            stages,
            result: Mutex::new(None),
            ended: Condvar::new(),
            dispatcher,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stopped(&self) -> bool {
        self.failed.load(Acquire) || self.cancel.is_cancelled()
    }
    pub(crate) fn is_runnable(&self) -> bool {
        self.runnable.load(Acquire)
    }
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Acquire)
    }

    /// Work for a worker, with the version at which it was the best to do.
    pub(crate) fn enter(&self) -> Option<(Step, u64)> {
        let mut graph = self.lock();
        let step = if self.stopped() { None } else { graph.enter(|phase| is_ready(&*phase.tasks)) };
        let version = self.version();
        if step.is_none() {
            self.runnable.store(false, Release);
            drop(graph);
            self.settle();
        }
        Some((step?, version))
    }

    /// Claims and runs one morsel. A job that is `alone` is not charged for it: the present stands still until there is
    /// somebody to share with, and workers do not meet at the account.
    pub(crate) fn run_one(&self, worker: WorkerId, phase: &Phase, alone: bool) -> Ran {
        let stage = &self.stages[phase.stage];
        let charge = (!alone).then(|| self.share.charge(&self.dispatcher.clock));
        let begin = Instant::now();
        let result = guarded(&stage.name, || {
            let Some(morsel) = phase.tasks.claim(worker) else { return Ok(None) };
            self.dispatcher.call_to(phase);
            phase.tasks.run(worker, morsel).map(|()| Some(morsel))
        });
        let nanos = begin.elapsed().as_nanos() as u64;
        if let Some(charge) = charge {
            match result {
                Ok(Some(_)) => self.share.settle(charge, nanos),
                _ => self.share.refund(charge),
            }
        }
        match result {
            Ok(Some(morsel)) => {
                stage.count(worker, morsel, nanos);
                Ran::Morsel
            }
            Ok(None) => Ran::Exhausted,
            Err(error) => {
                self.fail(error);
                Ran::Failed
            }
        }
    }

    /// Whether a worker in `phase`, entered at `version`, should go on there.
    pub(crate) fn stays(&self, phase: &Phase, version: u64) -> bool {
        !self.stopped() && self.version() == version && is_ready(&*phase.tasks)
    }

    /// A worker leaves a phase; if it is the last one and no morsel is left, it advances the stage.
    pub(crate) fn leave(&self, phase: Arc<Phase>, exhausted: bool) {
        let stage = phase.stage;
        // Not held while the phase is handed back: the one who advances the stage drops the last handle.
        drop(phase);
        let ended = self.lock().leave(stage, exhausted, self.stopped());
        match ended {
            Some((phase, owner)) => {
                let dropped = guarded(&self.stages[stage].name, || {
                    drop(phase);
                    Ok(())
                });
                let next = dropped.and_then(|()| guarded(owner.name(), || owner.finish()));
                self.advance(stage, owner, next);
            }
            None => self.settle(),
        }
    }

    /// Starts a stage that `enter` handed out.
    pub(crate) fn start(&self, stage: usize, owner: Arc<dyn Stage>) {
        self.stages[stage].reach(Reached::Started);
        let tasks = guarded(&self.stages[stage].name, || owner.start());
        self.advance(stage, owner, tasks.map(Some));
    }

    /// Acts on what `start` or `finish` returned.
    fn advance(&self, stage: usize, owner: Arc<dyn Stage>, next: Result<Option<Box<dyn TaskSet>>>) {
        match next {
            Ok(Some(tasks)) => {
                drop(owner);
                let total = guarded(&self.stages[stage].name, || Ok(tasks.total())).unwrap_or(0);
                self.stages[stage].expect(total);
                self.lock().publish(stage, tasks);
                self.awake();
            }
            Ok(None) => {
                let taken = self.lock().take(stage);
                let dropped = guarded(&self.stages[stage].name, || {
                    drop((owner, taken));
                    Ok(())
                });
                if let Err(error) = dropped {
                    self.fail(error);
                }
                self.stages[stage].reach(Reached::Done);
                self.lock().done(stage);
                self.awake();
            }
            Err(error) => {
                drop(owner);
                self.fail(error);
                self.lock().abandon();
            }
        }
        self.settle();
    }

    /// There may be work again.
    fn awake(&self) {
        self.share.catch_up(&self.dispatcher.clock);
        let graph = self.lock();
        self.runnable.store(true, Release);
        self.version.fetch_add(1, AcqRel);
        drop(graph);
        self.dispatcher.dormitory.announce(1);
    }

    /// The consumer of the result has made room.
    pub(crate) fn wake(&self) {
        self.lock().reset_calls();
        self.awake();
    }

    /// Records the first error and stops the job.
    pub(crate) fn fail(&self, error: Error) {
        self.lock().error.get_or_insert(error);
        self.failed.store(true, Release);
    }

    /// Ends the job if it is complete or stopped and nobody is inside.
    pub(crate) fn settle(&self) {
        let mut graph = self.lock();
        let stopped = self.stopped();
        let Some(remains) = graph.close(stopped) else { return };
        let complete = graph.complete();
        drop(graph);
        // Memory is free, and reservations are returned, before anybody hears of the end.
        let dropped = guarded("end of the query", || {
            drop(remains);
            Ok(())
        });
        let result = match self.lock().error.take() {
            Some(error) => Err(error),
            // A cancellation that came after the last morsel is too late.
            None if complete => dropped,
            None => Err(canceled()),
        };
        self.dispatcher.remove(self);
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.ended.notify_all();
    }

    /// The result, if the job has ended.
    pub(crate) fn result(&self) -> Option<Result<()>> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the job has ended or `until` is past.
    pub(crate) fn wait_until(&self, until: Instant) -> Option<Result<()>> {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        while result.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            result = self.ended.wait_timeout(result, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        result.clone()
    }
}

fn is_ready(tasks: &dyn TaskSet) -> bool {
    // One that panics here will be asked for a morsel, where a panic ends the job.
    catch(|| tasks.is_ready()).unwrap_or(true)
}

/// Calls into an operator. A panic becomes an error: the operator's state is not used again, as its job ends.
pub(crate) fn guarded<T>(stage: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch(call).unwrap_or_else(|panic| Err(Error::internal(format!("panic in {stage}: {panic}"))))
}
