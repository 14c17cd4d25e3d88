//! One query's run-time data: what all workers share, and what each worker has.

mod pairs;
mod params;
pub(crate) mod sites;
mod slots;
mod worker;

pub use pairs::{Pair, PairFns};
pub(crate) use params::check_type;
pub use params::{Arguments, Params, Set};
pub(crate) use slots::{interval, interval_words, wide};
pub use slots::{slot_of, value_of};
pub use worker::WorkerState;

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::ids::Id;
use base::{Area, Budget, IdMap, Result};
use pipeline::ir::{Program, RowSet, Site, SiteId, Source, State, StateId};
use scheduler::{CancelToken, Cutting, EachWorker, TaskSet};

use crate::abi::Worker;
use crate::group::Groups;
use crate::join::Join;
use crate::limit::Limit;
use crate::result::{ResultQueue, Results, Sink};
use crate::rows::RowsState;
use crate::sort::Sort;
use crate::source::RowSource;

/// A state of the query at run time.
#[derive(Debug)]
pub(crate) enum StateData {
    Join(Join),
    Group(Groups),
    Sort(Sort),
    Rows(RowsState),
    Limit(Limit),
    Result(Results),
}

/// The operator that a worker works for, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct WorkingFor(AtomicU32);

/// How [`Worker::operator`] holds an operator.
pub fn operator_mark(operator: Option<u32>) -> u32 {
    operator.map_or(0, |o| o + 1)
}

/// What all workers of a query share, and what lives as long as the query.
#[derive(Debug)]
pub struct Shared {
    pub(crate) states: Box<[StateData]>,
    /// What generated code sees of finished states, by `StateId`.
    finished: Box<[AtomicPtr<u8>]>,
    /// The query's constants.
    pub params: Params,
    /// Byte offsets in the SQL text, by the numbers that code has for them.
    pub(crate) positions: Box<[u32]>,
    /// Calls through boxed values.
    pub sites: IdMap<SiteId, Site>,
    pub(crate) budget: Budget,
    counters: usize,
    /// What each worker does, see [`Worker::operator`].
    working_for: EachWorker<WorkingFor>,
    /// Strings that rows refer to, of workers that are gone.
    retired: Mutex<Vec<Area>>,
}

impl Shared {
    pub(crate) fn state(&self, state: StateId) -> &StateData {
        &self.states[state.index()]
    }

    /// Publishes what generated code may read of a state that is finished.
    pub(crate) fn publish(&self, state: StateId, data: *const u8) {
        self.finished[state.index()].store(data.cast_mut(), Ordering::Release);
    }

    pub(crate) fn retire(&self, area: Area) {
        self.retired.lock().unwrap_or_else(PoisonError::into_inner).push(area);
    }
}

/// One query that runs: its states, its constants, and a [`Worker`] for each thread that takes part.
#[derive(Debug)]
pub struct QueryContext {
    shared: Arc<Shared>,
    /// Uncontended: a worker number belongs to one thread at a time. Workers are made when first asked for.
    workers: EachWorker<Mutex<Box<Worker>>>,
    result: StateId,
}

impl QueryContext {
    /// Prepares `program`, for as many workers as will come. `pairs` has the functions of the group states, by `StateId`;
    /// what raw code they point to must stay as long as the context.
    pub fn new(program: &Program, budget: Budget, pairs: impl FnMut(StateId) -> Option<PairFns>) -> Result<Arc<Self>> {
        Self::with_cancel(program, None, budget, CancelToken::new(), None, pairs)
    }

    /// As [`new`](Self::new); once `cancel` is cancelled, long loops inside of a morsel end early, too. `arguments` are
    /// this run's, if they are not those that the program was made for; `sink` takes the rows of one that ends in a table.
    pub fn with_cancel(
        program: &Program,
        arguments: Option<&Arguments>,
        budget: Budget,
        cancel: CancelToken,
        sink: Option<Arc<dyn Sink>>,
        mut pairs: impl FnMut(StateId) -> Option<PairFns>,
    ) -> Result<Arc<Self>> {
        let ordered = result_is_ordered(program);
        let make = |(id, state): (StateId, &State)| match state {
            State::Join(join) => StateData::Join(Join::new(join, &budget, cancel.clone())),
            State::Group(group) => {
                let pairs = pairs(id).expect("the functions of every group state");
                StateData::Group(Groups::new(group, &budget, pairs))
            }
            State::Sort(sort) => StateData::Sort(Sort::new(sort, &budget)),
            State::Rows(layout) => StateData::Rows(RowsState::new(layout.stride(), &budget, "materialisation")),
            State::Limit { offset, limit } => StateData::Limit(Limit::new(*offset, *limit)),
            State::Result(types) => StateData::Result(Results::new(types, &budget, ordered && id == program.result)),
            State::Table(types) => {
                let sink = sink.clone().expect("a sink for a program that ends in a table");
                StateData::Result(Results::to_sink(types, &budget, sink))
            }
        };
        let states: Box<[StateData]> = program.states.iter().map(make).collect();
        let shared = Arc::new(Shared {
            finished: states.iter().map(|_| AtomicPtr::default()).collect(),
            states,
            params: Params::new(&program.params, arguments.map_or(&[], |a| &a.values))?,
            positions: arguments.map_or(&program.positions, |a| &a.positions).as_slice().into(),
            sites: program.sites.clone(),
            budget,
            counters: program.counters.len(),
            working_for: EachWorker::default(),
            retired: Mutex::default(),
        });
        Ok(Arc::new(Self { shared, workers: EachWorker::default(), result: program.result }))
    }

    /// What the workers share.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Number of workers that have taken part.
    pub fn worker_count(&self) -> usize {
        self.workers.iter().count()
    }

    /// The worker with that number, for one thread at a time: others wait.
    pub fn worker(&self, index: usize) -> WorkerGuard<'_> {
        let make = || Mutex::new(Box::new(Worker::new(&self.shared, index, self.shared.counters)));
        WorkerGuard(self.workers.get_or(index, make).lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The sums of the EXPLAIN ANALYZE counters of all workers.
    pub fn counters(&self) -> Vec<u64> {
        let mut sums = vec![0; self.shared.counters];
        for (_, worker) in self.workers.iter() {
            let worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
            sums.iter_mut().zip(&worker.inner.counters).for_each(|(sum, n)| *sum += n);
        }
        sums
    }

    /// Says what worker `index` works for from now on; see [`working_for`](Self::working_for).
    pub fn set_working_for(&self, index: usize, operator: Option<u32>) {
        self.shared.working_for.get_or(index, WorkingFor::default).0.store(operator_mark(operator), Ordering::Relaxed);
    }

    /// The workers that work at this moment, and the operators (their counters) that they work for, for EXPLAIN ANALYZE.
    pub fn working_for(&self) -> impl Iterator<Item = (usize, u32)> {
        let operator = |(worker, cell): (usize, &WorkingFor)| {
            let mark = cell.0.load(Ordering::Relaxed);
            mark.checked_sub(1).map(|operator| (worker, operator))
        };
        self.shared.working_for.iter().filter_map(operator)
    }

    /// Phase `phase` (from 0) of the finalisation of a state: called when the last pipeline that fills the state has
    /// run its last morsel, then again after the last morsel of each task set that it returned, until it returns none.
    pub fn finalize_phase(
        self: &Arc<Self>,
        state: StateId,
        phase: usize,
        cut: &Cutting,
    ) -> Result<Option<Box<dyn TaskSet>>> {
        match self.shared.state(state) {
            StateData::Join(join) => join.finalize(self, state, phase, cut),
            StateData::Group(groups) => groups.finalize(self, state, phase, cut),
            StateData::Sort(sort) => sort.finalize(self, state, cut),
            StateData::Result(results) => results.finalize(),
            StateData::Rows(_) | StateData::Limit(_) => Ok(None),
        }
    }

    /// All phases of a state's finalisation, on the calling thread as worker 0.
    pub fn finalize_inline(self: &Arc<Self>, state: StateId) -> Result<()> {
        let cut = Cutting::new(1);
        for phase in 0.. {
            let Some(tasks) = self.finalize_phase(state, phase, &cut)? else { break };
            scheduler::exhaust(&*tasks, scheduler::WorkerId(0))?;
        }
        Ok(())
    }

    /// The rows of a finalised state.
    ///
    /// # Panics
    /// If the state has no rows (a limit, a result).
    pub fn rows(self: &Arc<Self>, state: StateId, rows: RowSet) -> RowSource {
        let segments = match self.shared.state(state) {
            StateData::Join(join) => join.segments(),
            StateData::Group(groups) => groups.segments(),
            StateData::Sort(sort) => sort.segments(),
            StateData::Rows(state) => state.segments(),
            StateData::Limit(_) | StateData::Result(_) => panic!("{state} has no rows"),
        };
        RowSource::new(self.shared.clone(), segments, rows)
    }

    /// Whether a limit admits no further row, so that its pipeline need not go on.
    pub fn is_exhausted(&self, state: StateId) -> bool {
        matches!(self.shared.state(state), StateData::Limit(limit) if limit.is_exhausted())
    }

    /// Where the query's result arrives.
    pub fn result(&self) -> &ResultQueue {
        match self.shared.state(self.result) {
            StateData::Result(results) => results.queue(),
            _ => unreachable!("the program's result is a result state"),
        }
    }
}

/// Whether batches must come in the order of their morsels: the program says so, or the only source is a table, a file or a
/// list of values, which people expect back in the order in which they wrote it.
fn result_is_ordered(program: &Program) -> bool {
    let mut filling = program.pipelines.values().filter(|p| p.fills.contains(&program.result));
    let (first, second) = (filling.next(), filling.next());
    program.ordered
        || second.is_none() && first.is_some_and(|p| matches!(p.source, Source::Values(_) | Source::Table { .. }))
}

/// A worker, held by the current thread.
#[derive(Debug)]
pub struct WorkerGuard<'a>(MutexGuard<'a, Box<Worker>>);

impl Deref for WorkerGuard<'_> {
    type Target = Worker;
    fn deref(&self) -> &Worker {
        &self.0
    }
}
impl DerefMut for WorkerGuard<'_> {
    fn deref_mut(&mut self) -> &mut Worker {
        &mut self.0
    }
}

/// The array that generated code reads finished states from.
pub(crate) fn finished_array(shared: &Shared) -> *const *const u8 {
    // An `AtomicPtr` lies in memory as a pointer. Generated code reads only states that were published before its
    // pipeline started, which the scheduler orders.
    shared.finished.as_ptr().cast()
}
