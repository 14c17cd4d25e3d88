//! Scans of relations, and what they share with those of files. Predicates skip chunks by their bounds, then select rows.

use std::ops::Range;
use std::sync::Arc;

use base::Result;
use base::ids::Id;
use base::traffic::{self, Access, MemoryPlacement};
use io::{CompareOp, PrunePredicate};
use pipeline::ir::{
    KeyFilter, KeyLookup, PipelineId, ScanOp as IrOp, ScanPredicate as IrPredicate, Source as IrSource, SourceColumn,
};
use scheduler::{Claim, Cutting, Morsel, NodeId, Offsets, Progress, Strategy, TaskSet, Wanted, WorkerId};
use storage::relation::IndexedRows;
use storage::transaction::Reads;
use storage::{ChunkReader, ChunkView, Comparison, ScanOp, ScanPredicate, Snapshot};
use types::ops::like::LikePattern;
use types::{SqlType, Value};

use super::batch::{Delivered, Feed, Read, Run};
use super::enough::enough;
use super::narrow::Narrowing;
use super::pass_over::pass_over;
use super::{Query, extremes, lookup};
use crate::computed::OfTexts;
use crate::source::Source;

/// Notes what a query reads of relations, for the validation of its transaction: rows that satisfy the predicates of a scan;
/// all rows of a relation that the optimizer has found out something about without a scan.
pub(super) fn note_reads(query: &Query, reads: &Reads) {
    for (id, source) in query.sources.iter() {
        let Source::Stored(snapshot, relation) = source else { continue };
        let attributes = snapshot.schema().attributes();
        let mut is_scanned = false;
        for pipeline in query.program.pipelines.values() {
            let IrSource::Table { table, columns, predicates, .. } = &pipeline.source else { continue };
            if *table != id {
                continue;
            }
            is_scanned = true;
            let predicates: Vec<ScanPredicate> = predicates
                .iter()
                .map(|p| scan_predicate(query, p, p.attribute, attributes[p.attribute].sql_type))
                .collect();
            reads.note(relation, &predicates, columns.iter().map(|column| column.attribute));
        }
        if !is_scanned {
            reads.note(relation, &[], 0..attributes.len());
        }
    }
}

/// How many rows an index finds for the predicates of a scan, if it reads these and no others.
pub(super) fn found_rows(
    query: &Query,
    pipeline: PipelineId,
    snapshot: &Snapshot,
    predicates: &[IrPredicate],
) -> Option<usize> {
    if snapshot.relation().indexes().is_empty() {
        return None;
    }
    let attributes = snapshot.schema().attributes();
    let predicates =
        predicates.iter().map(|p| scan_predicate(query, p, p.attribute, attributes[p.attribute].sql_type)).collect();
    snapshot.search(&predicates, &enough(query, pipeline)).map(|found| found.rows.len())
}

/// By how much morsels are longer of which nothing is read, as below `count(*)`: there a chunk costs as much as a row.
const UNREAD_ROWS: u64 = 64;

/// The columns of a pipeline's source, and those whose codes it asks for.
pub(super) fn source_columns(query: &Query, pipeline: PipelineId) -> (&[SourceColumn], &[usize]) {
    match &query.program.pipelines[pipeline].source {
        IrSource::Table { columns, codes, .. } => (columns, codes),
        _ => (&[], &[]),
    }
}

/// What the body gets of each column of its source; `attribute` says where the source's chunks have a column.
pub(super) fn delivered(
    query: &Query,
    pipeline: PipelineId,
    mut attribute: impl FnMut(&SourceColumn) -> usize,
) -> Vec<Read> {
    let wanted = query.program.pipelines[pipeline].columns_read();
    let read = |(number, column): (usize, &SourceColumn)| match attribute(column) {
        _ if !wanted.contains(&(number as u32)) => Read::Nothing,
        attribute if column.is_length => Read::Lengths(attribute),
        attribute => Read::Values(attribute),
    };
    source_columns(query, pipeline).0.iter().enumerate().map(read).collect()
}

pub(super) struct TableTasks {
    feed: Feed,
    snapshot: Snapshot,
    /// The chunks in the order in which they are read, and their rows, one after the other; of rows that were looked up,
    /// the chunk of each and its place there.
    chunks: Vec<(usize, usize)>,
    offsets: Offsets,
    narrowing: Narrowing,
    delivered: Delivered,
    /// Of a pipeline that needs no more than the distinct values of a column: the column, and what chunks of these deliver.
    distinct: Option<(usize, Delivered)>,
}

/// The only column that a pipeline reads, if it needs no more of it than its distinct values, and how these are delivered.
fn distinct(query: &Query, pipeline: PipelineId, delivered: &Delivered) -> Option<(usize, Delivered)> {
    let mut only = None;
    for read in &delivered.read {
        match (read, only) {
            (Read::Nothing, _) => {}
            (Read::Values(attribute), None) => only = Some(*attribute),
            _ => return None,
        }
    }
    let attribute = only.filter(|_| query.program.pipelines[pipeline].only_finds_groups())?;
    let first = |read: &Read| if matches!(read, Read::Nothing) { Read::Nothing } else { Read::Values(0) };
    // They have no codes themselves.
    let codes = delivered.codes.as_ref().map(|_| Vec::new());
    Some((attribute, Delivered { read: delivered.read.iter().map(first).collect(), codes }))
}

/// What a scan asks of rows itself, and the joins that may tell it more.
pub(super) type Asked<'p> = (&'p [IrPredicate], &'p [KeyFilter], &'p [KeyLookup]);

/// What a scan asks of rows, and of those that finished joins leave.
fn asked(
    query: &Arc<Query>,
    pipeline: PipelineId,
    snapshot: &Snapshot,
    (predicates, filters, lookups): Asked<'_>,
) -> Arc<[ScanPredicate]> {
    let attributes = snapshot.schema().attributes();
    let predicate = |p: &IrPredicate| scan_predicate(query, p, p.attribute, attributes[p.attribute].sql_type);
    let mut asked: Vec<ScanPredicate> = predicates.iter().map(predicate).collect();
    asked.extend(super::filter::of_joins(query, pipeline, snapshot, (filters, lookups)));
    ScanPredicate::arrange(&mut asked);
    asked.into()
}

/// What is asked of rows, and what is computed for it once for each text of a dictionary.
fn with_computed(
    query: &Query,
    pipeline: PipelineId,
    snapshot: &Snapshot,
    predicates: Arc<[ScanPredicate]>,
) -> Arc<[ScanPredicate]> {
    let IrSource::Table { table, .. } = &query.program.pipelines[pipeline].source else { return predicates };
    let own = || query.computed.iter().filter(|asked| asked.table == *table);
    if own().next().is_none() {
        return predicates;
    }
    let attributes = snapshot.schema().attributes();
    let predicate = |of: &OfTexts| of.predicate(attributes[of.attribute].sql_type, query.arguments.as_ref());
    predicates.iter().cloned().chain(own().filter_map(predicate)).collect()
}

/// The rows that an index finds for a scan all of whose rows count, if there are few and no key tells them.
pub(super) fn indexed_rows(
    query: &Arc<Query>,
    pipeline: PipelineId,
    snapshot: &Snapshot,
    of_scan: Asked<'_>,
) -> Option<IndexedRows> {
    let is_tried = !snapshot.relation().indexes().is_empty() && lookup::keys(snapshot, of_scan.0).is_none();
    if !is_tried || !enough(query, pipeline).is_empty() {
        return None;
    }
    snapshot.search(&asked(query, pipeline, snapshot, of_scan), &[])
}

/// The rows that a scan finds before it begins: the chunks in the order in which they are read, and their rows, one after the
/// other; of rows that were looked up, the chunk of each and its place there.
#[derive(Clone)]
struct Found {
    predicates: Arc<[ScanPredicate]>,
    chunks: Vec<(usize, usize)>,
    offsets: Offsets,
}

impl Found {
    fn new(query: &Arc<Query>, pipeline: PipelineId, snapshot: &Snapshot, of_scan: Asked<'_>) -> Self {
        let by_key = lookup::rows(snapshot, of_scan.0, |p| scan_op(query, p));
        let mut predicates = asked(query, pipeline, snapshot, of_scan);
        let search = || Some(snapshot.search(&predicates, &enough(query, pipeline))?.rows);
        let found = by_key.or_else(search);
        let (chunks, offsets): (Vec<(usize, usize)>, _) = match found {
            Some(found) => {
                let offsets = Offsets::new(found.iter().map(|_| 1));
                (found.iter().map(|row| (row.chunk(), row.offset())).collect(), offsets)
            }
            None => {
                predicates = with_computed(query, pipeline, snapshot, predicates);
                let narrowing = narrowing(query, pipeline, &predicates);
                let mut chunks = pass_over(query, pipeline, snapshot, narrowing.order(snapshot));
                if !narrowing.may_skip() {
                    chunks = extremes::enough(snapshot, &query.program.pipelines[pipeline], chunks);
                }
                let offsets = Offsets::new(chunks.iter().map(|&number| snapshot.chunk(number).rows() as u64));
                (chunks.into_iter().map(|number| (number, 0)).collect(), offsets)
            }
        };
        Self { predicates, chunks, offsets }
    }

    /// Without chunks none of whose rows can be wanted.
    fn that_may_match(mut self, snapshot: &Snapshot) -> Self {
        let may_match = |number: usize| snapshot.chunk(self.chunks[number].0).may_match(&self.predicates);
        let kept: Vec<usize> = (0..self.chunks.len()).filter(|&number| may_match(number)).collect();
        let rows: Vec<u64> = self.offsets.ranges().map(|rows| rows.end - rows.start).collect();
        self.offsets = Offsets::new(kept.iter().map(|&number| rows[number]));
        self.chunks = kept.iter().map(|&number| self.chunks[number]).collect();
        self
    }
}

fn narrowing(query: &Arc<Query>, pipeline: PipelineId, predicates: &Arc<[ScanPredicate]>) -> Narrowing {
    Narrowing::new(query.clone(), pipeline, predicates.clone(), |column| column.attribute)
}

impl TableTasks {
    pub fn new(query: Arc<Query>, pipeline: PipelineId, snapshot: Snapshot, asked: Asked<'_>, cut: &Cutting) -> Self {
        let found = Found::new(&query, pipeline, &snapshot, asked);
        Self::of(query, pipeline, snapshot, found, (cut, 0..u64::MAX))
    }

    /// The same in two parts: some first rows, which one worker reads in their order, and the rest. Those before them are not read.
    pub fn first_and_rest(
        query: Arc<Query>,
        pipeline: PipelineId,
        snapshot: Snapshot,
        asked: Asked<'_>,
        (cut, first): (&Cutting, Range<u64>),
    ) -> [Self; 2] {
        let found = Found::new(&query, pipeline, &snapshot, asked).that_may_match(&snapshot);
        let one_by_one = Cutting { morsel_rows: first.end - first.start, ..cut.with_strategy(Strategy::InOrder) };
        let rest = first.end..u64::MAX;
        [
            Self::of(query.clone(), pipeline, snapshot.clone(), found.clone(), (&one_by_one, first)),
            Self::of(query, pipeline, snapshot, found, (cut, rest)),
        ]
    }

    /// Some of the rows that were found.
    fn of(
        query: Arc<Query>,
        pipeline: PipelineId,
        snapshot: Snapshot,
        Found { predicates, chunks, offsets }: Found,
        (cut, rows): (&Cutting, Range<u64>),
    ) -> Self {
        let (_, codes) = source_columns(&query, pipeline);
        let read = delivered(&query, pipeline, |column| column.attribute);
        let codes = (!codes.is_empty()).then(|| codes.to_vec());
        let narrowing = narrowing(&query, pipeline, &predicates);
        let in_order = || chunks.iter().map(|&(number, _)| snapshot.chunk(number));
        let nothing_read = read.is_empty() && !narrowing.may_skip() && query.program.pipelines[pipeline].only_counts();
        let morsel_rows = if nothing_read { cut.morsel_rows.saturating_mul(UNREAD_ROWS) } else { cut.morsel_rows };
        let sized = Cutting { morsel_rows, ..cut.clone() };
        let is_all = rows.start == 0 && offsets.rows() <= rows.end;
        let ranges = match cut.memory {
            MemoryPlacement::Interleaved | MemoryPlacement::OneNode if is_all => sized.rows(offsets.rows()),
            _ => sized.placed(&some_of(on_nodes(in_order(), &offsets, cut), rows)),
        };
        let delivered = Delivered { read, codes };
        let distinct = if narrowing.may_skip() { None } else { distinct(&query, pipeline, &delivered) };
        let feed = Feed::new(query, pipeline, ranges, cut);
        Self { feed, snapshot, chunks, offsets, narrowing, delivered, distinct }
    }
}

impl TableTasks {
    /// Predicates have looked at so many rows of a chunk, of which the body was given some.
    fn note_read(
        &self,
        chunk: ChunkView<'_>,
        reader: &ChunkReader,
        predicates: &[ScanPredicate],
        rows: (usize, usize),
    ) {
        let (looked_at, taken) = rows;
        let width = |attribute: usize| reader.form(attribute).1 as f64 / reader.rows().max(1) as f64;
        let of_predicates: f64 = predicates.iter().map(|predicate| width(predicate.attribute)).sum();
        let delivered = self.delivered.read.iter().map(|read| match *read {
            Read::Values(attribute) => width(attribute),
            Read::Lengths(_) => LENGTH as f64,
            Read::Nothing => 0.0,
        });
        let bytes = of_predicates * looked_at as f64 + delivered.sum::<f64>() * taken as f64;
        traffic::note(Access::Table, chunk.node(), bytes as u64);
    }

    /// Runs rows of a chunk, and returns where it stopped.
    fn chunk(&self, worker: WorkerId, run: &mut Run<'_>, chunk: ChunkView<'_>, rows: Range<usize>) -> Result<usize> {
        let mut at = rows.start;
        if let Some((attribute, delivered)) = &self.distinct
            && let Some(values) = chunk.read().distinct(*attribute)
        {
            // As if they were the first rows, and the others nowhere.
            let end = rows.end.min(values.rows());
            if at < end {
                at = run.chunk(&values, delivered, &self.narrowing.predicates(|_| false), at..end)?;
            }
            return Ok(if at < end { at } else { rows.end });
        }
        while at < rows.end {
            let predicates = self.narrowing.predicates(|attribute| chunk.may_be_null(attribute));
            if !chunk.may_match(&predicates) {
                return Ok(rows.end);
            }
            let wanted = self.narrowing.wanted(chunk.number(), at..rows.end);
            if wanted.is_empty() {
                return Ok(rows.end);
            }
            at = wanted.start;
            let to = at + self.narrowing.rows(wanted.len());
            let (from, taken, reader) = (at, run.taken, chunk.read());
            at = run.chunk(&reader, &self.delivered, &predicates, at..to)?;
            self.note_read(chunk, &reader, &predicates, (at - from, run.taken - taken));
            self.narrowing.look(worker)?;
            if at < to || run.must_stop() {
                break;
            }
        }
        Ok(at)
    }
}

/// Bytes that are counted for the length of a text.
const LENGTH: usize = 4;

/// The rows of chunks and the node that each lies on: that of its chunk.
fn on_nodes<'a>(
    chunks: impl Iterator<Item = ChunkView<'a>>,
    offsets: &Offsets,
    cut: &Cutting,
) -> Vec<(NodeId, Range<u64>)> {
    let nodes = cut.placement.node_count();
    let mut parts: Vec<(NodeId, Range<u64>)> = Vec::new();
    for (chunk, rows) in chunks.zip(offsets.ranges()) {
        // A node that this scheduler does not know is some other part of the program's.
        let node = NodeId::from_index(usize::from(chunk.node()) % nodes);
        match parts.last_mut() {
            Some((last, part)) if *last == node => part.end = rows.end,
            _ => parts.push((node, rows)),
        }
    }
    parts
}

/// What some rows have of such parts.
fn some_of(parts: Vec<(NodeId, Range<u64>)>, rows: Range<u64>) -> Vec<(NodeId, Range<u64>)> {
    let of_part = |(node, part): (NodeId, Range<u64>)| (node, part.start.max(rows.start)..part.end.min(rows.end));
    parts.into_iter().map(of_part).filter(|(_, part)| !part.is_empty()).collect()
}

impl TaskSet for TableTasks {
    fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim {
        self.feed.claim(worker, wanted)
    }

    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<Progress> {
        let mut run = self.feed.begin(worker, morsel);
        let mut at = morsel.begin;
        for (number, rows) in self.offsets.within(morsel) {
            let (chunk, first) = self.chunks[number];
            let rows = rows.start + first..rows.end + first;
            let stopped = self.chunk(worker, &mut run, self.snapshot.chunk(chunk), rows.clone())?;
            at += (stopped - rows.start) as u64;
            if stopped < rows.end || run.must_stop() {
                break;
            }
        }
        run.end(at)
    }

    fn split(&self, rest: Morsel) -> Option<[Morsel; 2]> {
        self.feed.split(rest)
    }

    fn total(&self) -> u64 {
        self.feed.total()
    }
}

/// A predicate in the form of the kernels, for column number `attribute` of what they are given.
pub(super) fn scan_predicate(
    query: &Query,
    predicate: &IrPredicate,
    attribute: usize,
    sql_type: SqlType,
) -> ScanPredicate {
    ScanPredicate::new(attribute, sql_type, scan_op(query, predicate))
}

/// What a predicate asks, with this run's arguments.
pub(super) fn scan_op(query: &Query, predicate: &IrPredicate) -> ScanOp {
    let value = |at: usize, constant: &Value| {
        let own = query.arguments.as_ref().zip(predicate.arguments.get(at)).map(|(own, id)| &own.values[id.index()]);
        own.unwrap_or(constant).clone()
    };
    let compare = |c, v: &Value| ScanOp::Compare(c, value(0, v));
    match &predicate.op {
        IrOp::Eq(v) => compare(Comparison::Eq, v),
        IrOp::Ne(v) => compare(Comparison::Ne, v),
        IrOp::Lt(v) => compare(Comparison::Lt, v),
        IrOp::Le(v) => compare(Comparison::Le, v),
        IrOp::Gt(v) => compare(Comparison::Gt, v),
        IrOp::Ge(v) => compare(Comparison::Ge, v),
        IrOp::In(values) => ScanOp::In(values.iter().enumerate().map(|(at, v)| value(at, v)).collect()),
        IrOp::Prefix(prefix) => ScanOp::Prefix(prefix.to_string()),
        IrOp::Like { pattern, syntax, negated } => {
            let pattern = LikePattern::of(pattern, *syntax).expect("the lowering has compiled it");
            ScanOp::Like { pattern: Arc::new(pattern), negated: *negated }
        }
        IrOp::IsNull => ScanOp::IsNull,
        IrOp::IsNotNull => ScanOp::IsNotNull,
    }
}

pub(super) fn prune_predicate(predicate: &IrPredicate) -> Option<PrunePredicate> {
    let (op, constant) = match &predicate.op {
        IrOp::Eq(v) => (CompareOp::Eq, v.clone()),
        IrOp::Lt(v) => (CompareOp::Lt, v.clone()),
        IrOp::Le(v) => (CompareOp::Le, v.clone()),
        IrOp::Gt(v) => (CompareOp::Gt, v.clone()),
        IrOp::Ge(v) => (CompareOp::Ge, v.clone()),
        IrOp::IsNull => (CompareOp::IsNull, Value::Null),
        IrOp::IsNotNull => (CompareOp::IsNotNull, Value::Null),
        IrOp::Ne(_) | IrOp::In(_) | IrOp::Prefix(_) | IrOp::Like { .. } => return None,
    };
    Some(PrunePredicate { column: predicate.attribute, op, constant })
}
