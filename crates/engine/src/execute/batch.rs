//! From morsels to batches: what every source does with one worker.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::ids::Id;
use base::statement::Working;
use base::traffic::{self, Access};
use base::{Result, statement};
use pipeline::ir::{Inst, Pipeline, PipelineId, StateId};
use runtime::abi::{BATCH, Batch, ColumnRef, Worker};
use runtime::query::{Suspended, WorkerGuard};
use runtime::vectors::{self, VectorPlan, VectorValues};
use scheduler::{
    Claim, Cutting, Division, EachWorker, Glances, Morsel, MorselRanges, Progress, Slice, Strategy, Wanted, WorkerId,
};
use storage::{Applicable, ChunkReader, ScanPredicate, Scratch, Texts};

use super::Query;

/// NULL flags of columns in which no row is NULL.
static NO_NULLS: [u8; BATCH] = [0; BATCH];

/// The positions of a batch all of whose rows are taken.
static ALL: [u32; BATCH] = {
    let mut all = [0; BATCH];
    let mut i = 0;
    while i < BATCH {
        all[i] = i as u32;
        i += 1;
    }
    all
};

// Readers hand out what generated code takes at once.
const _: () = assert!(BATCH <= storage::WINDOW);

/// The places of tuples of which codes say nothing.
static NO_PLACES: [u32; BATCH] = [0; BATCH];

/// What the body gets of a column of its source.
#[derive(Debug)]
pub(super) enum Read {
    /// The values of a column of the chunk.
    Values(usize),
    /// How many characters they have.
    Lengths(usize),
    /// Nothing, as it reads nothing.
    Nothing,
}

/// What a table's or file's chunks deliver.
#[derive(Debug)]
pub(super) struct Delivered {
    /// The source's columns.
    pub read: Vec<Read>,
    /// The columns whose codes are places of groups, if the pipeline asks for places.
    pub codes: Option<Vec<usize>>,
}

/// What all sources have in common: whose morsels they are, and when there are none.
pub(super) struct Feed {
    pub query: Arc<Query>,
    pub pipeline: PipelineId,
    ranges: MorselRanges,
    /// States that count the pipeline's rows: when one is exhausted, so is the pipeline.
    limits: Vec<StateId>,
    /// States whose groups are known by codes.
    knowing: Vec<StateId>,
    cut: Cutting,
    /// Whether batches can pause.
    pauses: bool,
    /// Most rows of a batch none of which has to be looked at.
    most: usize,
    /// What is computed before code sees a tuple.
    vectors: Option<VectorPlan>,
    /// Whether code reads columns that are not computed.
    reads_rows: bool,
    /// What each worker computes them in.
    computed: EachWorker<Mutex<Option<VectorValues>>>,
    /// What is known of those that have paused, by the ends of their morsels, which rests keep.
    paused: Mutex<HashMap<u64, Paused>>,
    /// What each worker decodes columns into.
    scratch: EachWorker<Mutex<Scratch>>,
    /// By which codes each has numbered places last.
    numbered: EachWorker<Mutex<Option<Numbered>>>,
}

/// Which codes number places.
#[derive(Debug)]
struct Numbered {
    by: ChunkReader,
    /// Another one for each of them in the process.
    numbering: u64,
}

/// The numberings that there were.
static NUMBERINGS: AtomicU64 = AtomicU64::new(0);

/// A batch that has paused, and what the text that it knows lies in.
#[derive(Debug)]
pub(super) struct Paused {
    worker: Suspended,
    pinned: Vec<ChunkReader>,
    texts: Vec<Texts>,
}

impl Feed {
    pub fn new(query: Arc<Query>, pipeline: PipelineId, ranges: MorselRanges, cut: &Cutting) -> Self {
        let body = &query.program.pipelines[pipeline].body;
        let at_once = query.code.is_compiled() && query.program.pipelines[pipeline].only_counts();
        let most = if at_once { usize::MAX } else { BATCH };
        let Pipeline { source, vectors, .. } = &query.program.pipelines[pipeline];
        let vectors = vectors.as_ref().map(VectorPlan::new);
        let first_read = query.program.pipelines[pipeline].columns_read_by_tuple().into_iter().next();
        let reads_rows = first_read.is_some_and(|first| (first as usize) < source.column_count());
        let limits = query.limits_of(body);
        let knows = |inst: &Inst| match inst {
            Inst::Group { state, known: Some(_), .. } => Some(*state),
            _ => None,
        };
        let knowing = body.iter().filter_map(knows).collect();
        let pauses = body.iter().any(|inst| matches!(inst, Inst::Match(_) | Inst::Repeat { .. }));
        Self {
            query,
            pipeline,
            ranges,
            limits,
            knowing,
            cut: cut.clone(),
            pauses,
            most,
            vectors,
            reads_rows,
            computed: EachWorker::default(),
            paused: Mutex::default(),
            scratch: EachWorker::default(),
            numbered: EachWorker::default(),
        }
    }

    pub fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim {
        if self.is_exhausted() {
            Claim::Done
        } else if self.query.is_held_up() {
            Claim::NotNow
        } else {
            self.ranges.claim(worker, wanted)
        }
    }

    /// Whether no further row is asked for.
    pub fn is_exhausted(&self) -> bool {
        self.limits.iter().any(|&limit| self.query.context.is_exhausted(limit))
    }

    /// Begins a worker's run over a morsel, or over what was left of one.
    pub fn begin(&self, worker: WorkerId, morsel: Morsel) -> Run<'_> {
        let paused = if self.pauses { self.lock().remove(&morsel.end) } else { None };
        self.begin_at(worker, morsel, paused)
    }

    /// Begins a run whose first batch has paused, if there is such a one.
    pub fn begin_at(&self, worker: WorkerId, morsel: Morsel, paused: Option<Paused>) -> Run<'_> {
        let query = &*self.query;
        let mut guard = query.context.worker(worker.index());
        let is_paused = paused.is_some();
        let (pinned, texts) = paused.map_or_else(Default::default, |paused| {
            guard.go_on(paused.worker);
            (paused.pinned, paused.texts)
        });
        let mut scratch = std::mem::take(&mut *self.scratch(worker.index()));
        scratch.forget_texts();
        guard.reserve_scratch(query.code.scratch_bytes(self.pipeline));
        let first = query.first_row(self.pipeline);
        guard.begin_morsel(first + morsel.begin..first + morsel.end);
        let _working = statement::work_for(&query.budget, &query.cancel);
        let written = query.context.written(self.fills(), worker.index());
        let slice = self.cut.begin();
        Run {
            feed: self,
            worker: guard,
            morsel,
            slice,
            glances: Glances::at(slice),
            is_paused,
            number: worker.index(),
            pinned,
            texts,
            scratch,
            computed: self.computed(worker.index()).take(),
            written,
            taken: 0,
            _working,
        }
    }

    /// The states that the pipeline fills.
    fn fills(&self) -> &[StateId] {
        &self.query.program.pipelines[self.pipeline].fills
    }

    /// Steps between two looks at the clock.
    pub fn steps(&self) -> u64 {
        self.cut.steps
    }

    /// The time that a run has.
    pub fn slice(&self) -> Slice {
        self.cut.begin()
    }

    /// How the codes of these columns of a chunk number places: as those of the worker's last chunk did, where they are the same ones.
    fn numbering(&self, worker: usize, chunk: &ChunkReader, codes: &[usize]) -> u64 {
        let last = self.numbered.get_or(worker, Mutex::default);
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &*last
            && !codes.is_empty()
            && chunk.has_codes_of(&last.by, codes)
        {
            return last.numbering;
        }
        let numbering = NUMBERINGS.fetch_add(1, Ordering::Relaxed) + 1;
        *last = Some(Numbered { by: chunk.clone(), numbering }).filter(|_| !codes.is_empty());
        numbering
    }

    /// Of one worker, so that nobody waits.
    fn scratch(&self, worker: usize) -> MutexGuard<'_, Scratch> {
        self.scratch.get_or(worker, Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Likewise.
    fn computed(&self, worker: usize) -> MutexGuard<'_, Option<VectorValues>> {
        self.computed.get_or(worker, Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Paused>> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is left to do of a morsel.
    pub fn progress(&self, rest: Morsel) -> Progress {
        if self.query.is_held_up() { Progress::NotNow(rest) } else { Progress::Yielded(rest) }
    }

    /// Halves what is left of a morsel, behind the batch that has paused, if there is one: its rows must be the first so many,
    /// at most, of those that are left. None if the rows are to come in their order, or are one worker's part.
    pub fn split(&self, rest: Morsel) -> Option<[Morsel; 2]> {
        let may = self.cut.strategy == Strategy::Lanes && self.cut.division == Division::Morsels;
        // Also of a single row that is left there is no half.
        let middle = rest.begin + (rest.len() / 2).max(1).next_multiple_of(BATCH as u64);
        if !may || middle >= rest.end {
            return None;
        }
        if self.pauses {
            let mut paused = self.lock();
            if let Some(known) = paused.remove(&rest.end) {
                paused.insert(middle, known);
            }
        }
        Some([Morsel { end: middle, ..rest }, Morsel { begin: middle, ..rest }])
    }

    pub fn total(&self) -> u64 {
        self.ranges.rows()
    }
}

/// One worker's run of a pipeline over one morsel.
pub(super) struct Run<'f> {
    feed: &'f Feed,
    worker: WorkerGuard<'f>,
    number: usize,
    morsel: Morsel,
    slice: Slice,
    glances: Glances,
    /// Whether the worker knows of a batch that has paused.
    is_paused: bool,
    /// What the text of the run's rows lies in: states own theirs when the run ends.
    pinned: Vec<ChunkReader>,
    /// The same, of texts that lie in no body as they are, and that were read before the run.
    texts: Vec<Texts>,
    scratch: Scratch,
    computed: Option<VectorValues>,
    /// What the worker had materialised before the run.
    written: u64,
    /// Rows of the source that were taken.
    pub taken: usize,
    _working: Working,
}

/// The rows that a batch is to have.
struct Chosen {
    count: usize,
    /// How many positions say which they are; none if they are the first ones.
    found: Option<usize>,
    /// The row of the chunk behind them.
    to: usize,
}

impl Run<'_> {
    /// The worker.
    pub fn worker(&mut self) -> &mut Worker {
        &mut self.worker
    }

    /// Runs a batch, or goes on with it; false if it has paused because others must get their turn. Then the run must end at
    /// the batch's first row, where an equal one is built again.
    fn run(&mut self, batch: &Batch) -> Result<bool> {
        let Feed { query, pipeline, cut, .. } = self.feed;
        loop {
            let worker: &mut Worker = &mut self.worker;
            worker.steps = cut.steps;
            // SAFETY: the worker belongs to the query's context, and `begin` gave it the scratch memory; the callers build
            // batches of the pipeline's source, equal ones for equal rows; the scheduler starts a stage when the states
            // that it reads are finished.
            self.is_paused = unsafe { query.code.run_pipeline(*pipeline, worker, batch)? };
            if !self.is_paused || self.slice.is_over() || query.is_held_up() {
                return Ok(!self.is_paused);
            }
        }
    }

    /// Runs rows that a state delivers. False as for [`run`](Self::run).
    pub fn rows(&mut self, rows: &[*mut u8]) -> Result<bool> {
        debug_assert!(rows.len() <= BATCH);
        self.run(&Batch {
            columns: std::ptr::null(),
            selection: std::ptr::null(),
            rows: rows.as_ptr(),
            count: rows.len() as u64,
        })
    }

    /// Whether a batch must wait for the consumer.
    pub fn must_wait(&self) -> bool {
        self.feed.query.is_held_up()
    }

    /// Whether to stop after a batch: others must get their turn, or nobody asks for more.
    pub fn must_stop(&mut self) -> bool {
        self.glances.is_over() || self.feed.is_exhausted()
    }

    /// Runs rows of a chunk, those that satisfy the predicates, and returns where it stopped.
    pub fn chunk(
        &mut self,
        chunk: &ChunkReader,
        delivered: &Delivered,
        predicates: &Arc<[ScanPredicate]>,
        rows: Range<usize>,
    ) -> Result<usize> {
        let Some(predicates) = chunk.applicable(predicates, &mut self.scratch) else { return Ok(rows.end) };
        if !self.pinned.iter().any(|pinned| pinned.has_body_of(chunk)) {
            self.pinned.push(chunk.clone());
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let places = delivered.codes.as_ref().map_or(0, |codes| chunk.places(codes));
        if !self.feed.knowing.is_empty() {
            let codes = delivered.codes.as_ref().filter(|_| places > 0);
            let numbering = self.feed.numbering(self.number, chunk, codes.map_or(&[], |codes| codes));
            for &state in &self.feed.knowing {
                self.feed.query.context.number_places(state, self.number, places, numbering);
            }
        }
        let codes = delivered.codes.as_ref().filter(|_| places > 0);
        let stopped = self.batches(chunk, (delivered, codes), &predicates, rows, &mut scratch);
        self.scratch = scratch;
        stopped
    }

    fn batches(
        &mut self,
        chunk: &ChunkReader,
        (delivered, codes): (&Delivered, Option<&Vec<usize>>),
        predicates: &Applicable,
        rows: Range<usize>,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let mut selection = [0u32; BATCH];
        let mut places = [0u32; BATCH];
        let mut columns: Vec<ColumnRef> = Vec::with_capacity(delivered.read.len() + 1);
        let mut at = rows.start;
        while at < rows.end && !self.must_wait() {
            let mut counted = None;
            // Of a chunk that was changed, batches stay within windows.
            let batch_end =
                |from: usize| if chunk.is_changed() { (from / BATCH + 1) * BATCH } else { from + BATCH }.min(rows.end);
            let (to, found) = if predicates.is_empty() {
                (at + (rows.end - at).min(self.feed.most), None)
            } else if self.feed.most == usize::MAX && delivered.read.is_empty() {
                // Nobody asks which rows they are: the chunk's are run at once.
                counted = Some(chunk.count(at..rows.end, predicates, scratch, &mut selection));
                (rows.end, None)
            } else {
                let to = batch_end(at);
                (to, Some(chunk.scan(at..to, predicates, scratch, &mut selection)))
            };
            let count = counted.unwrap_or_else(|| found.unwrap_or(to - at));
            let mut chosen = Chosen { count, found, to };
            if count > 0 {
                let some = found.map(|count| &selection[..count]);
                self.taken += count;
                columns.clear();
                columns.extend(delivered.read.iter().map(|read| {
                    let column = match *read {
                        Read::Values(attribute) => chunk.column(attribute, at..to, some, scratch),
                        Read::Lengths(attribute) => chunk.lengths(attribute, at..to, some, scratch),
                        Read::Nothing => storage::ColumnRef::NONE,
                    };
                    let nulls = if column.nulls.is_null() { NO_NULLS.as_ptr() } else { column.nulls };
                    ColumnRef { data: column.data, nulls }
                }));
                if delivered.codes.is_some() {
                    let numbered = codes.map(|codes| {
                        chunk.number(codes, at..to, &mut places);
                        places.as_ptr()
                    });
                    let data = numbered.unwrap_or(NO_PLACES.as_ptr()).cast();
                    columns.push(ColumnRef { data, nulls: NO_NULLS.as_ptr() });
                }
                if let Some(plan) = &self.feed.vectors {
                    self.compute(plan, &mut columns, &mut selection, &mut chosen, at)?;
                }
            }
            if chosen.count > 0 {
                let whole = self.run(&Batch {
                    columns: columns.as_ptr(),
                    selection: if chosen.found.is_some() { selection.as_ptr() } else { ALL.as_ptr() },
                    rows: std::ptr::null(),
                    count: chosen.count as u64,
                })?;
                if !whole {
                    break;
                }
            }
            at = chosen.to;
            if self.must_stop() {
                break;
            }
        }
        Ok(at)
    }

    /// Computes columns for the rows that predicates have chosen, lets those go that do not pass, and adds the columns to the
    /// others. Where a row fails, those before it come first: a limit may be reached by them.
    fn compute(
        &mut self,
        plan: &VectorPlan,
        columns: &mut Vec<ColumnRef>,
        selection: &mut [u32; BATCH],
        chosen: &mut Chosen,
        at: usize,
    ) -> Result<()> {
        let query = &*self.feed.query;
        let mut values = match self.computed.take() {
            Some(values) => values,
            // SAFETY: the worker's slots are those of the query's parameters.
            None => unsafe { VectorValues::new(plan, self.worker.params, &query.budget)? },
        };
        let rows = {
            let positions = chosen.found.map(|count| &selection[..count]);
            // SAFETY: the columns are the source's, with as many rows.
            let sure = query.code.is_compiled() && unsafe { values.compute(plan, columns, positions, chosen.count) };
            if sure {
                chosen.count
            } else {
                let rows =
                    self.compute_exactly(plan, columns, positions.unwrap_or(&ALL[..chosen.count]), &mut values)?;
                if rows < chosen.count {
                    chosen.to = at + positions.map_or(rows, |positions| positions[rows] as usize);
                }
                rows
            }
        };
        let before = columns.len();
        match chosen.found {
            Some(_) if self.feed.reads_rows => columns.extend(values.spread(plan, &selection[..rows])),
            _ => columns.extend(values.columns(plan)),
        }
        let counts_only = !self.feed.reads_rows && columns.len() == before;
        let at_positions = chosen.found.is_some() && self.feed.reads_rows;
        (chosen.count, chosen.found) = match values.filter(plan, rows) {
            Some(flags) if counts_only => (vectors::count_set(flags), None),
            Some(flags) => {
                let count = match at_positions {
                    true => vectors::retain(flags, &mut selection[..rows]),
                    false => vectors::positions_of(flags, selection),
                };
                (count, Some(count))
            }
            None => (rows, at_positions.then_some(rows)),
        };
        self.computed = Some(values);
        Ok(())
    }

    /// The same row by row, by the definitions of the operations; how many rows come before one that fails. An error if it is
    /// the first.
    fn compute_exactly(
        &mut self,
        plan: &VectorPlan,
        columns: &[ColumnRef],
        positions: &[u32],
        values: &mut VectorValues,
    ) -> Result<usize> {
        let Feed { query, pipeline, .. } = self.feed;
        let batch = Batch {
            columns: columns.as_ptr(),
            selection: positions.as_ptr(),
            rows: std::ptr::null(),
            count: positions.len() as u64,
        };
        for row in 0..positions.len() {
            // SAFETY: worker and batch are the query's.
            match unsafe { codegen::compute_row(&query.program, *pipeline, &mut self.worker, &batch, row) } {
                Ok((passes, computed)) => values.set(plan, row, passes, &computed),
                Err(error) if row == 0 => return Err(error),
                Err(_) => return Ok(row),
            }
        }
        Ok(positions.len())
    }

    /// Hands on what the morsel put into the result up to row `at`, of which `broken` says that more is to come, and gives away
    /// what the worker knows of the batch there, if it has paused.
    pub fn leave(mut self, at: u64, broken: bool) -> Result<Option<Paused>> {
        let suspended = self.is_paused.then(|| self.worker.suspend());
        if suspended.is_some() {
            self.texts.push(self.scratch.take_texts());
        }
        *self.feed.scratch(self.number) = std::mem::take(&mut self.scratch);
        *self.feed.computed(self.number) = self.computed.take();
        let broken = broken || suspended.is_some();
        self.worker.end_morsel_at(self.feed.query.first_row(self.feed.pipeline) + at, broken)?;
        let written = self.feed.query.context.written(self.feed.fills(), self.number);
        // A top-k throws rows away.
        traffic::note_own(Access::Written, written.saturating_sub(self.written));
        Ok(suspended.map(|worker| Paused { worker, pinned: self.pinned, texts: self.texts }))
    }

    /// The same, and says what is left of the morsel.
    pub fn end(self, at: u64) -> Result<Progress> {
        let (feed, rest) = (self.feed, Morsel { begin: at, end: self.morsel.end });
        match self.leave(at, false)? {
            // Of what a limit has let pass, nothing may be lost.
            Some(paused) => drop(feed.lock().insert(rest.end, paused)),
            None if rest.is_empty() || feed.is_exhausted() => return Ok(Progress::Done),
            None => {}
        }
        Ok(feed.progress(rest))
    }
}
