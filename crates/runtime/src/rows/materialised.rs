//! Rows of all workers in no order: what joins and sorts begin with, and a state of its own.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use base::{Area, Budget, Result};
use pipeline::ir::{RowLayout, RowSet};

use super::strings::StringFields;
use super::{PerWorker, Segment, area_segments};
use crate::source::RowSource;
use crate::state::State;

/// One worker's rows of a join, sort or rows state. Rows lie one after the other in the area's blocks; each takes
/// [`stride`](RowLayout::stride) bytes. Code allocates inline from the area ([`Area::NEXT_OFFSET`],
/// [`Area::END_OFFSET`]) and calls `rows_grow` when the block is full.
#[derive(Debug)]
#[repr(C)]
pub struct RowsLocal {
    /// The rows.
    pub area: Area,
    /// Bytes from one row to the next.
    pub stride: usize,
    /// Rust's own part.
    pub inner: Box<LocalRows>,
}

/// What generated code does not see of a worker's rows.
#[derive(Debug)]
pub struct LocalRows {
    /// Payload of the rows' strings.
    text: Area,
    strings: StringFields,
    /// The rows up to here own their strings.
    owned: Mark,
    /// What throws rows away, and how many rows it looks at next.
    bound: Option<(Arc<dyn Bound>, usize)>,
}

/// A place in an area: blocks, and bytes of the one behind them.
pub(crate) type Mark = (usize, usize);

/// What keeps a worker's rows few.
pub(crate) trait Bound: Debug + Send + Sync {
    /// So many rows are worth the first look.
    fn least(&self) -> usize;
    /// So many are worth a look between two batches, where what it comes to may spare some of the next one.
    fn fewest(&self) -> usize {
        usize::MAX
    }
    /// Looks at all rows.
    fn look(&self, rows: &[Segment]) -> Result<Look>;
}

/// What a look at rows comes to.
pub(crate) struct Look {
    /// The rows that stay, in any order, if others are thrown away.
    pub(crate) kept: Option<Vec<*mut u8>>,
    /// So many rows are worth the next look.
    pub(crate) next: usize,
}

impl RowsLocal {
    pub(crate) fn new(
        layout: &RowLayout,
        budget: &Budget,
        operator: &'static str,
        bound: Option<Arc<dyn Bound>>,
    ) -> Self {
        let text = Area::new(budget.clone(), operator);
        let bound = bound.map(|bound| (bound.clone(), bound.least()));
        let inner = LocalRows { text, strings: StringFields::of(layout), owned: (0, 0), bound };
        // A row without fields still has an address of its own.
        let stride = layout.stride().max(16) as usize;
        Self { area: Area::new(budget.clone(), operator), stride, inner: Box::new(inner) }
    }

    /// The block is full: a new row, zeroed. Rows may move if they are bounded: all of their fields must be stored.
    pub(crate) fn grow(&mut self) -> Result<*mut u8> {
        self.prune(false)?;
        Ok(self.area.allocate(self.stride)?.as_ptr())
    }

    pub(crate) fn segments(&self) -> impl Iterator<Item = Segment> {
        area_segments(&self.area, self.stride)
    }

    /// Moves the rows that stay, with their strings, to new areas, and drops the others with the old ones.
    fn prune(&mut self, is_between_batches: bool) -> Result<()> {
        let Some((bound, least)) = &self.inner.bound else { return Ok(()) };
        let segments: Vec<Segment> = self.segments().collect();
        let least = if is_between_batches { bound.fewest().min(*least) } else { *least };
        if segments.iter().map(Segment::rows).sum::<usize>() < least {
            return Ok(());
        }
        let Look { kept, next } = bound.look(&segments)?;
        let inner = &mut *self.inner;
        inner.bound.iter_mut().for_each(|(_, least)| *least = next);
        let Some(kept) = kept else { return Ok(()) };
        let mut area = Area::new(self.area.budget().clone(), self.area.operator());
        let mut text = Area::new(inner.text.budget().clone(), inner.text.operator());
        for row in kept {
            let to = area.allocate(self.stride)?.as_ptr();
            // SAFETY: both are rows of `stride` bytes, in different areas; strings are alive in the old areas, or in
            // the batch that runs.
            unsafe {
                to.copy_from_nonoverlapping(row, self.stride);
                inner.strings.own(to, &mut text)?;
            }
        }
        (self.area, inner.text) = (area, text);
        self.inner.owned = self.end();
        Ok(())
    }

    /// The rows from a mark on, and the mark behind them.
    pub(crate) fn since(&self, (first, done): Mark) -> (Vec<Segment>, Mark) {
        let blocks = self.area.blocks().enumerate().skip(first);
        let segments = blocks.map(|(block, (start, used))| {
            let from = if block == first { done } else { 0 };
            // SAFETY: inside of the block or at its end.
            let (start, rows) = (unsafe { start.add(from) }, (used - from) / self.stride);
            Segment::Block { start, stride: self.stride, rows, node: self.area.node() }
        });
        (segments.collect(), self.end())
    }

    /// Takes all rows away, with their strings.
    pub(crate) fn take(&mut self) -> (Area, Area) {
        let empty = |like: &Area| Area::new(like.budget().clone(), like.operator());
        let (rows, text) = (empty(&self.area), empty(&self.inner.text));
        self.inner.owned = Mark::default();
        (std::mem::replace(&mut self.area, rows), std::mem::replace(&mut self.inner.text, text))
    }

    /// Takes the row back that was allocated last.
    ///
    /// # Safety
    /// Nobody may use it any more, and none must have been taken back since.
    pub(crate) unsafe fn take_back(&mut self) {
        // SAFETY: as the caller promises.
        unsafe { self.area.take_back(self.stride) };
    }

    /// Makes a row own these strings of it.
    ///
    /// # Safety
    /// It must be a row of these, nobody else's yet, and its strings alive.
    pub(crate) unsafe fn own_strings_of(&mut self, row: *mut u8, strings: &StringFields) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { strings.own(row, &mut self.inner.text) }
    }

    /// Bytes of rows and strings.
    pub(crate) fn written(&self) -> u64 {
        (self.area.used() + self.inner.text.used()) as u64
    }

    /// Where the next row will be.
    fn end(&self) -> Mark {
        self.area.blocks().enumerate().last().map_or((0, 0), |(block, (_, used))| (block, used))
    }

    /// Makes all rows own their strings.
    pub(crate) fn own_strings(&mut self) -> Result<()> {
        self.prune(false)?;
        if self.inner.strings.is_empty() {
            return Ok(());
        }
        let end = self.end();
        let inner = &mut *self.inner;
        let (first, done) = inner.owned;
        for (block, (start, used)) in self.area.blocks().enumerate().skip(first) {
            let from = if block == first { done } else { 0 };
            for at in (from..used).step_by(self.stride) {
                // SAFETY: the block holds rows up to `used`, all of whose fields are stored, with strings that are
                // alive as long as the morsel.
                unsafe { inner.strings.own(start.add(at), &mut inner.text)? };
            }
        }
        inner.owned = end;
        Ok(())
    }
}

/// The rows of all workers.
#[derive(Debug)]
pub(crate) struct RowLists {
    locals: PerWorker<RowsLocal>,
    layout: RowLayout,
    budget: Budget,
    operator: &'static str,
    bound: Option<Arc<dyn Bound>>,
}

impl RowLists {
    pub(crate) fn new(
        layout: &RowLayout,
        budget: &Budget,
        operator: &'static str,
        bound: Option<Arc<dyn Bound>>,
    ) -> Self {
        Self { locals: PerWorker::default(), layout: layout.clone(), budget: budget.clone(), operator, bound }
    }

    /// The worker's part, made when it first comes.
    pub(crate) fn local(&self, worker: usize) -> *mut u8 {
        let make = || RowsLocal::new(&self.layout, &self.budget, self.operator, self.bound.clone());
        self.locals.get_or(worker, make).cast()
    }

    /// Called by the worker itself.
    pub(crate) fn end_morsel(&self, worker: usize) -> Result<()> {
        // SAFETY: the item is the worker's own.
        unsafe { (*self.locals.get(worker)).own_strings() }
    }

    /// Throws rows away if it is time. Called by the worker itself, between two batches.
    pub(crate) fn prune(&self, worker: usize) -> Result<()> {
        // SAFETY: the item is the worker's own.
        unsafe { (*self.locals.get(worker)).prune(true) }
    }

    /// The rows of a worker from a mark on, and the mark behind them. Called by the worker itself.
    pub(crate) fn since(&self, worker: usize, mark: Mark) -> (Vec<Segment>, Mark) {
        // SAFETY: the item is the worker's own.
        unsafe { (*self.locals.get(worker)).since(mark) }
    }

    /// Bytes of rows and strings of a worker. Called by the worker itself.
    pub(crate) fn written(&self, worker: usize) -> u64 {
        // SAFETY: the item is the worker's own.
        unsafe { (*self.locals.get(worker)).written() }
    }

    /// Bytes from one row to the next.
    pub(crate) fn stride(&self) -> usize {
        self.layout.stride().max(16) as usize
    }

    /// The rows of all workers. Called when the state's pipelines have ended.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        // SAFETY: the pipelines that write have ended.
        unsafe { self.locals.iter() }.flat_map(RowsLocal::segments).collect()
    }
}

/// Materialised rows in no order.
#[derive(Debug)]
pub(crate) struct Materialised(RowLists);

impl Materialised {
    pub(crate) fn new(layout: &RowLayout, budget: &Budget) -> Self {
        Self(RowLists::new(layout, budget, "materialisation", None))
    }
}

impl State for Materialised {
    fn local(&self, worker: usize) -> *mut u8 {
        self.0.local(worker)
    }
    fn end_morsel(&self, worker: usize, _: Range<u64>, _: bool) -> Result<()> {
        self.0.end_morsel(worker)
    }
    fn written(&self, worker: usize) -> u64 {
        self.0.written(worker)
    }
    fn source(self: Arc<Self>, rows: RowSet) -> Option<RowSource> {
        Some(RowSource::new(self.0.segments(), rows, self))
    }
}
