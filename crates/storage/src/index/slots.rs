//! The index behind PRIMARY KEY: open addressing with linear probing, 8 bytes a slot, in 64 partitions of the hash.
//!
//! A slot holds 16 bits of the key's hash and the 48-bit row id; 0 is empty. The keys themselves stay in the chunks. A
//! lookup touches one cache line on average and reads a row only when the tags agree. Removed entries leave a mark until
//! the table is made anew. A partition is locked for a batch of keys, not for each.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use base::memory::Reservation;
use base::prefetch::prefetch;
use base::{Budget, Result};

use super::{Keys, Liveness, OneKey, Rows, Taken, UniqueIndex};
use crate::RowId;
use crate::hash::PARTITIONS;

const ID_BITS: u32 = 48;
/// The slot of an entry that was removed. No row has this id.
const REMOVED: u64 = u64::MAX;

/// The index.
#[derive(Debug)]
pub struct SlotIndex {
    /// The key's attributes in the rows.
    attributes: Vec<usize>,
    partitions: Box<[RwLock<Table>]>,
}

#[derive(Debug)]
struct Table {
    slots: Vec<u64>,
    entries: usize,
    removed: usize,
    memory: Reservation,
}

/// A slot stores a row id plus one, so that the first row of the first chunk is not the empty slot.
fn slot(hash: u64, id: RowId) -> u64 {
    (hash << ID_BITS) | (id.to_bits() + 1)
}

fn id(slot: u64) -> RowId {
    RowId::from_bits((slot & ((1 << ID_BITS) - 1)) - 1)
}

/// What finds the key of a row that is in the index.
struct Stored<'a> {
    attributes: &'a [usize],
    rows: &'a dyn Rows,
}

impl Stored<'_> {
    #[cold]
    fn has_key(&self, row: RowId, keys: &Keys<'_>, number: usize) -> bool {
        let reader = self.rows.reader(row.chunk(), row.offset() + 1);
        keys.is_key_of(number, &reader, self.attributes, row.offset())
    }
}

impl Table {
    fn home(&self, hash: u64) -> usize {
        // The highest bits chose the partition, and the low 16 are the tag.
        let hash = hash << PARTITIONS.ilog2();
        ((u128::from(hash) * self.slots.len() as u128) >> 64) as usize
    }

    fn next(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }

    /// Where the key's entry is, or where it would go. There is an empty slot.
    #[inline]
    fn place(&self, hash: u64, mut is_it: impl FnMut(RowId) -> bool) -> usize {
        let mut at = self.home(hash);
        while self.slots[at] != 0 {
            let other = self.slots[at];
            if other >> ID_BITS == (hash << ID_BITS) >> ID_BITS && other != REMOVED && is_it(id(other)) {
                break;
            }
            at = self.next(at);
        }
        at
    }

    /// Makes room for `additional` entries. Does nothing or all.
    fn reserve(&mut self, additional: usize, stored: &Stored<'_>) -> Result<()> {
        let needed = self.entries + additional;
        // At most three quarters full.
        if (needed + self.removed) * 4 <= self.slots.len() * 3 {
            return Ok(());
        }
        // Bulk loads get what they need, small inserts double it, and marks alone need no more room.
        let capacity = match self.slots.len() {
            len if needed * 2 <= len => len,
            len => (needed + needed / 2).max(len * 2).max(16),
        };
        self.memory.resize(capacity * 8)?;
        let old = std::mem::replace(&mut self.slots, vec![0; capacity]);
        let mut ids: Vec<RowId> = old.into_iter().filter(|&s| s != 0 && s != REMOVED).map(id).collect();
        ids.sort_unstable();
        self.removed = 0;
        for of_chunk in ids.chunk_by(|a, b| a.chunk() == b.chunk()) {
            let last = of_chunk[of_chunk.len() - 1];
            let reader = stored.rows.reader(last.chunk(), last.offset() + 1);
            for run in of_chunk.chunk_by(|a, b| a.offset() + 1 == b.offset()) {
                let from = run[0].offset();
                if let [row] = run {
                    let hash = Keys::new(&reader, stored.attributes, from..from + 1).hash(from);
                    let at = self.place(hash, |_| false);
                    self.slots[at] = slot(hash, *row);
                    continue;
                }
                let hashes = Keys::new(&reader, stored.attributes, from..from + run.len()).hashes();
                for (&row, hash) in run.iter().zip(hashes) {
                    let at = self.place(hash, |_| false);
                    self.slots[at] = slot(hash, row);
                }
            }
        }
        Ok(())
    }
}

impl SlotIndex {
    /// An empty index of these attributes, charged to `budget`.
    pub fn new(attributes: Vec<usize>, budget: &Budget) -> Result<Self> {
        let table = |_| {
            let memory = budget.reserve(0, "primary key")?;
            Ok(RwLock::new(Table { slots: Vec::new(), entries: 0, removed: 0, memory }))
        };
        Ok(Self { attributes, partitions: (0..PARTITIONS).map(table).collect::<Result<_>>()? })
    }

    fn read(&self, partition: usize) -> RwLockReadGuard<'_, Table> {
        self.partitions[partition].read().unwrap_or_else(PoisonError::into_inner)
    }
    fn write(&self, partition: usize) -> RwLockWriteGuard<'_, Table> {
        self.partitions[partition].write().unwrap_or_else(PoisonError::into_inner)
    }
    fn has_key(&self, row: RowId, key: OneKey<'_>, rows: &dyn Rows) -> bool {
        let reader = rows.reader(row.chunk(), row.offset() + 1);
        key.is_key_of(reader.body(), &self.attributes, row.offset())
    }
    fn stored<'a>(&'a self, rows: &'a dyn Rows) -> Stored<'a> {
        Stored { attributes: &self.attributes, rows }
    }
}

/// Calls `f` with each partition that some hash is of, and the numbers of these hashes in order.
fn each_partition<E>(hashes: &[u64], mut f: impl FnMut(usize, &[u32]) -> Result<(), E>) -> Result<(), E> {
    if let &[hash] = hashes {
        return f(crate::partition_of(hash), &[0]);
    }
    let (numbers, starts) = Keys::by_partition(hashes);
    for partition in 0..PARTITIONS {
        let numbers = &numbers[starts[partition]..starts[partition + 1]];
        if !numbers.is_empty() {
            f(partition, numbers)?;
        }
    }
    Ok(())
}

impl UniqueIndex for SlotIndex {
    fn bytes(&self) -> usize {
        (0..self.partitions.len()).map(|partition| self.read(partition).memory.bytes()).sum()
    }

    fn reserve(&self, additional: usize, rows: &dyn Rows) -> Result<()> {
        // Small additions find their partitions' room themselves. Partitions differ by chance.
        let each = additional / PARTITIONS;
        if each == 0 {
            return Ok(());
        }
        (0..PARTITIONS).try_for_each(|p| self.write(p).reserve(each + each / 16, &self.stored(rows)))
    }

    fn find(&self, keys: &Keys<'_>, rows: &dyn Rows, sees: &dyn Fn(RowId) -> bool, out: &mut Vec<Option<RowId>>) {
        let (hashes, stored, from) = (keys.hashes(), self.stored(rows), out.len());
        out.resize(from + hashes.len(), None);
        let _ = each_partition(&hashes, |partition, numbers| {
            let table = self.read(partition);
            if table.entries > 0 {
                fetch(&table, numbers, &hashes);
                for &number in numbers {
                    let number = number as usize;
                    let at = table.place(hashes[number], |row| sees(row) && stored.has_key(row, keys, number));
                    out[from + number] = (table.slots[at] != 0).then(|| id(table.slots[at]));
                }
            }
            Ok::<(), ()>(())
        });
    }

    fn find_one(&self, key: OneKey<'_>, is_it: &mut dyn FnMut(RowId) -> bool) -> Option<RowId> {
        let hash = key.hash();
        let table = self.read(crate::partition_of(hash));
        if table.entries == 0 {
            return None;
        }
        let at = table.place(hash, is_it);
        (table.slots[at] != 0).then(|| id(table.slots[at]))
    }

    fn insert(
        &self,
        keys: &Keys<'_>,
        first: RowId,
        rows: &dyn Rows,
        alive: &dyn Fn(RowId) -> Liveness,
    ) -> Result<Option<Taken>> {
        let (hashes, stored) = (keys.hashes(), self.stored(rows));
        // The first of all partitions: they are not gone through in the order of the rows.
        let mut taken: Option<Taken> = None;
        each_partition(&hashes, |partition, numbers| {
            let mut table = self.write(partition);
            table.reserve(numbers.len(), &stored)?;
            fetch(&table, numbers, &hashes);
            for &number in numbers {
                let row = first.plus(number as usize);
                let hash = hashes[number as usize];
                let mut liveness = Liveness::Dead;
                let at = table.place(hash, |other| {
                    // Dead rows keep their entries as long as somebody sees them.
                    stored.has_key(other, keys, number as usize) && {
                        liveness = alive(other);
                        liveness != Liveness::Dead
                    }
                });
                if table.slots[at] != 0 {
                    let this = Taken { row, by: id(table.slots[at]), liveness };
                    taken = Some(taken.filter(|t| t.row < row).unwrap_or(this));
                    break;
                }
                table.entries += 1;
                table.slots[at] = slot(hash, row);
            }
            Ok::<(), base::Error>(())
        })?;
        Ok(taken)
    }

    fn insert_one(
        &self,
        key: OneKey<'_>,
        row: RowId,
        rows: &dyn Rows,
        alive: &dyn Fn(RowId) -> Liveness,
    ) -> Result<Option<Taken>> {
        let hash = key.hash();
        let mut table = self.write(crate::partition_of(hash));
        table.reserve(1, &self.stored(rows))?;
        let mut liveness = Liveness::Dead;
        let at = table.place(hash, |other| {
            self.has_key(other, key, rows) && {
                liveness = alive(other);
                liveness != Liveness::Dead
            }
        });
        if table.slots[at] != 0 {
            return Ok(Some(Taken { row, by: id(table.slots[at]), liveness }));
        }
        table.entries += 1;
        table.slots[at] = slot(hash, row);
        Ok(None)
    }

    fn remove(&self, keys: &Keys<'_>, first: RowId) {
        let hashes = keys.hashes();
        let _ = each_partition(&hashes, |partition, numbers| {
            let mut table = self.write(partition);
            if table.entries > 0 {
                for &number in numbers {
                    let row = first.plus(number as usize);
                    let at = table.place(hashes[number as usize], |other| other == row);
                    if table.slots[at] != 0 {
                        table.slots[at] = REMOVED;
                        (table.entries, table.removed) = (table.entries - 1, table.removed + 1);
                    }
                }
            }
            Ok::<(), ()>(())
        });
    }
}

/// Fetches the slots that the hashes lead to, before they are needed one after the other.
fn fetch(table: &Table, numbers: &[u32], hashes: &[u64]) {
    for &number in numbers {
        prefetch(&table.slots[table.home(hashes[number as usize])]);
    }
}
