//! Index joins (decision 68): where a finished join has few keys and the table below its probe an index of them, its rows are looked
//! up instead of scanned. The keys are looked up morsel by morsel, in batches whose misses overlap; then the rows that were found are
//! read, in the order of the table, and go through the pipeline as if a scan had chosen them.
//!
//! Which way is taken is decided when the keys are there: their number is known then, and no estimate decides but how many rows
//! have one key. Whoever finds more rows than that gives up, and the table is scanned.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use base::Result;
use base::ids::Id;
use base::memory::Reservation;
use pipeline::ir::{Inst, KeyLookup, KeyPlace, PipelineId, ScanPredicate as IrPredicate, Source as IrSource};
use plan::index_join::scanned_meanwhile;
use runtime::build_keys::BuildKeys;
use scheduler::{Cutting, EachWorker, Morsel, TaskSet, Tasks};
use storage::relation::KeyAccess;
use storage::{ChunkReader, Comparison, RowId, ScanOp, Snapshot};
use types::{Chunk, ColumnBuilder, SqlType, Value};

use super::found_rows::{FoundRows, FoundTasks, Rows};
use super::{Query, lookup, scan};
use crate::key::is_key;
use crate::source::Source;

/// The table is scanned if more rows are found than so many times what was expected, and to read them takes longer than that part of
/// a scan.
const SURPRISE: f64 = 2.0;
const PART_OF_A_SCAN: f64 = 0.5;
/// Keys of a morsel.
const MORSEL: u64 = 1024;
/// Keys that are looked up between two looks at whether it is worth while.
const BATCH: u64 = 256;

/// A part of the keys that are looked up.
enum Part {
    /// Build rows have it.
    Key,
    /// The scan's predicates say what it is equal to.
    Constant(SqlType, Value),
}

/// What a worker has found.
#[derive(Default)]
struct Found {
    rows: Vec<RowId>,
    /// Keys that some row has.
    keys: Vec<Chunk>,
}

/// The rows of a table that are looked up by the keys of a join.
pub(super) struct IndexJoin {
    query: Arc<Query>,
    pipeline: PipelineId,
    snapshot: Snapshot,
    access: KeyAccess,
    keys: BuildKeys,
    parts: Vec<Part>,
    /// Of those parts that build rows have.
    types: Vec<SqlType>,
    found: EachWorker<Mutex<Found>>,
    /// Whether rows with the same key are alike for the pipeline, and one is enough: then keys are found that some row has.
    is_of_keys: bool,
    count: AtomicUsize,
    most: usize,
    gave_up: AtomicBool,
}

impl IndexJoin {
    /// The one that is worth while for a pipeline, if there is any.
    pub fn of(query: &Arc<Query>, pipeline: PipelineId) -> Option<Arc<Self>> {
        let IrSource::Table { table, lookups, predicates, .. } = &query.program.pipelines[pipeline].source else {
            return None;
        };
        let Source::Stored(snapshot, _) = &query.sources[*table] else { return None };
        if lookups.is_empty() || found_otherwise(query, pipeline, snapshot, predicates) {
            return None;
        }
        let rows = snapshot.rows() as f64;
        let join = |lookup: &KeyLookup| {
            let (access, parts, places) = access(query, snapshot, lookup, predicates)?;
            let keys = query.context.build_keys(lookup.state, places)?;
            let is_of_keys = is_of_keys(query, pipeline, snapshot, &access, lookup);
            let (lookups, each) = (keys.rows() as f64, if is_of_keys { 0.0 } else { access.rows_each });
            let cost = scanned_meanwhile(lookups, each);
            let most = (SURPRISE * lookups * each).max(PART_OF_A_SCAN * rows / scanned_meanwhile(1.0, 1.0));
            (cost < rows).then_some((cost, (access, parts, keys), (most as usize, is_of_keys)))
        };
        let joins = lookups.iter().filter_map(join);
        let (_, (access, parts, keys), (most, is_of_keys)) = joins.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let types = access.types(snapshot.schema()).into_iter().zip(&parts);
        let types = types.filter(|(_, part)| matches!(part, Part::Key)).map(|(of, _)| of).collect();
        let (query, snapshot) = (query.clone(), snapshot.clone());
        let (found, count, gave_up) = (EachWorker::default(), AtomicUsize::new(0), AtomicBool::new(false));
        let join =
            Self { query, pipeline, snapshot, access, keys, parts, types, found, is_of_keys, count, most, gave_up };
        Some(Arc::new(join))
    }

    /// The morsels of its keys.
    pub fn lookups(self: &Arc<Self>, cut: &Cutting) -> Box<dyn TaskSet> {
        let join = self.clone();
        let ranges = self.keys.cut(&Cutting { morsel_rows: MORSEL, ..cut.clone() });
        Tasks::boxed(ranges, move |worker, morsel| {
            let found = join.found.get_or(worker.index(), Mutex::default);
            join.look_up(morsel, &mut found.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }

    fn look_up(&self, morsel: Morsel, found: &mut Found) -> Result<()> {
        for first in (morsel.begin..morsel.end).step_by(BATCH as usize) {
            if self.gave_up.load(Ordering::Relaxed) {
                break;
            }
            let keys = self.whole(self.keys.columns(first..morsel.end.min(first + BATCH), &self.types));
            if self.is_of_keys {
                let known = self.snapshot.keys_with_rows(&self.access, &keys);
                self.count.fetch_add(known.len(), Ordering::Relaxed);
                found.keys.extend(
                    (!known.is_empty()).then(|| some_of(keys, &known, &self.access.types(self.snapshot.schema()))),
                );
                self.query.cancel.check()?;
                continue;
            }
            let before = found.rows.len();
            self.snapshot.rows_of_keys(&self.access, keys, &mut found.rows);
            let new = found.rows.len() - before;
            if self.count.fetch_add(new, Ordering::Relaxed) + new > self.most {
                self.gave_up.store(true, Ordering::Relaxed);
            }
            self.query.cancel.check()?;
        }
        Ok(())
    }

    /// Keys with the parts that are the same in all of them.
    fn whole(&self, keys: Chunk) -> Chunk {
        let rows = keys.rows();
        let mut of_rows = keys.into_columns().into_iter();
        let column = |part: &Part| match part {
            Part::Key => of_rows.next(),
            Part::Constant(of, value) => {
                let mut column = ColumnBuilder::new(*of, rows);
                (0..rows).for_each(|_| column.push_value(value));
                Some(column.finish())
            }
        };
        Chunk::new(rows, self.parts.iter().filter_map(column).collect())
    }

    /// The morsels of the rows that were found, in their order; none if the table had better be scanned.
    pub fn rows(&self, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
        if self.gave_up.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let count = self.count.load(Ordering::Relaxed);
        let types = self.access.types(self.snapshot.schema());
        let key: usize = types.iter().map(|of| of.physical().size()).sum();
        let width = if self.is_of_keys { key } else { size_of::<RowId>() };
        let memory: Reservation = self.query.budget.reserve(count * width, "index join")?;
        let (mut rows, mut keys) = (Vec::with_capacity(if self.is_of_keys { 0 } else { count }), Vec::new());
        for (_, found) in self.found.iter() {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            rows.append(&mut found.rows);
            keys.extend(std::mem::take(&mut found.keys).into_iter().map(ChunkReader::of));
        }
        rows.sort_unstable();
        rows.dedup();
        let rows = match self.is_of_keys {
            true => Rows::Keys(self.access.attributes.clone(), keys),
            false => Rows::Table(rows),
        };
        let found = FoundRows { snapshot: self.snapshot.clone(), rows, is_exact: false, memory };
        Ok(Some(Box::new(FoundTasks::new(self.query.clone(), self.pipeline, found, cut))))
    }
}

/// Some rows of a chunk of such columns.
fn some_of(keys: Chunk, rows: &[usize], types: &[SqlType]) -> Chunk {
    let reader = ChunkReader::of(keys);
    let column = |(at, of): (usize, &SqlType)| {
        let mut column = ColumnBuilder::new(*of, rows.len());
        reader.gather_into(at, rows.iter().copied(), &mut column);
        column.finish()
    };
    Chunk::new(rows.len(), types.iter().enumerate().map(column).collect())
}

/// Whether the pipeline does nothing but mark the join's build rows, and reads nothing of a row but the key that is looked up: as
/// semi and anti joins do whose build side is what they keep.
fn is_of_keys(
    query: &Query,
    pipeline: PipelineId,
    snapshot: &Snapshot,
    access: &KeyAccess,
    lookup: &KeyLookup,
) -> bool {
    let pipeline = &query.program.pipelines[pipeline];
    let IrSource::Table { columns, predicates, codes, .. } = &pipeline.source else { return false };
    let marks = match pipeline.body.last() {
        Some(Inst::Match(found)) => found.marker.is_some() && found.state == lookup.state,
        _ => false,
    };
    let is_key = |attribute: usize| access.attributes.contains(&attribute);
    let read = pipeline.columns_read();
    let reads_keys = read
        .iter()
        .all(|at| columns.get(*at as usize).is_none_or(|column| is_key(column.attribute) && !column.is_length));
    marks
        && pipeline.fills.is_empty()
        && codes.is_empty()
        && reads_keys
        && predicates.iter().all(|predicate| is_key(predicate.attribute))
        && access.types(snapshot.schema()).iter().all(|of| of.equality_is_identity())
}

/// Whether the scan's own predicates tell an index which rows there are.
fn found_otherwise(query: &Query, pipeline: PipelineId, snapshot: &Snapshot, predicates: &[IrPredicate]) -> bool {
    lookup::keys(snapshot, predicates).is_some() || scan::found_rows(query, pipeline, snapshot, predicates).is_some()
}

/// How rows are found by the keys of a join, perhaps with what predicates say: the parts in the order of the access's attributes, and
/// where build rows have theirs.
fn access(
    query: &Query,
    snapshot: &Snapshot,
    lookup: &KeyLookup,
    predicates: &[IrPredicate],
) -> Option<(KeyAccess, Vec<Part>, Vec<KeyPlace>)> {
    let attributes = snapshot.schema().attributes();
    let constant = |attribute: usize| {
        let of_it = predicates.iter().filter(|p| p.attribute == attribute);
        of_it.map(|p| scan::scan_op(query, p)).find_map(|op| match op {
            ScanOp::Compare(Comparison::Eq, value) if !value.is_null() => Some(value),
            _ => None,
        })
    };
    let of_keys = lookup.parts.iter().map(|part| part.attribute);
    let given: Vec<usize> =
        of_keys.chain(predicates.iter().map(|p| p.attribute).filter(|a| constant(*a).is_some())).collect();
    let access = snapshot.key_access(&given)?;
    let (mut parts, mut places) = (Vec::new(), Vec::new());
    for &attribute in &access.attributes {
        match lookup.parts.iter().find(|part| part.attribute == attribute) {
            Some(part) => {
                parts.push(Part::Key);
                places.push(part.place);
            }
            None => {
                let value = constant(attribute)?;
                let of = attributes[attribute].sql_type;
                // One that no value of the type is equal to is the scan's matter.
                is_key(of, &value).then_some(())?;
                parts.push(Part::Constant(of, value));
            }
        }
    }
    (!places.is_empty()).then_some((access, parts, places))
}
