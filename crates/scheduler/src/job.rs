//! A submitted job: its state machine behind a lock, what workers look at between morsels without one, and the calls
//! into operators' code, whose errors and panics end here.

use crate::calls::Calls;
use crate::cancel::CancelToken;
use crate::counts::{Reached, StageCounts};
use crate::cutting::{Cutting, Division};
use crate::dispatcher::Dispatcher;
use crate::gate::Gate;
use crate::graph::{Graph, Left, Phase, Step};
use crate::morsel::{Claim, Morsel, Progress, WorkerId};
use crate::observe::{Observer, Run};
use crate::options::JobOptions;
use crate::policy::{NOTED, Share};
use crate::seats::{Seat, Seats};
use crate::size::{Pace, Wanted};
use crate::sync::{Arc, AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, Ordering::*};
use crate::task::{JobSpec, Stage, TaskSet};
use crate::times::Times;
use base::memory::Spread;
use base::panics::catch;
use base::traffic::{self, MemoryPlacement};
use base::{Error, Result};
use std::sync::{PoisonError, Weak};
use std::time::Instant;

/// See the module.
pub(crate) struct Job {
    /// No other one of the scheduler has it.
    pub(crate) number: u64,
    graph: Mutex<Graph>,
    pub(crate) share: Share,
    pub(crate) cancel: CancelToken,
    seats: Seats,
    division: Division,
    placement: MemoryPlacement,
    spread: Spread,
    /// The job has failed: morsels are no longer claimed.
    failed: AtomicBool,
    /// Whether it is worth asking this job for work; changes under the lock.
    runnable: AtomicBool,
    /// Counts the publications of phases, so that workers notice an earlier one than theirs.
    version: AtomicU64,
    /// The consumer's calls, of which none is lost between a claim that gets nothing and the pause that follows.
    calls: Calls,
    observer: Option<Arc<dyn Observer>>,
    pub(crate) stages: Vec<StageCounts>,
    pub(crate) times: Times,
    /// The result, once the job has ended; `Err` may be read many times.
    result: Mutex<Option<Result<()>>>,
    ended: Condvar,
    dispatcher: Arc<Dispatcher>,
}

/// A phase that a worker has left to come back to.
pub(crate) struct Held {
    gate: Arc<Gate>,
    /// It lives as long as somebody is inside.
    phase: Weak<Phase>,
    /// At which it was the best to do.
    version: u64,
}

/// What became of one attempt to run a morsel.
pub(crate) enum Ran {
    /// It was run, to its end or up to a rest.
    Morsel(Option<Morsel>),
    /// There is no more to do here, for now or for good.
    Leave(Left),
}

/// What a worker knows of a job's company, and what it has spent on the job while that was alone.
pub(crate) struct Company<'a> {
    share: &'a Share,
    pub(crate) alone: bool,
    /// Whether it is this job's turn.
    pub(crate) is_turn: bool,
    spent: u64,
}

impl Company<'_> {
    /// The job is not charged for the time, but it grows older.
    fn spend(&mut self, nanos: u64) {
        self.spent += nanos;
        if self.spent >= NOTED {
            self.share.grow_older(std::mem::take(&mut self.spent));
        }
    }
}

impl Drop for Company<'_> {
    fn drop(&mut self) {
        if self.spent > 0 {
            self.share.grow_older(self.spent);
        }
    }
}

impl Job {
    pub(crate) fn new(spec: JobSpec, options: JobOptions, dispatcher: Arc<Dispatcher>) -> Self {
        let JobOptions { weight, overtakes, worker_limit, division, bushy, placement, spread, cancel, observer } =
            options;
        let workers = dispatcher.threads();
        let stages = spec.stages.iter().map(|(stage, _)| StageCounts::new(&**stage, workers)).collect();
        Self {
            number: dispatcher.new_number(),
            graph: Mutex::new(Graph::new(spec, bushy)),
            share: Share::new(weight, overtakes, &dispatcher.clock),
            cancel,
            seats: Seats::new(worker_limit),
            division,
            placement,
            spread,
            failed: AtomicBool::new(false),
            runnable: AtomicBool::new(true),
            version: AtomicU64::new(0),
            calls: Calls::default(),
            observer,
            stages,
            times: Times::new(),
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

    /// For a worker that comes to it.
    pub(crate) fn company(&self) -> Company<'_> {
        Company { share: &self.share, alone: true, is_turn: true, spent: 0 }
    }

    /// Whether a worker that has no seat here may have one.
    pub(crate) fn has_seats(&self) -> bool {
        self.seats.are_free()
    }
    /// A seat for a worker, who gives it up when it is outside.
    pub(crate) fn sit(&self) -> Option<Seat<'_>> {
        self.seats.take(&self.dispatcher.events)
    }

    /// How a phase that starts now is cut: for the workers that may come.
    fn cutting(&self) -> Cutting {
        let cut = self.dispatcher.cutting();
        let threads = cut.threads.min(self.seats.most());
        Cutting { threads, division: self.division, memory: self.placement, spread: self.spread, ..cut }
    }

    /// Work for a worker, with the version at which it was the best to do.
    pub(crate) fn enter(&self) -> Option<(Step, u64)> {
        let mut graph = self.lock();
        let step = if self.stopped() { None } else { graph.enter() };
        let version = self.version();
        if step.is_none() {
            self.runnable.store(false, Release);
            drop(graph);
            self.settle();
        }
        Some((step?, version))
    }

    /// What a worker that finds the rows of a phase at this pace wants of its next morsel.
    fn wanted(&self, pace: Pace) -> Wanted {
        pace.wanted(self.dispatcher.slice, self.dispatcher.threads().min(self.seats.most()))
    }

    /// Runs `rest`, or else claims and runs one morsel. A job that is alone is not charged for it: the present stands
    /// still until there is somebody to share with, and workers do not meet at the account.
    pub(crate) fn run_one(
        &self,
        worker: WorkerId,
        phase: &Phase,
        rest: Option<Morsel>,
        (company, pace): (&mut Company<'_>, &mut Pace),
    ) -> Ran {
        let stage = &self.stages[phase.stage];
        let charge = (!company.alone).then(|| self.share.charge(&self.dispatcher.clock, company.is_turn));
        let calls = self.calls.so_far();
        let begin = Instant::now();
        let claim = match rest {
            Some(rest) => Ok(Claim::Morsel { morsel: rest, node: None, stolen: false }),
            None => guarded(&stage.name, || Ok(phase.tasks.claim(worker, self.wanted(*pace)))),
        };
        let outcome = claim.and_then(|claim| {
            let Claim::Morsel { morsel, node, stolen } = claim else { return Ok(Err(claim)) };
            let duty = self.dispatcher.duty(worker);
            duty.begins(self.number, phase.stage, begin);
            self.dispatcher.notify_for(phase, self.seats.most());
            traffic::begin(self.placement);
            let result = guarded(&stage.name, || phase.tasks.run(worker, morsel));
            let run = Run {
                stage: phase.stage,
                phase: phase.number,
                worker,
                morsel,
                node,
                remote: node.is_some_and(|node| node != self.dispatcher.placement.node(worker)),
                stolen,
                resumed: rest.is_some(),
                progress: result.as_ref().ok().copied(),
                traffic: traffic::so_far(),
                begin,
                time: begin.elapsed(),
            };
            stage.count(&run);
            duty.ran(&run);
            pace.ran(run.rows(), run.time);
            let observed = match &self.observer {
                Some(observer) => guarded(&stage.name, || {
                    observer.ran(&run);
                    Ok(())
                }),
                None => Ok(()),
            };
            result.and_then(|progress| observed.map(|()| Ok((progress, run.time.as_nanos() as u64))))
        });
        match (charge, &outcome) {
            (Some(charge), Ok(Ok((_, nanos)))) => self.share.settle(charge, *nanos),
            (Some(charge), _) => self.share.refund(charge),
            (None, Ok(Ok((_, nanos)))) => company.spend(*nanos),
            (None, _) => {}
        }
        match outcome {
            Ok(Ok((Progress::NotNow(rest), _))) => Ran::Leave(Left::Paused { rest: Some(rest), calls }),
            Ok(Ok((progress, _))) => Ran::Morsel(progress.rest()),
            Ok(Err(Claim::NotNow)) => Ran::Leave(Left::Paused { rest: None, calls }),
            Ok(Err(_)) => Ran::Leave(Left::Exhausted),
            Err(error) => {
                self.fail(error);
                Ran::Leave(Left::Elsewhere(None))
            }
        }
    }

    /// A worker goes on with what is left of its morsel, while others look for work: it leaves them a part of that, if they
    /// can do it and nothing else is left in the phase. Returns its own part.
    pub(crate) fn share(&self, phase: &Phase, rest: Morsel) -> Morsel {
        // The gate is barred if somebody has found nothing here.
        let others = phase.gate.is_barred() && self.dispatcher.events.has_parked() && self.has_seats();
        if !others || !self.lock().is_short(phase.stage) {
            return rest;
        }
        let parts = match guarded(&self.stages[phase.stage].name, || Ok(phase.tasks.split(rest))) {
            Ok(Some(parts)) => parts,
            Ok(None) => return rest,
            Err(error) => {
                self.fail(error);
                return rest;
            }
        };
        let [own, others] = parts;
        let mut graph = self.lock();
        graph.share(phase.stage, others);
        self.runnable.store(true, Release);
        drop(graph);
        self.dispatcher.events.announce(1);
        own
    }

    /// Whether a worker in a phase that it entered at `version` should go on there.
    pub(crate) fn stays(&self, version: u64) -> bool {
        !self.stopped() && self.version() == version
    }

    /// Comes back to a phase without the lock, if it still is the best to do.
    pub(crate) fn enter_again(&self, held: &Held) -> Option<(Arc<Phase>, u64)> {
        if !self.stays(held.version) || !held.gate.enter() {
            return None;
        }
        Some((held.phase.upgrade().expect("a phase that is not barred is alive"), held.version))
    }

    /// A worker leaves a phase; if it is the last one and nothing is left to do there, it advances the stage. If it may
    /// come back, it gets something to do so.
    pub(crate) fn leave(&self, phase: Arc<Phase>, version: u64, why: Left) -> Option<Held> {
        let stage = phase.stage;
        let held = Held { gate: phase.gate.clone(), phase: Arc::downgrade(&phase), version };
        // Not held while the phase is handed back: the one who advances the stage drops the last handle.
        drop(phase);
        if matches!(why, Left::Elsewhere(None)) && !self.stopped() && held.gate.leave() {
            return Some(held);
        }
        self.leave_locked(stage, why);
        None
    }

    fn leave_locked(&self, stage: usize, why: Left) {
        let mut graph = self.lock();
        let ended = graph.leave(stage, why, self.stopped());
        let leaves_work = match why {
            Left::Elsewhere(rest) => rest.is_some(),
            Left::Exhausted => false,
            // With the pause, the phase has ended, or the job ends: nobody waits for the consumer.
            Left::Paused { .. } if ended.is_some() || self.stopped() => false,
            // The consumer may have made room since. Either it sees that something is paused, and takes the lock, or its
            // call is seen here.
            Left::Paused { calls, .. } => {
                let resumed = !self.calls.pause(calls) && graph.resume();
                if resumed {
                    self.times.go_on()
                } else {
                    self.times.hold_up()
                }
                resumed
            }
        };
        if leaves_work {
            // Others may have found nothing before.
            self.runnable.store(true, Release);
        }
        drop(graph);
        if leaves_work {
            self.dispatcher.events.announce(1);
        }
        match ended {
            Some((phase, owner)) => {
                let dropped = guarded(&self.stages[stage].name, || {
                    drop(phase);
                    Ok(())
                });
                let next = dropped.and_then(|()| guarded(owner.name(), || owner.finish(&self.cutting())));
                self.advance(stage, owner, next);
            }
            None => self.settle(),
        }
    }

    /// Starts a stage that `enter` handed out.
    pub(crate) fn start(&self, stage: usize, owner: Arc<dyn Stage>) {
        self.stages[stage].reach(Reached::Started);
        self.times.take_up();
        let tasks = guarded(&self.stages[stage].name, || owner.start(&self.cutting()));
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
        self.dispatcher.events.announce(1);
    }

    /// The consumer of the result has made room.
    pub(crate) fn wake(&self) {
        if !self.calls.call() {
            return;
        }
        let mut graph = self.lock();
        self.calls.resume();
        let resumed = graph.resume();
        self.times.go_on();
        drop(graph);
        if resumed {
            self.awake();
        }
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
            None => Err(self.cancel.error()),
        };
        self.dispatcher.remove(self);
        self.times.end();
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result.clone());
        self.ended.notify_all();
        if let Some(observer) = &self.observer {
            // The result is known to everybody: there is nothing that its panic could still change.
            let _ = guarded("end of the query", || {
                observer.ended(&result);
                Ok(())
            });
        }
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

/// Calls into an operator. A panic becomes an error: the operator's state is not used again, as its job ends.
pub(crate) fn guarded<T>(stage: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch(call).unwrap_or_else(|panic| Err(Error::internal(format!("panic in {stage}: {panic}"))))
}
