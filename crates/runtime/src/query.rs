//! One query's run-time data: its states, its constants, and a [`Worker`] for each thread that takes part.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::ids::Id;
use base::{Budget, Result};
use pipeline::ir::{self, Inst, KeyPlace, MatchKind, Program, RowSet, Source, StateId};
use scheduler::{CancelToken, Cutting, EachWorker, TaskSet};
use types::Value;

use crate::build_keys::BuildKeys;
use crate::params::{Params, value_of_param};
use crate::recursion::Recursion;
use crate::renewed::{Recipe, Renewed};
use crate::result::{ResultQueue, Results, Sink};
use crate::settings::Settings;
use crate::source::RowSource;
use crate::state::{State, Workers};
use crate::threshold::Threshold;
use crate::worker::{Shared, WorkingFor};

pub use crate::keys::KeySet;
pub use crate::pairs::{Pair, PairFns};
pub use crate::params::Arguments;
pub use crate::slot::{slot_of, value_of};
pub use crate::worker::{Suspended, Worker, operator_mark};

/// One query that runs.
#[derive(Debug)]
pub struct QueryContext {
    /// Uncontended: a worker number belongs to one thread at a time. Workers are made when first asked for.
    workers: EachWorker<Mutex<Box<Worker>>>,
    states: Box<[Arc<dyn State>]>,
    shared: Arc<Shared>,
    result: Arc<ResultQueue>,
    rounds: Rounds,
}

/// What rounds exchange.
#[derive(Debug, Default)]
struct Rounds {
    /// Each with the states that begin anew in its rounds.
    recursions: Vec<(StateId, Arc<Recursion>, Vec<StateId>)>,
    renewed: Vec<(StateId, Arc<Renewed>)>,
}

impl QueryContext {
    /// Prepares `program`, for as many workers as will come. `pairs` has the functions of the group states, by `StateId`;
    /// what raw code they point to must stay as long as the context.
    pub fn new(program: &Program, budget: Budget, pairs: impl FnMut(StateId) -> Option<PairFns>) -> Result<Arc<Self>> {
        Self::with_cancel(program, None, budget, CancelToken::new(), None, Settings::default(), pairs)
    }

    /// As [`new`](Self::new); once `cancel` is cancelled, long loops inside of a morsel end early, too. `arguments` are
    /// this run's, if they are not those that the program was made for; `sink` takes the rows of one that ends in a table.
    pub fn with_cancel(
        program: &Program,
        arguments: Option<&Arguments>,
        budget: Budget,
        cancel: CancelToken,
        sink: Option<Arc<dyn Sink>>,
        settings: Settings,
        mut pairs: impl FnMut(StateId) -> Option<PairFns>,
    ) -> Result<Arc<Self>> {
        let positions: Arc<[u32]> = arguments.map_or(&program.positions, |a| &a.positions).as_slice().into();
        let values = arguments.map_or(&[][..], |a| &a.values);
        let has_windows = program.states.values().any(|state| matches!(state, ir::State::Window(_)));
        let params = program.params.values().filter(|_| has_windows).map(|param| value_of_param(param, values));
        let params: Arc<[Value]> = params.collect();
        let renewed: Vec<StateId> = program.states.values().flat_map(ir::State::renewed).copied().collect();
        let (mut result, mut rounds) = (None, Rounds::default());
        let mut make = |id: StateId, state: &ir::State| -> Option<Arc<dyn State>> {
            let mut results = |ordered, sink| {
                let results = Results::new(state.output().unwrap_or_default(), &budget, ordered, sink);
                if id == program.result {
                    result = Some(results.queue().clone());
                }
                Arc::new(results)
            };
            let pairs = pairs(id);
            Some(match state {
                ir::State::Recursion(recursion) => {
                    let made = Arc::new(Recursion::new(recursion, &budget, pairs));
                    rounds.recursions.push((id, made.clone(), recursion.renewed.clone()));
                    made
                }
                ir::State::Result(_) => results(id == program.result && result_is_ordered(program), None),
                ir::State::Table(_) => results(false, Some(sink.clone()?)),
                _ => {
                    let (params, positions) = (params.clone(), positions.clone());
                    let (state, budget, cancel) = (state.clone(), budget.clone(), cancel.clone());
                    let recipe = Recipe { state, pairs, params, positions, settings, budget, cancel };
                    if !renewed.contains(&id) {
                        return recipe.make();
                    }
                    let made = Arc::new(Renewed::new(recipe)?);
                    rounds.renewed.push((id, made.clone()));
                    made
                }
            })
        };
        let made = |(id, state)| make(id, state).expect("the functions of every group state, and a sink for a table");
        let states: Box<[Arc<dyn State>]> = program.states.iter().map(made).collect();
        let shared = Arc::new(Shared {
            finished: states.iter().map(|_| AtomicPtr::default()).collect(),
            params: Params::new(&program.params, arguments.map_or(&[], |a| &a.values))?,
            positions: positions.as_ref().into(),
            sites: program.sites.clone(),
            counters: program.counters.len(),
            working_for: EachWorker::default(),
            budget: budget.clone(),
        });
        // A program without a result, as tests have them, has an empty one.
        let result = result.unwrap_or_else(|| Arc::new(ResultQueue::new(budget, false)));
        Ok(Arc::new(Self { workers: EachWorker::default(), states, shared, result, rounds }))
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
        let make = || {
            let locals = self.states.iter().map(|state| state.local(index)).collect();
            Mutex::new(Box::new(Worker::new(&self.shared, index, locals)))
        };
        let worker = self.workers.get_or(index, make).lock().unwrap_or_else(PoisonError::into_inner);
        WorkerGuard { worker, states: &self.states }
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
    /// What generated code may read of the state is published then.
    pub fn finalize_phase(&self, state: StateId, phase: usize, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
        let tasks = self.states[state.index()].clone().finalize(self, phase, cut)?;
        if tasks.is_none() {
            let finished = self.states[state.index()].finished().cast_mut();
            self.shared.finished[state.index()].store(finished, Ordering::Release);
        }
        Ok(tasks)
    }

    /// What the tasks do that [`finalize_phase`](Self::finalize_phase) has returned last.
    pub fn phase(&self, state: StateId) -> &'static str {
        self.states[state.index()].phase()
    }

    /// All phases of a state's finalisation, on the calling thread as worker 0.
    pub fn finalize_inline(&self, state: StateId) -> Result<()> {
        let cut = Cutting::new(1);
        for phase in 0.. {
            let Some(tasks) = self.finalize_phase(state, phase, &cut)? else { break };
            scheduler::exhaust(&*tasks, scheduler::WorkerId(0))?;
        }
        Ok(())
    }

    /// Begins a round of a recursion: the rows that were added since the last one began are its rows, whose number is returned;
    /// states that rounds fill are empty again.
    ///
    /// # Safety
    /// No other pipeline may run, and none that reads rows of a round before.
    pub unsafe fn begin_round(&self, recursion: StateId) -> u64 {
        let Some((_, state, renewed)) = self.rounds.recursions.iter().find(|(id, ..)| *id == recursion) else {
            return 0;
        };
        // SAFETY: as the caller promises.
        let rows = unsafe { state.begin_round() };
        for (id, state) in self.rounds.renewed.iter().filter(|(id, _)| renewed.contains(id)) {
            state.renew();
            for (index, worker) in self.workers.iter() {
                worker.lock().unwrap_or_else(PoisonError::into_inner).renew(*id, state.local(index));
            }
        }
        rows
    }

    /// How many rounds of a recursion have begun.
    pub fn rounds(&self, recursion: StateId) -> u64 {
        self.rounds.recursions.iter().find(|(id, ..)| *id == recursion).map_or(0, |(_, state, _)| state.rounds())
    }

    /// The keys of a finalised join's build rows, if they are numbers.
    pub fn keys(&self, state: StateId) -> Option<KeySet> {
        self.states[state.index()].keys()
    }

    /// Keys of a finalised join's build rows, row by row.
    pub fn build_keys(&self, state: StateId, places: Vec<KeyPlace>) -> Option<BuildKeys> {
        self.states[state.index()].clone().build_keys(places)
    }

    /// The rows of a finalised state.
    ///
    /// # Panics
    /// If the state has no rows (a limit, a result).
    pub fn rows(&self, state: StateId, rows: RowSet) -> RowSource {
        self.states[state.index()].clone().source(rows).unwrap_or_else(|| panic!("{state} has no rows"))
    }

    /// Bytes that a worker has materialised in these states so far, as far as they are still there. Called by the worker itself,
    /// once it has come.
    pub fn written(&self, states: &[StateId], worker: usize) -> u64 {
        states.iter().map(|state| self.states[state.index()].written(worker)).sum()
    }

    /// Local and remote bytes of a finalised state that others have looked at, if it is shared by all workers.
    pub fn looked_at(&self, state: StateId) -> (u64, u64) {
        self.states[state.index()].looked_at()
    }

    /// What the rows of a top-k may have as their first key.
    pub fn threshold(&self, state: StateId) -> Option<&Threshold> {
        self.states[state.index()].threshold()
    }

    /// Whether so many rows, which all come before its offset, need not come to a sort.
    pub fn pass_over(&self, state: StateId, rows: u64) -> bool {
        self.states[state.index()].pass_over(rows)
    }

    /// Lets a state look at the rows of a worker, between two batches of it.
    pub fn look(&self, state: StateId, worker: usize) -> Result<()> {
        self.states[state.index()].look(worker)
    }

    /// Tells a worker's groups that so many places are numbered by codes from here on. Which rows they know by these they forget, unless
    /// the numbering, which is no other one's in the query and not 0, is the one that they have. Called by the worker itself, between two batches.
    pub fn number_places(&self, state: StateId, worker: usize, places: usize, numbering: u64) {
        self.states[state.index()].number_places(worker, places, numbering);
    }

    /// Whether a limit admits no further row, so that its pipeline need not go on.
    pub fn is_exhausted(&self, state: StateId) -> bool {
        self.states[state.index()].is_exhausted()
    }

    /// Where the query's result arrives.
    pub fn result(&self) -> &ResultQueue {
        &self.result
    }
}

impl Workers for QueryContext {
    fn with(&self, worker: usize, work: &mut dyn FnMut(&mut Worker) -> Result<()>) -> Result<()> {
        work(&mut self.worker(worker))
    }
}

/// Whether batches must come in the order of their morsels: the program says so, or the only source is a table, a file or a
/// list of values, which people expect back in the order in which they wrote it.
fn result_is_ordered(program: &Program) -> bool {
    let mut filling = program.pipelines.values().filter(|p| p.fills.contains(&program.result));
    let (first, second) = (filling.next(), filling.next());
    program.ordered
        || second.is_none()
            && first.is_some_and(|p| match p.source {
                Source::Values(_) => true,
                Source::Table { .. } => !p.body.iter().any(multiplies),
                _ => false,
            })
}

/// Whether a tuple may become many. What waits for its turn behind a morsel of such tuples could be all of the result.
fn multiplies(inst: &Inst) -> bool {
    match inst {
        Inst::Repeat { .. } => true,
        Inst::Match(found) => matches!(found.kind, MatchKind::Inner | MatchKind::Left),
        _ => false,
    }
}

/// A worker, held by the current thread.
#[derive(Debug)]
pub struct WorkerGuard<'a> {
    worker: MutexGuard<'a, Box<Worker>>,
    states: &'a [Arc<dyn State>],
}

impl WorkerGuard<'_> {
    /// Ends a morsel at row `end`: what lies behind is run as another one. `broken`: some batches of it were run already.
    pub fn end_morsel_at(&mut self, end: u64, broken: bool) -> Result<()> {
        self.inner.morsel.end = end;
        self.end(broken)
    }

    /// Ends a morsel: each state takes what it needs of it, and the text that was made for it goes.
    pub fn end_morsel(&mut self) -> Result<()> {
        self.end(false)
    }

    fn end(&mut self, broken: bool) -> Result<()> {
        let (index, rows) = (self.inner.index, self.inner.morsel.clone());
        self.states.iter().try_for_each(|state| state.end_morsel(index, rows.clone(), broken))?;
        self.forget_text();
        Ok(())
    }
}

impl Deref for WorkerGuard<'_> {
    type Target = Worker;
    fn deref(&self) -> &Worker {
        &self.worker
    }
}
impl DerefMut for WorkerGuard<'_> {
    fn deref_mut(&mut self) -> &mut Worker {
        &mut self.worker
    }
}
