//! What a worker thread does, for its life.

use crate::dispatcher::{Dispatcher, View};
use crate::duty::WorkerState;
use crate::event_count::{EventCount, Parker};
use crate::graph::{Left, Phase, Step};
use crate::job::{Job, Ran};
use crate::morsel::{Morsel, WorkerId};
use crate::sync::{Arc, thread_local};
use base::ids::Id;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long an idle worker looks for the next phase before it parks: about what a wake-up costs.
const PATIENCE: Duration = Duration::from_micros(if cfg!(shuttle) { 0 } else { 20 });

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is a worker (of any scheduler), which must not wait for a job.
pub(crate) fn is_worker() -> bool {
    IS_WORKER.with(Cell::get)
}

/// Serves jobs until the dispatcher shuts, bound to processors if it is to `pin` itself.
pub(crate) fn serve(dispatcher: &Dispatcher, worker: WorkerId, pin: bool) {
    IS_WORKER.with(|is_worker| is_worker.set(true));
    // For how many workers it is bound: others change places, too, when their number changes.
    let mut bound = 0;
    let parker = Arc::new(Parker::default());
    let mut view = View::default();
    let duty = dispatcher.duty(worker);
    // Notified, and not yet at work: it owes a notification to the next one.
    let mut notified = false;
    loop {
        // Before anything is looked at, the end included: what changes later changes the epoch, and is not slept through.
        let seen = dispatcher.events.epoch();
        if dispatcher.is_shut() {
            return;
        }
        let threads = dispatcher.threads();
        if pin && threads != bound {
            dispatcher.placement.bind(worker, threads);
            bound = threads;
        }
        if worker.index() >= threads {
            view.clear();
            if std::mem::take(&mut notified) {
                dispatcher.events.notify_one();
            }
            duty.is(WorkerState::Inactive);
            dispatcher.wait_until_active(worker);
            duty.is(WorkerState::Looking);
            continue;
        }
        dispatcher.refresh(&mut view);
        if step(dispatcher, (worker, threads), &mut view, &mut notified) {
            continue;
        }
        if view.len() > 0 && look_out(&dispatcher.events, seen) {
            continue;
        }
        view.clear();
        duty.is(WorkerState::Parked);
        notified = dispatcher.events.park(&parker, seen);
        duty.is(WorkerState::Looking);
    }
}

/// Does one thing for the job that is furthest behind, as one of `threads` workers; false if no job has anything to do.
fn step(dispatcher: &Dispatcher, (worker, threads): (WorkerId, usize), view: &mut View, notified: &mut bool) -> bool {
    // A job that turns out to have nothing is not runnable any more, so this ends.
    while let Some((job, held)) = view.best() {
        // Somebody else may have been quicker.
        let Some(_seat) = job.sit() else { continue };
        let again = held.and_then(|held| job.enter_again(&held));
        let again = again.map(|(phase, version)| (Step::Work(phase, None), version));
        let Some((step, version)) = again.or_else(|| job.enter()) else { continue };
        if std::mem::take(notified) {
            dispatcher.events.notify_one();
        }
        match step {
            Step::Start(stage, owner) => job.start(stage, owner),
            Step::Work(phase, rest) => {
                let left = work(dispatcher, (worker, threads), view, &job, &phase, rest, version);
                if let Some(held) = job.leave(phase, version, left) {
                    view.hold(&job, held);
                }
            }
        }
        return true;
    }
    false
}

/// Runs morsels of one phase until there are none, or there is something better to do, or the number of workers changes.
fn work(
    dispatcher: &Dispatcher,
    (worker, threads): (WorkerId, usize),
    view: &mut View,
    job: &Arc<Job>,
    phase: &Phase,
    mut rest: Option<Morsel>,
    version: u64,
) -> Left {
    let (mut company, mut pace) = (job.company(), phase.pace());
    let left = loop {
        company.alone = view.len() < 2;
        company.is_turn = view.is_turn();
        let was_known = pace.is_known();
        match job.run_one(worker, phase, rest, (&mut company, &mut pace)) {
            Ran::Leave(why) => break why,
            Ran::Morsel(left) => rest = left,
        }
        if !was_known {
            phase.tell(pace);
        }
        dispatcher.refresh(view);
        let unchanged = dispatcher.threads() == threads;
        if !(unchanged && job.stays(version) && (view.len() < 2 || view.goes_on(job))) {
            break Left::Elsewhere(rest);
        }
        rest = rest.map(|rest| job.share(phase, rest));
    };
    phase.tell(pace);
    left
}

/// Watches the epoch for a moment: between two phases of a query it comes soon.
fn look_out(events: &EventCount, seen: u64) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        for _ in 0..16 {
            if events.epoch() != seen {
                return true;
            }
            std::hint::spin_loop();
        }
    }
    false
}
