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
use pipeline::ir::{KeyLookup, KeyPlace, PipelineId, ScanPredicate as IrPredicate, Source as IrSource};
use plan::index_join::scanned_meanwhile;
use runtime::build_keys::BuildKeys;
use scheduler::{Cutting, EachWorker, Morsel, TaskSet, Tasks};
use storage::relation::KeyAccess;
use storage::{RowId, Snapshot};
use types::SqlType;

use super::found_rows::FoundTasks;
use super::{Query, lookup, scan};
use crate::source::Source;

/// The table is scanned if more rows are found than so many times what was expected, and to read them takes longer than that part of
/// a scan.
const SURPRISE: f64 = 2.0;
const PART_OF_A_SCAN: f64 = 0.5;
/// Keys of a morsel.
const MORSEL: u64 = 1024;
/// Keys that are looked up between two looks at whether it is worth while.
const BATCH: u64 = 256;

/// The rows of a table that are looked up by the keys of a join.
pub(super) struct IndexJoin {
    query: Arc<Query>,
    pipeline: PipelineId,
    snapshot: Snapshot,
    access: KeyAccess,
    keys: BuildKeys,
    types: Vec<SqlType>,
    found: EachWorker<Mutex<Vec<RowId>>>,
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
            let (access, places) = access(snapshot, lookup)?;
            let keys = query.context.build_keys(lookup.state, places)?;
            let (lookups, each) = (keys.rows() as f64, access.rows_each);
            let cost = scanned_meanwhile(lookups, each);
            let most = (SURPRISE * lookups * each).max(PART_OF_A_SCAN * rows / scanned_meanwhile(1.0, 1.0));
            (cost < rows).then_some((cost, access, keys, most as usize))
        };
        let joins = lookups.iter().filter_map(join);
        let (_, access, keys, most) = joins.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let types = access.types(snapshot.schema());
        let (query, snapshot) = (query.clone(), snapshot.clone());
        let (found, count, gave_up) = (EachWorker::default(), AtomicUsize::new(0), AtomicBool::new(false));
        Some(Arc::new(Self { query, pipeline, snapshot, access, keys, types, found, count, most, gave_up }))
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

    fn look_up(&self, morsel: Morsel, found: &mut Vec<RowId>) -> Result<()> {
        for first in (morsel.begin..morsel.end).step_by(BATCH as usize) {
            if self.gave_up.load(Ordering::Relaxed) {
                break;
            }
            let keys = self.keys.columns(first..morsel.end.min(first + BATCH), &self.types);
            let before = found.len();
            self.snapshot.rows_of_keys(&self.access, keys, found);
            let new = found.len() - before;
            if self.count.fetch_add(new, Ordering::Relaxed) + new > self.most {
                self.gave_up.store(true, Ordering::Relaxed);
            }
            self.query.cancel.check()?;
        }
        Ok(())
    }

    /// The morsels of the rows that were found, in their order; none if the table had better be scanned.
    pub fn rows(&self, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
        if self.gave_up.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let bytes = self.count.load(Ordering::Relaxed) * size_of::<RowId>();
        let memory: Reservation = self.query.budget.reserve(bytes, "index join")?;
        let mut rows = Vec::with_capacity(self.count.load(Ordering::Relaxed));
        for (_, found) in self.found.iter() {
            rows.append(&mut found.lock().unwrap_or_else(PoisonError::into_inner));
        }
        rows.sort_unstable();
        rows.dedup();
        let tasks = FoundTasks::new(self.query.clone(), self.pipeline, (self.snapshot.clone(), rows, memory), cut);
        Ok(Some(Box::new(tasks)))
    }
}

/// Whether the scan's own predicates tell an index which rows there are.
fn found_otherwise(query: &Query, pipeline: PipelineId, snapshot: &Snapshot, predicates: &[IrPredicate]) -> bool {
    lookup::keys(snapshot, predicates).is_some() || scan::found_rows(query, pipeline, snapshot, predicates).is_some()
}

/// How rows are found by the keys of a join, and where these are, in the order of the access's attributes.
fn access(snapshot: &Snapshot, lookup: &KeyLookup) -> Option<(KeyAccess, Vec<KeyPlace>)> {
    let given: Vec<usize> = lookup.parts.iter().map(|part| part.attribute).collect();
    let access = snapshot.key_access(&given)?;
    let place = |attribute: &usize| Some(lookup.parts.iter().find(|part| part.attribute == *attribute)?.place);
    let places = access.attributes.iter().map(place).collect::<Option<_>>()?;
    Some((access, places))
}
