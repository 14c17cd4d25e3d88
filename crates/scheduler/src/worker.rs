//! What a worker thread does, for its life.

use crate::dispatcher::{Dispatcher, View};
use crate::graph::{Phase, Step};
use crate::job::{Job, Ran};
use crate::sleep::{Bed, Dormitory};
use crate::task::WorkerId;
use base::ids::Id;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an idle worker looks for the next phase before it sleeps: about what a wake-up costs.
const PATIENCE: Duration = Duration::from_micros(20);

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is a worker (of any scheduler), which must not wait for a job.
pub(crate) fn is_worker() -> bool {
    IS_WORKER.get()
}

/// Serves jobs until the dispatcher shuts.
pub(crate) fn serve(dispatcher: &Dispatcher, worker: WorkerId) {
    IS_WORKER.set(true);
    let bed = Arc::new(Bed::default());
    let mut view = View::default();
    // Called out of its sleep, and not yet at work: it owes a call to the next sleeper.
    let mut called = false;
    while !dispatcher.is_shut() {
        let seen = dispatcher.dormitory.signal();
        if worker.index() >= dispatcher.threads() {
            view.clear();
            if std::mem::take(&mut called) {
                dispatcher.dormitory.call_one();
            }
            dispatcher.sit(worker);
            continue;
        }
        dispatcher.refresh(&mut view);
        if step(dispatcher, worker, &mut view, &mut called) {
            continue;
        }
        if !view.jobs.is_empty() && look_out(&dispatcher.dormitory, seen) {
            continue;
        }
        view.clear();
        called = dispatcher.dormitory.sleep(&bed, seen);
    }
}

/// Does one thing for the job that is furthest behind; false if no job has anything to do.
fn step(dispatcher: &Dispatcher, worker: WorkerId, view: &mut View, called: &mut bool) -> bool {
    // A job that turns out to have nothing is not runnable any more, so this ends.
    while let Some(job) = view.best().cloned() {
        let Some((step, version)) = job.enter() else { continue };
        if std::mem::take(called) {
            dispatcher.dormitory.call_one();
        }
        match step {
            Step::Start(stage, owner) => job.start(stage, owner),
            Step::Work(phase) => work(dispatcher, worker, view, &job, phase, version),
        }
        return true;
    }
    false
}

/// Runs morsels of one phase until there are none, or there is something better to do.
fn work(dispatcher: &Dispatcher, worker: WorkerId, view: &mut View, job: &Arc<Job>, phase: Arc<Phase>, version: u64) {
    loop {
        match job.run_one(worker, &phase, view.jobs.len() < 2) {
            Ran::Exhausted => return job.leave(phase, true),
            Ran::Failed => return job.leave(phase, false),
            Ran::Morsel => {}
        }
        dispatcher.refresh(view);
        let here = job.stays(&phase, version)
            && worker.index() < dispatcher.threads()
            && (view.jobs.len() < 2 || view.best().is_some_and(|best| Arc::ptr_eq(best, job)));
        if !here {
            return job.leave(phase, false);
        }
    }
}

/// Watches the signal for a moment: between two phases of a query it comes soon.
fn look_out(dormitory: &Dormitory, seen: u64) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        for _ in 0..16 {
            if dormitory.signal() != seen {
                return true;
            }
            std::hint::spin_loop();
        }
    }
    false
}
