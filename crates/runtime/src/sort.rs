//! Sorting (thesis 4.5.6).
//!
//! 1. Each worker materialises rows. With a limit, it throws all but the best away whenever it has several times as many
//!    as asked for: O(1) a row amortised, and the memory stays bounded.
//! 2. Runs of rows are sorted in parallel, as (normalised prefix of the key, address) pairs.
//! 3. Equidistant samples of all runs give global separators; where they fall in each run, by binary search, fixes the
//!    layout of the output.
//! 4. Between two separators, the pieces of all runs are merged into their place of the output, in parallel and without
//!    synchronisation. What lies behind the limit is not merged.
//! 5. Where limit and offset count anew for each value of the leading keys (`SortState::partition`), all rows are sorted,
//!    and then each stretch of the output drops, in parallel, the rows that lie before or behind the window of their
//!    group.
//!
//! Few rows are sorted by one worker at once. Rows with equal keys are ordered by address, so that separators are unique
//! even if all keys are equal.
//!
//! Complexity: O(n log n); top-k O(n + k log k).

mod key;
mod merge;
#[cfg(test)]
mod tests;
mod top;
mod window;

use std::sync::{Arc, Mutex};

use base::memory::Reservation;
use base::{Budget, Result};
use pipeline::ir::{SortState, StateId};
use scheduler::{MorselRanges, TaskSet, Tasks};

use crate::abi::RowsLocal;
use crate::query::{QueryContext, StateData};
use crate::rows::{RowsState, Segment};

use key::Item;
pub use key::Order;
use merge::Merge;
use window::Windows;

const OPERATOR: &str = "sort";
/// Rows of a run.
const RUN: usize = 64 << 10;
/// Up to so many rows are sorted by one worker.
const FEW: usize = 16 << 10;

/// A sort state.
#[derive(Debug)]
pub(crate) struct Sort {
    rows: RowsState,
    order: Order,
    /// See [`SortState::partition`].
    partition: usize,
    offset: u64,
    limit: Option<u64>,
    budget: Budget,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
enum Progress {
    #[default]
    Filling,
    /// Runs to be sorted, then sorted runs.
    Runs(Vec<Mutex<Vec<Item>>>, Reservation),
    Merging(Arc<Merge>, Reservation),
    /// Sorted rows, of which each group keeps its window.
    Cutting(Arc<Windows>, Reservation),
    Sorted(Vec<*mut u8>, #[expect(dead_code, reason = "held until the rows are dropped")] Reservation),
}
// SAFETY: addresses of rows, which are read by one phase at a time.
unsafe impl Send for Progress {}

impl Sort {
    pub(crate) fn new(state: &SortState, workers: usize, budget: &Budget) -> Self {
        Self {
            rows: RowsState::new(state.layout.stride(), workers, budget, OPERATOR),
            order: Order::new(&state.keys),
            partition: state.partition,
            offset: state.offset,
            limit: state.limit,
            budget: budget.clone(),
            progress: Mutex::default(),
        }
    }

    pub(crate) fn local(&self, worker: usize) -> *mut RowsLocal {
        self.rows.local(worker)
    }

    /// Rows from the first that are needed, if not all are.
    fn needed(&self) -> Option<usize> {
        if self.partition > 0 {
            return None;
        }
        let needed = self.limit?.saturating_add(self.offset);
        usize::try_from(needed).ok()
    }

    /// A block of the worker's area is full: with a limit, drops the rows that cannot be among the first ones.
    pub(crate) fn prune(&self, local: &mut RowsLocal) -> Result<()> {
        match self.needed() {
            Some(needed) => top::prune(local, &self.order, needed, &self.budget),
            None => Ok(()),
        }
    }

    /// The sorted rows, offset and limit applied. Called when the finalisation has ended.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        let progress = self.progress.lock().expect("no panic while it is locked");
        let Progress::Sorted(rows, _) = &*progress else { return Vec::new() };
        if self.partition > 0 {
            return vec![Segment::Pointers { start: rows.as_ptr(), rows: rows.len() }];
        }
        let from = usize::try_from(self.offset).map_or(rows.len(), |o| o.min(rows.len()));
        let count = self.limit.map_or(rows.len(), |l| l as usize).min(rows.len() - from);
        // SAFETY: `from` is inside of the array or at its end.
        vec![Segment::Pointers { start: unsafe { rows.as_ptr().add(from) }, rows: count }]
    }

    pub(crate) fn finalize(
        &self,
        context: &Arc<QueryContext>,
        state: StateId,
        _phase: usize,
    ) -> Result<Option<Box<dyn TaskSet>>> {
        let mut progress = self.progress.lock().expect("no panic while it is locked");
        let tasks = match std::mem::take(&mut *progress) {
            Progress::Filling => {
                let runs = self.make_runs();
                let rows: usize = runs.iter().map(Vec::len).sum();
                let charged = self.budget.reserve(rows * (size_of::<Item>() + size_of::<*mut u8>()), OPERATOR)?;
                let count = runs.len() as u64;
                *progress = Progress::Runs(runs.into_iter().map(Mutex::new).collect(), charged);
                sort_runs(context, state, count)
            }
            Progress::Runs(runs, charged) => {
                let runs: Vec<Vec<Item>> = runs.into_iter().map(|run| run.into_inner().expect("no panic")).collect();
                if runs.len() <= 1 {
                    let rows = runs.into_iter().flatten().map(|item| item.row).collect();
                    return Ok(self.sorted(rows, charged, context, state, &mut progress));
                }
                let merge = Arc::new(Merge::new(runs, &self.order, self.needed()));
                let tasks = merge_all(context, state, merge.clone());
                *progress = Progress::Merging(merge, charged);
                tasks
            }
            Progress::Merging(merge, charged) => {
                let merge = Arc::into_inner(merge).expect("the task set was dropped");
                return Ok(self.sorted(merge.into_rows(), charged, context, state, &mut progress));
            }
            Progress::Cutting(windows, charged) => {
                let windows = Arc::into_inner(windows).expect("the task set was dropped");
                *progress = Progress::Sorted(windows.into_rows(), charged);
                return Ok(None);
            }
            sorted @ Progress::Sorted(..) => {
                *progress = sorted;
                return Ok(None);
            }
        };
        Ok(Some(tasks))
    }

    /// All rows are sorted: that is all, unless groups have windows.
    fn sorted(
        &self,
        rows: Vec<*mut u8>,
        charged: Reservation,
        context: &Arc<QueryContext>,
        state: StateId,
        progress: &mut Progress,
    ) -> Option<Box<dyn TaskSet>> {
        if self.partition == 0 {
            *progress = Progress::Sorted(rows, charged);
            return None;
        }
        let windows = Arc::new(Windows::new(rows, self.offset, self.limit));
        *progress = Progress::Cutting(windows.clone(), charged);
        let context = context.clone();
        let stretches = MorselRanges::new(windows.stretches() as u64, context.worker_count(), 1);
        Some(Tasks::boxed(stretches, move |_, morsel| {
            let sort = sort_of(&context, state);
            // SAFETY: rows of this state, whose strings live as long as the query.
            let same = |a, b| unsafe { sort.order.agree(sort.partition, a, b) };
            morsel.rows().for_each(|stretch| windows.cut(stretch as usize, same));
            Ok(())
        }))
    }

    /// The rows of all workers in runs: one if there are few.
    fn make_runs(&self) -> Vec<Vec<Item>> {
        let segments = self.rows.segments();
        let total: usize = segments.iter().map(Segment::rows).sum();
        let run = if total <= FEW { FEW } else { RUN };
        let mut runs: Vec<Vec<Item>> = Vec::with_capacity(total / run + 1);
        for segment in segments {
            for at in 0..segment.rows() {
                if runs.last().is_none_or(|r| r.len() == run) {
                    runs.push(Vec::with_capacity(run.min(total)));
                }
                // SAFETY: the row exists.
                let row = unsafe { segment.row(at) };
                // Prefixes are made by the workers that sort.
                runs.last_mut().expect("pushed").push(Item { prefix: 0, row });
            }
        }
        runs
    }
}

fn sort_of(context: &QueryContext, state: StateId) -> &Sort {
    match context.shared().state(state) {
        StateData::Sort(sort) => sort,
        _ => unreachable!("{state} is a sort state"),
    }
}

fn sort_runs(context: &Arc<QueryContext>, state: StateId, runs: u64) -> Box<dyn TaskSet> {
    let context = context.clone();
    Tasks::boxed(MorselRanges::new(runs, context.worker_count(), 1), move |_, morsel| {
        let sort = sort_of(&context, state);
        for number in morsel.rows() {
            let take = || match &*sort.progress.lock().expect("no panic while it is locked") {
                Progress::Runs(runs, _) => std::mem::take(&mut *runs[number as usize].lock().expect("no panic")),
                _ => unreachable!("runs are sorted in this phase only"),
            };
            let mut run = take();
            // SAFETY: rows of this state, whose strings live as long as the query.
            unsafe { sort.order.sort(&mut run) };
            if let Some(needed) = sort.needed() {
                run.truncate(needed);
            }
            if let Progress::Runs(runs, _) = &*sort.progress.lock().expect("no panic while it is locked") {
                *runs[number as usize].lock().expect("no panic") = run;
            }
        }
        Ok(())
    })
}

fn merge_all(context: &Arc<QueryContext>, state: StateId, merge: Arc<Merge>) -> Box<dyn TaskSet> {
    let context = context.clone();
    Tasks::boxed(MorselRanges::new(merge.parts() as u64, context.worker_count(), 1), move |_, morsel| {
        let order = &sort_of(&context, state).order;
        morsel.rows().for_each(|part| merge.merge(part as usize, order));
        Ok(())
    })
}
