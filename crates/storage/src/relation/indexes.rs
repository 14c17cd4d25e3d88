//! The ordered indexes of a relation: how they are made, what commits enter, and what scans find in them.
//!
//! An index belongs to whoever has it defined; the relation knows those that somebody has. One is made while nobody else
//! changes rows of the relation: who does is waited for, and who begins to finds the index there.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, PoisonError, Weak};

use base::memory::Reservation;
use base::{Error, Result, SqlState};
use index::{Rowex, Tree};
use types::Physical;

use super::change::Refused;
use super::zone::text;
use super::{Relation, Snapshot};
use crate::body::Cell;
use crate::clock::{Conflict, Stamp, View};
use crate::index::ordered::{KeyRows, empty};
use crate::index::{IndexDefinition, IndexPart, Liveness, OrderedIndex, Unique};
use crate::lock::lock;
use crate::{ChunkReader, RowId, ScanPredicate};

/// Most keys that a search looks up one by one.
const MOST_KEYS: usize = 1024;
/// A search that finds more rows than one in so many is not worth it, unless there are few.
const ROWS_A_FOUND: usize = 512;
const FEW: usize = 64;

/// The key of a row that wants to be entered, why it may not.
pub(super) struct Twice {
    pub index: Arc<OrderedIndex>,
    pub by: RowId,
    pub liveness: Liveness,
}

impl KeyRows for Relation {
    fn encode(&self, row: RowId, parts: &[(IndexPart, Physical)], key: &mut Vec<u8>) -> bool {
        let (body, sidecar) = self.directory.get(row.chunk()).pin_changed();
        let mut has_null = false;
        for (part, _) in parts {
            let mut push = |values: crate::values::Values<'_>, at: usize| {
                has_null |= values.is_null(at);
                part.push(values, at, key);
            };
            let changed = sidecar.as_ref();
            if !changed.is_some_and(|sidecar| sidecar.with_newest(part.attribute, row.offset(), &mut push)) {
                let mut cell = Cell::default();
                let (values, at) = body.cell(part.attribute, row.offset(), &mut cell);
                push(values, at);
            }
        }
        has_null
    }
}

impl Relation {
    /// The indexes that somebody has.
    pub fn indexes(&self) -> Vec<Arc<OrderedIndex>> {
        if !self.is_indexed() {
            return Vec::new();
        }
        self.indexes.read().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
    }

    /// Whether it ever had an index.
    pub(super) fn is_indexed(&self) -> bool {
        self.is_indexed.load(std::sync::atomic::Ordering::Acquire)
    }

    /// Whether the attribute is part of some key, so that a row with another value of it is another row.
    pub fn is_key(&self, attribute: usize) -> bool {
        let in_index = |index: &Arc<OrderedIndex>| index.parts().iter().any(|(part, _)| part.attribute == attribute);
        self.schema.primary_key().contains(&attribute) || self.indexes().iter().any(in_index)
    }

    /// A transaction begins to change rows.
    pub(crate) fn enter_writer(&self, stamp: &Arc<Stamp>) {
        let mut writers = lock(&self.writers);
        writers.retain(|writer| !writer.has_ended());
        writers.push(stamp.clone());
    }

    /// A conflict if a transaction other than this one has begun to change rows and has not ended.
    fn check_writers(&self, writers: &mut Vec<Arc<Stamp>>, own: &Arc<Stamp>) -> Result<(), Refused> {
        writers.retain(|writer| !writer.has_ended());
        match writers.iter().find(|writer| !Arc::ptr_eq(own, writer)) {
            Some(other) => Err(Refused::Conflict(Conflict::Running(other.clone()))),
            None => Ok(()),
        }
    }

    /// Transactions note what they do to rows from now on.
    pub(crate) fn note_effects(&self, own: &Arc<Stamp>) -> Result<(), Refused> {
        if !self.effects_are_noted() {
            let mut writers = lock(&self.writers);
            self.check_writers(&mut writers, own)?;
            self.is_noted.store(true, std::sync::atomic::Ordering::Release);
        }
        Ok(())
    }

    /// Whether transactions note what they do to rows.
    pub fn effects_are_noted(&self) -> bool {
        self.is_noted.load(std::sync::atomic::Ordering::Acquire)
    }

    /// An index of the relation's rows and of all that come. Error 23505 if a key is not unique. Conflicts if another
    /// transaction is changing rows. The index is complete for the view, and for later ones once that is told it.
    pub(crate) fn create_index(
        self: &Arc<Self>,
        definition: IndexDefinition,
        own: &Arc<Stamp>,
        snapshot: impl FnOnce(View) -> Snapshot,
    ) -> Result<Arc<OrderedIndex>, Refused> {
        let index = Arc::new(OrderedIndex::new(definition, &self.schema));
        let mut writers = lock(&self.writers);
        self.check_writers(&mut writers, own)?;
        let keys = lock(&self.keys);
        let writing = index.write()?;
        let mut indexes = self.indexes.write().unwrap_or_else(PoisonError::into_inner);
        indexes.retain(|index| index.strong_count() > 0);
        indexes.push(Arc::downgrade(&index));
        drop(indexes);
        self.is_indexed.store(true, std::sync::atomic::Ordering::Release);
        let snapshot = snapshot(self.clock.view());
        drop(keys);
        drop(writers);
        // Whoever enters rows from here on waits for the tree.
        index.build(self.tree_of(&index, &snapshot)?);
        drop(writing);
        Ok(index)
    }

    /// An index of a relation that nobody knows yet and that has no rows.
    pub fn add_index(&self, definition: IndexDefinition) -> Arc<OrderedIndex> {
        assert_eq!(self.directory.len(), 0, "there are no rows");
        let index = Arc::new(OrderedIndex::new(definition, &self.schema));
        index.build(empty(&self.budget));
        index.complete(0);
        self.indexes.write().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&index));
        self.is_indexed.store(true, std::sync::atomic::Ordering::Release);
        index
    }

    /// The tree of the rows of a snapshot.
    fn tree_of(&self, index: &Arc<OrderedIndex>, snapshot: &Snapshot) -> Result<Tree<Rowex>> {
        let mut runs = Vec::new();
        for number in 0..snapshot.chunk_count() {
            base::statement::check()?;
            let rows = snapshot.chunk(number).rows();
            if rows > 0 {
                runs.push(Run::of(self, index, snapshot, number, rows)?);
            }
        }
        if runs.is_empty() {
            return Ok(empty(&self.budget));
        }
        self.refuse_twice(index, &runs)?;
        let merged = Merge::of(&runs).map(|(run, at)| runs[run].entry(at));
        Tree::from_sorted(&self.budget, merged, |_, _| Error::internal("keys with their rows are unique"))
    }

    /// Error 23505 if two rows have the same key.
    fn refuse_twice(&self, index: &OrderedIndex, runs: &[Run]) -> Result<()> {
        if !index.is_unique(false) {
            return Ok(());
        }
        let mut before: Option<(&[u8], bool)> = None;
        for (number, (run, at)) in Merge::of(runs).enumerate() {
            if number % (1 << 16) == 0 {
                base::statement::check()?;
            }
            let (key, row) = runs[run].entry(at);
            let key = &key[..key.len() - size_of::<u64>()];
            let has_null = runs[run].entries[at].has_null;
            if before == Some((key, has_null)) && index.is_unique(has_null) {
                let reader = self.newest(RowId::from_bits(row));
                let message = format!("could not create unique index \"{}\"", index.definition().name);
                let (names, values) = self.key_text(index.definition(), &reader);
                let detail = format!("Key ({names})=({values}) is duplicated.");
                return Err(Error::new(SqlState::UNIQUE_VIOLATION, message).detail(detail));
            }
            before = Some((key, has_null));
        }
        Ok(())
    }

    /// A row as it is now.
    fn newest(&self, row: RowId) -> Vec<types::Value> {
        let (body, sidecar) = self.directory.get(row.chunk()).pin_changed();
        let reader = ChunkReader::new(body, row.offset() + 1);
        match sidecar {
            Some(sidecar) => reader.with_changes(sidecar, self.clock.view()).row(row.offset()),
            None => reader.row(row.offset()),
        }
    }

    /// The primary key, as if it were an ordered index.
    pub(super) fn key(&self) -> IndexDefinition {
        let part = |&attribute: &usize| IndexPart { attribute, descending: false, nulls_first: false };
        let parts = self.schema.primary_key().iter().map(part).collect();
        IndexDefinition { name: format!("{}_pkey", self.name), parts, unique: Unique::Yes }
    }

    /// The names of a key's attributes, and its values in a row.
    pub(super) fn key_text(&self, definition: &IndexDefinition, row: &[types::Value]) -> (String, String) {
        let attributes =
            definition.parts.iter().map(|part| (&self.schema.attributes()[part.attribute], part.attribute));
        let names: Vec<&str> = attributes.clone().map(|(attribute, _)| attribute.name.as_str()).collect();
        let values: Vec<String> = attributes.map(|(attribute, at)| text(attribute.sql_type, &row[at])).collect();
        (names.join(", "), values.join(", "))
    }

    /// Enters rows of a chunk in all ordered indexes, unless some key is taken.
    pub(super) fn enter_in_indexes(
        &self,
        chunk: usize,
        rows: std::ops::Range<usize>,
        stamp: Option<&Arc<Stamp>>,
    ) -> Result<Option<(RowId, Twice)>> {
        for index in self.indexes() {
            let writing = index.write()?;
            let mut key = Vec::new();
            for row in rows.clone().map(|row| RowId::new(chunk, row)) {
                key.clear();
                let has_null = self.encode(row, index.parts(), &mut key);
                if index.is_unique(has_null) {
                    let taken = index.find(self, &key, |by| match self.liveness(by, stamp) {
                        _ if by == row => None,
                        Liveness::Dead => None,
                        liveness => Some((by, liveness)),
                    });
                    if let Some((by, liveness)) = taken {
                        drop(writing);
                        return Ok(Some((row, Twice { index, by, liveness })));
                    }
                }
                index.insert(&writing, self, &key, row)?;
            }
        }
        Ok(None)
    }

    /// Removes rows of a chunk from all ordered indexes, and waits for those who may be looking at them.
    pub(super) fn forget_in_indexes<I: Iterator<Item = usize>>(&self, chunk: usize, rows: impl Fn() -> I) {
        for index in self.indexes() {
            let writing = index.write_at_last();
            let mut key = Vec::new();
            for row in rows().map(|row| RowId::new(chunk, row)) {
                key.clear();
                self.encode(row, index.parts(), &mut key);
                index.remove(&writing, self, &key, row);
            }
            index.wait_for_readers();
        }
    }
}

impl Snapshot {
    /// Whether an index of the relation knows all its rows.
    pub fn is_complete(&self, index: &OrderedIndex) -> bool {
        index.is_complete(self.view().timestamp())
    }

    /// The rows among which are all that satisfy the predicates, in order, if some index finds them and they are few; and the
    /// index.
    pub fn search(&self, predicates: &[ScanPredicate]) -> Option<(Vec<RowId>, Arc<OrderedIndex>)> {
        self.search_most(predicates, (self.rows() / ROWS_A_FOUND).max(FEW))
    }

    fn search_most(&self, predicates: &[ScanPredicate], most: usize) -> Option<(Vec<RowId>, Arc<OrderedIndex>)> {
        let complete = self.relation().indexes().into_iter().filter(|index| self.is_complete(index));
        let left = complete.filter_map(|index| Some((index.left(predicates, MOST_KEYS)?, index)));
        let (left, index) = left.max_by_key(|(left, _)| left.score)?;
        let mut found = index.rows_in(&**self.relation(), &left.ranges, most, |row| self.sees(row))?;
        found.sort_unstable();
        found.dedup();
        Some((found, index))
    }
}

/// The keys of a chunk's rows, sorted.
struct Run {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    _memory: Reservation,
}

struct Entry {
    /// The key's first bytes, by which most are told apart.
    first: u64,
    from: u32,
    to: u32,
    row: RowId,
    has_null: bool,
}

impl Run {
    fn of(relation: &Relation, index: &OrderedIndex, snapshot: &Snapshot, chunk: usize, rows: usize) -> Result<Self> {
        let mut memory = relation.budget.reserve(rows * size_of::<Entry>(), "index")?;
        let (mut bytes, mut entries) = (Vec::new(), Vec::with_capacity(rows));
        for row in (0..rows).map(|row| RowId::new(chunk, row)).filter(|row| snapshot.sees(*row)) {
            let from = bytes.len();
            let has_null = relation.encode(row, index.parts(), &mut bytes);
            bytes.extend(row.to_bits().to_be_bytes());
            let (from, to) = (u32::try_from(from), u32::try_from(bytes.len()));
            let (Ok(from), Ok(to)) = (from, to) else {
                return Err(Error::new(SqlState::PROGRAM_LIMIT, "the keys of an index are too long"));
            };
            let mut first = [0; 8];
            let key = &bytes[from as usize..to as usize];
            first[..key.len().min(8)].copy_from_slice(&key[..key.len().min(8)]);
            entries.push(Entry { first: u64::from_be_bytes(first), from, to, row, has_null });
            if bytes.capacity() + rows * size_of::<Entry>() > memory.bytes() {
                memory.resize(bytes.capacity() + rows * size_of::<Entry>())?;
            }
        }
        let key = |entry: &Entry| &bytes[entry.from as usize..entry.to as usize];
        entries.sort_unstable_by(|a, b| a.first.cmp(&b.first).then_with(|| key(a).cmp(key(b))));
        Ok(Self { bytes, entries, _memory: memory })
    }

    fn entry(&self, at: usize) -> (&[u8], u64) {
        let entry = &self.entries[at];
        (&self.bytes[entry.from as usize..entry.to as usize], entry.row.to_bits())
    }
}

/// The first bytes of a key, the key, the run that has it, and the entry there; the least first.
type Next<'r> = Reverse<(u64, &'r [u8], usize, usize)>;

/// The entries of runs in the order of their keys: (run, entry).
struct Merge<'r> {
    runs: &'r [Run],
    next: BinaryHeap<Next<'r>>,
}

impl<'r> Merge<'r> {
    fn of(runs: &'r [Run]) -> Self {
        let mut merge = Self { runs, next: BinaryHeap::with_capacity(runs.len()) };
        (0..runs.len()).for_each(|run| merge.push(run, 0));
        merge
    }

    fn push(&mut self, run: usize, at: usize) {
        if let Some(entry) = self.runs[run].entries.get(at) {
            self.next.push(Reverse((entry.first, self.runs[run].entry(at).0, run, at)));
        }
    }
}

impl Iterator for Merge<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let Reverse((_, _, run, at)) = self.next.pop()?;
        self.push(run, at + 1);
        Some((run, at))
    }
}
