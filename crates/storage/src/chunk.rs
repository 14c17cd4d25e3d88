//! Chunks as a relation holds them: a body that is exchanged as a whole, bounds that only widen, and a number for life.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use base::memory::Reservation;
use base::{Budget, Result};
use types::Column;

use crate::body::{Body, Stored};
use crate::scan::may_match;
use crate::sidecar::Sidecar;
use crate::statistics::{Bounds, ValueRange};
use crate::transaction::View;
use crate::{CHUNK_ROWS, ChunkReader, ScanPredicate};

/// Where a row is: never changes while the relation exists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(u64);

impl RowId {
    /// Row `offset` of chunk number `chunk`.
    pub fn new(chunk: usize, offset: usize) -> Self {
        debug_assert!(offset < CHUNK_ROWS && chunk < 1 << 32);
        Self((chunk as u64) << 16 | offset as u64)
    }
    /// The number of the chunk in the relation.
    pub fn chunk(self) -> usize {
        (self.0 >> 16) as usize
    }
    /// The row in the chunk.
    pub fn offset(self) -> usize {
        (self.0 & 0xffff) as usize
    }
    /// The row so many rows later in the chunk.
    pub fn plus(self, rows: usize) -> Self {
        Self::new(self.chunk(), self.offset() + rows)
    }
    /// 48 bits that order like (chunk, offset).
    pub fn to_bits(self) -> u64 {
        self.0
    }
    /// The reverse of [`to_bits`](Self::to_bits).
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Debug for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}:{}", self.chunk(), self.offset())
    }
}

/// The addresses of one column, as kernels and generated code take them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ColumnRef {
    /// First byte of the values.
    pub data: *const u8,
    /// One byte a row (1: NULL), or null if no row is NULL.
    pub nulls: *const u8,
}

// SAFETY: addresses only; who dereferences them vouches that the column is alive, and columns are immutable.
unsafe impl Send for ColumnRef {}
// SAFETY: shared addresses are no more than addresses.
unsafe impl Sync for ColumnRef {}

impl ColumnRef {
    /// No addresses.
    pub const NONE: Self = Self { data: std::ptr::null(), nulls: std::ptr::null() };

    /// The addresses of `column`, valid while it or a clone of it lives.
    pub fn of(column: &Column) -> Self {
        Self { data: column.data(), nulls: column.nulls().map_or(std::ptr::null(), <[u8]>::as_ptr) }
    }

    /// The addresses from row `row` on of values of `size` bytes; there are as many rows.
    #[inline]
    pub(crate) fn at_row(self, row: usize, size: usize) -> Self {
        let nulls = if self.nulls.is_null() { self.nulls } else { self.nulls.wrapping_add(row) };
        Self { data: self.data.wrapping_add(row * size), nulls }
    }
}

/// A chunk of a relation. Its rows never move and, once published, never change.
#[derive(Debug)]
pub(crate) struct StoredChunk {
    number: usize,
    node: u16,
    /// The current body; readers pin the one that they find.
    body: Mutex<Arc<Body>>,
    /// What has changed in its rows.
    sidecar: OnceLock<Arc<Sidecar>>,
    /// Bounds of the values that were changed to, as far as anything was.
    widened: RwLock<Option<Box<[Bounds]>>>,
    /// Hold for all rows that anybody sees: widened before rows become visible. Ranges of strings may be left for later.
    bounds: RwLock<Box<[Bounds]>>,
    /// Whether the bounds were ever others than those of the rows that the chunk came with.
    is_widened: AtomicBool,
    /// Of a chunk that grows no more. Written before the views that rely on it are published, under their lock.
    rows: AtomicU32,
    /// The chunk's share of the budget, once it grows no more.
    memory: Mutex<Option<Reservation>>,
}

impl StoredChunk {
    pub(crate) fn new(number: usize, node: u16, body: Body, bounds: Box<[Bounds]>) -> Self {
        let (body, bounds) = (Mutex::new(Arc::new(body)), RwLock::new(bounds));
        let (is_widened, rows) = (AtomicBool::new(false), AtomicU32::new(0));
        let (sidecar, widened, memory) = (OnceLock::new(), RwLock::default(), Mutex::default());
        Self { number, node, body, sidecar, widened, bounds, is_widened, rows, memory }
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The body as it is now, for as long as the caller keeps it.
    pub(crate) fn pin(&self) -> Arc<Body> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Exchanges the body for another one of the same rows, or more.
    pub(crate) fn exchange(&self, body: Body) {
        *self.body.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(body);
    }

    /// Exchanges one column of a chunk that grows no more, and gives back the memory that it needs no longer. Nothing happens
    /// if it needs more than there is.
    pub(crate) fn exchange_column(&self, attribute: usize, stored: Stored) {
        let mut body = self.body.lock().unwrap_or_else(PoisonError::into_inner);
        let after = Arc::new(body.with_column(attribute, stored));
        if let Some(memory) = &mut *self.memory.lock().unwrap_or_else(PoisonError::into_inner) {
            // Buffers that are shared with others count in full, and were not charged.
            let more = after.bytes().saturating_sub(body.bytes());
            let needed = if more > 0 { memory.bytes() + more } else { after.bytes().min(memory.bytes()) };
            if memory.resize(needed).is_err() {
                return;
            }
        }
        let before = std::mem::replace(&mut *body, after);
        drop(body);
        // What was only this body's is freed while nobody waits.
        drop(before);
    }

    /// Widens the bounds so that they hold for further rows, which nobody sees yet.
    pub(crate) fn widen(&self, more: &[Bounds]) {
        let mut bounds = self.bounds.write().unwrap_or_else(PoisonError::into_inner);
        self.is_widened.store(true, Ordering::Relaxed);
        bounds.iter_mut().zip(more).for_each(|(mine, new)| mine.merge(new));
    }

    /// Says what the range of a column is that was left before. The chunk grows no more.
    pub(crate) fn find_range(&self, attribute: usize, range: ValueRange) {
        self.bounds.write().unwrap_or_else(PoisonError::into_inner)[attribute].range = range;
    }

    /// Bounds of the rows as they were appended.
    pub(crate) fn bounds(&self, attribute: usize) -> Bounds {
        self.bounds.read().unwrap_or_else(PoisonError::into_inner)[attribute].clone()
    }

    /// Bounds of all values that any view sees.
    fn all_bounds(&self, attribute: usize) -> Bounds {
        let mut bounds = self.bounds(attribute);
        if let Some(widened) = &*self.widened.read().unwrap_or_else(PoisonError::into_inner) {
            bounds.merge(&widened[attribute]);
        }
        bounds
    }

    fn may_match(&self, predicates: &[ScanPredicate]) -> bool {
        let widened = self.widened.read().unwrap_or_else(PoisonError::into_inner);
        let bounds = self.bounds.read().unwrap_or_else(PoisonError::into_inner);
        match &*widened {
            None => may_match(predicates, &bounds),
            Some(widened) => {
                let mut all = bounds.clone();
                all.iter_mut().zip(widened).for_each(|(mine, more)| mine.merge(more));
                may_match(predicates, &all)
            }
        }
    }

    /// Widens the bounds of attributes for values that rows are about to be changed to.
    pub(crate) fn widen_changed<'a>(&self, more: impl Iterator<Item = &'a (usize, Bounds)>) {
        let mut widened = self.widened.write().unwrap_or_else(PoisonError::into_inner);
        let attributes = self.bounds.read().unwrap_or_else(PoisonError::into_inner).len();
        let widened = widened.get_or_insert_with(|| vec![Bounds::default(); attributes].into());
        more.for_each(|(attribute, bounds)| widened[*attribute].merge(bounds));
    }

    /// What has changed in the chunk, if anything ever was.
    pub(crate) fn sidecar(&self) -> Option<&Arc<Sidecar>> {
        self.sidecar.get()
    }

    /// The same, from now on.
    pub(crate) fn make_sidecar(&self, budget: &Budget) -> Result<&Arc<Sidecar>> {
        if self.sidecar.get().is_none() {
            // Somebody else's is as good.
            let _ = self.sidecar.set(Arc::new(Sidecar::new(budget)?));
        }
        Ok(self.sidecar.get().expect("just made"))
    }

    /// Says that the chunk has so many rows for good.
    pub(crate) fn close(&self, rows: usize) {
        self.rows.store(rows as u32, Ordering::Relaxed);
    }

    /// Hands over the memory of a chunk that grows no more.
    pub(crate) fn charge(&self, memory: Reservation) {
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory);
    }

    /// The rows of a chunk that grows no more.
    pub(crate) fn closed_rows(&self) -> usize {
        self.rows.load(Ordering::Relaxed) as usize
    }
}

/// A chunk as a snapshot sees it.
#[derive(Clone, Copy, Debug)]
pub struct ChunkView<'a> {
    chunk: &'a StoredChunk,
    rows: usize,
    view: &'a View,
}

impl<'a> ChunkView<'a> {
    pub(crate) fn new(chunk: &'a StoredChunk, rows: usize, view: &'a View) -> Self {
        Self { chunk, rows, view }
    }
    /// Number of rows, dead ones among them.
    pub fn rows(self) -> usize {
        self.rows
    }
    /// The number of the chunk in the relation: the first half of row ids.
    pub fn number(self) -> usize {
        self.chunk.number
    }
    /// The NUMA node whose memory the chunk lies in.
    pub fn node(self) -> u16 {
        self.chunk.node
    }
    /// Whether any row may satisfy all predicates, by the bounds alone. False is certain, true is not.
    pub fn may_match(self, predicates: &[ScanPredicate]) -> bool {
        predicates.is_empty() || self.chunk.may_match(predicates)
    }
    /// Bounds of a column: they hold for all rows, and may be wider.
    pub fn bounds(self, attribute: usize) -> Bounds {
        self.chunk.all_bounds(attribute)
    }
    /// Whether any row was ever changed or deleted.
    pub fn is_changed(self) -> bool {
        self.chunk.sidecar().is_some()
    }
    /// Whether bounds are reached by rows of the chunk, all of which are visible.
    pub fn has_exact_bounds(self) -> bool {
        !self.is_changed() && !self.chunk.is_widened.load(Ordering::Relaxed) && self.rows == self.chunk.closed_rows()
    }
    /// Whether some row may be NULL in a column.
    pub fn may_be_null(self, attribute: usize) -> bool {
        self.bounds(attribute).nulls > 0
    }
    /// Pins the chunk's memory, to be read: for a morsel, say.
    pub fn read(self) -> ChunkReader {
        let reader = ChunkReader::new(self.chunk.pin(), self.rows).numbered(self.number());
        // What is changed from here on, the view does not see.
        match self.chunk.sidecar() {
            Some(sidecar) if !sidecar.is_untouched() => reader.with_changes(sidecar.clone(), self.view.clone()),
            _ => reader,
        }
    }
}
