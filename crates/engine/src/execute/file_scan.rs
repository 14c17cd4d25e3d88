//! Scans of files: their pieces are morsels. Where a LIMIT takes few rows, one worker reads the first ones in their order, before
//! all others, mostly instead of them; where it stops, the others go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Result;
use base::memory::Reservation;
use io::{FileSource, Step};
use pipeline::ir::{FirstKey, PipelineId, ScanPredicate as IrPredicate, SourceColumn};
use scheduler::{Claim, Cutting, Morsel, MorselRanges, Progress, TaskSet, Wanted, WorkerId};
use storage::{ChunkReader, ScanPredicate};

use super::Query;
use super::batch::{Delivered, Feed, Paused};
use super::narrow::Narrowing;
use super::scan::{delivered, prune_predicate, scan_predicate, source_columns};
use crate::pieces::{Piece, Pieces};

/// So many pieces one worker reads at most before all others: each may have to come from far away.
const FIRST_PIECES: u64 = 64;

/// A file, and what a pipeline asks of its rows.
#[derive(Clone)]
pub(super) struct FileScan {
    pieces: Arc<Pieces<Option<Held>>>,
    /// The columns that are read; the others only predicates need.
    fields: Vec<usize>,
    predicates: Arc<[ScanPredicate]>,
}

pub(super) struct FileTasks {
    feed: Feed,
    pieces: Arc<Pieces<Option<Held>>>,
    fields: Vec<usize>,
    delivered: Delivered,
    narrowing: Narrowing,
    /// Columns that decide whether others are read.
    asked: Vec<usize>,
    /// Of tasks that are the first ones.
    first: Option<Arc<First>>,
}

/// How far the first rows go.
pub(super) struct First {
    /// Rows that are to be read yet.
    rows: AtomicU64,
    /// Pieces that are to be read yet.
    pieces: AtomicU64,
    /// The number that the other rows begin with.
    end: AtomicU64,
}

/// A chunk that is not done.
struct Held {
    reader: ChunkReader,
    /// Rows of it that are.
    done: usize,
    /// What is known of the batch behind them, if it has paused.
    paused: Option<Paused>,
    _charged: Reservation,
}

impl FileScan {
    pub fn new(
        query: &Arc<Query>,
        pipeline: PipelineId,
        file: Arc<dyn FileSource>,
        predicates: &[IrPredicate],
    ) -> Result<Self> {
        let mut fields = Vec::new();
        let mut field = |attribute: usize| {
            fields.iter().position(|&f| f == attribute).unwrap_or_else(|| {
                fields.push(attribute);
                fields.len() - 1
            })
        };
        delivered(query, pipeline, |column| field(column.attribute));
        let mut local = Vec::new();
        for p in predicates {
            let at = field(p.attribute);
            local.push(scan_predicate(query, p, at, file.schema()[p.attribute].sql_type));
        }
        ScanPredicate::arrange(&mut local);
        let only_extremes = predicates.is_empty() && query.program.pipelines[pipeline].only_finds_extremes();
        let few = !query.limits_of(&query.program.pipelines[pipeline].body).is_empty();
        let prune = predicates.iter().filter_map(prune_predicate).collect();
        let mut pieces = Pieces::new(file, fields.clone(), prune, few)?;
        if let Some((attribute, descending)) = first_key(query, pipeline) {
            pieces = pieces.best_first(attribute, descending);
        }
        let pieces = Arc::new(if only_extremes { pieces.only_extremes() } else { pieces });
        Ok(Self { pieces, fields, predicates: local.into() })
    }

    /// All pieces, for all workers.
    pub fn tasks(self, query: Arc<Query>, pipeline: PipelineId, cut: &Cutting) -> FileTasks {
        let ranges = self.pieces.cut(cut);
        FileTasks::new(query, pipeline, self, (ranges, cut), None)
    }

    /// The first rows, for one worker after the other, and where they end.
    pub fn first(
        self,
        query: Arc<Query>,
        pipeline: PipelineId,
        (cut, rows): (&Cutting, u64),
    ) -> (FileTasks, Arc<First>) {
        let ranges = self.pieces.one_by_one(cut);
        let end = AtomicU64::new(self.pieces.end());
        let first = Arc::new(First { rows: AtomicU64::new(rows), pieces: AtomicU64::new(FIRST_PIECES), end });
        (FileTasks::new(query, pipeline, self, (ranges, cut), Some(first.clone())), first)
    }

    /// The rows behind the first ones, once these have been read.
    pub fn rest(self, query: Arc<Query>, pipeline: PipelineId, (cut, first): (&Cutting, &First)) -> FileTasks {
        let ranges = self.pieces.cut_from(cut, first.end.load(Ordering::Acquire));
        FileTasks::new(query, pipeline, self, (ranges, cut), None)
    }
}

/// The attribute that a top-k or the like orders by first, where that may be asked of rows before they come to it, and whether
/// from high to low.
fn first_key(query: &Query, pipeline: PipelineId) -> Option<(usize, bool)> {
    let key = FirstKey::of(&query.program, pipeline)?;
    let attribute = source_columns(query, pipeline).0[key.column].attribute;
    Some((attribute, query.context.threshold(key.state)?.is_descending()))
}

impl First {
    /// Whether one worker has read enough, which so many rows and the end of a piece bring nearer. Only one at a time asks.
    fn has_enough(&self, rows: u64, pieces: u64) -> bool {
        let left = |of: &AtomicU64, by: u64| {
            let left = of.load(Ordering::Acquire).saturating_sub(by);
            of.store(left, Ordering::Release);
            left
        };
        (left(&self.rows, rows) == 0) | (left(&self.pieces, pieces) == 0)
    }
}

impl FileTasks {
    fn new(
        query: Arc<Query>,
        pipeline: PipelineId,
        FileScan { pieces, fields, predicates }: FileScan,
        (ranges, cut): (MorselRanges, &Cutting),
        first: Option<Arc<First>>,
    ) -> Self {
        let (_, codes) = source_columns(&query, pipeline);
        let place_of = |attribute: usize| fields.iter().position(|&f| f == attribute).expect("it is read");
        let codes = (!codes.is_empty()).then(|| codes.iter().map(|&attribute| place_of(attribute)).collect());
        let place = |column: &SourceColumn| place_of(column.attribute);
        let columns = fields.len();
        let read = delivered(&query, pipeline, &place);
        let narrowing = Narrowing::new(query.clone(), pipeline, predicates, place);
        let mut asked = narrowing.asked();
        if asked.len() == columns {
            asked.clear();
        }
        let feed = Feed::new(query, pipeline, ranges, cut);
        Self { feed, pieces, fields, delivered: Delivered { read, codes }, narrowing, asked, first }
    }

    /// Runs rows of a chunk, as many as the time allows, and returns how many these were.
    fn run_chunk(&self, worker: WorkerId, piece: &mut Piece<Option<Held>>, mut held: Held) -> Result<usize> {
        let rows = held.reader.rows();
        let begin = piece.number();
        let mut run = self.feed.begin_at(worker, Morsel { begin, end: begin }, held.paused.take());
        let predicates = self.narrowing.predicates(|column| held.reader.may_be_null(column));
        let stopped = run.chunk(&held.reader, &self.delivered, &predicates, held.done..rows)?;
        self.narrowing.look(worker)?;
        let done = stopped - held.done;
        let (end, broken) = piece.advance(done);
        // Rows that outlive the chunk own their strings from here on.
        held.paused = run.leave(end, broken)?;
        held.done = stopped;
        if held.paused.is_some() || stopped < rows {
            piece.held = Some(held);
        }
        Ok(done)
    }

    /// The piece that a morsel begins with.
    fn begin(&self, morsel: Morsel) -> Result<Piece<Option<Held>>> {
        let wanted = |file: &dyn FileSource, of| self.narrowing.wants(file, of, |column| self.fields[column]);
        let mut piece = self.pieces.take_if(morsel, wanted)?;
        if !self.asked.is_empty() {
            piece.reader.ask_first(&self.asked);
        }
        Ok(piece)
    }

    /// Whether the others may go on from here, of tasks that are the first.
    fn is_enough(&self, rows: usize, pieces: u64) -> bool {
        self.first.as_ref().is_some_and(|first| first.has_enough(rows as u64, pieces))
    }

    /// The others go on with a row.
    fn stop_at(&self, number: u64) -> Progress {
        if let Some(first) = &self.first {
            first.end.store(number, Ordering::Release);
        }
        Progress::Done
    }
}

impl TaskSet for FileTasks {
    fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim {
        self.feed.claim(worker, wanted)
    }

    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<Progress> {
        let mut piece = self.begin(morsel)?;
        let slice = self.feed.slice();
        let rest = |piece| Morsel { end: morsel.end, ..self.pieces.put(piece) };
        loop {
            // Of what a limit has let pass, nothing may be lost.
            let has_paused = piece.held.as_ref().is_some_and(|held| held.paused.is_some());
            if self.feed.is_exhausted() && !has_paused {
                return Ok(Progress::Done);
            }
            if let Some(held) = piece.held.take() {
                let done = self.run_chunk(worker, &mut piece, held)?;
                if self.is_enough(done, 0) {
                    return Ok(self.stop_at(self.pieces.put(piece).begin));
                }
            } else {
                match piece.reader.step_if(&mut |asked| Ok(self.narrowing.admits(&self.asked, asked)))? {
                    Step::Chunk(chunk) => {
                        let _charged = self.feed.query.budget.reserve(chunk.bytes(), "file")?;
                        piece.held = Some(Held { reader: ChunkReader::of(chunk), done: 0, paused: None, _charged });
                    }
                    Step::More => {}
                    Step::Wait(wanted) => {
                        let query = &self.feed.query;
                        query.goes_on_with(&wanted)?;
                        if !query.small {
                            return Ok(Progress::NotNow(rest(piece)));
                        }
                    }
                    Step::End => {
                        let numbers = piece.rest();
                        let run = self.feed.begin_at(worker, Morsel { begin: numbers.start, end: numbers.end }, None);
                        run.leave(numbers.end, false)?;
                        if numbers.end >= morsel.end {
                            return Ok(Progress::Done);
                        }
                        if self.is_enough(0, 1) {
                            return Ok(self.stop_at(numbers.end));
                        }
                        piece = self.begin(Morsel { begin: numbers.end, end: morsel.end })?;
                    }
                }
            }
            if slice.is_over() || self.feed.query.is_held_up() {
                return Ok(self.feed.progress(rest(piece)));
            }
        }
    }

    fn total(&self) -> u64 {
        self.feed.total()
    }
}
