//! Aggregation (thesis 4.5.4).
//!
//! 1. Each worker aggregates into rows of its own through a small directory of bounded size. A new group that finds its
//!    slots taken takes the place of an older one, whose row stays in the worker's area: heavy hitters are aggregated
//!    early. Once the directory is full, new rows go to overflow partitions by hash: many groups degrade into
//!    partitioned materialisation.
//! 2. If rows of one group may exist twice, the addresses of those outside of overflow partitions are scattered by hash
//!    into partitions, in parallel.
//! 3. Each partition is combined by itself, with a table of exactly its size that stays in the cache.
//!
//! Without keys, each worker has one row; the finalisation adds them up.
//!
//! Complexity: O(1) a tuple and O(1) a row. Invariant: rows of one group have equal hashes, hence one partition.

mod combine;
mod local;
mod overflow;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use base::{Area, Budget, Result};
use pipeline::ir::{GroupState, StateId};
use scheduler::{Cutting, TaskSet};

use crate::abi::GroupLocal;
use crate::query::{PairFns, QueryContext};
use crate::rows::{PerWorker, Segment, area_segments};

pub use local::LocalGroups;
pub(crate) use local::{new_group, prefetch};

const OPERATOR: &str = "aggregation";

/// A row as the finalisation handles it: its hash and its address.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u64,
    row: *mut u8,
}
// SAFETY: the finalisation hands rows from worker to worker; each row is touched by one at a time.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

/// Rows of finished groups.
#[derive(Debug, Default)]
struct Partition {
    rows: Vec<*mut u8>,
}
// SAFETY: as for `Entry`.
unsafe impl Send for Partition {}

/// A group state.
#[derive(Debug)]
pub(crate) struct Groups {
    locals: PerWorker<GroupLocal>,
    pairs: PairFns,
    has_keys: bool,
    stride: usize,
    budget: Budget,
    /// What `finalize` made of the rows; none if the workers' rows are the groups already.
    finished: Mutex<Option<Vec<Partition>>>,
    /// Between the phases of the finalisation.
    exchange: Mutex<Option<Arc<combine::Exchange>>>,
    /// The row of a state without keys, if no worker took part.
    empty: Mutex<Area>,
}

impl Groups {
    pub(crate) fn new(state: &GroupState, budget: &Budget, pairs: PairFns) -> Self {
        let stride = state.layout.stride().max(16) as usize;
        Self {
            locals: PerWorker::default(),
            pairs,
            has_keys: state.has_keys,
            stride,
            budget: budget.clone(),
            finished: Mutex::default(),
            exchange: Mutex::default(),
            empty: Mutex::new(Area::new(budget.clone(), OPERATOR)),
        }
    }

    /// The worker's part, made when it first comes. Without keys it has its row from here on.
    pub(crate) fn local(&self, worker: usize) -> *mut GroupLocal {
        let make = || {
            let mut local = GroupLocal::new(self.stride, &self.budget);
            local.prepare(self.has_keys);
            local
        };
        self.locals.get_or(worker, make)
    }

    /// A worker has ended a morsel.
    pub(crate) fn end_morsel(&self, worker: usize) {
        if self.has_keys {
            // SAFETY: called by the worker itself.
            unsafe { (*self.locals.get(worker)).adapt() };
        }
    }

    /// The groups. Called when the finalisation has ended.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        let finished = self.finished.lock().expect("no panic while it is locked");
        match &*finished {
            Some(partitions) => {
                let pointers = |p: &Partition| Segment::Pointers { start: p.rows.as_ptr(), rows: p.rows.len() };
                partitions.iter().map(pointers).filter(|s| s.rows() > 0).collect()
            }
            None => self.local_segments(),
        }
    }

    /// The rows of all workers. Called when the state's pipelines have ended.
    fn local_segments(&self) -> Vec<Segment> {
        let mut all = Vec::new();
        // SAFETY: the pipelines that write have ended.
        for local in unsafe { self.locals.iter() } {
            all.extend(area_segments(&local.inner.area, self.stride));
            let overflow = local.inner.overflow.iter();
            all.extend(overflow.flat_map(|o| (0..1 << overflow::BITS).flat_map(|partition| o.segments(partition))));
        }
        all
    }

    pub(crate) fn finalize(
        &self,
        context: &Arc<QueryContext>,
        state: StateId,
        phase: usize,
        cut: &Cutting,
    ) -> Result<Option<Box<dyn TaskSet>>> {
        if self.has_keys {
            combine::phase(self, context, state, phase, cut)
        } else {
            self.add_up(context, state).map(|()| None)
        }
    }

    /// Without keys: adds up the workers' rows and publishes the sum.
    fn add_up(&self, context: &QueryContext, state: StateId) -> Result<()> {
        // SAFETY: the pipelines that write have ended.
        let rows: Vec<*mut u8> = unsafe { self.locals.iter() }.map(|l| l.only).filter(|row| !row.is_null()).collect();
        let sum = match rows.first() {
            Some(&first) => first,
            None => self.empty.lock().expect("no panic while it is locked").allocate(self.stride)?.as_ptr(),
        };
        let mut worker = context.worker(0);
        for &row in rows.iter().skip(1) {
            // SAFETY: rows of this state, which nobody else touches now.
            unsafe { self.pairs.combine.call(&mut worker, sum, row)? };
        }
        *self.finished.lock().expect("no panic while it is locked") = Some(vec![Partition { rows: vec![sum] }]);
        context.shared().publish(state, sum);
        Ok(())
    }
}
