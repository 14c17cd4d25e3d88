//! A hash table of encoded keys: simple, and complete without any row in memory. Takes several times the memory of
//! [`SlotIndex`](super::SlotIndex).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError, RwLock};

use base::memory::Reservation;
use base::{Budget, Result};

use super::{Keys, Liveness, OneKey, Rows, Taken, UniqueIndex};
use crate::hash::{PARTITIONS, partition_of};
use crate::{Guard, RowId};

/// What an entry is charged beside its bytes.
const ENTRY: usize = 80;

type Partition = RwLock<HashMap<Box<[u8]>, Vec<RowId>>>;

/// The index.
#[derive(Debug)]
pub struct HashIndex {
    partitions: Box<[Partition]>,
    memory: Mutex<Reservation>,
}

impl HashIndex {
    /// An empty index, charged to `budget`.
    pub fn new(budget: &Budget) -> Result<Self> {
        let partitions = (0..PARTITIONS).map(|_| Partition::default()).collect();
        Ok(Self { partitions, memory: Mutex::new(budget.reserve(0, "primary key")?) })
    }

    fn resize(&self, change: impl FnOnce(usize) -> usize) -> Result<()> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = change(memory.bytes());
        memory.resize(bytes)
    }
}

impl HashIndex {
    /// Enters one key, unless it is taken.
    fn enter(&self, hash: u64, key: &[u8], row: RowId, alive: &dyn Fn(RowId) -> Liveness) -> Result<Option<Taken>> {
        let mut partition = self.partitions[partition_of(hash)].write().unwrap_or_else(PoisonError::into_inner);
        let rows = partition.entry(key.into()).or_default();
        let mut taken = rows.iter().map(|&by| Taken { row, by, liveness: alive(by) });
        if let Some(taken) = taken.find(|taken| taken.liveness != Liveness::Dead) {
            return Ok(Some(taken));
        }
        self.resize(|bytes| bytes + key.len() + ENTRY)?;
        rows.push(row);
        Ok(None)
    }
}

impl UniqueIndex for HashIndex {
    fn bytes(&self) -> usize {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }

    fn reserve(&self, _: usize, _: &dyn Rows) -> Result<()> {
        // Charged entry by entry: the sizes of keys differ.
        Ok(())
    }

    fn find(&self, keys: &Keys<'_>, _: &dyn Rows, sees: &dyn Fn(RowId) -> bool, out: &mut Vec<Option<RowId>>) {
        let mut key = Vec::new();
        for (number, hash) in keys.hashes().into_iter().enumerate() {
            key.clear();
            keys.encode(number, &mut key);
            let partition = self.partitions[partition_of(hash)].read().unwrap_or_else(PoisonError::into_inner);
            out.push(partition.get(&key[..]).and_then(|rows| rows.iter().copied().find(|row| sees(*row))));
        }
    }

    fn find_one(&self, key: OneKey<'_>, _: &Guard, is_it: &mut dyn FnMut(RowId) -> bool) -> Option<RowId> {
        let partition = self.partitions[partition_of(key.hash())].read().unwrap_or_else(PoisonError::into_inner);
        partition.get(&key.encoded()[..]).and_then(|rows| rows.iter().copied().find(|row| is_it(*row)))
    }

    fn insert(
        &self,
        keys: &Keys<'_>,
        first: RowId,
        _: &dyn Rows,
        alive: &dyn Fn(RowId) -> Liveness,
    ) -> Result<Option<Taken>> {
        let mut key = Vec::new();
        for (number, hash) in keys.hashes().into_iter().enumerate() {
            let row = first.plus(number);
            key.clear();
            keys.encode(number, &mut key);
            if let Some(taken) = self.enter(hash, &key, row, alive)? {
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    fn insert_one(
        &self,
        key: OneKey<'_>,
        row: RowId,
        _: &dyn Rows,
        alive: &dyn Fn(RowId) -> Liveness,
    ) -> Result<Option<Taken>> {
        self.enter(key.hash(), &key.encoded(), row, alive)
    }

    fn remove(&self, keys: &Keys<'_>, first: RowId) {
        let mut key = Vec::new();
        for (number, hash) in keys.hashes().into_iter().enumerate() {
            key.clear();
            keys.encode(number, &mut key);
            let mut partition = self.partitions[partition_of(hash)].write().unwrap_or_else(PoisonError::into_inner);
            let Some(rows) = partition.get_mut(&key[..]) else { continue };
            let before = rows.len();
            rows.retain(|row| *row != first.plus(number));
            let gone = before - rows.len();
            if rows.is_empty() {
                partition.remove(&key[..]);
            }
            let _ = self.resize(|bytes| bytes - gone * (key.len() + ENTRY));
        }
    }
}
