//! What a query gives to the scheduler: task sets of morsels, breakers, stages, and jobs made of stages.

use base::Result;
use std::ops::Range;
use std::sync::Arc;

base::typed_id!(
    /// A worker: a dense number below `max_workers()`, so that per-worker state can live in arrays.
    ///
    /// Among the threads that work on one job at one time it is unique; a thread keeps it for its life.
    WorkerId, "worker");

/// A unit of work: the half-open range `begin..end` of rows, partitions or whatever the task set numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Morsel {
    /// First row.
    pub begin: u64,
    /// One past the last row.
    pub end: u64,
}

impl Morsel {
    /// The rows as a range.
    pub fn rows(self) -> Range<u64> {
        self.begin..self.end
    }
    /// Number of rows.
    pub fn len(self) -> u64 {
        self.end - self.begin
    }
    /// Whether there is no row.
    pub fn is_empty(self) -> bool {
        self.begin >= self.end
    }
}

/// What the dispatcher hands out: one pipeline, or one phase of its finalisation.
///
/// Every morsel is claimed by one worker and run by the same. Errors and panics of either method end the job.
pub trait TaskSet: Send + Sync {
    /// Cuts the next morsel for `worker`. `None` is final: nobody will get another morsel of this task set.
    fn claim(&self, worker: WorkerId) -> Option<Morsel>;

    /// Works on a morsel.
    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<()>;

    /// Rows in all morsels together, for progress; 0 if unknown.
    fn total(&self) -> u64 {
        0
    }

    /// False while nothing may be claimed though morsels are left: the consumer of the result is behind. Workers go
    /// elsewhere until [`JobHandle::wake`](crate::JobHandle::wake). Called between morsels, with the job's lock held:
    /// it only reads flags.
    fn is_ready(&self) -> bool {
        true
    }
}

impl<T: TaskSet + ?Sized> TaskSet for Arc<T> {
    fn claim(&self, worker: WorkerId) -> Option<Morsel> {
        (**self).claim(worker)
    }
    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<()> {
        (**self).run(worker, morsel)
    }
    fn total(&self) -> u64 {
        (**self).total()
    }
    fn is_ready(&self) -> bool {
        (**self).is_ready()
    }
}

/// A task set of [`MorselRanges`](crate::MorselRanges) and a closure.
pub struct Tasks<F> {
    ranges: crate::MorselRanges,
    run: F,
}

impl<F: Fn(WorkerId, Morsel) -> Result<()> + Send + Sync + 'static> Tasks<F> {
    /// Calls `run` for every morsel of `ranges`.
    pub fn new(ranges: crate::MorselRanges, run: F) -> Self {
        Self { ranges, run }
    }
    /// The same, boxed as stages return it.
    pub fn boxed(ranges: crate::MorselRanges, run: F) -> Box<dyn TaskSet> {
        Box::new(Self::new(ranges, run))
    }
}

impl<F: Fn(WorkerId, Morsel) -> Result<()> + Send + Sync> TaskSet for Tasks<F> {
    fn claim(&self, worker: WorkerId) -> Option<Morsel> {
        self.ranges.claim(worker)
    }
    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<()> {
        (self.run)(worker, morsel)
    }
    fn total(&self) -> u64 {
        self.ranges.rows()
    }
}

/// The end of a pipeline. Per-worker state lives in the breaker, indexed by [`WorkerId`].
pub trait Breaker: Send + Sync {
    /// Called once, before the pipeline's first morsel.
    fn prepare(&self) -> Result<()> {
        Ok(())
    }

    /// Called after the pipeline's last morsel, and again after each task set that it returns, until it returns none:
    /// finalisation is morsels too, in as many phases as it takes (size exactly, then insert; find separators, then
    /// merge).
    fn finalize(&self) -> Result<Option<Box<dyn TaskSet>>> {
        Ok(None)
    }
}

/// A pipeline and its finalisation: what the QEPobject advances (thesis 4.4.2).
///
/// Each method is called by one thread at a time, and what it returns is dropped before `finish` is called (again),
/// so that an `Arc` shared with the task set is then unshared.
pub trait Stage: Send + Sync {
    /// Names the stage in reports and errors.
    fn name(&self) -> &str;

    /// Called once, when all stages that it depends on have finished: sizes of hash tables are known now.
    fn start(&self) -> Result<Box<dyn TaskSet>>;

    /// Called after the last morsel of each task set, until it returns none.
    fn finish(&self) -> Result<Option<Box<dyn TaskSet>>> {
        Ok(None)
    }

    /// An estimate of the rows of `start`'s task set, for progress before the stage starts; 0 if unknown.
    fn estimated_rows(&self) -> u64 {
        0
    }
}

/// A function that makes a pipeline's task set when its dependencies have finished.
type Source = Box<dyn Fn() -> Result<Box<dyn TaskSet>> + Send + Sync>;

/// The usual [`Stage`]: a function that makes the task set, and a breaker.
pub struct Pipeline {
    name: String,
    source: Source,
    breaker: Option<Arc<dyn Breaker>>,
    estimated_rows: u64,
}

impl Pipeline {
    /// A pipeline without a breaker.
    pub fn new(name: impl Into<String>, source: impl Fn() -> Result<Box<dyn TaskSet>> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), source: Box::new(source), breaker: None, estimated_rows: 0 }
    }
    /// Ends the pipeline with `breaker`, which is prepared before the source is made.
    pub fn breaker(mut self, breaker: Arc<dyn Breaker>) -> Self {
        self.breaker = Some(breaker);
        self
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
    fn start(&self) -> Result<Box<dyn TaskSet>> {
        if let Some(breaker) = &self.breaker {
            breaker.prepare()?;
        }
        (self.source)()
    }
    fn finish(&self) -> Result<Option<Box<dyn TaskSet>>> {
        self.breaker.as_ref().map_or(Ok(None), |breaker| breaker.finalize())
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
