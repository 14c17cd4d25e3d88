//! The index behind PRIMARY KEY: open addressing with linear probing, 8 bytes a slot, in 64 partitions of the hash.
//!
//! A slot holds 16 bits of the key's hash and the 48-bit row id; 0 is empty. The keys themselves stay in the chunks. A
//! lookup touches one cache line on average and reads a row only when the tags agree. Removed entries leave a mark until
//! the table is made anew.
//!
//! Lookups take no lock: a slot that was empty gets its entry, or one its mark, as a whole, and a table that is made anew takes the
//! place of the old one. Whoever comes too early for an entry sees no row of that commit either. Writers have a lock for each
//! partition, taken for a batch of keys, not for each.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use base::memory::Reservation;
use base::prefetch::prefetch;
use base::{Budget, Result};

use super::{Keys, Liveness, OneKey, Rows, Taken, UniqueIndex};
use crate::RowId;
use crate::hash::PARTITIONS;
use crate::lock::lock;
use crate::published::{Guard, Published, pin};

const ID_BITS: u32 = 48;
/// The slot of an entry that was removed. No row has this id.
const REMOVED: u64 = u64::MAX;

/// The index.
#[derive(Debug)]
pub struct SlotIndex {
    /// The key's attributes in the rows.
    attributes: Vec<usize>,
    partitions: Box<[Partition]>,
}

#[derive(Debug)]
struct Partition {
    table: Published<Table>,
    writer: Mutex<Writer>,
}

/// The slots of a partition: some empty, unless there is none at all.
#[derive(Debug)]
struct Table(Box<[AtomicU64]>);

/// What only writers want to know of a table.
#[derive(Debug)]
struct Writer {
    entries: usize,
    removed: usize,
    memory: Reservation,
}

/// A partition, for who writes into it.
struct Writing<'p> {
    partition: &'p Partition,
    writer: MutexGuard<'p, Writer>,
    guard: Guard,
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
    fn empty(slots: usize) -> Self {
        // SAFETY: zeros are numbers, and empty slots.
        Self(unsafe { Box::new_zeroed_slice(slots).assume_init() })
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn slot(&self, at: usize) -> u64 {
        self.0[at].load(Ordering::Acquire)
    }

    /// The row that has its entry at a place, if there is one.
    #[inline]
    fn row(&self, at: usize) -> Option<RowId> {
        Some(self.slot(at)).filter(|slot| *slot != 0).map(id)
    }

    fn put(&self, at: usize, slot: u64) {
        self.0[at].store(slot, Ordering::Release);
    }

    fn home(&self, hash: u64) -> usize {
        // The highest bits chose the partition, and the low 16 are the tag.
        let hash = hash << PARTITIONS.ilog2();
        ((u128::from(hash) * self.len() as u128) >> 64) as usize
    }

    fn next(&self, at: usize) -> usize {
        if at + 1 == self.len() { 0 } else { at + 1 }
    }

    /// Where the key's entry is, or where it would go. There is an empty slot.
    #[inline]
    fn place(&self, hash: u64, mut is_it: impl FnMut(RowId) -> bool) -> usize {
        let mut at = self.home(hash);
        loop {
            match self.slot(at) {
                0 => return at,
                other if other >> ID_BITS == (hash << ID_BITS) >> ID_BITS && other != REMOVED && is_it(id(other)) => {
                    return at;
                }
                _ => at = self.next(at),
            }
        }
    }

    /// Fetches the slots that the hashes lead to, before they are needed one after the other.
    fn fetch(&self, numbers: &[u32], hashes: &[u64]) {
        for &number in numbers {
            prefetch(&raw const self.0[self.home(hashes[number as usize])]);
        }
    }
}

impl Partition {
    fn write(&self) -> Writing<'_> {
        Writing { partition: self, writer: lock(&self.writer), guard: pin() }
    }
}

impl Writing<'_> {
    fn table(&self) -> &Table {
        self.partition.table.get(&self.guard)
    }

    /// Makes room for `additional` entries. Does nothing or all.
    fn reserve(&mut self, additional: usize, stored: &Stored<'_>) -> Result<()> {
        let (needed, slots) = (self.writer.entries + additional, self.table().len());
        // At most three quarters full.
        if (needed + self.writer.removed) * 4 <= slots * 3 {
            return Ok(());
        }
        // Bulk loads get what they need, small inserts double it, and marks alone need no more room.
        let capacity = match slots {
            len if needed * 2 <= len => len,
            len => (needed + needed / 2).max(len * 2).max(16),
        };
        self.writer.memory.resize(capacity * size_of::<u64>())?;
        let new = Table::empty(capacity);
        let old = self.table();
        let entries = (0..old.len()).map(|at| old.slot(at));
        let mut ids: Vec<RowId> = entries.filter(|&s| s != 0 && s != REMOVED).map(id).collect();
        ids.sort_unstable();
        for of_chunk in ids.chunk_by(|a, b| a.chunk() == b.chunk()) {
            let last = of_chunk[of_chunk.len() - 1];
            let reader = stored.rows.reader(last.chunk(), last.offset() + 1);
            for run in of_chunk.chunk_by(|a, b| a.offset() + 1 == b.offset()) {
                let from = run[0].offset();
                if let [row] = run {
                    let hash = Keys::new(&reader, stored.attributes, from..from + 1).hash(from);
                    new.put(new.place(hash, |_| false), slot(hash, *row));
                    continue;
                }
                let hashes = Keys::new(&reader, stored.attributes, from..from + run.len()).hashes();
                for (&row, hash) in run.iter().zip(hashes) {
                    new.put(new.place(hash, |_| false), slot(hash, row));
                }
            }
        }
        self.partition.table.set(new);
        self.writer.removed = 0;
        Ok(())
    }

    /// Enters a row at the empty place for its key.
    fn enter(&mut self, at: usize, hash: u64, row: RowId) {
        self.writer.entries += 1;
        self.table().put(at, slot(hash, row));
    }

    fn remove(&mut self, hash: u64, row: RowId) {
        let table = self.table();
        let at = table.place(hash, |other| other == row);
        if table.slot(at) != 0 {
            table.put(at, REMOVED);
            let Writer { entries, removed, .. } = &mut *self.writer;
            (*entries, *removed) = (*entries - 1, *removed + 1);
        }
    }
}

impl SlotIndex {
    /// An empty index of these attributes, charged to `budget`.
    pub fn new(attributes: Vec<usize>, budget: &Budget) -> Result<Self> {
        let table = |_| {
            let memory = budget.reserve(0, "primary key")?;
            let writer = Mutex::new(Writer { entries: 0, removed: 0, memory });
            Ok(Partition { table: Published::new(Table::empty(0)), writer })
        };
        Ok(Self { attributes, partitions: (0..PARTITIONS).map(table).collect::<Result<_>>()? })
    }

    /// The slots of the partition of a hash; none if there are none.
    fn table<'g>(&'g self, partition: usize, guard: &'g Guard) -> Option<&'g Table> {
        Some(self.partitions[partition].table.get(guard)).filter(|table| table.len() > 0)
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
        self.partitions.iter().map(|partition| lock(&partition.writer).memory.bytes()).sum()
    }

    fn reserve(&self, additional: usize, rows: &dyn Rows) -> Result<()> {
        // Small additions find their partitions' room themselves. Partitions differ by chance.
        let each = additional / PARTITIONS;
        if each == 0 {
            return Ok(());
        }
        self.partitions.iter().try_for_each(|p| p.write().reserve(each + each / 16, &self.stored(rows)))
    }

    fn find(&self, keys: &Keys<'_>, rows: &dyn Rows, sees: &dyn Fn(RowId) -> bool, out: &mut Vec<Option<RowId>>) {
        let (hashes, stored, from) = (keys.hashes(), self.stored(rows), out.len());
        out.resize(from + hashes.len(), None);
        let _ = each_partition(&hashes, |partition, numbers| {
            let guard = pin();
            if let Some(table) = self.table(partition, &guard) {
                table.fetch(numbers, &hashes);
                for &number in numbers {
                    let number = number as usize;
                    let at = table.place(hashes[number], |row| sees(row) && stored.has_key(row, keys, number));
                    out[from + number] = table.row(at);
                }
            }
            Ok::<(), ()>(())
        });
    }

    fn find_one(&self, key: OneKey<'_>, guard: &Guard, is_it: &mut dyn FnMut(RowId) -> bool) -> Option<RowId> {
        let hash = key.hash();
        let table = self.table(crate::partition_of(hash), guard)?;
        table.row(table.place(hash, is_it))
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
            let mut writing = self.partitions[partition].write();
            writing.reserve(numbers.len(), &stored)?;
            writing.table().fetch(numbers, &hashes);
            for &number in numbers {
                let row = first.plus(number as usize);
                let hash = hashes[number as usize];
                let mut liveness = Liveness::Dead;
                let table = writing.table();
                let at = table.place(hash, |other| {
                    // Dead rows keep their entries as long as somebody sees them.
                    stored.has_key(other, keys, number as usize) && {
                        liveness = alive(other);
                        liveness != Liveness::Dead
                    }
                });
                if let Some(by) = table.row(at) {
                    let this = Taken { row, by, liveness };
                    taken = Some(taken.filter(|t| t.row < row).unwrap_or(this));
                    break;
                }
                writing.enter(at, hash, row);
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
        let mut writing = self.partitions[crate::partition_of(hash)].write();
        writing.reserve(1, &self.stored(rows))?;
        let table = writing.table();
        let mut liveness = Liveness::Dead;
        let at = table.place(hash, |other| {
            self.has_key(other, key, rows) && {
                liveness = alive(other);
                liveness != Liveness::Dead
            }
        });
        if let Some(by) = table.row(at) {
            return Ok(Some(Taken { row, by, liveness }));
        }
        writing.enter(at, hash, row);
        Ok(None)
    }

    fn remove(&self, keys: &Keys<'_>, first: RowId) {
        let hashes = keys.hashes();
        let _ = each_partition(&hashes, |partition, numbers| {
            let mut writing = self.partitions[partition].write();
            if writing.table().len() > 0 {
                numbers.iter().for_each(|n| writing.remove(hashes[*n as usize], first.plus(*n as usize)));
            }
            Ok::<(), ()>(())
        });
    }
}
