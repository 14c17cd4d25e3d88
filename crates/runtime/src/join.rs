//! The join's table (thesis 4.5.1, 4.5.2).
//!
//! 1. Each worker materialises build rows, with the word that they are found by (the hash of the keys, or the only key if it
//!    is a number), into an area of its own; no synchronisation.
//! 2. When all are there, the directory is made with exactly the right size. Keys in a range of at most some slots a row
//!    ([`keys`]) get an array with a slot for each, or, if no two are the same and little is read of a row, one of what is read
//!    ([`payloads`]); else rows are hashed. Slots are pointers to chains of rows, where they are
//!    hashed with a 16-bit filter of the hashes in the chain in the upper bits (its *tag*).
//! 3. In parallel, rows are pushed onto their chains by compare-and-swap: O(1) a row.
//! 4. Probes come in batches of up to 1,024 words. Of an array, they load the slots, and all rows of a chain match. Of hashes,
//!    they prefetch the slots, test the tags, then walk all chains in step, prefetching the next row of each.
//!
//! Joins by comparisons have tables of another kind: [`ranges`].
//!
//! Invariants: a row's bytes 0 to 8 are the next row of its chain, 8 to 16 its word (once the table is finished, the hash if
//! rows are hashed); the table is insert-only, and reads begin after the last insert; a word's chain starts where
//! [`layout`] says; the tag of a slot has at least the bits of the tag of each hash in its chain; a row whose key is NULL is
//! in no chain.

mod build;
mod insert;
mod keys;
mod layout;
mod nodes;
mod parts;
mod payloads;
mod probe;
mod ranges;
mod table;
mod tags;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::memory::Reservation;
use base::{Budget, Result};
use pipeline::ir::{JOIN_HEADER, JoinState, JoinWord, KeyPlace, RowSet};
use scheduler::{CancelToken, Cutting, TaskSet};

use self::keys::{Bitmap, Keys};
use self::layout::Places;
use self::nodes::Blocks;
use self::parts::Sorting;
use self::table::{Keyed, TableState};
use crate::build_keys::{BuildKeys, Word};
use crate::keys::KeySet;
use crate::rows::{RowLists, Segment};
use crate::source::RowSource;
use crate::state::{State, Workers};

pub use layout::{BATCH, JoinTable, ProbeScratch};
pub use probe::{probe_begin, probe_next, probe_unmatched};

const OPERATOR: &str = "hash join";

/// A join's build side.
#[derive(Debug)]
pub(crate) struct Join {
    rows: RowLists,
    keys: Keys,
    /// Whether scans ask which keys there are.
    filters: bool,
    /// Bits that all slots have that have a row: none, or all of a tag, which then tells nothing apart.
    no_tags: u64,
    budget: Budget,
    cancel: CancelToken,
    /// Bytes of what is read of a row, if it may lie by its key.
    payload: Option<usize>,
    /// What lies so, until the table is there.
    payloads: Mutex<Option<Arc<payloads::Payloads>>>,
    /// Of ranges, until the table is there.
    sorting: Sorting,
    /// Null until the finalisation begins; then a leaked box that `drop` frees.
    table: AtomicPtr<JoinTable>,
}

impl Join {
    pub(crate) fn new(state: &JoinState, has_tags: bool, budget: &Budget, cancel: CancelToken) -> Self {
        let rows = RowLists::new(&state.layout, budget, OPERATOR, None);
        Self {
            rows,
            keys: Keys::new(state.word),
            filters: state.filters,
            no_tags: if has_tags { 0 } else { !tags::ADDRESS },
            payload: payloads::size_of_payload(&state.layout, state.word),
            payloads: Mutex::default(),
            sorting: Sorting::default(),
            budget: budget.clone(),
            cancel,
            table: AtomicPtr::default(),
        }
    }

    fn segments(&self) -> Vec<Segment> {
        self.rows.segments()
    }

    /// Lets probes have the table, and returns its address. Once only.
    fn publish(
        &self,
        directory: *const u64,
        places: Places,
        keyed: Option<Keyed>,
        blocks: Option<Blocks>,
        charged: Reservation,
    ) -> usize {
        let rows: usize = self.segments().iter().map(Segment::rows).sum();
        let (head, row) = match places {
            Places::Payloads { size, .. } => (0, size),
            _ => (JOIN_HEADER as usize, self.rows.stride()),
        };
        let bytes = 8 * places.slots() + rows * row;
        let inner = TableState::new(keyed, bytes, (head, row), blocks, charged, self.cancel.clone());
        let table = Box::into_raw(Box::new(JoinTable { directory, places, inner: Box::new(inner) }));
        let before = self.table.swap(table, Ordering::Release);
        assert!(before.is_null(), "a state is finalised once");
        table as usize
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State for Join {
    fn local(&self, worker: usize) -> *mut u8 {
        self.rows.local(worker)
    }
    fn end_morsel(&self, worker: usize, _: Range<u64>, _: bool) -> Result<()> {
        self.keys.note(worker, &self.rows);
        self.rows.end_morsel(worker)
    }
    fn finalize(self: Arc<Self>, _: &dyn Workers, phase: usize, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
        match (self.keys.word(), phase) {
            (JoinWord::Range { until, .. }, _) => ranges::next(self, phase, until, cut),
            _ => build::next(self, phase, cut),
        }
    }
    fn written(&self, worker: usize) -> u64 {
        self.rows.written(worker)
    }
    fn looked_at(&self) -> (u64, u64) {
        // SAFETY: null, or a table that lives as long as the state.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }.map_or((0, 0), |table| table.inner.looked_at())
    }
    fn finished(&self) -> *const u8 {
        self.table.load(Ordering::Acquire).cast_const().cast()
    }
    fn keys(&self) -> Option<KeySet> {
        // SAFETY: null, or a table that lives as long as the state.
        let state = unsafe { self.table.load(Ordering::Acquire).as_ref() }.map(|table| &*table.inner)?;
        let keyed = state.keyed.as_ref()?;
        let bits = keyed.bitmap.as_ref().map(Bitmap::words);
        Some(KeySet { range: keyed.range.clone()?, bits, list: keyed.list.clone() })
    }
    fn build_keys(self: Arc<Self>, places: Vec<KeyPlace>) -> Option<BuildKeys> {
        // SAFETY: null, or a table that lives as long as the state.
        let table = unsafe { self.table.load(Ordering::Acquire).as_ref() }?;
        let hashed = matches!(table.places, Places::Hashed { .. });
        Some(BuildKeys::new(self.segments(), Word { hashed, null: self.keys.word().null() }, places, self))
    }
    fn source(self: Arc<Self>, rows: RowSet) -> Option<RowSource> {
        Some(RowSource::new(self.segments(), rows, self))
    }
}

impl Drop for Join {
    fn drop(&mut self) {
        let table = *self.table.get_mut();
        if !table.is_null() {
            // SAFETY: made by `Box::into_raw` in `build`, and published to nobody who outlives the state.
            drop(unsafe { Box::from_raw(table) });
        }
    }
}
