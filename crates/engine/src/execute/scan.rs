//! Sources outside of the query: relations and files. Predicates skip chunks by their bounds, then select rows.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Result;
use base::ids::Id;
use base::memory::Reservation;
use io::{CompareOp, FileSource, PrunePredicate};
use pipeline::ir::{PipelineId, ScanOp as IrOp, ScanPredicate as IrPredicate, Source as IrSource, SourceColumn};
use runtime::query::Suspended;
use scheduler::{Claim, Cutting, Morsel, NodeId, Offsets, Progress, TaskSet, WorkerId};
use storage::{ChunkReader, Comparison, ScanOp, ScanPredicate, Snapshot};
use types::{Chunk, SqlType, Value};

use super::Query;
use super::batch::Feed;

fn source_columns(query: &Query, pipeline: PipelineId) -> &[SourceColumn] {
    match &query.program.pipelines[pipeline].source {
        IrSource::Table { columns, .. } => columns,
        _ => &[],
    }
}

pub(super) struct TableTasks {
    feed: Feed,
    snapshot: Snapshot,
    /// The rows of the chunks, one after the other.
    offsets: Offsets,
    predicates: Vec<ScanPredicate>,
    read: Vec<usize>,
}

impl TableTasks {
    pub fn new(
        query: Arc<Query>,
        pipeline: PipelineId,
        snapshot: Snapshot,
        predicates: &[IrPredicate],
        cut: &Cutting,
    ) -> Self {
        let attributes = snapshot.schema().attributes();
        let mut predicates: Vec<ScanPredicate> = predicates
            .iter()
            .map(|p| scan_predicate(&query, p, p.attribute, attributes[p.attribute].sql_type))
            .collect();
        ScanPredicate::arrange(&mut predicates);
        let columns = source_columns(&query, pipeline);
        let read = columns.iter().map(|c| c.attribute).collect();
        let offsets = Offsets::new(snapshot.chunks().map(|chunk| chunk.rows() as u64));
        let ranges = cut.placed(&on_nodes(&snapshot, &offsets, cut));
        Self { feed: Feed::new(query, pipeline, ranges, cut), snapshot, offsets, predicates, read }
    }
}

/// The rows of a relation and the node that each lies on: that of its chunk.
fn on_nodes(snapshot: &Snapshot, offsets: &Offsets, cut: &Cutting) -> Vec<(NodeId, std::ops::Range<u64>)> {
    let nodes = cut.placement.node_count();
    let mut parts: Vec<(NodeId, std::ops::Range<u64>)> = Vec::new();
    for (chunk, rows) in snapshot.chunks().zip(offsets.ranges()) {
        // A node that this scheduler does not know is some other part of the program's.
        let node = NodeId::from_index(usize::from(chunk.node()) % nodes);
        match parts.last_mut() {
            Some((last, part)) if *last == node => part.end = rows.end,
            _ => parts.push((node, rows)),
        }
    }
    parts
}

impl TaskSet for TableTasks {
    fn claim(&self, worker: WorkerId) -> Claim {
        self.feed.claim(worker)
    }

    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<Progress> {
        let mut run = self.feed.begin(worker, morsel);
        let mut at = morsel.begin;
        for (number, rows) in self.offsets.within(morsel) {
            let chunk = self.snapshot.chunk(number);
            let stopped = if chunk.may_match(&self.predicates) {
                run.chunk(&chunk.read(), &self.read, &self.predicates, rows.clone())?
            } else {
                rows.end
            };
            at += (stopped - rows.start) as u64;
            if stopped < rows.end || run.must_stop() {
                break;
            }
        }
        run.end(at)
    }

    fn total(&self) -> u64 {
        self.feed.total()
    }
}

pub(super) struct FileTasks {
    feed: Feed,
    file: Arc<dyn FileSource>,
    /// The rows of the file's pieces, one after the other, as far as they are known.
    offsets: Offsets,
    /// Fields to read: those of the source's columns first, then those that only predicates need.
    fields: Vec<usize>,
    /// The source's columns among them.
    read: Vec<usize>,
    predicates: Vec<ScanPredicate>,
    prune: Vec<PrunePredicate>,
    /// Pieces in whose middle a batch has paused, by the ends of their morsels.
    unfinished: Mutex<HashMap<u64, Unfinished>>,
}

/// What is left of a piece: a reader of a file cannot stop, so it was read to its end.
struct Unfinished {
    chunks: VecDeque<Chunk>,
    /// Rows of the first chunk that are done.
    done: usize,
    /// Number of the row behind them.
    at: u64,
    /// What is known of the batch there, if it has paused.
    paused: Option<Suspended>,
    memory: Reservation,
}

impl FileTasks {
    pub fn new(
        query: Arc<Query>,
        pipeline: PipelineId,
        file: Arc<dyn FileSource>,
        predicates: &[IrPredicate],
        cut: &Cutting,
    ) -> Result<Self> {
        let mut fields: Vec<usize> = source_columns(&query, pipeline).iter().map(|c| c.attribute).collect();
        let columns = fields.len();
        let mut local = Vec::new();
        for p in predicates {
            let at = fields.iter().position(|&f| f == p.attribute).unwrap_or_else(|| {
                fields.push(p.attribute);
                fields.len() - 1
            });
            local.push(scan_predicate(&query, p, at, file.schema()[p.attribute].sql_type));
        }
        fields.iter().try_for_each(|&f| file.schema()[f].check_supported())?;
        ScanPredicate::arrange(&mut local);
        let prune = predicates.iter().filter_map(prune_predicate).collect();
        let offsets = file_offsets(&*file);
        let ranges = cut.pieces(&offsets);
        Ok(Self {
            feed: Feed::new(query, pipeline, ranges, cut),
            file,
            offsets,
            fields,
            read: (0..columns).collect(),
            predicates: local,
            prune,
            unfinished: Mutex::default(),
        })
    }
}

/// The rows of a file's pieces. A piece that is expected to be empty must be looked at, too; and what a corrupt file says of
/// its size must not make sums overflow.
pub(crate) fn file_offsets(file: &dyn FileSource) -> Offsets {
    Offsets::new((0..file.morsels()).map(|piece| file.rows_of(piece).clamp(1, 1 << 40)))
}

impl TaskSet for FileTasks {
    fn claim(&self, worker: WorkerId) -> Claim {
        self.feed.claim(worker)
    }

    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<Progress> {
        let unfinished = self.lock().remove(&morsel.end);
        let mut piece = match unfinished {
            Some(piece) => piece,
            None => {
                let memory = self.feed.query.budget.reserve(0, "file")?;
                let mut piece = Unfinished { chunks: VecDeque::new(), done: 0, at: morsel.begin, paused: None, memory };
                self.file.read(self.offsets.piece(morsel.begin), &self.fields, &self.prune, &mut |chunk| {
                    piece.push(chunk)?;
                    if piece.paused.is_none() { self.run_chunks(worker, &mut piece) } else { Ok(()) }
                })?;
                return Ok(self.leave(morsel, piece));
            }
        };
        self.run_chunks(worker, &mut piece)?;
        Ok(self.leave(morsel, piece))
    }

    fn total(&self) -> u64 {
        self.feed.total()
    }
}

impl FileTasks {
    /// Runs chunks, all of them or as many as the time allows, up to a batch that pauses.
    fn run_chunks(&self, worker: WorkerId, piece: &mut Unfinished) -> Result<()> {
        let slice = self.feed.slice();
        while let Some(chunk) = piece.chunks.front() {
            let (rows, reader) = (chunk.rows(), ChunkReader::of(chunk.clone()));
            let morsel = Morsel { begin: piece.at, end: piece.at + (rows - piece.done) as u64 };
            let mut run = self.feed.begin_at(worker, morsel, piece.paused.take());
            let stopped = run.chunk(&reader, &self.read, &self.predicates, piece.done..rows)?;
            piece.at += (stopped - piece.done) as u64;
            // Rows that outlive the chunk own their strings from here on.
            piece.paused = run.leave(piece.at)?;
            if piece.paused.is_some() {
                piece.done = stopped;
                break;
            }
            piece.done = 0;
            piece.pop()?;
            if slice.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Keeps what is left of a piece, and says so.
    fn leave(&self, morsel: Morsel, piece: Unfinished) -> Progress {
        if piece.chunks.is_empty() {
            return Progress::Done;
        }
        // The numbers of a file's rows are estimates; the rest has the last row in any case.
        let rest = Morsel { begin: piece.at.min(morsel.end - 1).max(morsel.begin), end: morsel.end };
        self.lock().insert(morsel.end, piece);
        self.feed.progress(rest)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Unfinished>> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unfinished {
    fn push(&mut self, chunk: Chunk) -> Result<()> {
        self.memory.resize(self.memory.bytes() + chunk.bytes(), "file")?;
        self.chunks.push_back(chunk);
        Ok(())
    }

    fn pop(&mut self) -> Result<()> {
        let bytes = self.chunks.pop_front().map_or(0, |chunk| chunk.bytes());
        self.memory.resize(self.memory.bytes() - bytes, "file")
    }
}

/// A predicate in the form of the kernels, for column number `attribute` of what they are given.
fn scan_predicate(query: &Query, predicate: &IrPredicate, attribute: usize, sql_type: SqlType) -> ScanPredicate {
    let value = |at: usize, constant: &Value| {
        let own = query.arguments.as_ref().zip(predicate.arguments.get(at)).map(|(own, id)| &own.values[id.index()]);
        own.unwrap_or(constant).clone()
    };
    let compare = |c, v: &Value| ScanOp::Compare(c, value(0, v));
    let op = match &predicate.op {
        IrOp::Eq(v) => compare(Comparison::Eq, v),
        IrOp::Ne(v) => compare(Comparison::Ne, v),
        IrOp::Lt(v) => compare(Comparison::Lt, v),
        IrOp::Le(v) => compare(Comparison::Le, v),
        IrOp::Gt(v) => compare(Comparison::Gt, v),
        IrOp::Ge(v) => compare(Comparison::Ge, v),
        IrOp::In(values) => ScanOp::In(values.iter().enumerate().map(|(at, v)| value(at, v)).collect()),
        IrOp::Prefix(prefix) => ScanOp::Prefix(prefix.to_string()),
        IrOp::IsNull => ScanOp::IsNull,
        IrOp::IsNotNull => ScanOp::IsNotNull,
    };
    ScanPredicate::new(attribute, sql_type, op)
}

fn prune_predicate(predicate: &IrPredicate) -> Option<PrunePredicate> {
    let (op, constant) = match &predicate.op {
        IrOp::Eq(v) => (CompareOp::Eq, v.clone()),
        IrOp::Lt(v) => (CompareOp::Lt, v.clone()),
        IrOp::Le(v) => (CompareOp::Le, v.clone()),
        IrOp::Gt(v) => (CompareOp::Gt, v.clone()),
        IrOp::Ge(v) => (CompareOp::Ge, v.clone()),
        IrOp::IsNull => (CompareOp::IsNull, Value::Null),
        IrOp::IsNotNull => (CompareOp::IsNotNull, Value::Null),
        IrOp::Ne(_) | IrOp::In(_) | IrOp::Prefix(_) => return None,
    };
    Some(PrunePredicate { column: predicate.attribute, op, constant })
}
