//! The single-threaded twin of the pool: the same jobs on the calling thread, always in the same order.

use crate::cancel::CancelToken;
use crate::job::guarded;
use crate::task::{JobSpec, TaskSet, WorkerId};
use base::Result;
use base::ids::Id;

/// Runs jobs on the calling thread: for tests, for one thread, and for statements so small that waking a worker would
/// take longer than they do. It never sleeps, hence ignores [`TaskSet::is_ready`]: its caller's sinks must not depend
/// on a consumer that runs meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SingleThreaded {
    /// Workers to play: each morsel is claimed and run as one of them, so that code with per-worker state meets many
    /// workers without a thread (under Miri, say).
    pub workers: usize,
    /// Which of them comes next: 0 for one after the other, else a pseudo-random order.
    pub seed: u64,
}

impl Default for SingleThreaded {
    fn default() -> Self {
        Self { workers: 1, seed: 0 }
    }
}

impl SingleThreaded {
    /// Runs the stages in their order. Errors, panics and cancellation are as with the pool.
    pub fn run(&self, spec: JobSpec, cancel: &CancelToken) -> Result<()> {
        let mut turn = Turn { workers: self.workers.max(1), state: self.seed, count: 0 };
        for (stage, _) in spec.stages {
            cancel.check()?;
            let mut tasks = Some(guarded(stage.name(), || stage.start())?);
            while let Some(phase) = tasks.take() {
                guarded(stage.name(), || exhaust(&*phase, &mut turn, cancel))?;
                guarded(stage.name(), || {
                    drop(phase);
                    Ok(())
                })?;
                tasks = guarded(stage.name(), || stage.finish())?;
            }
        }
        Ok(())
    }
}

fn exhaust(tasks: &dyn TaskSet, turn: &mut Turn, cancel: &CancelToken) -> Result<()> {
    loop {
        cancel.check()?;
        let worker = turn.next();
        let Some(morsel) = tasks.claim(worker) else { return Ok(()) };
        tasks.run(worker, morsel)?;
    }
}

/// Whose turn it is.
struct Turn {
    workers: usize,
    state: u64,
    count: usize,
}

impl Turn {
    fn next(&mut self) -> WorkerId {
        self.count += 1;
        let index = if self.state == 0 {
            self.count - 1
        } else {
            // Marsaglia's xorshift64: never 0 again.
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            self.state as usize >> 8
        };
        WorkerId::from_index(index % self.workers)
    }
}
