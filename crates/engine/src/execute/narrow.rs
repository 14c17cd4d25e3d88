//! A scan below a top-k: rows whose first key comes behind all that the sort still needs are left out by the scan's own
//! predicates, chunks by their bounds, and the chunks that promise most are read first.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use base::Result;
use base::ids::Id;
use io::FileSource;
use pipeline::ir::{FirstKey, PipelineId, Source as IrSource, SourceColumn, StateId};
use runtime::threshold::{Needed, Threshold};
use scheduler::WorkerId;
use storage::{ChunkReader, Comparison, RowId, ScanOp, ScanPredicate, Scratch, Snapshot, WINDOW};
use types::{Chunk, SqlType, Value};

use super::Query;
use crate::source::Source;

/// Rows that are read before a worker is asked what it knows, as long as nobody knows anything.
const FIRST_ROWS: usize = 1024;

/// What a scan asks of rows: its own predicates, and what the top-k above it needs now.
pub(super) struct Narrowing {
    query: Arc<Query>,
    key: Option<Key>,
    own: Arc<[ScanPredicate]>,
    narrowed: Mutex<Narrowed>,
}

/// The first key of the top-k, as the scan has it.
#[derive(Clone, Copy)]
struct Key {
    state: StateId,
    of_all_rows: bool,
    attribute: usize,
    sql_type: SqlType,
    /// Of the rows' ids, which no predicate is asked of.
    is_row_id: bool,
}

/// Whether a column of a pipeline's source has the ids of the table's rows.
pub(super) fn is_row_id(query: &Query, pipeline: PipelineId, column: &SourceColumn) -> bool {
    let IrSource::Table { table, .. } = &query.program.pipelines[pipeline].source else { return false };
    // Behind all attributes.
    matches!(&query.sources[*table], Source::Stored(of, _) if of.schema().attributes().len() == column.attribute)
}

/// Predicates as of a version of the threshold.
struct Narrowed {
    version: u64,
    predicates: Arc<[ScanPredicate]>,
    /// Whether NULLs are needed, too, which the predicates leave out.
    or_null: bool,
}

impl Narrowing {
    /// `attribute` says where the predicates find a column of the pipeline's source.
    pub fn new(
        query: Arc<Query>,
        pipeline: PipelineId,
        own: Arc<[ScanPredicate]>,
        attribute: impl Fn(&SourceColumn) -> usize,
    ) -> Self {
        let key = FirstKey::of(&query.program, pipeline).and_then(|FirstKey { state, column, of_all_rows, .. }| {
            let IrSource::Table { columns, .. } = &query.program.pipelines[pipeline].source else { return None };
            let source = &columns[column];
            let is_row_id = is_row_id(&query, pipeline, source);
            Some(Key { state, of_all_rows, attribute: attribute(source), sql_type: source.sql_type, is_row_id })
        });
        let narrowed = Mutex::new(Narrowed { version: 0, predicates: own.clone(), or_null: false });
        Self { query, key, own, narrowed }
    }

    /// The attributes that decide which rows are left out, each once.
    pub fn asked(&self) -> Vec<usize> {
        let of_key = self.key.iter().filter(|key| !key.is_row_id).map(|key| key.attribute);
        let mut asked: Vec<usize> = of_key.chain(self.own.iter().map(|predicate| predicate.attribute)).collect();
        asked.sort_unstable();
        asked.dedup();
        asked
    }

    /// Whether rows with these values of the attributes that decide, in [their](Self::asked) order, may be wanted now.
    pub fn admits(&self, asked: &[usize], chunk: &Chunk) -> bool {
        let place = |attribute: usize| asked.iter().position(|&of| of == attribute).expect("it is one of those");
        let (reader, mut scratch) = (ChunkReader::of(chunk.clone()), Scratch::default());
        let predicates = self.predicates(|attribute| reader.may_be_null(place(attribute)));
        let here = |of: &ScanPredicate| {
            let mut here = of.clone();
            here.attribute = place(of.attribute);
            here
        };
        let predicates: Arc<[ScanPredicate]> = predicates.iter().map(here).collect();
        let Some(predicates) = reader.applicable(&predicates, &mut scratch) else { return false };
        let mut selection = [0; WINDOW];
        let windows = (0..reader.rows()).step_by(WINDOW).map(|from| from..(from + WINDOW).min(reader.rows()));
        predicates.is_empty()
            || windows.into_iter().any(|rows| reader.scan(rows, &predicates, &mut scratch, &mut selection) > 0)
    }

    /// Whether rows of a file's morsel may be wanted now; `field` says which of its fields an attribute is.
    pub fn wants(&self, file: &dyn FileSource, morsel: usize, field: impl Fn(usize) -> usize) -> bool {
        let Some((key, threshold)) = self.threshold() else { return true };
        if threshold.version() == 0 {
            return true;
        }
        let known = file.statistics_of(morsel, field(key.attribute));
        threshold.may_need((known.min.as_ref(), known.max.as_ref()), known.nulls != Some(0))
    }

    /// Whether any row may be left out.
    pub fn may_skip(&self) -> bool {
        self.key.is_some() || !self.own.is_empty()
    }

    fn threshold(&self) -> Option<(Key, &Threshold)> {
        let key = self.key?;
        Some((key, self.query.context.threshold(key.state)?))
    }

    /// The chunks of a table in the order in which they had better be read. If all rows come to the sort, the bounds of
    /// chunks tell what it needs at most.
    pub fn order(&self, snapshot: &Snapshot) -> Vec<usize> {
        let mut chunks: Vec<usize> = (0..snapshot.chunk_count()).collect();
        let Some((key, threshold)) = self.threshold().filter(|_| chunks.len() > 1) else { return chunks };
        if key.is_row_id {
            if threshold.is_descending() {
                chunks.reverse();
            }
            return chunks;
        }
        let ends = snapshot.chunks().map(|chunk| {
            let bounds = chunk.bounds(key.attribute);
            let (low, high) = bounds.values(key.sql_type);
            // Dead rows have no values.
            let values = match chunk.is_changed() {
                true => 0,
                false => (chunk.rows() as u64).saturating_sub(bounds.nulls),
            };
            if threshold.is_descending() { (high, low, values) } else { (low, high, values) }
        });
        let ends: Vec<(Option<Value>, Option<Value>, u64)> = ends.collect();
        let order = |a: &Value, b: &Value| if threshold.is_descending() { b.total_cmp(a) } else { a.total_cmp(b) };
        if key.of_all_rows {
            let mut last: Vec<(&Value, u64)> =
                ends.iter().filter_map(|(_, last, n)| Some((last.as_ref()?, *n))).collect();
            last.sort_by(|a, b| order(a.0, b.0));
            let mut values = 0;
            let enough = last.into_iter().find(|(_, more)| {
                values += more;
                values >= threshold.rows()
            });
            enough.into_iter().for_each(|(value, _)| threshold.tighten(value.clone()));
        }
        // Those of which nothing is known come last.
        chunks.sort_by(|&a, &b| match (&ends[a].0, &ends[b].0) {
            (Some(a), Some(b)) => order(a, b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        chunks
    }

    /// The predicates of now, for rows some of which are NULL at a place or not.
    pub fn predicates(&self, has_nulls: impl Fn(usize) -> bool) -> Arc<[ScanPredicate]> {
        let Some((key, threshold)) = self.threshold().filter(|(key, _)| !key.is_row_id) else {
            return self.own.clone();
        };
        let mut narrowed = self.narrowed.lock().unwrap_or_else(PoisonError::into_inner);
        if narrowed.version < threshold.version() {
            *narrowed = self.narrow(key, threshold);
        }
        if narrowed.or_null && has_nulls(key.attribute) { self.own.clone() } else { narrowed.predicates.clone() }
    }

    fn narrow(&self, key: Key, threshold: &Threshold) -> Narrowed {
        let version = threshold.version();
        let (op, or_null) = match threshold.needed() {
            None => return Narrowed { version, predicates: self.own.clone(), or_null: false },
            Some(Needed::Null) => (ScanOp::IsNull, false),
            Some(Needed::AtMost { value, or_null }) => (ScanOp::Compare(Comparison::Le, value), or_null),
            Some(Needed::AtLeast { value, or_null }) => (ScanOp::Compare(Comparison::Ge, value), or_null),
        };
        let first = ScanPredicate::new(key.attribute, key.sql_type, op);
        Narrowed { version, predicates: std::iter::once(first).chain(self.own.iter().cloned()).collect(), or_null }
    }

    /// Those of a chunk's rows that may be wanted now, by their ids.
    pub fn wanted(&self, chunk: usize, rows: Range<usize>) -> Range<usize> {
        let of_ids = self.threshold().filter(|(key, _)| key.is_row_id);
        let (Range { start, end }, none) = (rows.clone(), rows.end..rows.end);
        match of_ids.and_then(|(_, threshold)| threshold.needed()) {
            Some(Needed::AtMost { value: Value::Decimal(id), .. }) => {
                let last = RowId::from_bits(id as u64);
                match chunk.cmp(&last.chunk()) {
                    Ordering::Less => rows,
                    Ordering::Equal if start <= last.offset() => start..end.min(last.offset() + 1),
                    _ => none,
                }
            }
            Some(Needed::AtLeast { value: Value::Decimal(id), .. }) => {
                let first = RowId::from_bits(id as u64);
                match chunk.cmp(&first.chunk()) {
                    Ordering::Less => none,
                    Ordering::Equal => start.max(first.offset()).min(end)..end,
                    Ordering::Greater => rows,
                }
            }
            _ => rows,
        }
    }

    /// How many of some rows to read before [`look`](Self::look).
    pub fn rows(&self, rows: usize) -> usize {
        match self.threshold() {
            Some((_, threshold)) if threshold.version() == 0 => rows.min(FIRST_ROWS),
            _ => rows,
        }
    }

    /// Lets the sort look at what a worker has found.
    pub fn look(&self, worker: WorkerId) -> Result<()> {
        self.key.map_or(Ok(()), |key| self.query.context.look(key.state, worker.index()))
    }
}
