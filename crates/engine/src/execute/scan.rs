//! Sources outside of the query: relations and files. Predicates skip chunks by their bounds, then select rows.

use std::sync::Arc;

use base::Result;
use base::ids::Id;
use io::{CompareOp, FileSource, PrunePredicate};
use pipeline::ir::{
    PipelineId, ScanOp as IrOp, ScanPredicate as IrPredicate, Source as IrSource, SourceColumn, StateId,
};
use scheduler::{Morsel, MorselRanges, TaskSet, WorkerId};
use storage::{CHUNK_ROWS, ChunkReader, Comparison, ScanOp, ScanPredicate, Snapshot};
use types::{SqlType, Value};

use super::Query;
use super::batch::Run;
use super::rows::exhausted;

/// Morsels that a full chunk is cut into: 16,384 rows each (thesis 4.4.3: more than 10,000).
const PARTS: usize = 4;

fn source_columns(query: &Query, pipeline: PipelineId) -> &[SourceColumn] {
    match &query.program.pipelines[pipeline].source {
        IrSource::Table { columns, .. } => columns,
        _ => &[],
    }
}

pub(super) struct TableTasks {
    query: Arc<Query>,
    pipeline: PipelineId,
    snapshot: Snapshot,
    predicates: Vec<ScanPredicate>,
    read: Vec<usize>,
    ranges: MorselRanges,
    limits: Vec<StateId>,
}

impl TableTasks {
    pub fn new(query: Arc<Query>, pipeline: PipelineId, snapshot: Snapshot, predicates: &[IrPredicate]) -> Self {
        let attributes = snapshot.schema().attributes();
        let mut predicates: Vec<ScanPredicate> = predicates
            .iter()
            .map(|p| scan_predicate(&query, p, p.attribute, attributes[p.attribute].sql_type))
            .collect();
        ScanPredicate::arrange(&mut predicates);
        let columns = source_columns(&query, pipeline);
        let read = columns.iter().map(|c| c.attribute).collect();
        let ranges = MorselRanges::new((snapshot.chunk_count() * PARTS) as u64, query.workers.min(64), 1);
        let limits = query.limits_of(&query.program.pipelines[pipeline].body);
        Self { query, pipeline, snapshot, predicates, read, ranges, limits }
    }
}

impl TaskSet for TableTasks {
    fn claim(&self, worker: WorkerId) -> Option<Morsel> {
        if exhausted(&self.query, &self.limits) {
            return None;
        }
        self.ranges.claim(worker)
    }

    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<()> {
        for unit in morsel.rows() {
            let (chunk, part) = (unit as usize / PARTS, unit as usize % PARTS);
            let chunk = self.snapshot.chunk(chunk);
            let begin = part * (CHUNK_ROWS / PARTS);
            let end = (begin + CHUNK_ROWS / PARTS).min(chunk.rows());
            if begin >= end || !chunk.may_match(&self.predicates) {
                continue;
            }
            let mut run = Run::begin(&self.query, self.pipeline, worker, morsel);
            run.chunk(&chunk.read(), &self.read, &self.predicates, begin, end)?;
            run.end()?;
        }
        Ok(())
    }

    fn total(&self) -> u64 {
        self.ranges.rows()
    }
    fn is_ready(&self) -> bool {
        !self.query.context.result().is_full()
    }
}

pub(super) struct FileTasks {
    query: Arc<Query>,
    pipeline: PipelineId,
    file: Arc<dyn FileSource>,
    /// Fields to read: those of the source's columns first, then those that only predicates need.
    fields: Vec<usize>,
    /// The source's columns among them.
    read: Vec<usize>,
    predicates: Vec<ScanPredicate>,
    prune: Vec<PrunePredicate>,
    ranges: MorselRanges,
    limits: Vec<StateId>,
}

impl FileTasks {
    pub fn new(
        query: Arc<Query>,
        pipeline: PipelineId,
        file: Arc<dyn FileSource>,
        predicates: &[IrPredicate],
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
        let ranges = MorselRanges::new(file.morsels() as u64, query.workers.min(64), 1);
        let limits = query.limits_of(&query.program.pipelines[pipeline].body);
        Ok(Self {
            query,
            pipeline,
            file,
            fields,
            read: (0..columns).collect(),
            predicates: local,
            prune,
            ranges,
            limits,
        })
    }
}

impl TaskSet for FileTasks {
    fn claim(&self, worker: WorkerId) -> Option<Morsel> {
        if exhausted(&self.query, &self.limits) {
            return None;
        }
        self.ranges.claim(worker)
    }

    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<()> {
        let keeps_strings = self.query.program.pipelines[self.pipeline].keeps_strings;
        for unit in morsel.rows() {
            self.file.read(unit as usize, &self.fields, &self.prune, &mut |chunk| {
                let mut run = Run::begin(&self.query, self.pipeline, worker, morsel);
                let reader = ChunkReader::of(chunk.clone());
                run.chunk(&reader, &self.read, &self.predicates, 0, chunk.rows())?;
                run.end()?;
                if keeps_strings {
                    let reservation = self.query.budget.reserve(chunk.bytes(), "file scan")?;
                    self.query.kept.lock().unwrap_or_else(|e| e.into_inner()).push((chunk, reservation));
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn total(&self) -> u64 {
        self.ranges.rows()
    }
    fn is_ready(&self) -> bool {
        !self.query.context.result().is_full()
    }
}

/// A predicate in the form of the kernels, for column number `attribute` of what they are given.
fn scan_predicate(query: &Query, predicate: &IrPredicate, attribute: usize, sql_type: SqlType) -> ScanPredicate {
    let own = query.arguments.as_ref().zip(predicate.argument).map(|(own, id)| &own.values[id.index()]);
    let compare = |c, v: &Value| ScanOp::Compare(c, own.unwrap_or(v).clone());
    let op = match &predicate.op {
        IrOp::Eq(v) => compare(Comparison::Eq, v),
        IrOp::Ne(v) => compare(Comparison::Ne, v),
        IrOp::Lt(v) => compare(Comparison::Lt, v),
        IrOp::Le(v) => compare(Comparison::Le, v),
        IrOp::Gt(v) => compare(Comparison::Gt, v),
        IrOp::Ge(v) => compare(Comparison::Ge, v),
        IrOp::In(values) => ScanOp::In(values.clone()),
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
