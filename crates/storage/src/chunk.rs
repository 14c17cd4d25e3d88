//! Chunks as a relation holds them: a body that is exchanged as a whole, bounds that only widen, and a number for life.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard};

use base::memory::Reservation;
use base::{Budget, Result};
use types::Column;

use crate::body::{Body, Stored};
use crate::clock::View;
use crate::lock::lock;
use crate::published::{Guard, Published, pin};
use crate::scan::may_match;
use crate::sidecar::Sidecar;
use crate::statistics::{Bounds, ValueRange};
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

/// What a chunk's rows are.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub body: Arc<Body>,
    /// What has changed in them, if anything has.
    pub sidecar: Option<Arc<Sidecar>>,
}

/// A chunk of a relation. Its rows never move and, once published, never change.
#[derive(Debug)]
pub(crate) struct StoredChunk {
    number: usize,
    node: u16,
    /// The current body, and what has changed in its rows; readers take both as they find them.
    held: Published<Held>,
    /// Whose turn it is to exchange them.
    exchange: Mutex<()>,
    /// Whether there is a sidecar.
    is_changed: AtomicBool,
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
        let held = Published::new(Held { body: Arc::new(body), sidecar: None });
        let (is_widened, rows) = (AtomicBool::new(false), AtomicU32::new(0));
        let (exchange, is_changed, widened) = (Mutex::default(), AtomicBool::new(false), RwLock::default());
        let (bounds, memory) = (RwLock::new(bounds), Mutex::default());
        Self { number, node, held, exchange, is_changed, widened, bounds, is_widened, rows, memory }
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The node that its memory is to be on.
    pub(crate) fn node(&self) -> u16 {
        self.node
    }

    /// The body as it is now, for as long as the caller keeps it.
    pub(crate) fn pin(&self) -> Arc<Body> {
        self.held(&pin()).body.clone()
    }

    /// The body with what has changed in its rows.
    pub(crate) fn pin_changed(&self) -> Held {
        self.held(&pin()).clone()
    }

    /// The same, for as long as the guard.
    #[inline]
    pub(crate) fn held<'g>(&'g self, guard: &'g Guard) -> &'g Held {
        self.held.get(guard)
    }

    /// Exchanges the body for another one of the same rows, or more.
    pub(crate) fn exchange(&self, body: Body) {
        let _turn = lock(&self.exchange);
        let sidecar = self.held(&pin()).sidecar.clone();
        self.held.set(Held { body: Arc::new(body), sidecar });
    }

    /// Exchanges the body and what has changed in its rows for others of the same rows, as every view sees them, if they are
    /// still these; `seal` has the last word. Nothing happens if the body needs more memory than there is.
    pub(crate) fn exchange_both(
        &self,
        before: (&Arc<Body>, &Arc<Sidecar>),
        body: Body,
        seal: impl FnOnce() -> Option<Option<Sidecar>>,
    ) {
        let _turn = lock(&self.exchange);
        let held = self.pin_changed();
        let is_same = held.sidecar.as_ref().is_some_and(|sidecar| Arc::ptr_eq(sidecar, before.1));
        if !is_same || !Arc::ptr_eq(&held.body, before.0) || !self.recharge(before.0, &body) {
            return;
        }
        if let Some(sidecar) = seal() {
            // Bounds stay as wide as they were.
            self.is_widened.store(true, Ordering::Relaxed);
            let is_changed = sidecar.is_some();
            drop(held);
            self.held.set(Held { body: Arc::new(body), sidecar: sidecar.map(Arc::new) });
            self.is_changed.store(is_changed, Ordering::Release);
        }
    }

    /// Charges a body in the place of another one. False if it needs more than there is.
    fn recharge(&self, before: &Body, after: &Body) -> bool {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(memory) = &mut *memory else { return true };
        // Buffers that are shared with others count in full, and were not charged.
        let more = after.bytes().saturating_sub(before.bytes());
        let needed = if more > 0 { memory.bytes() + more } else { after.bytes().min(memory.bytes()) };
        memory.resize(needed).is_ok()
    }

    /// Exchanges one column of a chunk that grows no more for another form of it, and gives back the memory that it needs no
    /// longer. Nothing happens if it needs more than there is.
    pub(crate) fn exchange_column(&self, attribute: usize, before: &Stored, stored: Stored) {
        let _turn = lock(&self.exchange);
        let Held { body, sidecar } = self.pin_changed();
        let after = Arc::new(body.with_column(attribute, stored));
        // Rows that have changed may have come into another body meanwhile.
        if body.stored(attribute).is_same(before) && self.recharge(&body, &after) {
            drop(body);
            self.held.set(Held { body: after, sidecar });
        }
    }

    /// Widens the bounds so that they hold for further rows, which nobody sees yet.
    pub(crate) fn widen(&self, more: &[Bounds]) {
        let mut bounds = self.bounds.write().unwrap_or_else(PoisonError::into_inner);
        self.is_widened.store(true, Ordering::Relaxed);
        bounds.iter_mut().zip(more).for_each(|(mine, new)| mine.merge(new));
    }

    /// The bounds of its rows, to be widened for another one.
    pub(crate) fn widening(&self) -> RwLockWriteGuard<'_, Box<[Bounds]>> {
        let bounds = self.bounds.write().unwrap_or_else(PoisonError::into_inner);
        self.is_widened.store(true, Ordering::Relaxed);
        bounds
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
    pub(crate) fn widen_changed_by(&self, widen: impl FnOnce(&mut [Bounds])) {
        let mut widened = self.widened.write().unwrap_or_else(PoisonError::into_inner);
        let none = || {
            let attributes = self.bounds.read().unwrap_or_else(PoisonError::into_inner).len();
            vec![Bounds::default(); attributes].into()
        };
        widen(widened.get_or_insert_with(none));
    }

    /// Whether what is known of such values holds for others.
    pub(crate) fn is_widened_for(&self, holds: impl FnOnce(&[Bounds]) -> bool) -> bool {
        let widened = self.widened.read().unwrap_or_else(PoisonError::into_inner);
        widened.as_ref().is_some_and(|widened| holds(widened))
    }

    /// What has changed in the chunk, if anything ever was.
    pub(crate) fn sidecar(&self) -> Option<Arc<Sidecar>> {
        if self.is_changed() { self.held(&pin()).sidecar.clone() } else { None }
    }

    /// Whether anything has.
    pub(crate) fn is_changed(&self) -> bool {
        self.is_changed.load(Ordering::Acquire)
    }

    /// The same, from now on.
    pub(crate) fn make_sidecar(&self, budget: &Budget) -> Result<Arc<Sidecar>> {
        let _turn = lock(&self.exchange);
        let Held { body, sidecar } = self.pin_changed();
        match sidecar {
            Some(sidecar) => Ok(sidecar),
            None => {
                let new = Arc::new(Sidecar::new(budget)?);
                self.held.set(Held { body, sidecar: Some(new.clone()) });
                self.is_changed.store(true, Ordering::Release);
                Ok(new)
            }
        }
    }

    /// Says that the chunk has so many rows for good.
    pub(crate) fn close(&self, rows: usize) {
        self.rows.store(rows as u32, Ordering::Relaxed);
    }

    /// Hands over the memory of a chunk that grows no more.
    pub(crate) fn charge(&self, memory: Reservation) {
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory);
    }

    /// Bytes of the memory that was handed over.
    pub(crate) fn charged(&self) -> usize {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.as_ref().map_or(0, Reservation::bytes)
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
        self.chunk.is_changed()
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
        let Held { body, sidecar } = self.chunk.pin_changed();
        let reader = ChunkReader::new(body, self.rows).numbered(self.number());
        // What is changed from here on, the view does not see.
        match sidecar {
            Some(sidecar) if !sidecar.is_untouched() => reader.with_changes(sidecar, self.view.clone()),
            _ => reader,
        }
    }
}
