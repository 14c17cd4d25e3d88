//! The QEPobject: a passive state machine over a job's stages (thesis 4.4.2). Its caller holds the job's lock.
//!
//! ```text
//! Waiting ──dependencies done──▶ Ready ──start()──▶ Running ⟲ finish() gave a task set ──finish() gave none──▶ Done
//! ```
//!
//! Invariants: a stage has at most one phase (task set) at a time; `start` and `finish` of a stage are called by one
//! thread at a time; a phase ends when a claim has failed and the last worker inside has left.

use crate::task::{JobSpec, Stage, TaskSet};
use base::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// A task set that is being worked on.
pub(crate) struct Phase {
    pub(crate) stage: usize,
    pub(crate) tasks: Box<dyn TaskSet>,
    /// Sleeping workers that were called to this phase.
    pub(crate) calls: AtomicUsize,
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
    dependents: Vec<usize>,
}

struct Active {
    phase: Arc<Phase>,
    running: usize,
    exhausted: bool,
}

/// What a worker that asks for work gets.
pub(crate) enum Step {
    /// Work on the phase's morsels, then `leave` it.
    Work(Arc<Phase>),
    /// Call `start`, then `publish` or `fail`.
    Start(usize, Arc<dyn Stage>),
}

/// The state machine.
pub(crate) struct Graph {
    slots: Vec<Slot>,
    /// In the order of their stages.
    active: Vec<Active>,
    /// Workers that are in a phase or call `start` or `finish`.
    inside: usize,
    remaining: usize,
    /// The first error.
    pub(crate) error: Option<Error>,
    closed: bool,
}

impl Graph {
    pub(crate) fn new(spec: JobSpec) -> Self {
        let remaining = spec.stages.len();
        let mut slots: Vec<Slot> = Vec::with_capacity(remaining);
        for (number, (stage, deps)) in spec.stages.into_iter().enumerate() {
            for &dep in &deps {
                slots[dep].dependents.push(number);
            }
            let state = if deps.is_empty() { State::Ready } else { State::Waiting };
            slots.push(Slot { stage: Some(stage), state, waits_for: deps.len(), dependents: Vec::new() });
        }
        Self { slots, active: Vec::new(), inside: 0, remaining, error: None, closed: false }
    }

    /// The first phase with morsels; else the first stage that may start; else nothing for now. `is_ready` says
    /// whether a task set may be claimed from.
    pub(crate) fn enter(&mut self, is_ready: impl Fn(&Phase) -> bool) -> Option<Step> {
        if self.closed {
            return None;
        }
        let step = match self.active.iter_mut().find(|active| !active.exhausted && is_ready(&active.phase)) {
            Some(active) => {
                active.running += 1;
                Step::Work(active.phase.clone())
            }
            None => {
                let number = self.slots.iter().position(|slot| slot.state == State::Ready)?;
                let slot = &mut self.slots[number];
                slot.state = State::Running;
                Step::Start(number, slot.stage.clone().expect("a stage that is ready is there"))
            }
        };
        self.inside += 1;
        Some(step)
    }

    /// A worker leaves the phase of `stage`, whose handle it has dropped. If that ends the phase, the caller gets what
    /// to drop and the stage to `finish`, and stays inside.
    pub(crate) fn leave(
        &mut self,
        stage: usize,
        exhausted: bool,
        stopped: bool,
    ) -> Option<(Arc<Phase>, Arc<dyn Stage>)> {
        let at = self.active.iter().position(|active| active.phase.stage == stage).expect("the phase is active");
        let active = &mut self.active[at];
        active.exhausted |= exhausted;
        active.running -= 1;
        if active.running == 0 && active.exhausted && !stopped {
            let phase = self.active.remove(at).phase;
            return Some((phase, self.slots[stage].stage.clone().expect("a running stage is there")));
        }
        self.inside -= 1;
        None
    }

    /// The caller of `start` or `finish` got a task set, and is outside now.
    pub(crate) fn publish(&mut self, stage: usize, tasks: Box<dyn TaskSet>) {
        debug_assert!(self.slots[stage].state == State::Running);
        let phase = Arc::new(Phase { stage, tasks, calls: AtomicUsize::new(0) });
        let at = self.active.partition_point(|active| active.phase.stage < stage);
        self.active.insert(at, Active { phase, running: 0, exhausted: false });
        self.inside -= 1;
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
        if self.closed || self.inside > 0 || !(stopped || self.remaining == 0) {
            return None;
        }
        self.closed = true;
        let stages = self.slots.iter_mut().filter_map(|slot| slot.stage.take()).collect();
        let phases = self.active.drain(..).map(|active| active.phase).collect();
        Some(Remains { _phases: phases, _stages: stages })
    }

    /// Lets sleeping workers be called to all phases once more.
    pub(crate) fn reset_calls(&self) {
        for active in &self.active {
            active.phase.calls.store(0, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

/// What an ended job still owns; phases go before the stages that they came from.
pub(crate) struct Remains {
    _phases: Vec<Arc<Phase>>,
    _stages: Vec<Arc<dyn Stage>>,
}
