//! The rounds of a recursion as one stage of the scheduler (decision 41): its pipelines one after the other, each morsel-driven,
//! as often as a round adds rows.
//!
//! Invariant: nothing else of the query runs meanwhile. The stage comes after all pipelines before its last one, and all behind
//! wait for it, so states can be exchanged between rounds without asking who looks at them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use base::Result;
use base::ids::Id;
use pipeline::ir::{PipelineId, Program, StateId};
use scheduler::{Cutting, MorselRanges, Progress, Stage, TaskSet, Tasks};

use super::Query;
use super::stage::{preparation, source_tasks, watched};

/// A pipeline of the rounds, and the states that it is the last to fill in a round.
struct Step {
    pipeline: PipelineId,
    finishes: Vec<StateId>,
    /// Whether its source is ready to be read, in all rounds.
    is_prepared: AtomicBool,
}

pub(super) struct RoundsStage {
    query: Arc<Query>,
    recursion: StateId,
    name: String,
    /// Those that take the rows of a round away, then those that add the next ones.
    steps: Vec<Step>,
    readers: usize,
    at: Mutex<At>,
}

/// What comes when the present task set is done.
enum At {
    /// A round.
    Round,
    /// The pipeline of a step.
    Step(usize),
    /// What is left to finalise, and the phase of the first; then the pipeline of a step, or nothing more.
    Finalizing(VecDeque<StateId>, usize, Option<usize>),
}

/// A pipeline that runs as a part of a stage of rounds, in its place among the stages.
pub(super) struct PartStage {
    pub name: String,
}

impl Stage for PartStage {
    fn name(&self) -> &str {
        &self.name
    }
    fn start(&self, cut: &Cutting) -> Result<Box<dyn TaskSet>> {
        Ok(nothing(cut))
    }
    fn finish(&self, _: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
        Ok(None)
    }
}

fn nothing(cut: &Cutting) -> Box<dyn TaskSet> {
    let ranges: MorselRanges = cut.rows(0);
    Tasks::boxed(ranges, |_, _| Ok(Progress::Done))
}

impl RoundsStage {
    pub fn new(query: Arc<Query>, recursion: StateId) -> Self {
        let program = query.program.clone();
        let (readers, adders) = parts(&program, recursion);
        let order: Vec<PipelineId> = readers.iter().chain(&adders).copied().collect();
        let fills = |p: PipelineId| program.pipelines[p].fills.iter().copied();
        let step = |(at, &pipeline): (usize, &PipelineId)| {
            let later = |state: StateId| order[at + 1..].iter().any(|&p| fills(p).any(|s| s == state));
            let is_part = readers.contains(&pipeline);
            let finishes = fills(pipeline).filter(|&state| !is_part && state != recursion && !later(state));
            Step { pipeline, finishes: finishes.collect(), is_prepared: AtomicBool::new(false) }
        };
        let steps = order.iter().enumerate().map(step).collect();
        let names: Vec<&str> = order.iter().map(|&p| program.pipelines[p].name.as_str()).collect();
        let name = format!("rounds: {}", names.join(" | "));
        Self { query, recursion, name, steps, readers: readers.len(), at: Mutex::new(At::Round) }
    }

    fn next(&self, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let next = match &mut *at {
                At::Round if self.begin_round()? == 0 => self.end(),
                At::Round => At::Step(0),
                At::Step(step) if *step == self.readers && self.readers_are_served() => self.end(),
                At::Step(step) if *step == self.steps.len() => At::Round,
                At::Step(step) => {
                    let (step, Step { pipeline, finishes, is_prepared }) = (*step, &self.steps[*step]);
                    if !is_prepared.swap(true, Ordering::Relaxed)
                        && let Some(tasks) = preparation(&self.query, *pipeline, cut)
                    {
                        return Ok(Some(tasks));
                    }
                    *at = At::Finalizing(finishes.iter().copied().collect(), 0, Some(step + 1));
                    match source_tasks(&self.query, *pipeline, cut)? {
                        Some(tasks) => return Ok(Some(tasks)),
                        None => continue,
                    }
                }
                At::Finalizing(states, phase, then) => match states.front().copied() {
                    Some(state) => {
                        if let Some(tasks) = self.query.context.finalize_phase(state, *phase, cut)? {
                            *phase += 1;
                            return Ok(Some(self.watched(state, tasks)));
                        }
                        states.pop_front();
                        *phase = 0;
                        continue;
                    }
                    None => match *then {
                        Some(step) => At::Step(step),
                        None => return Ok(None),
                    },
                },
            };
            *at = next;
        }
    }

    fn begin_round(&self) -> Result<u64> {
        self.query.cancel.check()?;
        // SAFETY: as the module says; this stage's own task sets have ended.
        Ok(unsafe { self.query.context.begin_round(self.recursion) })
    }

    /// Whether there are readers, and none of them asks for another row.
    fn readers_are_served(&self) -> bool {
        let is_exhausted = |step: &Step| {
            let limits = self.query.limits_of(&self.query.program.pipelines[step.pipeline].body);
            limits.iter().any(|&limit| self.query.context.is_exhausted(limit))
        };
        self.readers > 0 && self.steps[..self.readers].iter().all(is_exhausted)
    }

    /// No more rounds: what only readers still filled is finalised.
    fn end(&self) -> At {
        let fillers = &self.query.fillers;
        let last = |s: &StateId| fillers[s.index()].fetch_sub(1, Ordering::AcqRel) == 1;
        let fills = |step: &Step| self.query.program.pipelines[step.pipeline].fills.clone();
        At::Finalizing(self.steps[..self.readers].iter().flat_map(fills).filter(last).collect(), 0, None)
    }

    fn watched(&self, state: StateId, tasks: Box<dyn TaskSet>) -> Box<dyn TaskSet> {
        let fills = |step: &&Step| self.query.program.pipelines[step.pipeline].fills.contains(&state);
        match self.steps.iter().find(fills) {
            Some(step) => {
                let operator = self.query.program.pipelines[step.pipeline].operator;
                watched(&self.query, step.pipeline, operator, tasks)
            }
            None => tasks,
        }
    }
}

impl Stage for RoundsStage {
    fn name(&self) -> &str {
        &self.name
    }
    fn start(&self, cut: &Cutting) -> Result<Box<dyn TaskSet>> {
        Ok(self.next(cut)?.unwrap_or_else(|| nothing(cut)))
    }
    fn finish(&self, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
        self.next(cut)
    }
}

/// The pipelines of a recursion's rounds: those that read its rows and add none, and the others.
fn parts(program: &Program, recursion: StateId) -> (Vec<PipelineId>, Vec<PipelineId>) {
    let all = || program.pipelines.iter().filter(move |(_, p)| p.rounds == Some(recursion));
    let last = all().filter(|(_, p)| p.fills.contains(&recursion)).map(|(id, _)| id).next_back();
    let (readers, adders): (Vec<_>, Vec<_>) =
        all().map(|(id, _)| id).partition(|&id| last.is_none_or(|last| id > last));
    (readers, adders)
}
