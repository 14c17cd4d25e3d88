//! The QEPobject: a passive state machine over a job's stages (thesis 4.4.2). Its caller holds the job's lock.
//!
//! ```text
//! Waiting ──dependencies done──▶ Ready ──start()──▶ Running ⟲ finish() gave a task set ──finish() gave none──▶ Done
//! ```
//!
//! A worker that goes elsewhere and comes back does so without the lock, through the phase's gate, as long as nothing has
//! happened that the lock guards: the gate counts who is inside, and is barred as soon as somebody has to look.
//!
//! Invariants: a stage has at most one phase (task set) at a time; `start` and `finish` of a stage are called by one
//! thread at a time; a phase ends when a claim has found it done, no rest of a morsel waits, and the last worker inside
//! has left.

use crate::gate::Gate;
use crate::morsel::Morsel;
use crate::size::Pace;
use crate::task::{JobSpec, Stage, TaskSet};
use base::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

/// A task set that is being worked on.
pub(crate) struct Phase {
    pub(crate) stage: usize,
    /// How many task sets of the stage came before.
    pub(crate) number: usize,
    pub(crate) tasks: Box<dyn TaskSet>,
    pub(crate) gate: Arc<Gate>,
    /// Parked workers that were notified for this phase.
    pub(crate) notified: AtomicUsize,
    /// How long its rows take, as the last worker has found that came to know or left: for those that come.
    pace: AtomicU64,
}

impl Phase {
    fn new(stage: usize, number: usize, tasks: Box<dyn TaskSet>) -> Self {
        let (notified, pace) = (AtomicUsize::new(0), AtomicU64::new(Pace::default().to_bits()));
        Self { stage, number, tasks, gate: Arc::default(), notified, pace }
    }

    /// How long its rows take, as far as others know.
    pub(crate) fn pace(&self) -> Pace {
        Pace::of_bits(self.pace.load(Relaxed))
    }

    /// A worker has found out how long.
    pub(crate) fn tell(&self, pace: Pace) {
        if pace.is_known() {
            self.pace.store(pace.to_bits(), Relaxed);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Ready,
    Running,
    Done,
}

struct Slot {
    /// None once done: what the stage owns is free then.
    stage: Option<Arc<dyn Stage>>,
    state: State,
    waits_for: usize,
    /// Task sets so far.
    phases: usize,
    dependents: Vec<usize>,
}

struct Active {
    phase: Arc<Phase>,
    /// No morsel can be claimed any more.
    exhausted: bool,
    /// Nothing may be run until the consumer of the result has made room.
    paused: bool,
    /// What is left of morsels whose workers went elsewhere.
    rests: Vec<Morsel>,
}

/// Why a worker leaves a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// There is something better to do than this rest, or than the next morsel.
    Elsewhere(Option<Morsel>),
    /// A claim has found nothing, for good.
    Exhausted,
    /// The consumer of the result is behind, or was when it had called so often.
    Paused { rest: Option<Morsel>, calls: u64 },
}

/// What a worker that asks for work gets.
pub(crate) enum Step {
    /// Work on the phase's morsels, beginning with what is left of one, then `leave` it.
    Work(Arc<Phase>, Option<Morsel>),
    /// Call `start`, then `publish` or `fail`.
    Start(usize, Arc<dyn Stage>),
}

/// The state machine.
pub(crate) struct Graph {
    slots: Vec<Slot>,
    /// In the order of their stages.
    active: Vec<Active>,
    /// Workers that call `start` or `finish`.
    inside: usize,
    remaining: usize,
    /// Whether stages run side by side that can.
    bushy: bool,
    /// The first error.
    pub(crate) error: Option<Error>,
    closed: bool,
}

impl Graph {
    pub(crate) fn new(spec: JobSpec, bushy: bool) -> Self {
        let remaining = spec.stages.len();
        let mut slots: Vec<Slot> = Vec::with_capacity(remaining);
        for (number, (stage, deps)) in spec.stages.into_iter().enumerate() {
            for &dep in &deps {
                slots[dep].dependents.push(number);
            }
            let state = if deps.is_empty() { State::Ready } else { State::Waiting };
            slots.push(Slot { stage: Some(stage), state, waits_for: deps.len(), phases: 0, dependents: Vec::new() });
        }
        Self { slots, active: Vec::new(), inside: 0, remaining, bushy, error: None, closed: false }
    }

    /// The first phase with morsels; else the first stage that may start; else nothing for now. Side by side: the first stage
    /// that may start; else the phase with morsels that has the fewest workers.
    pub(crate) fn enter(&mut self) -> Option<Step> {
        if self.closed {
            return None;
        }
        let ready = self.slots.iter().position(|slot| slot.state == State::Ready);
        let mut with_work = self.active.iter_mut().filter(|active| active.has_work());
        let active = match (self.bushy, ready) {
            (false, _) => with_work.next(),
            (true, Some(_)) => None,
            (true, None) => with_work.min_by_key(|active| active.phase.gate.inside()),
        };
        if let Some(active) = active {
            active.phase.gate.add();
            let rest = active.rests.pop();
            active.bar();
            return Some(Step::Work(active.phase.clone(), rest));
        }
        let number = ready?;
        let slot = &mut self.slots[number];
        slot.state = State::Running;
        self.inside += 1;
        Some(Step::Start(number, slot.stage.clone().expect("a stage that is ready is there")))
    }

    /// A worker leaves the phase of `stage`, whose handle it has dropped. If that ends the phase, the caller gets what
    /// to drop and the stage to `finish`, which counts as being inside.
    pub(crate) fn leave(&mut self, stage: usize, why: Left, stopped: bool) -> Option<(Arc<Phase>, Arc<dyn Stage>)> {
        let at = self.active.iter().position(|active| active.phase.stage == stage).expect("the phase is active");
        let active = &mut self.active[at];
        match why {
            Left::Elsewhere(rest) => active.rests.extend(rest),
            Left::Exhausted => active.exhausted = true,
            Left::Paused { rest, .. } => {
                active.paused = true;
                active.rests.extend(rest);
            }
        }
        active.bar();
        active.phase.gate.remove();
        let over = active.exhausted && active.rests.is_empty() && active.phase.gate.inside() == 0;
        if !over || stopped {
            return None;
        }
        self.inside += 1;
        let phase = self.active.remove(at).phase;
        Some((phase, self.slots[stage].stage.clone().expect("a running stage is there")))
    }

    /// The caller of `start` or `finish` got a task set, and is outside now.
    pub(crate) fn publish(&mut self, stage: usize, tasks: Box<dyn TaskSet>) {
        debug_assert!(self.slots[stage].state == State::Running);
        let slot = &mut self.slots[stage];
        let number = slot.phases;
        slot.phases += 1;
        let phase = Arc::new(Phase::new(stage, number, tasks));
        let at = self.active.partition_point(|active| active.phase.stage < stage);
        self.active.insert(at, Active { phase, exhausted: false, paused: false, rests: Vec::new() });
        self.inside -= 1;
    }

    /// Whether nothing is left in a phase for whoever comes, but what is run at present: the time to divide that.
    pub(crate) fn is_short(&self, stage: usize) -> bool {
        self.active.iter().any(|active| active.phase.stage == stage && active.exhausted && active.rests.is_empty())
    }

    /// A worker inside of a phase leaves a part of its morsel to whoever comes.
    pub(crate) fn share(&mut self, stage: usize, rest: Morsel) {
        let active = self.active.iter_mut().find(|active| active.phase.stage == stage).expect("the phase is active");
        active.rests.push(rest);
        active.bar();
    }

    /// Takes a finished stage out, to be dropped before `done`.
    pub(crate) fn take(&mut self, stage: usize) -> Option<Arc<dyn Stage>> {
        self.slots[stage].stage.take()
    }

    /// The caller of `finish` got none, and is outside now.
    pub(crate) fn done(&mut self, stage: usize) {
        debug_assert!(self.slots[stage].state == State::Running);
        self.slots[stage].state = State::Done;
        self.remaining -= 1;
        self.inside -= 1;
        for dependent in std::mem::take(&mut self.slots[stage].dependents) {
            let slot = &mut self.slots[dependent];
            slot.waits_for -= 1;
            if slot.waits_for == 0 {
                slot.state = State::Ready;
            }
        }
    }

    /// The caller of `start` or `finish` got an error, and is outside now.
    pub(crate) fn abandon(&mut self) {
        self.inside -= 1;
    }

    /// Whether every stage is done.
    pub(crate) fn complete(&self) -> bool {
        self.remaining == 0
    }

    /// Closes the job if it has ended and nobody is inside. The caller that gets the remains drops them and announces
    /// the end.
    pub(crate) fn close(&mut self, stopped: bool) -> Option<Remains> {
        if self.closed || !(stopped || self.remaining == 0) {
            return None;
        }
        // From here on nobody comes in, and who leaves looks here again.
        self.active.iter().for_each(|active| active.phase.gate.bar(true));
        if self.inside > 0 || self.active.iter().any(|active| active.phase.gate.inside() > 0) {
            return None;
        }
        self.closed = true;
        let stages = self.slots.iter_mut().filter_map(|slot| slot.stage.take()).collect();
        let phases = self.active.drain(..).map(|active| active.phase).collect();
        Some(Remains { _phases: phases, _stages: stages })
    }

    /// The consumer of the result has made room: whether something waited for that. Parked workers may be notified
    /// for those phases once more.
    pub(crate) fn resume(&mut self) -> bool {
        let mut any = false;
        for active in self.active.iter_mut().filter(|active| active.paused) {
            active.paused = false;
            active.bar();
            active.phase.notified.store(0, Relaxed);
            any = true;
        }
        any
    }
}

impl Active {
    /// Bars the gate while there is something that only the lock tells.
    fn bar(&self) {
        self.phase.gate.bar(self.exhausted || self.paused || !self.rests.is_empty());
    }

    fn has_work(&self) -> bool {
        !(self.paused || self.exhausted && self.rests.is_empty())
    }
}

/// What an ended job still owns; phases go before the stages that they came from.
pub(crate) struct Remains {
    _phases: Vec<Arc<Phase>>,
    _stages: Vec<Arc<dyn Stage>>,
}

#[cfg(test)]
mod tests;
