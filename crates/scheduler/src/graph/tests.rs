//! The state machine under every order of a few workers' steps, and every outcome of their runs.
//!
//! A worker here does what `Job` and `worker` do between two takings of the job's lock. States are visited once: a
//! choice is replayed from the beginning, as a graph cannot be copied.

use super::*;
use crate::cutting::Cutting;
use crate::task::{Pipeline, Tasks};
use base::Result;
use std::collections::HashSet;
use std::sync::Weak;

/// What a small job is like.
#[derive(Clone)]
struct Case {
    workers: usize,
    /// Of each stage: what it waits for, and the morsels of its phases.
    stages: &'static [(&'static [usize], &'static [u8])],
    /// How often, in all, a run may stop before its end, and a claim or run may find the consumer behind.
    yields: u8,
    pauses: u8,
    /// How often a worker with a rest in its hands may leave a part of it to others.
    splits: u8,
    /// Whether stages run side by side.
    bushy: bool,
    /// Whether the job may be cancelled.
    cancelled: bool,
}

#[derive(Clone)]
enum At {
    /// Looks for work if there may be any.
    Outside,
    Starting(usize),
    /// In a phase, with a rest in its hands.
    Inside(Arc<Phase>, Option<Morsel>),
    /// Has the last handle of a phase that has ended.
    Finishing(usize),
}

struct World {
    case: Case,
    graph: Graph,
    workers: Vec<At>,
    /// By worker: a phase that it may come back to.
    held: Vec<Option<(Arc<Gate>, Weak<Phase>)>>,
    /// By stage: the phase that runs, the next morsel of it, and the morsels that were run to their end.
    phase: Vec<usize>,
    next: Vec<u8>,
    ran: Vec<u8>,
    /// By stage: parts that were added by dividing rests.
    added: Vec<u8>,
    started: Vec<bool>,
    done: Vec<bool>,
    /// What workers look at before they take the lock.
    runnable: bool,
    paused: u8,
    stopped: bool,
    closed: bool,
}

/// A step that may be taken: by worker number, or by the consumer or canceller, and which of its outcomes.
type Choice = (usize, u8);

fn nothing() -> Box<dyn TaskSet> {
    Tasks::boxed(Cutting::new(1).rows(0), |_, _| Ok(()))
}

impl World {
    fn new(case: &Case) -> Self {
        let mut spec = JobSpec::new();
        for (deps, _) in case.stages {
            spec.add(Pipeline::new("stage", |_| -> Result<Box<dyn TaskSet>> { Ok(nothing()) }), deps);
        }
        let stages = case.stages.len();
        Self {
            case: case.clone(),
            graph: Graph::new(spec, case.bushy),
            workers: vec![At::Outside; case.workers],
            held: vec![None; case.workers],
            phase: vec![0; stages],
            next: vec![0; stages],
            ran: vec![0; stages],
            added: vec![0; stages],
            started: vec![false; stages],
            done: vec![false; stages],
            runnable: true,
            paused: 0,
            stopped: false,
            closed: false,
        }
    }

    fn morsels(&self, stage: usize) -> u8 {
        self.case.stages[stage].1[self.phase[stage]]
    }

    /// All steps that may come next.
    fn choices(&self) -> Vec<Choice> {
        let mut all = Vec::new();
        for (number, at) in self.workers.iter().enumerate() {
            match at {
                At::Outside => {
                    all.extend((self.runnable && !self.closed).then_some((number, 0)));
                    // Whether it looked at `stopped` before it was set does not matter.
                    all.extend((self.runnable && self.held[number].is_some()).then_some((number, 1)));
                }
                At::Starting(_) | At::Finishing(_) => all.push((number, 0)),
                // To run to the end and stay, or to leave; to yield and stay, or to leave; to be held up.
                At::Inside(phase, rest) => {
                    let may_split = self.case.splits > 0 && rest.is_some() && self.graph.is_short(phase.stage);
                    all.extend(may_split.then_some((number, 5)));
                    all.extend([(number, 0), (number, 1)]);
                    all.extend((self.case.yields > 0).then_some([(number, 2), (number, 3)]).into_iter().flatten());
                    all.extend((self.case.pauses > 0).then_some((number, 4)));
                }
            }
        }
        all.extend((self.paused > 0 && !self.closed).then_some((usize::MAX, 0)));
        all.extend((self.case.cancelled && !self.stopped && !self.closed).then_some((usize::MAX, 1)));
        all
    }

    fn take(&mut self, (actor, outcome): Choice) {
        match actor {
            usize::MAX if outcome == 0 => {
                // As `Job::wake`.
                self.paused = 0;
                self.runnable |= self.graph.resume();
            }
            usize::MAX => self.stopped = true,
            worker => self.step(worker, outcome),
        }
        self.settle();
    }

    fn step(&mut self, worker: usize, outcome: u8) {
        let at = std::mem::replace(&mut self.workers[worker], At::Outside);
        self.workers[worker] = match at {
            At::Outside if outcome == 1 => match self.held[worker].take() {
                Some((gate, phase)) if gate.enter() => {
                    At::Inside(phase.upgrade().expect("a phase that is not barred is alive"), None)
                }
                _ => At::Outside,
            },
            At::Outside => {
                let step = if self.stopped { None } else { self.graph.enter() };
                match step {
                    None => {
                        self.runnable = false;
                        At::Outside
                    }
                    Some(Step::Start(stage, _)) => {
                        let (deps, _) = self.case.stages[stage];
                        assert!(deps.iter().all(|&dep| self.done[dep]), "a dependency has not ended");
                        assert!(!std::mem::replace(&mut self.started[stage], true), "started twice");
                        At::Starting(stage)
                    }
                    Some(Step::Work(phase, rest)) => At::Inside(phase, rest),
                }
            }
            At::Starting(stage) => {
                self.publish(stage);
                At::Outside
            }
            At::Finishing(stage) => {
                assert_eq!(self.ran[stage], self.morsels(stage) + self.added[stage], "a phase ended with morsels left");
                if self.phase[stage] + 1 < self.case.stages[stage].1.len() {
                    self.phase[stage] += 1;
                    (self.next[stage], self.ran[stage], self.added[stage]) = (0, 0, 0);
                    self.publish(stage);
                } else {
                    drop(self.graph.take(stage));
                    self.graph.done(stage);
                    self.done[stage] = true;
                    self.runnable = true;
                }
                At::Outside
            }
            At::Inside(phase, rest) => self.run(worker, phase, rest, outcome),
        };
    }

    fn publish(&mut self, stage: usize) {
        self.graph.publish(stage, nothing());
        self.runnable = true;
    }

    /// Claims or goes on, and stays or leaves.
    fn run(&mut self, worker: usize, phase: Arc<Phase>, rest: Option<Morsel>, outcome: u8) -> At {
        let stage = phase.stage;
        if outcome == 5 {
            self.case.splits -= 1;
            self.added[stage] += 1;
            self.graph.share(stage, Morsel { begin: 0, end: 1 });
            self.runnable = true;
            return At::Inside(phase, rest);
        }
        if outcome == 4 {
            self.case.pauses -= 1;
            return self.leave(worker, phase, Left::Paused { rest, calls: 0 });
        }
        let morsel = match rest {
            Some(rest) => rest,
            None if self.next[stage] == self.morsels(stage) => return self.leave(worker, phase, Left::Exhausted),
            None => {
                self.next[stage] += 1;
                Morsel { begin: 0, end: 1 }
            }
        };
        let left = if outcome >= 2 {
            self.case.yields -= 1;
            Some(morsel)
        } else {
            self.ran[stage] += 1;
            None
        };
        if outcome.is_multiple_of(2) && !self.stopped {
            At::Inside(phase, left)
        } else {
            self.leave(worker, phase, Left::Elsewhere(left))
        }
    }

    /// As `Job::leave`.
    fn leave(&mut self, worker: usize, phase: Arc<Phase>, why: Left) -> At {
        let stage = phase.stage;
        let held = (phase.gate.clone(), Arc::downgrade(&phase));
        drop(phase);
        if why == Left::Elsewhere(None) && !self.stopped && held.0.leave() {
            self.held[worker] = Some(held);
            return At::Outside;
        }
        let ended = self.graph.leave(stage, why, self.stopped);
        match why {
            Left::Elsewhere(rest) => self.runnable |= rest.is_some(),
            Left::Exhausted => {}
            // Nobody waits for the consumer of what has ended.
            Left::Paused { .. } => self.paused |= u8::from(ended.is_none()),
        }
        match ended {
            Some((phase, _)) => {
                assert_eq!(Arc::strong_count(&phase), 1, "somebody is inside of a phase that has ended");
                At::Finishing(stage)
            }
            None => At::Outside,
        }
    }

    /// As `Job::settle`.
    fn settle(&mut self) {
        if let Some(remains) = self.graph.close(self.stopped) {
            assert!(!self.closed, "closed twice");
            assert!(self.workers.iter().all(|at| matches!(at, At::Outside)), "closed with a worker inside");
            assert!(self.stopped || self.done.iter().all(|&done| done), "closed before the end");
            drop(remains);
            self.closed = true;
        }
    }

    /// All that decides what can come.
    fn fingerprint(&self) -> String {
        let at = |at: &At| match at {
            At::Outside => "o".to_owned(),
            At::Starting(stage) => format!("s{stage}"),
            At::Finishing(stage) => format!("f{stage}"),
            At::Inside(phase, rest) => format!("i{}{}", phase.stage, rest.is_some()),
        };
        // Workers are alike. A phase that has gone can be held, and not be entered.
        let held = |held: &Option<(Arc<Gate>, Weak<Phase>)>| match held {
            Some((gate, phase)) => {
                format!("{:?}{}", phase.upgrade().map(|phase| phase.stage), u64::from(gate.is_barred()))
            }
            None => String::new(),
        };
        let mut workers: Vec<String> = self.workers.iter().zip(&self.held).map(|(w, h)| at(w) + &held(h)).collect();
        workers.sort_unstable();
        let active = self.graph.active.iter().map(|a| (a.phase.stage, a.exhausted, a.paused, a.rests.len()));
        format!(
            "{workers:?} {:?} {:?} {:?} {:?} {:?} {:?} {} {} {} {} {} {} {}",
            active.collect::<Vec<_>>(),
            self.phase,
            self.next,
            self.ran,
            self.added,
            self.done,
            self.runnable,
            self.paused,
            self.stopped,
            self.closed,
            self.case.yields,
            self.case.pauses,
            self.case.splits,
        )
    }
}

/// Visits all states; returns how many there are.
fn explore(case: &Case) -> usize {
    let mut seen = HashSet::new();
    let mut open: Vec<Vec<Choice>> = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let mut world = World::new(case);
        path.iter().for_each(|&choice| world.take(choice));
        if !seen.insert(world.fingerprint()) {
            continue;
        }
        let choices = world.choices();
        assert!(!choices.is_empty() || world.closed, "nobody will go on: {} after {path:?}", world.fingerprint());
        open.extend(choices.into_iter().map(|choice| path.iter().copied().chain([choice]).collect()));
    }
    seen.len()
}

#[test]
fn small_jobs_end_in_every_order() {
    let case = Case { workers: 2, stages: &[], yields: 0, pauses: 0, splits: 0, bushy: false, cancelled: false };
    let cases = [
        Case { stages: &[(&[], &[2])], yields: 2, pauses: 2, ..case.clone() },
        Case { stages: &[(&[], &[1, 2])], yields: 1, pauses: 1, splits: 1, ..case.clone() },
        Case { stages: &[(&[], &[1, 1]), (&[0], &[2])], yields: 1, ..case.clone() },
        Case { stages: &[(&[], &[2]), (&[], &[1])], yields: 1, pauses: 1, ..case.clone() },
        Case { stages: &[(&[], &[1]), (&[], &[1]), (&[0, 1], &[1])], yields: 1, ..case.clone() },
        Case { stages: &[(&[], &[1]), (&[], &[1]), (&[0, 1], &[1])], yields: 1, bushy: true, ..case.clone() },
        Case { stages: &[(&[], &[1, 1]), (&[], &[2])], pauses: 1, bushy: true, cancelled: true, ..case.clone() },
        Case { stages: &[(&[], &[0, 0, 1])], pauses: 1, ..case.clone() },
        Case { workers: 3, stages: &[(&[], &[2, 1])], yields: 2, pauses: 1, splits: 1, ..case.clone() },
        Case { stages: &[(&[], &[2]), (&[0], &[1])], yields: 1, pauses: 1, splits: 1, cancelled: true, ..case },
    ];
    let states: Vec<usize> = cases.iter().map(explore).collect();
    assert!(states.iter().all(|&states| states > 20), "{states:?}");
}
