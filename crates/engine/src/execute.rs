//! Running a plan: optimise, lower, compile, and give the pipelines to the scheduler.

mod batch;
mod enough;
mod extremes;
mod file_scan;
mod filter;
mod found_rows;
mod index_join;
mod lookup;
mod narrow;
mod need;
mod pass_over;
mod phases;
mod rounds;
mod rows;
mod scan;
mod stage;
mod watch;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use base::ids::Id;
use base::memory::Reservation;
use base::traffic::Traffic;
use base::{Budget, IdMap, Result};
use codegen::{Compiling, Executable};
use pipeline::Target;
use pipeline::ir::{Inst, Pipeline, PipelineId, Program, Source as IrSource, SourceColumn, State, StateId};
use plan::{Plan, TableId};
use runtime::query::{Arguments, QueryContext};
use runtime::result::{Next, Sink};
use scheduler::{
    CancelToken, Cutting, EachWorker, JobHandle, JobOptions, JobSpec, Observer, Seats, SingleThreaded, Strategy, Waker,
};
use types::Chunk;

use crate::admission::{GoesOn, Request, Ticket};
use crate::computed::{self, OfTexts};
use crate::database::Shared;
use crate::environment::Environment;
use crate::freezing::freeze_behind;
use crate::prepared::Prepared;
use crate::progress::Progress;
use crate::recording::{Recording, as_worker, hops};
use crate::sequences;
use crate::source::Source;
use crate::trace::Recorder;
use phases::Phase;
use rounds::{PartStage, RoundsStage};
use stage::PipelineStage;
pub(crate) use watch::Operator;
use watch::Watch;

/// Queries whose sources have no more rows than this run on the caller's thread: waking workers would take longer.
const INLINE_ROWS: u64 = 20_000;
/// And whose operators are not expected to make more rows than this of them.
const INLINE_RESULT_ROWS: f64 = 200_000.0;

/// Bytes that compiling takes for each of a program's instructions, at most.
const COMPILING: usize = 4 << 10;

/// A query with everything that its pipelines need while they run.
pub(crate) struct Query {
    pub program: Arc<Program>,
    pub code: Executable,
    pub context: Arc<QueryContext>,
    pub sources: IdMap<TableId, Source>,
    /// This run's, if they are not those that the program was made for.
    pub arguments: Option<Arguments>,
    /// Pipelines that still fill each state.
    pub fillers: Vec<AtomicUsize>,
    pub budget: Budget,
    pub cancel: CancelToken,
    /// The pipeline that each worker runs, while somebody watches.
    pub running: EachWorker<AtomicU32>,
    /// With EXPLAIN ANALYZE, the phases that have begun.
    pub phases: Mutex<Vec<Arc<Phase>>>,
    /// With EXPLAIN ANALYZE, what each operator (its counter) has read and written, but for tables that workers share.
    pub traffic: Mutex<Vec<Traffic>>,
    /// What scans compute once a text of a dictionary.
    pub computed: Arc<[OfTexts]>,
    /// The memory of filters that the scans of pipelines have made of joins' keys.
    pub of_filters: Mutex<BTreeMap<PipelineId, Vec<Reservation>>>,
    /// It runs on the consumer's thread, so nobody takes results away meanwhile.
    pub small: bool,
    /// Who wakes its job, once it has one.
    waker: OnceLock<Waker>,
}

/// A query that runs, or has run.
pub(crate) struct Running {
    query: Arc<Query>,
    job: Option<JobHandle>,
    ended: bool,
    /// The greatest fraction that anybody was told, by its bits: it never goes back.
    furthest: AtomicU64,
    /// With EXPLAIN ANALYZE.
    watch: Option<Watch>,
    /// Its place among the queries that run; none if it is small.
    ticket: Option<Ticket>,
    /// How long lowering and compiling took; little if the code was in the cache.
    pub compiled: Duration,
    // Last: the database outlives what runs on its workers.
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Running")
    }
}

/// Optimises a bound plan as the session's settings say.
pub(crate) fn optimize(environment: &Environment, plan: Plan) -> Result<Plan> {
    let settings = environment.settings.of_optimizer();
    let cancel = environment.call.token();
    optimizer::optimize(plan, &settings, &|| cancel.check(), &mut |_, _| {})
}

/// Makes a sink that charges its rows to a budget.
pub(crate) type MakeSink<'a> = &'a dyn Fn(&Budget) -> Arc<dyn Sink>;

/// Lowers and compiles an optimised plan.
pub(crate) fn prepare(environment: &Environment, plan: &Plan, analyze: bool) -> Result<Prepared> {
    prepare_to(environment, Target::Client, plan, analyze)
}

fn prepare_to(environment: &Environment, target: Target, plan: &Plan, analyze: bool) -> Result<Prepared> {
    environment.statement.planned();
    let program = Arc::new(pipeline::lower_to(target, plan, analyze)?);
    let room = environment.database.0.budget.reserve(program.size() * COMPILING, "compiling")?;
    let code = if environment.settings.is_on("compile") {
        let cancel = environment.call.token();
        let limit = environment.job_options().worker_limit.unwrap_or(usize::MAX);
        let threads = environment.database.0.scheduler.cutting().threads.min(limit);
        let compiling = Compiling { threads, room: Some(room), check: &|| cancel.check() };
        Executable::Compiled(environment.database.0.code.get(&program, compiling)?.0)
    } else {
        Executable::Interpreted(program.clone())
    };
    let need = need::of(plan, target == Target::Table);
    let computed = computed::of(plan);
    let few_rows = most_rows(&plan.root) <= INLINE_RESULT_ROWS;
    Ok(Prepared { program, code, few_rows, in_order: sequences::are_asked(plan), need, computed })
}

/// What the tables of a plan are.
pub(crate) fn sources(plan: &Plan) -> Result<IdMap<TableId, Source>> {
    plan.tables.values().map(|t| Source::of(&t.source).cloned()).collect()
}

/// Compiles an optimised plan and starts it.
pub(crate) fn start(environment: &Environment, plan: &Plan, analyze: bool, cancel: CancelToken) -> Result<Running> {
    let begin = Instant::now();
    let prepared = prepare(environment, plan, analyze)?;
    let compiled = begin.elapsed();
    let mut running = prepared.start(environment, sources(plan)?, None, analyze, cancel)?;
    running.compiled = compiled;
    Ok(running)
}

/// Compiles an optimised plan and runs it on one thread that plays so many workers. Its rows are dropped.
pub(crate) fn record(environment: &Environment, plan: &Plan, workers: usize, seats: Seats) -> Result<Recording> {
    let prepared = prepare(environment, plan, false)?;
    environment.statement.compiled();
    let (shared, cancel) = (&environment.database.0, environment.call.token());
    let spread = environment.settings.spread();
    let cut = Cutting { threads: workers, spread, ..shared.scheduler.cutting() };
    let pipelines = prepared.program.pipelines.values();
    let after = |p: &pipeline::ir::Pipeline| p.after.iter().map(|before| before.index()).collect();
    let pipelines: Vec<(String, Vec<usize>)> = pipelines.map(|p| (p.name.clone(), after(p))).collect();
    let names = pipelines.iter().map(|(name, _)| name.clone()).collect();
    let recorder = Arc::new(Recorder::new(None, environment.statement.number, names, None));
    let sources = sources(plan)?;
    let begin = Instant::now();
    let mut query = Query::new(environment, &prepared, sources, None, cancel.clone(), None)?;
    query.small = true;
    let job = job_of(&Arc::new(query));
    let twin = SingleThreaded { cut, seats, observer: Some(recorder.clone()), ..SingleThreaded::default() };
    as_worker(hops(shared.scheduler.placement()), || twin.run(job, &cancel))?;
    let time = begin.elapsed();
    let mut runs: Vec<_> =
        recorder.kept().into_iter().flat_map(|(_, workers)| workers).flat_map(|(_, runs)| runs).collect();
    runs.sort_by_key(|run| run.begin);
    Ok(Recording { pipelines, runs, begin, time, nodes: shared.scheduler.placement().node_count() })
}

/// Compiles an optimised plan and starts it; its rows go to the sink.
pub(crate) fn start_change(
    environment: &Environment,
    plan: &Plan,
    analyze: bool,
    cancel: CancelToken,
    sink: MakeSink<'_>,
) -> Result<Running> {
    let begin = Instant::now();
    let prepared = prepare_to(environment, Target::Table, plan, analyze)?;
    let compiled = begin.elapsed();
    let mut running = prepared.start_to(environment, sources(plan)?, None, analyze, cancel, Some(sink))?;
    running.compiled = compiled;
    Ok(running)
}

impl Prepared {
    /// Starts it over these sources; `arguments` are this run's, if they are not those that the plan was made for.
    pub fn start(
        &self,
        environment: &Environment,
        sources: IdMap<TableId, Source>,
        arguments: Option<Arguments>,
        analyze: bool,
        cancel: CancelToken,
    ) -> Result<Running> {
        self.start_to(environment, sources, arguments, analyze, cancel, None)
    }

    fn start_to(
        &self,
        environment: &Environment,
        sources: IdMap<TableId, Source>,
        arguments: Option<Arguments>,
        analyze: bool,
        cancel: CancelToken,
        sink: Option<MakeSink<'_>>,
    ) -> Result<Running> {
        environment.statement.compiled();
        // Of a function's query, rows that nobody wants any more stop it alone.
        let cancel = if environment.calls > 0 { cancel.nested() } else { cancel };
        let mut query = Query::new(environment, self, sources, arguments, cancel.clone(), sink)?;
        if let Some(block) = &environment.block {
            block.is_queried();
            block.transaction.reads().iter().for_each(|reads| scan::note_reads(&query, reads));
        }
        let watched = analyze || environment.statement.is_pictured();
        // How many rows rounds add is not known.
        let rounds = query.program.states.values().any(|state| matches!(state, State::Recursion(_)));
        query.small = !watched && !rounds && self.few_rows && query.source_rows() <= INLINE_ROWS || self.in_order;
        let ticket = if query.small { None } else { Some(admit(environment, &query, self.need)?) };
        let query = Arc::new(query);
        let watch = analyze.then(|| Watch::begin(&query)).transpose()?;
        let mut running = launch(environment, query, cancel)?;
        running.watch = watch;
        running.ticket = ticket;
        Ok(running)
    }

    /// The columns that it reads of a table, with what its code takes for granted of them.
    pub fn columns_of(&self, id: TableId) -> Vec<SourceColumn> {
        let columns = |source: &IrSource| match source {
            IrSource::Table { table, columns, .. } if *table == id => columns.clone(),
            _ => Vec::new(),
        };
        self.program.pipelines.values().flat_map(|p| columns(&p.source)).collect()
    }

    /// Positions in the SQL text that its errors have.
    pub fn positions(&self) -> &[u32] {
        &self.program.positions
    }
}

/// The most rows that some operator is expected to produce.
fn most_rows(node: &plan::Node) -> f64 {
    node.inputs().map(most_rows).fold(node.rows, f64::max)
}

impl Query {
    fn new(
        environment: &Environment,
        prepared: &Prepared,
        sources: IdMap<TableId, Source>,
        arguments: Option<Arguments>,
        cancel: CancelToken,
        sink: Option<MakeSink<'_>>,
    ) -> Result<Self> {
        let Prepared { program, code, computed, .. } = prepared.clone();
        let budget = environment.statement_budget();
        let sink = sink.map(|make| make(&budget));
        let settings = environment.settings.of_runtime();
        let pairs = |state| code.pair_fns(state);
        let (arguments_of, cancelled) = (arguments.as_ref(), cancel.clone());
        let context =
            QueryContext::with_cancel(&program, arguments_of, budget.clone(), cancelled, sink, settings, pairs)?;
        let mut fillers: Vec<usize> = vec![0; program.states.len()];
        program.pipelines.values().flat_map(|p| &p.fills).for_each(|s| fillers[s.index()] += 1);
        let fillers = fillers.into_iter().map(AtomicUsize::new).collect();
        let running = EachWorker::default();
        let phases = Mutex::default();
        let traffic = Mutex::new(vec![Traffic::default(); program.counters.len()]);
        Ok(Self {
            program,
            code,
            context,
            sources,
            arguments,
            fillers,
            budget,
            cancel,
            running,
            phases,
            traffic,
            computed,
            of_filters: Mutex::default(),
            small: false,
            waker: OnceLock::new(),
        })
    }

    /// Work for an operator (its counter) has read and written this.
    pub fn note_traffic(&self, operator: u32, traffic: Traffic) {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)[operator as usize] += traffic;
    }

    /// Local and remote bytes of each operator, by its counter. What is looked at of tables that workers share is their
    /// owners'.
    fn traffic_of_operators(&self) -> Vec<(u64, u64)> {
        let all = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sums: Vec<(u64, u64)> = all.iter().map(|traffic| (traffic.local(), traffic.remote())).collect();
        for (state, _) in self.program.states.iter() {
            let (near, far) = self.context.looked_at(state);
            let fills = |p: &&pipeline::ir::Pipeline| p.fills.contains(&state);
            if let Some(operator) = self.program.pipelines.values().find(fills).and_then(|p| p.operator) {
                let (local, remote) = &mut sums[operator as usize];
                *local += near;
                *remote += far;
            }
        }
        sums
    }

    /// Whether results wait for their consumer, so that no more should be made.
    pub fn is_held_up(&self) -> bool {
        !self.small && self.context.result().is_full()
    }

    /// Wakes its job when these bytes are there; a small query waits for them.
    pub fn goes_on_with(self: &Arc<Self>, wanted: &io::Wanted) -> Result<()> {
        if self.small {
            return wanted.wait(&self.cancel);
        }
        let query = Arc::downgrade(self);
        wanted.then(move || {
            // Before its job is known, whoever makes it known wakes it.
            if let Some(waker) = query.upgrade().and_then(|query| query.waker.get().cloned()) {
                waker.wake();
            }
        });
        Ok(())
    }

    /// Rows of all sources outside of the query, as far as they are known.
    fn source_rows(&self) -> u64 {
        let rows = |id: PipelineId| match &self.program.pipelines[id].source {
            IrSource::Table { table, predicates, .. } => match &self.sources[*table] {
                Source::Stored(snapshot, _) => {
                    let by_key = lookup::keys(snapshot, predicates);
                    let found = by_key.or_else(|| scan::found_rows(self, id, snapshot, predicates));
                    found.unwrap_or_else(|| snapshot.rows()) as u64
                }
                // Reading a file takes long enough to be worth the workers.
                Source::File(_) => u64::MAX / 1024,
                Source::Routine(_) | Source::Part(_) => 0,
            },
            IrSource::Values(chunk) => chunk.rows() as u64,
            IrSource::Rows { .. } => 0,
        };
        self.program.pipelines.iter().map(|(id, _)| rows(id)).sum()
    }

    /// What the rows of a pipeline's source are numbered from: rows of later pipelines go behind those of earlier ones
    /// into a table.
    pub fn first_row(&self, pipeline: PipelineId) -> u64 {
        const MOST_ROWS: u32 = 40;
        match &self.program.states[self.program.result] {
            State::Table(_) => (pipeline.index() as u64) << MOST_ROWS,
            _ => 0,
        }
    }

    /// How to cut the source of a pipeline: in its order if that is how the consumer takes the rows.
    pub fn cutting(&self, pipeline: PipelineId, cut: &Cutting) -> Cutting {
        let fills_result = self.program.pipelines[pipeline].fills.contains(&self.program.result);
        if fills_result && self.context.result().is_ordered() {
            cut.with_strategy(Strategy::InOrder)
        } else {
            cut.clone()
        }
    }

    /// States that a pipeline gives rows, and that need only so many: when one is exhausted, so is the pipeline.
    pub fn limits_of(&self, body: &[Inst]) -> Vec<StateId> {
        let groups = |inst: &Inst| match inst {
            Inst::Group { state, .. } => Some(*state).filter(|state| self.program.states[*state].needs_few_groups()),
            _ => None,
        };
        body.iter().filter_map(|inst| inst.limit().or_else(|| groups(inst))).collect()
    }
}

/// Tells the consumer of a result that its query has ended. The query is not kept alive by the job, of which a worker may
/// hold on to what is left.
struct ResultEnd(Weak<QueryContext>);

impl Observer for ResultEnd {
    fn ended(&self, result: &Result<()>) {
        if let Some(context) = self.0.upgrade() {
            context.result().finish(result.clone());
        }
    }
}

/// Waits until there is memory for the query.
fn admit(environment: &Environment, query: &Query, need: usize) -> Result<Ticket> {
    let (shared, settings) = (&environment.database.0, &environment.settings);
    let request = Request {
        need,
        budget: &query.budget,
        goes_on: goes_on(&query.context),
        priority: settings.number("priority"),
        patience: settings.duration("admission_timeout"),
        cancel: &query.cancel,
        open: &environment.open,
    };
    environment.statement.is_admitted(|| shared.admission.admit(&shared.budget, request))
}

/// Whether the query is there, has not ended, and is not held up by its client.
fn goes_on(context: &Arc<QueryContext>) -> GoesOn {
    let context = Arc::downgrade(context);
    Box::new(move || context.upgrade().is_some_and(|c| !c.result().is_full() && !c.result().has_ended()))
}

/// A stage for each pipeline.
fn job_of(query: &Arc<Query>) -> JobSpec {
    let (mut job, ends) = (JobSpec::new(), query.program.ends_of_rounds());
    for id in query.program.pipelines.keys() {
        add_stage(&mut job, query, id, &ends);
    }
    job
}

/// The last pipeline that runs in the rounds of a recursion is the stage of all of them. Nothing else runs beside it.
fn add_stage(job: &mut JobSpec, query: &Arc<Query>, id: PipelineId, ends: &BTreeMap<StateId, PipelineId>) {
    let Pipeline { rounds, name, after, .. } = &query.program.pipelines[id];
    // What it depends on, and the rounds before it.
    let rounds_before = ends.values().filter(|end| **end < id);
    let before: Vec<usize> = after.iter().chain(rounds_before).map(|p| p.index()).collect();
    match *rounds {
        None => job.add(PipelineStage::new(query.clone(), id), &before),
        Some(recursion) if ends.get(&recursion) == Some(&id) => {
            let before: Vec<usize> = (0..id.index()).collect();
            job.add(RoundsStage::new(query.clone(), recursion), &before)
        }
        Some(_) => job.add(PartStage { name: name.clone() }, &[]),
    };
}

/// Gives the query to the scheduler, or runs it here if it is small.
fn launch(environment: &Environment, query: Arc<Query>, cancel: CancelToken) -> Result<Running> {
    let shared = environment.database.0.clone();
    let job = job_of(&query);
    if query.small {
        let cut = Cutting { threads: 1, ..shared.scheduler.cutting() };
        SingleThreaded { cut, ..SingleThreaded::default() }.run(job, &cancel)?;
        environment.statement.ran_here();
        query.context.result().finish(Ok(()));
        return Ok(Running::new(query, None, shared));
    }
    let end = Arc::new(ResultEnd(Arc::downgrade(&query.context)));
    let observer = environment.observer(query.program.pipelines.values().map(|p| p.name.as_str()), Some(end));
    let handle = shared.scheduler.submit(job, JobOptions { cancel, observer, ..environment.job_options() });
    let _ = query.waker.set(handle.waker());
    handle.wake();
    environment.runs(&handle, true);
    Ok(Running::new(query, Some(handle), shared))
}

impl Running {
    fn new(query: Arc<Query>, job: Option<JobHandle>, shared: Arc<Shared>) -> Self {
        let (furthest, compiled) = (AtomicU64::new(0), Duration::ZERO);
        Self { query, job, ended: false, furthest, watch: None, ticket: None, compiled, shared }
    }

    /// `Some(Some(chunk))`, `Some(None)` at the end, `None` if nothing came in time.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Option<Chunk>>> {
        if self.ended {
            return Ok(Some(None));
        }
        let queue = self.query.context.result();
        let Some(job) = &self.job else {
            return Ok(match queue.try_next()? {
                Next::Chunk(chunk) => Some(Some(chunk)),
                Next::Pending | Next::End => {
                    self.ended = true;
                    Some(None)
                }
            });
        };
        // A job with no worker inside learns of a cancellation from whoever looks.
        const STEP: Duration = Duration::from_millis(20);
        let deadline = Instant::now() + timeout;
        loop {
            // After an error there is nothing left to stop, and the call may go on with another try.
            let next = queue.next(STEP.min(deadline.saturating_duration_since(Instant::now())));
            match next.inspect_err(|_| self.ended = true)? {
                Next::Chunk(chunk) => {
                    job.wake();
                    return Ok(Some(Some(chunk)));
                }
                Next::End => {
                    self.ended = true;
                    return Ok(Some(None));
                }
                Next::Pending => {}
            }
            if job.wait_timeout(Duration::ZERO).is_none() && Instant::now() >= deadline {
                return Ok(None);
            }
        }
    }

    pub fn progress(&self) -> Progress {
        match &self.job {
            None => Progress { fraction: 1.0, rows: 0 },
            Some(job) => {
                let now = Progress::of(job);
                // The bits of numbers that are not negative are in the numbers' order.
                let before = f64::from_bits(self.furthest.fetch_max(now.fraction.to_bits(), Ordering::Relaxed));
                Progress { fraction: now.fraction.max(before), ..now }
            }
        }
    }

    /// Rows, time and traffic per operator (EXPLAIN ANALYZE), and what the pipelines did; after the end. Times are sums over
    /// the workers.
    pub fn operators(&mut self) -> Vec<Operator> {
        let times = self.watch.take().map(|w| w.end(&self.query, &self.report())).unwrap_or_default();
        let counters = self.query.context.counters().into_iter();
        let traffic = self.query.traffic_of_operators();
        let operator = |((rows, time), traffic)| Operator { rows, time, traffic };
        counters.zip(times).zip(traffic).map(operator).collect()
    }
    /// The rounds of a stage: how many there were, or none if it ran as a part of another stage. Nothing for other stages.
    pub fn rounds(&self, stage: usize) -> Option<Option<u64>> {
        let (program, id) = (&self.query.program, PipelineId::from_index(stage));
        let recursion = program.pipelines.get(id)?.rounds?;
        let is_last = program.ends_of_rounds().get(&recursion) == Some(&id);
        Some(is_last.then(|| self.query.context.rounds(recursion)))
    }
    pub fn report(&self) -> Vec<scheduler::StageReport> {
        self.job.as_ref().map(|j| j.report()).unwrap_or_default()
    }
    /// The phases of finalisations, in the order in which they began; with EXPLAIN ANALYZE.
    pub fn phases(&self) -> Vec<Arc<Phase>> {
        self.query.phases.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    pub fn peak_memory(&self) -> usize {
        self.query.budget.peak()
    }
}

impl Running {
    /// Has the tables that were read changed to forms that suit how often they are.
    fn settle(&self) {
        for source in self.query.sources.values() {
            if let Source::Stored(snapshot, _) = source
                && snapshot.relation().has_warmed()
            {
                freeze_behind(&self.shared, snapshot.relation());
            }
        }
    }
}

impl Drop for Running {
    /// Stops a query that has not ended, then waits until the workers, too, have let go of it (a few microseconds after
    /// its end), so that its memory is free for the next statement.
    fn drop(&mut self) {
        const PATIENCE: Duration = Duration::from_millis(100);
        // A nap is long beside what is waited for as a rule.
        const AWAKE: Duration = Duration::from_micros(100);
        const NAP: Duration = Duration::from_micros(50);
        self.watch = None;
        self.settle();
        let Some(job) = self.job.take() else {
            return;
        };
        if !self.ended {
            job.cancel();
            self.query.context.result().close();
            job.wake();
        }
        drop(job);
        let begin = Instant::now();
        while Arc::strong_count(&self.query) > 1 {
            match begin.elapsed() {
                waited if waited < AWAKE => std::thread::yield_now(),
                waited if waited < PATIENCE => std::thread::sleep(NAP),
                _ => break,
            }
        }
    }
}
