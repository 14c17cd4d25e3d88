//! Indexes of rows by the values of some attributes: an Adaptive Radix Tree of keys, each with its row behind it, or a
//! [hash table](super::hashed) of rows.
//!
//! An entry is there from before its row is visible to anybody until nobody sees the row any more, so that an index knows all
//! rows that any reader of it sees, and others. Attributes of an index never change in place: a row with another key is
//! another row. What was changed before the index was made is in it as it was when it was.
//!
//! Readers look while a writer changes the tree, and wait for nobody: the protocol is ROWEX. Of a hash table, they wait for one entry.
//! There is one writer at a time.
//! Before rows give their place to others, or their memory back, those who may be looking at them are waited for.

use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use base::{Budget, Result};
use index::{GROUP, RowKeys, Rowex, Tree, USUAL_KEY, WithRow};
use types::{Chunk, Column, Physical};

use super::bytes::{self, IndexPart, KeyRange, Ordered, RowOrder};
use super::definition::{IndexDefinition, IndexMethod, Unique};
use super::exact;
use super::hashed::HashEntries;
use super::looking::Looking;
use crate::{RowId, ScanPredicate, Schema};

/// How long a writer waits for another one before it asks whether it was cancelled.
const MOMENT: Duration = Duration::from_millis(1);
/// The moment of an index that is not complete.
const NEVER: u64 = u64::MAX;

/// An index of the rows of a relation, for as long as somebody has it.
#[derive(Debug)]
pub struct RowIndex {
    definition: IndexDefinition,
    parts: Vec<(IndexPart, Physical)>,
    /// Missing until it was built.
    entries: OnceLock<Entries>,
    /// Held by who changes it, with the last key that was entered in a tree, if that is still there.
    writer: Mutex<Vec<u8>>,
    /// Those who look into the tree.
    looking: Looking,
    /// Views from this moment on find all their rows in it.
    since: AtomicU64,
}

/// The rows of an index, by their keys.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "an index has one, and lookups in a tree go through it")]
pub(crate) enum Entries {
    Tree(Tree<Rowex>),
    Hash(HashEntries),
}

/// Where an index finds the keys of rows.
pub(crate) trait KeyRows {
    /// Whether an attribute of the row is true.
    fn is_true(&self, row: RowId, attribute: usize) -> bool;
    /// Writes the values of the parts behind `key`. Returns whether one of them is NULL.
    fn encode(&self, row: RowId, parts: &[(IndexPart, Physical)], key: &mut Vec<u8>) -> bool;
}

/// The rows of a tree.
struct Keyed<'a> {
    rows: &'a dyn KeyRows,
    parts: &'a [(IndexPart, Physical)],
}

impl RowKeys for Keyed<'_> {
    type Key<'a>
        = Vec<u8>
    where
        Self: 'a;
    const PREFIX_FREE: bool = true;

    fn key(&self, row: u64) -> Vec<u8> {
        let mut key = Vec::with_capacity(USUAL_KEY);
        self.write(row, &mut key);
        key
    }

    fn write(&self, row: u64, to: &mut Vec<u8>) {
        self.rows.encode(RowId::from_bits(row), self.parts, to);
    }
}

impl Keyed<'_> {
    /// Writes the key of a row behind others.
    fn write_key(&self, row: RowId, to: &mut Vec<u8>) {
        self.rows.encode(row, self.parts, to);
    }
}

/// The right to change an index.
pub(crate) type Writing<'a> = MutexGuard<'a, Vec<u8>>;

impl RowIndex {
    /// An index that has no tree yet.
    pub(crate) fn new(definition: IndexDefinition, schema: &Schema) -> Self {
        let physical = |part: &IndexPart| schema.attributes()[part.attribute].sql_type.physical();
        let parts = definition.parts.iter().map(|part| (*part, physical(part))).collect();
        let (entries, writer, looking) = (OnceLock::new(), Mutex::default(), Looking::default());
        Self { definition, parts, entries, writer, looking, since: AtomicU64::new(NEVER) }
    }

    /// What it is of.
    pub fn definition(&self) -> &IndexDefinition {
        &self.definition
    }
    /// Its parts, and what their values are in memory.
    pub(crate) fn parts(&self) -> &[(IndexPart, Physical)] {
        &self.parts
    }
    /// Whether it finds ranges of keys, and rows in the order of their keys.
    pub fn is_ordered(&self) -> bool {
        self.definition.method == IndexMethod::Tree
    }
    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        match self.entries.get() {
            Some(Entries::Tree(tree)) => tree.bytes(),
            Some(Entries::Hash(entries)) => entries.bytes(),
            None => 0,
        }
    }
    /// Whether keys with such parts are unique.
    pub(crate) fn is_unique(&self, has_null: bool) -> bool {
        match self.definition.unique {
            Unique::No => false,
            Unique::ButNull => !has_null,
            Unique::Yes => true,
        }
    }

    /// How many rows are in it.
    #[cfg(test)]
    pub(crate) fn rows(&self) -> usize {
        struct None;
        impl RowKeys for None {
            type Key<'a> = [u8; 0];
            fn key(&self, _: u64) -> [u8; 0] {
                []
            }
        }
        match self.entries.get() {
            Some(Entries::Tree(tree)) => tree.reader(&None).range(Bound::Unbounded, Bound::Unbounded).count(),
            Some(Entries::Hash(entries)) => entries.rows(),
            _ => 0,
        }
    }

    /// Whether rows with such keys are refused as they come.
    pub(crate) fn refuses_twice(&self, has_null: bool) -> bool {
        self.definition.deferrable.is_none() && self.is_unique(has_null)
    }

    /// Writes the key of a row behind `key`. Returns whether something in it is NULL; nothing if the index does not have the row.
    pub(crate) fn key_of(&self, rows: &dyn KeyRows, row: RowId, key: &mut Vec<u8>) -> Option<bool> {
        let is_in = self.definition.only.is_none_or(|only| rows.is_true(row, only));
        is_in.then(|| rows.encode(row, &self.parts, key))
    }

    /// Whether it has all rows that satisfy the predicates.
    fn has_all(&self, predicates: &[ScanPredicate]) -> bool {
        self.definition.only.is_none_or(|only| predicates.iter().any(|p| p.attribute == only && p.is_only_true()))
    }

    /// Gives it its entries.
    pub(crate) fn build(&self, entries: Entries) {
        let _ = self.entries.set(entries);
    }
    /// What finds the keys of its rows.
    fn keyed<'a>(&'a self, rows: &'a dyn KeyRows) -> Keyed<'a> {
        Keyed { rows, parts: &self.parts }
    }
    /// Views from this moment on may use it.
    pub(crate) fn complete(&self, timestamp: u64) {
        self.since.store(timestamp, Ordering::Release);
    }
    /// Whether all rows that a view of that moment sees are in it.
    pub(crate) fn is_complete(&self, timestamp: u64) -> bool {
        self.since.load(Ordering::Acquire) <= timestamp
    }

    /// Waits for whoever changes the index, unless the statement is cancelled.
    pub(crate) fn write(&self) -> Result<Writing<'_>> {
        loop {
            match self.writer.try_lock() {
                Ok(writing) => return Ok(writing),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::sleep(MOMENT),
            }
            base::statement::check()?;
        }
    }

    /// The same for those who cannot give up.
    pub(crate) fn write_at_last(&self) -> Writing<'_> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a row. In a tree, its id is behind its key for a while.
    pub(crate) fn insert(
        &self,
        last: &mut Writing<'_>,
        rows: &dyn KeyRows,
        key: &mut Vec<u8>,
        row: RowId,
    ) -> Result<()> {
        let keyed = self.keyed(rows);
        match self.entries.get() {
            Some(Entries::Tree(tree)) => {
                let own = key.len();
                WithRow::<Keyed<'_>>::extend(key, row.to_bits());
                tree.writer(&WithRow(keyed)).insert_near(key, row.to_bits(), last)?;
                // Rows often come in the order of some key.
                last.clone_from(key);
                key.truncate(own);
                Ok(())
            }
            Some(Entries::Hash(entries)) => entries.insert(key, row, &|row, to| keyed.write_key(row, to)),
            None => Ok(()),
        }
    }

    /// Removes a row if it is there.
    pub(crate) fn remove(&self, last: &mut Writing<'_>, rows: &dyn KeyRows, key: &mut Vec<u8>, row: RowId) {
        last.clear();
        match self.entries.get() {
            Some(Entries::Tree(tree)) => {
                WithRow::<Keyed<'_>>::extend(key, row.to_bits());
                tree.writer(&WithRow(self.keyed(rows))).remove(key, row.to_bits());
            }
            Some(Entries::Hash(entries)) => entries.remove(key, row),
            None => {}
        }
    }

    /// Waits until nobody looks at entries that have been removed.
    pub(crate) fn wait_for_readers(&self) {
        self.looking.wait();
    }

    /// The rows with a key, as long as `wanted` does not say what is looked for.
    pub(crate) fn find<T>(
        &self,
        rows: &dyn KeyRows,
        key: &[u8],
        mut wanted: impl FnMut(RowId) -> Option<T>,
    ) -> Option<T> {
        let mut found = None;
        self.each_within(rows, &KeyRange::beginning_with(key.to_vec()), |row| {
            found = wanted(row);
            found.is_none()
        });
        found
    }

    /// Writes the key of a row of columns, one for each part, behind `key`.
    pub(crate) fn encode_key(&self, columns: &[Column], row: usize, key: &mut Vec<u8>) {
        self.definition.parts.iter().zip(columns).for_each(|(part, column)| part.push(column.into(), row, key));
    }

    /// How many leading parts the predicates say are equal to something, and whether they leave a range of the next; none if
    /// they do not say anything of the first and the index is of all rows. No more than `most` keys are looked up.
    pub(crate) fn left(&self, predicates: &[ScanPredicate], most: usize) -> Option<bytes::Left> {
        if !self.has_all(predicates) {
            return None;
        }
        let left = bytes::left(&self.parts, predicates, most);
        let mut left = match self.definition.method {
            IndexMethod::Tree => left.or_else(|| self.definition.only.map(|_| bytes::Left::all()))?,
            IndexMethod::Hash => left.filter(|left| left.score.0 == self.parts.len())?,
        };
        left.is_exact = exact::is_exact(&self.definition, left.score, predicates);
        Some(left)
    }

    /// The keys that predicates leave, if the index has them in this order.
    pub(crate) fn ordered(&self, predicates: &[ScanPredicate], order: RowOrder) -> Option<Ordered> {
        if !self.has_all(predicates) || !self.is_ordered() {
            return None;
        }
        bytes::ordered(&self.parts, predicates, order)
    }

    /// Shows the rows with some keys, in their order, to `show`, as long as that says so. The index is ordered.
    pub(crate) fn walk(&self, rows: &dyn KeyRows, ordered: &Ordered, mut show: impl FnMut(RowId) -> bool) {
        let _looking = self.looking.look();
        let keyed = WithRow(self.keyed(rows));
        let Some(Entries::Tree(tree)) = self.entries.get() else { return };
        let reader = tree.reader(&keyed);
        let scan = reader.range(Bound::Included(&ordered.range.lower), ordered.range.upper());
        let mut scan = if ordered.backwards { scan.descending() } else { scan };
        while scan.next().is_some_and(|row| show(RowId::from_bits(row))) {}
    }

    /// Shows the rows with keys in a range, which is one key unless the index is ordered, as long as `show` says so. Whether it always
    /// did.
    fn each_within(&self, rows: &dyn KeyRows, range: &KeyRange, mut show: impl FnMut(RowId) -> bool) -> bool {
        let _looking = self.looking.look();
        let keyed = self.keyed(rows);
        match self.entries.get() {
            Some(Entries::Tree(tree)) => {
                let keyed = WithRow(keyed);
                let reader = tree.reader(&keyed);
                reader.range(Bound::Included(&range.lower), range.upper()).all(|row| show(RowId::from_bits(row)))
            }
            Some(Entries::Hash(entries)) => entries.each(&range.lower, &|row, to| keyed.write_key(row, to), &mut show),
            None => true,
        }
    }

    /// A row in some ranges of keys that somebody sees, the first in the index's order; none if there is none among so many entries.
    pub(crate) fn any_in(
        &self,
        rows: &dyn KeyRows,
        ranges: &[KeyRange],
        most: usize,
        sees: impl Fn(RowId) -> bool,
    ) -> Option<Option<RowId>> {
        let (mut any, mut looked_at) = (None, 0);
        let is_done = !ranges.iter().all(|range| {
            self.each_within(rows, range, |row| {
                looked_at += 1;
                any = sees(row).then_some(row);
                any.is_none() && looked_at <= most
            })
        });
        if is_done && any.is_none() { None } else { Some(any) }
    }

    /// The rows in some ranges of keys, unless there are more than `most`.
    pub(crate) fn rows_in(
        &self,
        rows: &dyn KeyRows,
        ranges: &[KeyRange],
        most: usize,
        sees: impl Fn(RowId) -> bool,
    ) -> Option<Vec<RowId>> {
        let mut found = Vec::new();
        let are_few = ranges.iter().all(|range| {
            self.each_within(rows, range, |row| {
                if sees(row) {
                    found.push(row);
                }
                found.len() <= most
            })
        });
        are_few.then_some(found)
    }
}

impl RowIndex {
    /// Adds the rows, as far as somebody sees them, that begin with one of these keys: a column for each of the leading parts.
    pub(crate) fn rows_of(
        &self,
        rows: &dyn KeyRows,
        keys: &Chunk,
        sees: impl Fn(RowId) -> bool,
        found: &mut Vec<RowId>,
    ) {
        let (mut bytes, mut ends) = (Vec::with_capacity(GROUP * USUAL_KEY), Vec::with_capacity(GROUP));
        for first in (0..keys.rows()).step_by(GROUP) {
            self.encode_group(keys, first, &mut bytes, &mut ends);
            let _looking = self.looking.look();
            let keyed = self.keyed(rows);
            let tree = match self.entries.get() {
                Some(Entries::Tree(tree)) => tree,
                Some(Entries::Hash(entries)) => {
                    for key in group(&bytes, &ends) {
                        entries.each(key, &|row, to| keyed.write_key(row, to), &mut |row| {
                            found.extend(sees(row).then_some(row));
                            true
                        });
                    }
                    continue;
                }
                None => return,
            };
            let keyed = WithRow(keyed);
            let reader = tree.reader(&keyed);
            reader.fetch(group(&bytes, &ends));
            for key in group(&bytes, &ends) {
                reader.each_starting_with(key, |row| {
                    let row = RowId::from_bits(row);
                    if sees(row) {
                        found.push(row);
                    }
                });
            }
        }
    }

    /// Which of these keys, a column for each of the leading parts, some row begins with that somebody sees.
    pub(crate) fn keys_with_rows(&self, rows: &dyn KeyRows, keys: &Chunk, sees: impl Fn(RowId) -> bool) -> Vec<usize> {
        let (mut bytes, mut ends, mut with_rows) = (Vec::new(), Vec::new(), Vec::new());
        for first in (0..keys.rows()).step_by(GROUP) {
            self.encode_group(keys, first, &mut bytes, &mut ends);
            let _looking = self.looking.look();
            let keyed = self.keyed(rows);
            match self.entries.get() {
                Some(Entries::Tree(tree)) => {
                    let keyed = WithRow(keyed);
                    let reader = tree.reader(&keyed);
                    reader.fetch(group(&bytes, &ends));
                    let has_row = |key: &[u8]| reader.starting_with(key).any(|row| sees(RowId::from_bits(row)));
                    let known = group(&bytes, &ends).enumerate().filter(|(_, key)| has_row(key));
                    with_rows.extend(known.map(|(at, _)| first + at));
                }
                Some(Entries::Hash(entries)) => {
                    let write_key = |row: RowId, to: &mut Vec<u8>| keyed.write_key(row, to);
                    let has_row = |key: &[u8]| !entries.each(key, &write_key, &mut |row| !sees(row));
                    let known = group(&bytes, &ends).enumerate().filter(|(_, key)| has_row(key));
                    with_rows.extend(known.map(|(at, _)| first + at));
                }
                None => {}
            }
        }
        with_rows
    }

    /// Writes the keys of a group of rows, one behind the other, and where each ends.
    fn encode_group(&self, keys: &Chunk, first: usize, bytes: &mut Vec<u8>, ends: &mut Vec<usize>) {
        bytes.clear();
        ends.clear();
        for row in first..keys.rows().min(first + GROUP) {
            self.encode_key(keys.columns(), row, bytes);
            ends.push(bytes.len());
        }
    }
}

/// Keys that lie one behind the other.
fn group<'a>(bytes: &'a [u8], ends: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    std::iter::once(0).chain(ends.iter().copied()).zip(ends).map(|(begin, end)| &bytes[begin..*end])
}

/// No rows.
pub(crate) fn empty(budget: &Budget, method: IndexMethod) -> Result<Entries> {
    Ok(match method {
        IndexMethod::Tree => Entries::Tree(Tree::new(budget)),
        IndexMethod::Hash => Entries::Hash(HashEntries::new(budget)?),
    })
}
