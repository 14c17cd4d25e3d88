//! What one worker has of one query.

use std::ops::Range;
use std::sync::Arc;

use base::memory::Pages;
use base::{Area, Error, Result};
use pipeline::ir::{Pipeline, StateId};
use types::Str;

use super::{Shared, StateData, WorkingFor, finished_array};
use crate::abi::Worker;

/// The part of a [`Worker`] that generated code does not see.
#[derive(Debug)]
pub struct WorkerState {
    /// The first error of the worker that was not yet taken.
    pub error: Option<Error>,
    /// Number of the worker.
    pub index: usize,
    /// What all workers share.
    pub shared: Arc<Shared>,
    /// Counters of EXPLAIN ANALYZE.
    pub(crate) counters: Box<[u64]>,
    /// The running morsel, if the order of morsels matters to the result.
    pub(crate) morsel: Range<u64>,
    /// Each state's part of this worker, by `StateId`.
    locals: Box<[*mut u8]>,
    scratch: Option<Pages>,
    /// Text, and what group rows point to, that lives as long as the query.
    keep: Option<Area>,
    /// Text of the running morsel.
    passing: Option<Area>,
    keeps_strings: bool,
}

// SAFETY: the pointers of a worker lead to its own parts of the states, which no other thread touches while this worker
// is in use, and to constants; `shared` keeps both alive.
unsafe impl Send for Worker {}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("index", &self.inner.index).field("error", &self.inner.error).finish()
    }
}

impl Worker {
    pub(super) fn new(shared: &Arc<Shared>, index: usize, counters: usize) -> Self {
        let local = |state: &StateData| match state {
            StateData::Join(join) => join.local(index).cast(),
            StateData::Group(groups) => groups.local(index).cast(),
            StateData::Sort(sort) => sort.local(index).cast(),
            StateData::Rows(rows) => rows.local(index).cast(),
            StateData::Result(results) => results.local(index).cast(),
            StateData::Limit(limit) => std::ptr::from_ref(limit).cast_mut().cast(),
        };
        let mut inner = Box::new(WorkerState {
            error: None,
            index,
            shared: shared.clone(),
            counters: vec![0; counters].into_boxed_slice(),
            morsel: 0..0,
            locals: shared.states.iter().map(local).collect(),
            scratch: None,
            keep: Some(Area::new(shared.budget.clone(), "string functions")),
            passing: None,
            keeps_strings: true,
        });
        Self {
            params: shared.params.slots().as_ptr(),
            locals: inner.locals.as_ptr(),
            shared: finished_array(shared),
            scratch: std::ptr::null_mut(),
            counters: inner.counters.as_mut_ptr(),
            operator: &raw const shared.working_for.get_or(index, WorkingFor::default).0,
            error_position: 0,
            inner,
        }
    }

    /// Prepares for morsels of `pipeline`, whose code asks for `scratch` bytes. Cheap if nothing changes: call it before
    /// every morsel.
    pub fn begin_pipeline(&mut self, pipeline: &Pipeline, scratch: usize) {
        self.inner.keeps_strings = pipeline.keeps_strings;
        self.reserve_scratch(scratch);
    }

    /// Makes [`scratch`](Self::scratch) at least `bytes` large, aligned to 64.
    pub fn reserve_scratch(&mut self, bytes: usize) {
        if bytes > self.inner.scratch.as_ref().map_or(0, Pages::len) {
            let pages = Pages::zeroed(bytes.next_power_of_two());
            self.scratch = pages.as_ptr();
            self.inner.scratch = Some(pages);
        }
    }

    /// Starts a morsel: rows `rows` of the source. Results that must come in order come in the order of these.
    pub fn begin_morsel(&mut self, rows: Range<u64>) {
        self.inner.morsel = rows;
    }

    /// Ends a morsel at row `end`: what lies behind is run as another one.
    pub fn end_morsel_at(&mut self, end: u64) -> Result<()> {
        self.inner.morsel.end = end;
        self.end_morsel()
    }

    /// Ends a morsel: hands its part of the result on, and forgets the text that was made for it.
    pub fn end_morsel(&mut self) -> Result<()> {
        let shared = self.inner.shared.clone();
        for state in &shared.states {
            match state {
                StateData::Result(results) => results.end_morsel(self.inner.index, self.inner.morsel.clone())?,
                StateData::Group(groups) => groups.end_morsel(self.inner.index),
                _ => {}
            }
        }
        self.inner.passing = None;
        Ok(())
    }

    /// Whether a limit admits no further row.
    pub fn is_exhausted(&self, limit: StateId) -> bool {
        matches!(self.inner.shared.state(limit), StateData::Limit(limit) if limit.is_exhausted())
    }

    /// A header of `text`, whose payload is copied where it lives as long as the running pipeline needs it.
    #[inline]
    pub fn text(&mut self, text: &str) -> Result<Str> {
        if text.len() <= Str::INLINE {
            return Ok(Str::new(text.as_bytes()));
        }
        if self.inner.keeps_strings { self.keep(text) } else { self.pass(text) }
    }

    /// A header of `text`, whose payload is copied where it lives as long as the query.
    pub fn keep(&mut self, text: &str) -> Result<Str> {
        match &mut self.inner.keep {
            Some(area) => copy(area, text),
            None => unreachable!("only dropped with the worker"),
        }
    }

    /// Zeroed memory that lives as long as the query, aligned to 16.
    pub(crate) fn keep_zeroed(&mut self, bytes: usize) -> Result<*mut u8> {
        match &mut self.inner.keep {
            Some(area) => area.allocate(bytes).map(|start| start.as_ptr()),
            None => unreachable!("only dropped with the worker"),
        }
    }

    fn pass(&mut self, text: &str) -> Result<Str> {
        let budget = &self.inner.shared.budget;
        copy(self.inner.passing.get_or_insert_with(|| Area::new(budget.clone(), "string functions")), text)
    }
}

fn copy(area: &mut Area, text: &str) -> Result<Str> {
    let start = area.copy(text.as_bytes())?;
    // SAFETY: copied just now; the area outlives the header.
    Ok(Str::new(unsafe { std::slice::from_raw_parts(start.as_ptr(), text.len()) }))
}

impl Drop for WorkerState {
    /// Rows may refer to the text, so it goes to the query.
    fn drop(&mut self) {
        if let Some(area) = self.keep.take() {
            self.shared.retire(area);
        }
    }
}
