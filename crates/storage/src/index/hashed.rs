//! The entries of a hash index: rows by the hash of their keys, in 64 partitions of it.
//!
//! A hash has one row, or all rows whose keys have it, in order: of equal keys there may be a million. Keys stay in the rows. That of one
//! row of a hash is compared, and tells for the others, unless some key is another one with the same hash: that is noted when it comes.
//! A lookup is O(1) and reads one row; a change is O(log n) of the rows with its key.
//!
//! Readers share a partition's lock with each other; there is one writer at a time, who locks them out for one entry.

use std::collections::btree_set::BTreeSet;
use std::collections::hash_map::{Entry, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{PoisonError, RwLock};

use base::memory::Reservation;
use base::{Budget, Result};
use types::ops::hash::hash_bytes;

use crate::RowId;
use crate::hash::{PARTITIONS, partition_of};

/// Bytes of a hash with its rows, in a table that is filled as most are when they grow.
const ENTRY: usize = (size_of::<(u64, Rows)>() + 1) * 8 / 7;
/// Bytes of a row among others with its hash.
const ROW: usize = 2 * size_of::<RowId>();
/// More rows than this are in a tree.
const FEW: usize = 64;
/// Bytes that are charged at once.
const STEP: usize = 4096;

/// See the module.
#[derive(Debug)]
pub struct HashEntries(Box<[RwLock<Partition>]>);

#[derive(Debug)]
struct Partition {
    rows: HashMap<u64, Rows, BuildHasherDefault<Itself>>,
    /// Rows that share a hash with others.
    listed: usize,
    memory: Reservation,
}

/// The rows with a hash.
#[derive(Debug)]
enum Rows {
    One(RowId),
    Many(Box<Many>),
}

#[derive(Debug)]
struct Many {
    rows: List,
    /// Whether their keys differ.
    is_mixed: bool,
}

/// In order.
#[derive(Debug)]
enum List {
    Few(Vec<RowId>),
    Set(BTreeSet<RowId>),
}

/// What writes the key of a row behind others.
pub type WriteKey<'a> = &'a dyn Fn(RowId, &mut Vec<u8>);

/// A hash is its own hash. The bits that chose the partition come last.
#[derive(Debug, Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash.rotate_left(PARTITIONS.ilog2());
    }
}

impl List {
    /// Whether it was not there.
    fn insert(&mut self, row: RowId) -> bool {
        match self {
            Self::Few(rows) => match rows.binary_search(&row) {
                Ok(_) => return false,
                Err(at) if rows.len() < FEW => rows.insert(at, row),
                Err(_) => *self = Self::Set(rows.drain(..).chain([row]).collect()),
            },
            Self::Set(rows) => return rows.insert(row),
        }
        true
    }

    /// Whether it was there.
    fn remove(&mut self, row: RowId) -> bool {
        match self {
            Self::Few(rows) => rows.binary_search(&row).map(|at| rows.remove(at)).is_ok(),
            Self::Set(rows) => rows.remove(&row),
        }
    }

    fn first(&self) -> Option<RowId> {
        match self {
            Self::Few(rows) => rows.first().copied(),
            Self::Set(rows) => rows.first().copied(),
        }
    }

    fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    /// Shows each, in order, as long as `show` says so.
    fn each(&self, show: &mut dyn FnMut(RowId) -> bool) -> bool {
        match self {
            Self::Few(rows) => rows.iter().all(|row| show(*row)),
            Self::Set(rows) => rows.iter().all(|row| show(*row)),
        }
    }
}

impl Partition {
    /// Charges for one more hash and one more row in a list.
    fn reserve(&mut self) -> Result<()> {
        let room = match self.rows.capacity() {
            capacity if capacity == self.rows.len() => (2 * capacity).max(4),
            capacity => capacity,
        };
        let needed = room * ENTRY + (self.listed + 2) * ROW;
        if needed > self.memory.bytes() {
            self.memory.resize(needed.next_multiple_of(STEP))?;
        }
        Ok(())
    }

    /// Gives memory back once most of it is not needed.
    fn shrink(&mut self) {
        if self.rows.len() * 8 < self.rows.capacity() {
            self.rows.shrink_to(2 * self.rows.len());
        }
        let needed = (self.rows.capacity() * ENTRY + self.listed * ROW).next_multiple_of(STEP);
        if needed * 2 < self.memory.bytes() {
            // It does not grow.
            let _ = self.memory.resize(needed);
        }
    }
}

impl HashEntries {
    /// No entries, charged to `budget`.
    pub fn new(budget: &Budget) -> Result<Self> {
        let partition = |_| {
            let (rows, memory) = (HashMap::default(), budget.reserve(0, "index")?);
            Ok(RwLock::new(Partition { rows, listed: 0, memory }))
        };
        Ok(Self((0..PARTITIONS).map(partition).collect::<Result<_>>()?))
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        let bytes =
            |partition: &RwLock<Partition>| partition.read().unwrap_or_else(PoisonError::into_inner).memory.bytes();
        self.0.iter().map(bytes).sum()
    }

    /// How many rows it has.
    #[cfg(test)]
    pub fn rows(&self) -> usize {
        let rows = |partition: &RwLock<Partition>| {
            let partition = partition.read().unwrap_or_else(PoisonError::into_inner);
            let ones = partition.rows.values().filter(|rows| matches!(rows, Rows::One(_))).count();
            ones + partition.listed
        };
        self.0.iter().map(rows).sum()
    }

    /// Enters a row with its key, unless it is there. An error has changed nothing.
    pub fn insert(&self, key: &[u8], row: RowId, write_key: WriteKey<'_>) -> Result<()> {
        let hash = hash_bytes(key);
        let mut partition = self.0[partition_of(hash)].write().unwrap_or_else(PoisonError::into_inner);
        partition.reserve()?;
        let Partition { rows, listed, .. } = &mut *partition;
        match rows.entry(hash) {
            Entry::Vacant(place) => _ = place.insert(Rows::One(row)),
            Entry::Occupied(mut place) => match place.get_mut() {
                Rows::One(other) if *other == row => {}
                Rows::One(other) => {
                    let is_mixed = !has_key(*other, key, write_key);
                    let both = List::Few(vec![(*other).min(row), (*other).max(row)]);
                    place.insert(Rows::Many(Box::new(Many { rows: both, is_mixed })));
                    *listed += 2;
                }
                Rows::Many(many) => {
                    let other = many.rows.first();
                    many.is_mixed |= other.is_some_and(|other| !has_key(other, key, write_key));
                    *listed += usize::from(many.rows.insert(row));
                }
            },
        }
        Ok(())
    }

    /// Removes a row if it is there.
    pub fn remove(&self, key: &[u8], row: RowId) {
        let hash = hash_bytes(key);
        let mut partition = self.0[partition_of(hash)].write().unwrap_or_else(PoisonError::into_inner);
        let Partition { rows, listed, .. } = &mut *partition;
        if let Entry::Occupied(mut place) = rows.entry(hash) {
            let is_last = match place.get_mut() {
                Rows::One(only) => *only == row,
                Rows::Many(many) => {
                    *listed -= usize::from(many.rows.remove(row));
                    many.rows.is_empty()
                }
            };
            if is_last {
                place.remove();
            }
        }
        partition.shrink();
    }

    /// Shows the rows with a key, in order, as long as `show` says so. Whether it always did.
    pub fn each(&self, key: &[u8], write_key: WriteKey<'_>, show: &mut dyn FnMut(RowId) -> bool) -> bool {
        let hash = hash_bytes(key);
        let partition = self.0[partition_of(hash)].read().unwrap_or_else(PoisonError::into_inner);
        match partition.rows.get(&hash) {
            None => true,
            Some(Rows::One(row)) => !has_key(*row, key, write_key) || show(*row),
            Some(Rows::Many(many)) if many.is_mixed => {
                many.rows.each(&mut |row| !has_key(row, key, write_key) || show(row))
            }
            Some(Rows::Many(many)) => {
                let is_key = many.rows.first().is_some_and(|first| has_key(first, key, write_key));
                !is_key || many.rows.each(show)
            }
        }
    }
}

fn has_key(row: RowId, key: &[u8], write_key: WriteKey<'_>) -> bool {
    let mut own = Vec::with_capacity(key.len());
    write_key(row, &mut own);
    own == key
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use base::Random;

    use super::*;

    #[test]
    fn entries_are_as_in_a_map_of_sets() {
        let budget = Budget::new(usize::MAX);
        let entries = HashEntries::new(&budget).unwrap();
        let mut random = Random(5);
        let mut model: BTreeMap<Vec<u8>, BTreeSet<RowId>> = BTreeMap::new();
        // Few keys have many rows.
        let key = |row: u64| (row * row % 97 * (row % 3)).to_be_bytes().to_vec();
        let write: WriteKey<'_> = &|row, to| to.extend(key(row.to_bits()));
        for _ in 0..if cfg!(miri) { 500 } else { 50_000 } {
            let row = random.below(4000);
            let of_key = model.entry(key(row)).or_default();
            if random.below(3) > 0 {
                entries.insert(&key(row), RowId::from_bits(row), write).unwrap();
                of_key.insert(RowId::from_bits(row));
            } else {
                entries.remove(&key(row), RowId::from_bits(row));
                of_key.remove(&RowId::from_bits(row));
            }
        }
        assert_eq!(entries.rows(), model.values().map(BTreeSet::len).sum::<usize>());
        let peak = entries.bytes();
        for (key, rows) in &model {
            let mut found = Vec::new();
            assert!(entries.each(key, write, &mut |row| {
                found.push(row);
                true
            }));
            assert_eq!(found, rows.iter().copied().collect::<Vec<_>>());
            assert_eq!(entries.each(key, write, &mut |_| false), rows.is_empty());
            rows.iter().for_each(|row| entries.remove(key, *row));
        }
        assert!(entries.each(b"no key", write, &mut |_| unreachable!("nobody has it")));
        assert!(entries.rows() == 0 && entries.bytes() <= peak);
    }

    #[test]
    fn rows_whose_keys_have_one_hash_are_told_apart() {
        // Two keys that are told to be one by whoever enters them have one place.
        let entries = HashEntries::new(&Budget::new(usize::MAX)).unwrap();
        let write: WriteKey<'_> = &|row, to| to.push(row.to_bits() as u8 % 2);
        for row in [1].into_iter().chain(0..200) {
            entries.insert(&[0], RowId::from_bits(row), write).unwrap();
        }
        let mut found = Vec::new();
        entries.each(&[0], write, &mut |row| {
            found.push(row.to_bits());
            true
        });
        assert_eq!(found, (0..200).step_by(2).collect::<Vec<_>>());
    }

    #[test]
    fn an_entry_for_which_there_is_no_memory_changes_nothing() {
        let budget = Budget::new(64 << 10);
        let entries = HashEntries::new(&budget).unwrap();
        let write: WriteKey<'_> = &|row, to| to.extend(row.to_bits().to_be_bytes());
        let mut row = 0_u64;
        while entries.insert(&row.to_be_bytes(), RowId::from_bits(row), write).is_ok() {
            row += 1;
        }
        assert_eq!(entries.rows() as u64, row);
        entries.remove(&0_u64.to_be_bytes(), RowId::from_bits(0));
        assert_eq!(entries.rows() as u64, row - 1);
    }
}
