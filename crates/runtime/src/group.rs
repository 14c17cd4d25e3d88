//! Aggregation (thesis 4.5.4).
//!
//! 1. Each worker aggregates into rows of its own through a small directory of bounded size. A new group that finds its
//!    slots taken takes the place of an older one, whose row stays in the worker's area: heavy hitters are aggregated
//!    early. Once the directory is full, new rows go to overflow partitions by hash: many groups degrade into
//!    partitioned materialisation.
//! 2. If rows of one group may exist twice, the addresses of those outside of overflow partitions are scattered by hash
//!    into partitions, in parallel.
//! 3. Each partition is combined by itself when it is read, with a table of exactly its size, and goes on through the
//!    pipeline that reads it while it is in the cache.
//!
//! Keys that are known to have few values number their groups ([`GroupState::slots`]): a worker's directory is an array by
//! number, which never is full.
//!
//! Without keys, each worker has one row; the finalisation adds them up.
//!
//! Complexity: O(1) a tuple and O(1) a row. Invariant: rows of one group have equal hashes, hence one partition.

mod combine;
mod exchange;
mod layout;
mod local;
mod overflow;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base::{Area, Budget, Result};
use pipeline::ir::{Callee, GroupState, Inst, RowLayout, RowSet};
use scheduler::{Cutting, TaskSet};

use crate::pairs::PairFns;
use crate::rows::{PerWorker, Segment, area_segments};
use crate::source::RowSource;
use crate::state::{State, Workers};

use combine::Combining;
pub use layout::{GROUP_PROBES, GroupLocal};
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
// SAFETY: as for `Send`.
unsafe impl Sync for Entry {}

/// Whether groups collect values.
fn collects(state: &GroupState) -> bool {
    let merges = |inst: &Inst| matches!(inst, Inst::Call { callee: Callee::CollectMerge, .. });
    state.combine.body.iter().any(merges)
}

/// A group state.
#[derive(Debug)]
pub(crate) struct Groups {
    locals: PerWorker<GroupLocal>,
    pairs: PairFns,
    has_keys: bool,
    /// Whether what groups have collected is put together when they are read: each is much work then.
    collects: bool,
    slots: Option<u64>,
    /// As many groups as are asked for, and whether some worker has them.
    enough: Option<u64>,
    found: Arc<AtomicBool>,
    layout: RowLayout,
    stride: usize,
    budget: Budget,
    /// Partitions whose rows are still to be combined; none if the workers' rows are the groups already.
    combining: OnceLock<Arc<Combining>>,
    /// The sum of a state without keys.
    only: AtomicPtr<u8>,
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
            collects: collects(state),
            slots: state.slots,
            enough: state.enough,
            found: Arc::default(),
            layout: state.layout.clone(),
            stride,
            budget: budget.clone(),
            combining: OnceLock::new(),
            only: AtomicPtr::default(),
            empty: Mutex::new(Area::new(budget.clone(), OPERATOR)),
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

    /// The rows that workers put into an overflow partition.
    fn overflow(&self, partition: usize) -> Vec<Segment> {
        // SAFETY: the pipelines that write have ended; what is changed from now on is the rows themselves.
        let overflows = unsafe { self.locals.iter() }.filter_map(|local| local.inner.overflow.as_ref());
        overflows.flat_map(|overflow| overflow.segments(partition)).collect()
    }

    /// Without keys: adds up the workers' rows.
    fn add_up(&self, workers: &dyn Workers) -> Result<()> {
        // SAFETY: the pipelines that write have ended.
        let rows: Vec<*mut u8> = unsafe { self.locals.iter() }.map(|l| l.only).filter(|row| !row.is_null()).collect();
        let sum = match rows.first() {
            Some(&first) => first,
            None => {
                let mut empty = self.empty.lock().unwrap_or_else(PoisonError::into_inner);
                empty.allocate(self.stride)?.as_ptr()
            }
        };
        workers.with(0, &mut |worker| {
            for &row in rows.iter().skip(1) {
                // SAFETY: rows of this state, which nobody else touches now.
                unsafe { self.pairs.combine.call(worker, sum, row)? };
            }
            Ok(())
        })?;
        self.only.store(sum, Ordering::Release);
        Ok(())
    }
}

impl State for Groups {
    /// Without keys the worker has its row from here on.
    fn local(&self, worker: usize) -> *mut u8 {
        let make = || {
            let mut local = GroupLocal::new(
                &self.layout,
                self.slots,
                &self.budget,
                self.enough.map(|enough| (enough, self.found.clone())),
            );
            local.prepare(self.has_keys);
            local
        };
        self.locals.get_or(worker, make).cast()
    }

    fn end_morsel(&self, worker: usize, _: Range<u64>, _: bool) -> Result<()> {
        if self.has_keys {
            // SAFETY: called by the worker itself.
            let local = unsafe { &mut *self.locals.get(worker) };
            local.adapt();
            local.own_strings()?;
        }
        Ok(())
    }

    fn is_exhausted(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }

    fn written(&self, worker: usize) -> u64 {
        // SAFETY: called by the worker itself.
        unsafe { (*self.locals.get(worker)).inner.written() }
    }

    fn number_places(&self, worker: usize, places: usize, numbering: u64) {
        // SAFETY: called by the worker itself.
        unsafe { (*self.locals.get(worker)).number_places(places, numbering) };
    }

    /// Phase 0 scatters, or adds up; rows that are groups already are left alone.
    fn finalize(
        self: Arc<Self>,
        workers: &dyn Workers,
        phase: usize,
        cut: &Cutting,
    ) -> Result<Option<Box<dyn TaskSet>>> {
        match phase {
            0 if !self.has_keys => self.add_up(workers).map(|()| None),
            0 => exchange::start(self, cut),
            _ => Ok(None),
        }
    }

    fn finished(&self) -> *const u8 {
        self.only.load(Ordering::Acquire)
    }

    fn source(self: Arc<Self>, rows: RowSet) -> Option<RowSource> {
        let only = self.only.load(Ordering::Acquire);
        Some(match self.combining.get() {
            Some(combining) => RowSource::of_partitions(combining.clone(), self.clone()),
            None if only.is_null() => RowSource::new(self.local_segments(), rows, self),
            None => {
                let (stride, node) = (self.stride, base::memory::node());
                RowSource::new(vec![Segment::Block { start: only, stride, rows: 1, node }], rows, self)
            }
        })
    }
}
