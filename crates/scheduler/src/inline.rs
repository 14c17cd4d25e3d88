//! The single-threaded twin of the pool: the same jobs on the calling thread, always in the same order.

use crate::cancel::CancelToken;
use crate::cutting::Cutting;
use crate::job::guarded;
use crate::morsel::{Claim, Morsel, Progress, WorkerId};
use crate::observe::{Observer, Run};
use crate::size::Wanted;
use crate::task::{JobSpec, TaskSet};
use base::ids::Id;
use base::traffic::{self, MemoryPlacement};
use base::{Error, Random, Result};
use std::sync::Arc;
use std::time::Instant;

/// Runs jobs on the calling thread: for tests, for one thread, and for statements so small that waking a worker would
/// take longer than they do. Nobody can take a result away meanwhile: a task set that says [`Claim::NotNow`] here gets
/// an error, hence its caller's sinks must not depend on a consumer.
#[derive(Clone)]
pub struct SingleThreaded {
    /// How phases are cut. As many workers are played: each morsel is claimed and run as one of them, so that code with
    /// per-worker state meets many workers without a thread (under Miri, say).
    pub cut: Cutting,
    /// Which of them comes next: 0 for one after the other, else a pseudo-random order.
    pub seed: u64,
    /// Where it is taken to sit meanwhile.
    pub seats: Seats,
    /// Sees every run of a morsel.
    pub observer: Option<Arc<dyn Observer>>,
}

/// On which node a thread that plays workers is taken to be, for the memory that it gets and the bytes that are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seats {
    /// On its own, whomever it plays.
    #[default]
    Own,
    /// Where the worker sits that it plays.
    Played,
}

impl Default for SingleThreaded {
    fn default() -> Self {
        Self { cut: Cutting::new(1), seed: 0, seats: Seats::Own, observer: None }
    }
}

impl SingleThreaded {
    /// Runs the stages in their order. Errors, panics and cancellation are as with the pool.
    pub fn run(&self, spec: JobSpec, cancel: &CancelToken) -> Result<()> {
        let mut turn =
            Turn { workers: self.cut.threads.max(1), random: (self.seed > 0).then_some(Random(self.seed)), count: 0 };
        for (number, (stage, _)) in spec.stages.into_iter().enumerate() {
            cancel.check()?;
            let mut tasks = Some(guarded(stage.name(), || stage.start(&self.cut))?);
            for at in 0.. {
                let Some(phase) = tasks.take() else { break };
                let observed = Observed { stage: number, phase: at, observer: self.observer.as_deref() };
                let next = || {
                    let worker = turn.next();
                    self.sit(worker);
                    worker
                };
                guarded(stage.name(), || run_all(&*phase, next, observed, cancel))?;
                guarded(stage.name(), || {
                    drop(phase);
                    Ok(())
                })?;
                tasks = guarded(stage.name(), || stage.finish(&self.cut))?;
            }
        }
        Ok(())
    }

    fn sit(&self, worker: WorkerId) {
        if self.seats == Seats::Played {
            let node = self.cut.placement.node(worker);
            traffic::sit(node.0 as u16, self.cut.placement.topology().hops(node));
        }
    }
}

/// Runs all morsels that are left as one worker, each to its end.
pub fn exhaust(tasks: &dyn TaskSet, worker: WorkerId) -> Result<()> {
    let observed = Observed { stage: 0, phase: 0, observer: None };
    run_all(tasks, || worker, observed, &CancelToken::new())
}

/// Runs all morsels. What a worker leaves of one is run by whoever comes next, so that rests change hands as they may
/// in the pool.
fn run_all(
    tasks: &dyn TaskSet,
    mut next: impl FnMut() -> WorkerId,
    observed: Observed<'_>,
    cancel: &CancelToken,
) -> Result<()> {
    let mut rest: Option<Morsel> = None;
    loop {
        cancel.check()?;
        let worker = next();
        // Nobody else pays for a clock.
        let begin = observed.observer.map(|_| Instant::now());
        let claim = match rest {
            Some(rest) => Claim::Morsel { morsel: rest, node: None, stolen: false },
            None => tasks.claim(worker, Wanted::USUAL),
        };
        let (morsel, node, stolen) = match claim {
            Claim::Morsel { morsel, node, stolen } => (morsel, node, stolen),
            Claim::Done => return Ok(()),
            Claim::NotNow => return Err(nobody_takes()),
        };
        traffic::begin(MemoryPlacement::FirstTouch);
        let progress = tasks.run(worker, morsel)?;
        if let Some((observer, begin)) = observed.observer.zip(begin) {
            observer.ran(&Run {
                stage: observed.stage,
                phase: observed.phase,
                worker,
                morsel,
                node,
                remote: false,
                stolen,
                resumed: rest.is_some(),
                progress: Some(progress),
                traffic: traffic::so_far(),
                begin,
                time: begin.elapsed(),
            });
        }
        rest = match progress {
            Progress::NotNow(_) => return Err(nobody_takes()),
            progress => progress.rest(),
        };
    }
}

fn nobody_takes() -> Error {
    Error::internal("a job that waits for its consumer runs on the consumer's thread")
}

/// Which phase runs, and who sees it.
#[derive(Clone, Copy)]
struct Observed<'a> {
    stage: usize,
    phase: usize,
    observer: Option<&'a dyn Observer>,
}

/// Whose turn it is.
struct Turn {
    workers: usize,
    random: Option<Random>,
    count: usize,
}

impl Turn {
    fn next(&mut self) -> WorkerId {
        self.count += 1;
        let index = match &mut self.random {
            Some(random) => random.index(self.workers),
            None => (self.count - 1) % self.workers,
        };
        WorkerId::from_index(index)
    }
}
