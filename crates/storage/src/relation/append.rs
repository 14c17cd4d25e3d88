//! Appending rows atomically: chunks that workers fill privately, published by one commit or not at all.
//!
//! Rows carry the number of the morsel that they come from. A worker's morsels that follow each other make a run; at the
//! commit, runs are put in the order of their numbers, so the rows are in the order of their source however the morsels
//! were dealt, and wherever they were broken off and taken up by another worker, be it in the middle of what comes of a row.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use base::memory::Reservation;
use base::{Budget, Result};
use scheduler::EachWorker;
use types::{Chunk, Column, FreeRows};

use super::commit::Commit;
use super::piece::{Piece, PieceRows};
use super::zone::check_nulls;
use super::{Distribution, Record, Relation};
use crate::body::Body;
use crate::hash::{each_hash, partition_of};
use crate::lock::lock;
use crate::open::{OpenChunk, Rows};
use crate::schema::Attribute;
use crate::statistics::{Bounds, Summary};
use crate::values::Values;
use crate::{CHUNK_ROWS, PARTITIONS, Schema};

/// Rows wait with being frozen until so much of some budget is used; chunks that are frozen at once leave their memory to the next
/// ones.
const PLAIN_SHARE: f64 = 0.25;

/// Rows on their way into a relation.
#[derive(Debug)]
pub struct Append {
    relation: Arc<Relation>,
    budget: Budget,
    workers: EachWorker<Mutex<Worker>>,
    /// Number of the next run.
    next_run: Arc<AtomicU64>,
}

/// What one worker has appended.
#[derive(Debug)]
struct Worker {
    relation: Arc<Relation>,
    budget: Budget,
    next_run: Arc<AtomicU64>,
    runs: Vec<Run>,
    /// Of the complete chunks.
    summary: Option<Summary>,
}

/// Rows of consecutive morsels.
#[derive(Debug)]
struct Run {
    /// Where its first morsel began in the source.
    begin: u64,
    /// In the order in which runs began: several do at a row of the source that was broken off.
    number: u64,
    /// Whether its last morsel was broken off: then no more comes.
    broken: bool,
    /// Where its last morsel began.
    morsel: u64,
    /// Where that one ended, once it has: the run goes on with the morsel that begins there.
    end: Option<u64>,
    pieces: Vec<Piece>,
    /// By part of the distribution, the chunk that is being filled.
    open: Vec<Option<OpenChunk>>,
}

impl Append {
    pub(super) fn new(relation: Arc<Relation>, budget: Budget) -> Self {
        Self { relation, budget, workers: EachWorker::default(), next_run: Arc::default() }
    }

    fn worker(&self, number: usize) -> MutexGuard<'_, Worker> {
        let make = || {
            let (relation, budget) = (self.relation.clone(), self.budget.clone());
            let next_run = self.next_run.clone();
            Mutex::new(Worker { relation, budget, next_run, runs: Vec::new(), summary: None })
        };
        lock(self.workers.get_or(number, make))
    }

    /// Appends rows of the source's morsel that began at row `morsel`, behind what was appended of it already; the columns are those of the schema, in its order and of its types. Small chunks are copied together; one that is
    /// at least half full is taken as it is. Checks NOT NULL. After an error the append can only be dropped.
    ///
    /// Uncontended if no two workers share a number.
    pub fn append(&self, worker: usize, morsel: u64, chunk: Chunk) -> Result<()> {
        self.worker(worker).append(morsel, chunk)
    }

    /// Where the worker may write the values of rows that come next, at most `most` of them, instead of having them copied
    /// by [`append`](Self::append); none as long as it has no chunk that grows. Valid until anything else is called for
    /// this worker.
    pub fn free_rows(&self, worker: usize, most: usize) -> Result<Option<FreeRows>> {
        self.worker(worker).free_rows(most)
    }

    /// As [`append`](Self::append), of `rows` rows that were written to what [`free_rows`](Self::free_rows) returned last.
    /// `nulls` has the flags (1: NULL) of columns with NULLs among them.
    ///
    /// # Safety
    /// The values are written, of the schema's types, zeros where a row is NULL; headers are of UTF-8 text, whose payload
    /// lives until this returns.
    pub unsafe fn advance(&self, worker: usize, morsel: u64, rows: usize, nulls: &[Option<&[u8]>]) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.worker(worker).advance(morsel, rows, nulls) }
    }

    /// The worker is done with these rows of the source, and if it was `broken` off with some of what comes of the row behind
    /// them: whoever appends the rest names that row.
    pub fn end_morsel(&self, worker: usize, rows: Range<u64>, broken: bool) {
        if let Some(run) = self.worker(worker).runs.last_mut()
            && run.goes_on_with(rows.start)
        {
            (run.morsel, run.end, run.broken) = (rows.start, Some(rows.end), broken);
        }
    }

    /// Checks the primary key and makes all rows visible at once, or none. Returns what was done, for a log. The append is
    /// empty then.
    pub fn commit(&self) -> Result<Record> {
        let mut commit = self.relation.begin_commit();
        let summary = self.place(&mut commit)?;
        commit.finish(summary)
    }

    /// Places all rows in a commit, and returns what workers know of them. The append is empty then.
    pub(super) fn place(&self, commit: &mut Commit) -> Result<Option<Summary>> {
        let (mut runs, mut summary): (Vec<Run>, Option<Summary>) = (Vec::new(), None);
        for (_, worker) in self.workers.iter() {
            let mut worker = lock(worker);
            runs.append(&mut worker.runs);
            match (&mut summary, worker.summary.take()) {
                (Some(mine), Some(theirs)) => mine.merge(&theirs),
                (mine, theirs) => *mine = mine.take().or(theirs),
            }
        }
        runs.sort_by_key(|run| (run.begin, run.number));
        for run in runs {
            let rests = run.open.into_iter().enumerate();
            let rests = rests.filter_map(|(part, open)| Some(Piece { part, rows: PieceRows::Open(open?) }));
            for piece in run.pieces.into_iter().chain(rests) {
                commit.place(piece)?;
            }
        }
        Ok(summary)
    }

    /// Whose rows they are.
    pub(crate) fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }
}

impl Run {
    fn goes_on_with(&self, morsel: u64) -> bool {
        !self.broken && self.end.map_or(self.morsel == morsel, |end| end == morsel)
    }
}

impl Worker {
    fn append(&mut self, morsel: u64, chunk: Chunk) -> Result<()> {
        let schema = &self.relation.schema;
        check_nulls(&self.relation, schema, &chunk)?;
        if chunk.rows() == 0 {
            return Ok(());
        }
        assert_eq!(chunk.columns().len(), schema.attributes().len());
        if !self.goes_on(morsel) {
            let open = (0..self.relation.distribution.parts()).map(|_| None).collect();
            // Parts of a row follow one another, which the scheduler has ordered.
            let number = self.next_run.fetch_add(1, Ordering::Relaxed);
            let (end, pieces) = (None, Vec::new());
            self.runs.push(Run { begin: morsel, number, broken: false, morsel, end, pieces, open });
        }
        match self.relation.distribution {
            Distribution::Hashed { nodes } => self.scatter(nodes, &chunk),
            Distribution::Local if (CHUNK_ROWS / 2..=CHUNK_ROWS).contains(&chunk.rows()) => {
                self.end_open(0);
                let memory = self.budget.reserve(distinct_bytes(&chunk), "insert")?;
                let chunk = retyped(chunk, &self.relation.schema);
                self.complete(0, base::memory::node(), chunk, memory)
            }
            Distribution::Local => self.copy(0, &chunk, Rows::Range(0..chunk.rows())),
        }
    }

    /// Whether the last run goes on with the morsel, which it then does.
    fn goes_on(&mut self, morsel: u64) -> bool {
        let run = self.runs.last_mut().filter(|run| run.goes_on_with(morsel));
        run.map(|run| (run.morsel, run.end) = (morsel, None)).is_some()
    }

    fn free_rows(&mut self, most: usize) -> Result<Option<FreeRows>> {
        if self.relation.distribution != Distribution::Local {
            return Ok(None);
        }
        let open = self.runs.last_mut().and_then(|run| run.open[0].as_mut());
        open.map(|open| open.free_rows(most)).transpose()
    }

    /// # Safety
    /// As of [`Append::advance`].
    unsafe fn advance(&mut self, morsel: u64, rows: usize, nulls: &[Option<&[u8]>]) -> Result<()> {
        let goes_on = self.goes_on(morsel);
        let refused = |(a, nulls): (&Attribute, &Option<&[u8]>)| a.not_null && nulls.is_some();
        let refused = self.relation.schema.attributes().iter().zip(nulls).any(refused);
        let open = self.run().open[0].as_mut().expect("the rows were written to it");
        if refused || !goes_on {
            // SAFETY: as the caller promises; the chunk does not live longer than this call.
            let chunk = unsafe { open.written(rows, nulls) };
            return self.append(morsel, chunk);
        }
        // SAFETY: as the caller promises.
        unsafe { open.advance(rows, nulls)? };
        self.complete_full(0)
    }

    /// Sends each row to the node that its first key attribute's partition belongs to.
    fn scatter(&mut self, nodes: u16, chunk: &Chunk) -> Result<()> {
        let mut rows = vec![Vec::new(); nodes.into()];
        let key: Values<'_> = chunk.column(self.relation.schema.primary_key()[0]).into();
        each_hash(key, 0, chunk.rows(), |row, hash| rows[node_of(partition_of(hash), nodes)].push(row as u32));
        for (part, rows) in rows.iter().enumerate() {
            self.copy(part, chunk, Rows::List(rows))?;
        }
        Ok(())
    }

    fn run(&mut self) -> &mut Run {
        self.runs.last_mut().expect("made before anything is appended")
    }

    /// Copies rows into the open chunk of a part, and completes it whenever it is full.
    fn copy(&mut self, part: usize, chunk: &Chunk, mut rows: Rows<'_>) -> Result<()> {
        while rows.len() > 0 {
            let Self { relation, budget, runs, .. } = self;
            let run = runs.last_mut().expect("made before anything is appended");
            let open = match &mut run.open[part] {
                Some(open) => open,
                none => {
                    let types = relation.schema.attributes().iter().map(|a| a.sql_type);
                    // Where a chunk was filled another one will be, and need not grow.
                    let room = if run.pieces.is_empty() { rows.len() } else { CHUNK_ROWS };
                    let _there = relation.on_node_of(part);
                    none.insert(OpenChunk::new(types, room, budget)?)
                }
            };
            let (now, later) = {
                let n = rows.len().min(open.room());
                rows.split(n)
            };
            open.append(chunk, &now)?;
            self.complete_full(part)?;
            rows = later;
        }
        Ok(())
    }

    /// Completes the open chunk of a part if it is full.
    fn complete_full(&mut self, part: usize) -> Result<()> {
        match self.run().open[part].take_if(|open| open.room() == 0) {
            Some(open) => self.complete(part, open.node(), open.chunk(), open.into_memory()),
            None => Ok(()),
        }
    }

    /// Ends the open chunk of a part, full or not.
    fn end_open(&mut self, part: usize) {
        let run = self.run();
        if let Some(open) = run.open[part].take() {
            run.pieces.push(Piece { part, rows: PieceRows::Open(open) });
        }
    }

    /// Adds a complete chunk: as it is, to be frozen later, or frozen at once where memory is scarce.
    fn complete(&mut self, part: usize, node: u16, chunk: Chunk, mut memory: Reservation) -> Result<()> {
        let rows = chunk.rows();
        let summary = self.summary.get_or_insert_with(|| Summary::new(chunk.columns().len()));
        let frozen = self.budget.used_share() > PLAIN_SHARE;
        let bounds_of = if frozen { Bounds::of } else { Bounds::of_numbers };
        let bounds = summary.add_bounds(chunk.columns().iter().map(Values::from), 0..rows, bounds_of);
        let body = if frozen {
            let _room =
                self.budget.reserve(Body::room_to_freeze(chunk.columns().iter().map(Values::from)), "insert")?;
            Body::frozen(chunk, &bounds, |attribute, values| {
                summary.add_distinct(attribute, values, 0, &bounds[attribute]);
            })
        } else {
            let body = Body::plain(chunk);
            // What was delivered as codes has its form already.
            body.each_distinct(|attribute, values| summary.add_distinct(attribute, values, 0, &bounds[attribute]));
            body
        };
        memory.resize(body.bytes().min(memory.bytes()))?;
        let rows = PieceRows::Complete { node, rows, body, frozen, bounds, memory };
        self.run().pieces.push(Piece { part, rows });
        Ok(())
    }
}

/// The node that a partition belongs to: consecutive ones go together.
pub(super) fn node_of(partition: usize, nodes: u16) -> usize {
    partition * usize::from(nodes) / PARTITIONS
}

/// The chunk under the schema's types.
fn retyped(chunk: Chunk, schema: &Schema) -> Chunk {
    let rows = chunk.rows();
    let columns = chunk.into_columns().into_iter().zip(schema.attributes());
    Chunk::new(rows, columns.map(|(c, a)| c.with_type(a.sql_type)).collect())
}

/// Bytes that the chunk holds, with buffers that several columns share counted once.
fn distinct_bytes(chunk: &Chunk) -> usize {
    let heaps = |c: &Column| c.heaps().iter().map(|h| (h.as_ptr(), h.own_bytes())).collect::<Vec<_>>();
    let mut shared: Vec<_> = chunk.columns().iter().flat_map(heaps).collect();
    let all: usize = shared.iter().map(|h| h.1).sum();
    shared.sort_unstable();
    shared.dedup();
    chunk.bytes() - all + shared.iter().map(|h| h.1).sum::<usize>()
}
