//! What a query gives to the scheduler: task sets of morsels, stages, and jobs made of stages.

use crate::cutting::Cutting;
use crate::morsel::{Claim, Morsel, Progress, WorkerId};
use crate::ranges::MorselRanges;
use crate::size::Wanted;
use base::Result;
use std::sync::Arc;

/// What the dispatcher hands out: one pipeline, or one phase of its finalisation.
///
/// Every row of a morsel is run once, by the worker that claimed it or by one that goes on where it yielded. Errors and
/// panics of either method end the job.
pub trait TaskSet: Send + Sync {
    /// Cuts the next morsel for `worker`, of a size that it wants, where sizes are not fixed.
    fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim;

    /// Works on a morsel, or on what was left of one, for about a [`Slice`](crate::Slice): what takes longer stops where
    /// it can go on later and returns the rest. A rest counts as the rows that it has, so its rows are the last ones.
    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<Progress>;

    /// Divides what is left of a morsel into what the worker goes on with, first, and what an idle one may take; none if it
    /// is one worker's.
    fn split(&self, _rest: Morsel) -> Option<[Morsel; 2]> {
        None
    }

    /// Rows in all morsels together, for progress; 0 if unknown.
    fn total(&self) -> u64 {
        0
    }
}

impl<T: TaskSet + ?Sized> TaskSet for Arc<T> {
    fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim {
        (**self).claim(worker, wanted)
    }
    fn split(&self, rest: Morsel) -> Option<[Morsel; 2]> {
        (**self).split(rest)
    }
    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<Progress> {
        (**self).run(worker, morsel)
    }
    fn total(&self) -> u64 {
        (**self).total()
    }
}

/// A task set of [`MorselRanges`] and a closure, which returns [`Progress`], or nothing if it never yields.
pub struct Tasks<F> {
    ranges: MorselRanges,
    run: F,
}

impl<P: Into<Progress>, F: Fn(WorkerId, Morsel) -> Result<P> + Send + Sync + 'static> Tasks<F> {
    /// Calls `run` for every morsel of `ranges`.
    pub fn new(ranges: MorselRanges, run: F) -> Self {
        Self { ranges, run }
    }
    /// The same, boxed as stages return it.
    pub fn boxed(ranges: MorselRanges, run: F) -> Box<dyn TaskSet> {
        Box::new(Self::new(ranges, run))
    }
}

impl<P: Into<Progress>, F: Fn(WorkerId, Morsel) -> Result<P> + Send + Sync> TaskSet for Tasks<F> {
    fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim {
        self.ranges.claim(worker, wanted)
    }
    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<Progress> {
        (self.run)(worker, morsel).map(Into::into)
    }
    fn total(&self) -> u64 {
        self.ranges.rows()
    }
}

/// A pipeline and its finalisation: what the QEPobject advances (thesis 4.4.2).
///
/// Each method is called by one thread at a time, and what it returns is dropped before `finish` is called (again),
/// so that an `Arc` shared with the task set is then unshared. Finalisation is morsels too, in as many phases as it takes
/// (size exactly, then insert; find separators, then merge). Per-worker state lies in the stage, in
/// [`EachWorker`](crate::EachWorker).
pub trait Stage: Send + Sync {
    /// Names the stage in reports and errors.
    fn name(&self) -> &str;

    /// Called once, when all stages that it depends on have finished: sizes of hash tables are known now.
    fn start(&self, cut: &Cutting) -> Result<Box<dyn TaskSet>>;

    /// Called after the last morsel of each task set, until it returns none.
    fn finish(&self, _cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
        Ok(None)
    }

    /// An estimate of the rows of `start`'s task set, for progress before the stage starts; 0 if unknown.
    fn estimated_rows(&self) -> u64 {
        0
    }
}

/// A function that makes a pipeline's task set when its dependencies have finished.
type Source = Box<dyn Fn(&Cutting) -> Result<Box<dyn TaskSet>> + Send + Sync>;

/// A [`Stage`] of one phase: a function that makes the task set.
pub struct Pipeline {
    name: String,
    source: Source,
    estimated_rows: u64,
}

impl Pipeline {
    /// A pipeline that is over after its last morsel.
    pub fn new(
        name: impl Into<String>,
        source: impl Fn(&Cutting) -> Result<Box<dyn TaskSet>> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), source: Box::new(source), estimated_rows: 0 }
    }
    /// Expects `rows` rows.
    pub fn estimate(mut self, rows: u64) -> Self {
        self.estimated_rows = rows;
        self
    }
}

impl Stage for Pipeline {
    fn name(&self) -> &str {
        &self.name
    }
    fn start(&self, cut: &Cutting) -> Result<Box<dyn TaskSet>> {
        (self.source)(cut)
    }
    fn estimated_rows(&self) -> u64 {
        self.estimated_rows
    }
}

/// The stages of one query and which of them must finish before which.
#[derive(Default)]
pub struct JobSpec {
    pub(crate) stages: Vec<(Arc<dyn Stage>, Vec<usize>)>,
}

impl JobSpec {
    /// A job without stages: it is finished as soon as it is submitted.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a stage and returns its number. Stages run in this order as far as dependencies allow; a later stage
    /// runs beside an earlier one only on workers that find nothing left in the earlier one.
    ///
    /// # Panics
    /// If `deps` names a stage that was not added before: hence there are no cycles.
    pub fn add(&mut self, stage: impl Stage + 'static, deps: &[usize]) -> usize {
        let number = self.stages.len();
        assert!(deps.iter().all(|&dep| dep < number), "stage {number} depends on a later stage: {deps:?}");
        let mut deps = deps.to_vec();
        deps.sort_unstable();
        deps.dedup();
        self.stages.push((Arc::new(stage), deps));
        number
    }

    /// Number of stages.
    pub fn len(&self) -> usize {
        self.stages.len()
    }
    /// Whether there is no stage.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }
}
