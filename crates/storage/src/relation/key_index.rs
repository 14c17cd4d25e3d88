//! The hash index behind PRIMARY KEY: open addressing with linear probing, 8 bytes a slot.
//!
//! A slot holds 16 bits of the key's hash and the 48-bit row id; 0 is empty. The keys themselves stay in the chunks. A
//! lookup touches one cache line on average and reads a row only when the tags agree. Entries never move except when
//! the table grows, so taking back the youngest entries restores the table exactly.

use base::memory::Reservation;
use base::{Budget, Result};
use types::{Chunk, Column};

use crate::RowId;
use crate::hash::{equal_values, hash_keys};

/// Rows hashed at a time; their slots are prefetched meanwhile.
const BATCH: usize = 512;
/// Above this many new entries, taking them back sweeps the table instead of remembering their slots.
const REMEMBERED: usize = 1 << 16;

/// Where the rows of the index are: the committed chunks and those that are about to be.
pub(super) trait Chunks {
    /// The chunk with this number.
    fn chunk(&self, number: usize) -> &Chunk;
}

/// The index.
#[derive(Debug)]
pub(super) struct KeyIndex {
    key: Vec<usize>,
    slots: Vec<u64>,
    entries: usize,
    memory: Reservation,
    /// Slots taken since the last [`keep`](Self::keep); none if there were too many to remember.
    young: Option<Vec<usize>>,
    /// Entries since the last [`keep`](Self::keep).
    young_entries: usize,
}

impl KeyIndex {
    pub(super) fn new(key: Vec<usize>, budget: &Budget) -> Result<Self> {
        let memory = budget.reserve(0, "primary key")?;
        Ok(Self { key, slots: Vec::new(), entries: 0, memory, young: Some(Vec::new()), young_entries: 0 })
    }

    /// A slot stores a row id plus one, so that the first row of the first chunk is not the empty slot.
    fn slot(hash: u64, id: RowId) -> u64 {
        (hash << 48) | (id.to_bits() + 1)
    }
    fn id(slot: u64) -> RowId {
        RowId::from_bits((slot & ((1 << 48) - 1)) - 1)
    }
    fn home(&self, hash: u64) -> usize {
        // The high bits: the low 16 are the tag.
        ((u128::from(hash) * self.slots.len() as u128) >> 64) as usize
    }

    /// Makes room for `additional` entries. Does nothing or all.
    pub(super) fn reserve(&mut self, additional: usize, rows: &impl Chunks) -> Result<()> {
        let needed = self.entries + additional;
        // At most three quarters full.
        if needed * 4 <= self.slots.len() * 3 {
            return Ok(());
        }
        // Bulk loads get what they need, small inserts double it.
        let capacity = (needed + needed / 2).max(self.slots.len() * 2).max(64);
        self.memory.resize(capacity * 8, "primary key")?;
        let old = std::mem::replace(&mut self.slots, vec![0; capacity]);
        let mut ids: Vec<RowId> = old.into_iter().filter(|&s| s != 0).map(Self::id).collect();
        ids.sort_unstable();
        let mut hashes = Vec::new();
        for run in ids.chunk_by(|a, b| a.chunk() == b.chunk() && a.offset() + 1 == b.offset()) {
            let (first, n) = (run[0], run.len());
            hash_keys(
                &key_columns(&self.key, rows.chunk(first.chunk())),
                first.offset(),
                first.offset() + n,
                &mut hashes,
            );
            for (&id, &hash) in run.iter().zip(&hashes) {
                let mut at = self.home(hash);
                while self.slots[at] != 0 {
                    at = self.next(at);
                }
                self.slots[at] = Self::slot(hash, id);
            }
        }
        Ok(())
    }

    fn next(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }

    /// Enters the rows `from..to` of chunk number `number`, for which there is room. Returns the first row whose key is
    /// there already; the caller then takes all back with [`undo`](Self::undo).
    pub(super) fn insert(&mut self, number: usize, from: usize, to: usize, rows: &impl Chunks) -> Option<RowId> {
        let key = std::mem::take(&mut self.key);
        let columns = key_columns(&key, rows.chunk(number));
        let mut hashes = Vec::new();
        let mut duplicate = None;
        'rows: for start in (from..to).step_by(BATCH) {
            let end = to.min(start + BATCH);
            hash_keys(&columns, start, end, &mut hashes);
            hashes.iter().for_each(|&h| prefetch(&self.slots[self.home(h)]));
            for (row, &hash) in (start..end).zip(&hashes) {
                if !self.insert_one(hash, RowId::new(number, row), &key, &columns, rows) {
                    duplicate = Some(RowId::new(number, row));
                    break 'rows;
                }
            }
        }
        self.key = key;
        duplicate
    }

    #[inline]
    fn insert_one(&mut self, hash: u64, id: RowId, key: &[usize], columns: &[&Column], rows: &impl Chunks) -> bool {
        let slot = Self::slot(hash, id);
        let mut at = self.home(hash);
        while self.slots[at] != 0 {
            let other = self.slots[at];
            if other >> 48 == slot >> 48 && same_key(key, columns, id, Self::id(other), rows) {
                return false;
            }
            at = self.next(at);
        }
        self.slots[at] = slot;
        self.entries += 1;
        self.young_entries += 1;
        match &mut self.young {
            Some(young) if young.len() < REMEMBERED => young.push(at),
            young => *young = None,
        }
        true
    }

    /// Keeps all entries for good.
    pub(super) fn keep(&mut self) {
        (self.young, self.young_entries) = (Some(Vec::new()), 0);
    }

    /// Takes back the entries since the last [`keep`](Self::keep); `committed` says which rows stay.
    pub(super) fn undo(&mut self, committed: impl Fn(RowId) -> bool) {
        match self.young.take() {
            Some(young) => young.into_iter().for_each(|at| self.slots[at] = 0),
            None => {
                for slot in self.slots.iter_mut().filter(|s| **s != 0) {
                    if !committed(Self::id(*slot)) {
                        *slot = 0;
                    }
                }
            }
        }
        self.entries -= self.young_entries;
        self.keep();
    }
}

fn key_columns<'a>(key: &[usize], chunk: &'a Chunk) -> Vec<&'a Column> {
    key.iter().map(|&k| chunk.column(k)).collect()
}

#[cold]
fn same_key(key: &[usize], columns: &[&Column], id: RowId, other: RowId, rows: &impl Chunks) -> bool {
    let chunk = rows.chunk(other.chunk());
    key.iter().zip(columns).all(|(&k, column)| equal_values(column, id.offset(), chunk.column(k), other.offset()))
}

#[inline(always)]
fn prefetch(slot: &u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching any address is allowed.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(std::ptr::from_ref(slot).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slot;
}
