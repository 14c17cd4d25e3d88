//! What an outsider may see of each morsel: for accounting, traces and replays.

use crate::morsel::{Morsel, Progress, WorkerId};
use crate::topology::NodeId;
use base::Result;
use base::traffic::Traffic;
use std::time::{Duration, Instant};

/// One run of a morsel, or of the rest of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The stage, by its number in the job.
    pub stage: usize,
    /// Its phase: 0 is the pipeline itself, further ones are steps of its finalisation.
    pub phase: usize,
    /// Who ran it.
    pub worker: WorkerId,
    /// What it was given.
    pub morsel: Morsel,
    /// Where the rows lie, if the task set knows.
    pub node: Option<NodeId>,
    /// Whether they lie on another node than the worker sits on.
    pub remote: bool,
    /// Whether the morsel came from another worker's lane.
    pub stolen: bool,
    /// Whether it is the rest of a morsel that yielded.
    pub resumed: bool,
    /// What is left of it; none after an error.
    pub progress: Option<Progress>,
    /// What was read and written.
    pub traffic: Traffic,
    /// When it began.
    pub begin: Instant,
    /// How long it took.
    pub time: Duration,
}

impl Run {
    /// The rows that were done: of a morsel that yielded, those up to its rest.
    pub fn rows(&self) -> u64 {
        let rest = self.progress.and_then(Progress::rest);
        self.morsel.len() - rest.map_or(0, Morsel::len).min(self.morsel.len())
    }
}

/// Sees what becomes of a job.
pub trait Observer: Send + Sync {
    /// A morsel, or a part of one, has been run: called by the worker that ran it, right after it.
    fn ran(&self, _run: &Run) {}

    /// The job has ended, and nothing of it is left.
    fn ended(&self, _result: &Result<()>) {}
}
