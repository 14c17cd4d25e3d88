//! The ordered indexes of a relation: how they are made, what commits enter, and what scans find in them.
//!
//! An index belongs to whoever has it defined; the relation knows those that somebody has. One is made while nobody else
//! changes rows of the relation: who does is waited for, and who begins to finds the index there.

mod build;
mod keys;
mod search;
#[cfg(test)]
mod tests;

use std::sync::{Arc, PoisonError, Weak};

use base::helpers::Helpers;
use base::{Error, Result, SqlState};
use index::USUAL_KEY;
use types::Physical;

use super::change::Refused;
use super::zone::text;
use super::{Relation, Snapshot};
use crate::chunk::Held;
use crate::clock::{Conflict, Stamp, View};
use crate::index::row_index::{KeyRows, empty};
use crate::index::{IndexDefinition, IndexMethod, IndexPart, Liveness, RowIndex, Unique};
use crate::lock::lock;
use crate::published::pin;
use crate::values::Values;
use crate::{ChunkReader, RowId};
pub use keys::KeyAccess;
pub use search::{Few, FirstRows, IndexedRows};

/// The key of a row that wants to be entered, why it may not.
pub(super) struct Twice {
    pub index: Arc<RowIndex>,
    pub by: RowId,
    pub liveness: Liveness,
}

impl KeyRows for Relation {
    fn is_true(&self, row: RowId, attribute: usize) -> bool {
        let mut is_true = false;
        self.show([attribute], row, |_, values, at| {
            is_true = !values.is_null(at) && values.get::<u8>(at) != 0;
        });
        is_true
    }

    fn encode(&self, row: RowId, parts: &[(IndexPart, Physical)], key: &mut Vec<u8>) -> bool {
        let mut has_null = false;
        self.show(parts.iter().map(|(part, _)| part.attribute), row, |number, values, at| {
            has_null |= values.is_null(at);
            parts[number].0.push(values, at, key);
        });
        has_null
    }
}

impl Relation {
    /// Shows what some attributes of a row are now: their numbers among these, and where the values lie.
    fn show(
        &self,
        attributes: impl IntoIterator<Item = usize>,
        row: RowId,
        mut show: impl FnMut(usize, Values<'_>, usize),
    ) {
        let guard = pin();
        let Held { body, sidecar } = self.directory.get(row.chunk()).held(&guard);
        for (number, attribute) in attributes.into_iter().enumerate() {
            let mut show = |values: Values<'_>, at: usize| show(number, values, at);
            let changed = sidecar.as_ref();
            if !changed.is_some_and(|sidecar| sidecar.with_newest(attribute, row.offset(), &mut show)) {
                body.show(attribute, row.offset(), show);
            }
        }
    }
}

impl Relation {
    /// The indexes that somebody has.
    pub fn indexes(&self) -> Vec<Arc<RowIndex>> {
        if !self.is_indexed() {
            return Vec::new();
        }
        self.indexes.read().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
    }

    /// Whether it ever had an index.
    pub(super) fn is_indexed(&self) -> bool {
        self.indexes_made() != 0
    }

    /// How many indexes it has had: whoever knows those of then knows all.
    pub(super) fn indexes_made(&self) -> usize {
        self.indexes_made.load(std::sync::atomic::Ordering::Acquire)
    }

    /// The indexes, as long as somebody has them.
    pub(super) fn known_indexes(&self) -> Vec<Weak<RowIndex>> {
        self.indexes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the attribute is part of some key, so that a row with another value of it is another row.
    pub fn is_key(&self, attribute: usize) -> bool {
        self.has_key_of([attribute].into_iter())
    }

    /// Whether one of the attributes is.
    pub(crate) fn has_key_of(&self, mut attributes: impl Iterator<Item = usize> + Clone) -> bool {
        let in_index = |index: Arc<RowIndex>| attributes.clone().any(|attribute| index.definition().is_of(attribute));
        self.is_indexed()
            && self
                .indexes
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .iter()
                .filter_map(Weak::upgrade)
                .any(in_index)
            || attributes.any(|attribute| self.schema.primary_key().contains(&attribute))
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
        helpers: &dyn Helpers,
    ) -> Result<Arc<RowIndex>, Refused> {
        let index = Arc::new(RowIndex::new(definition, &self.schema));
        let mut writers = lock(&self.writers);
        self.check_writers(&mut writers, own)?;
        let keys = lock(&self.keys);
        let writing = index.write()?;
        let mut indexes = self.indexes.write().unwrap_or_else(PoisonError::into_inner);
        indexes.retain(|index| index.strong_count() > 0);
        indexes.push(Arc::downgrade(&index));
        drop(indexes);
        self.indexes_made.fetch_add(1, std::sync::atomic::Ordering::Release);
        let snapshot = snapshot(self.clock.view());
        drop(keys);
        drop(writers);
        // Whoever enters rows from here on waits for the entries.
        index.build(build::entries(&index, snapshot, helpers)?);
        drop(writing);
        Ok(index)
    }

    /// An index of a relation that nobody knows yet and that has no rows.
    pub fn add_index(&self, definition: IndexDefinition) -> Result<Arc<RowIndex>> {
        assert_eq!(self.directory.len(), 0, "there are no rows");
        let index = Arc::new(RowIndex::new(definition, &self.schema));
        index.build(empty(&self.budget, index.definition().method)?);
        index.complete(0);
        self.indexes.write().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&index));
        self.indexes_made.fetch_add(1, std::sync::atomic::Ordering::Release);
        Ok(index)
    }

    /// A row as it is now.
    fn newest(&self, row: RowId) -> Vec<types::Value> {
        let Held { body, sidecar } = self.directory.get(row.chunk()).pin_changed();
        let reader = ChunkReader::new(body, row.offset() + 1);
        match sidecar {
            Some(sidecar) => reader.with_changes(sidecar, self.clock.view()).row(row.offset()),
            None => reader.row(row.offset()),
        }
    }

    /// The name of the primary key, if there is one.
    pub fn primary_key_name(&self) -> Option<String> {
        (!self.schema.primary_key().is_empty()).then(|| format!("{}_pkey", self.name))
    }

    /// The primary key, as if it were an ordered index.
    pub(super) fn key(&self) -> IndexDefinition {
        let part = |&attribute: &usize| IndexPart::ascending(attribute);
        let parts = self.schema.primary_key().iter().map(part).collect();
        let (name, only, deferrable) = (self.primary_key_name().unwrap_or_default(), None, None);
        IndexDefinition {
            name,
            parts,
            unique: Unique::Yes,
            only,
            deferrable,
            method: IndexMethod::Hash,
            included: Vec::new(),
        }
    }

    /// The names of a key's attributes, and its values in a row.
    pub(super) fn key_text(&self, definition: &IndexDefinition, row: &[types::Value]) -> (String, String) {
        let attributes =
            definition.parts.iter().map(|part| (&self.schema.attributes()[part.attribute], part.attribute));
        let names: Vec<&str> = attributes.clone().map(|(attribute, _)| attribute.name.as_str()).collect();
        let values: Vec<String> = attributes.map(|(attribute, at)| text(attribute.sql_type, &row[at])).collect();
        (names.join(", "), values.join(", "))
    }

    /// Error 23505: the row has the key of another one.
    #[cold]
    pub(crate) fn duplicate(&self, key: &IndexDefinition, row: &[types::Value]) -> Error {
        let message = format!("duplicate key value violates unique constraint \"{}\"", key.name);
        let (names, values) = self.key_text(key, row);
        Error::new(SqlState::UNIQUE_VIOLATION, message)
            .detail(format!("Key ({names})=({values}) already exists."))
            .about("constraint_name", key.name.as_str())
            .about_relation(self.number)
    }

    /// Enters rows of a chunk in all ordered indexes, unless some key is taken.
    pub(super) fn enter_in_indexes(
        &self,
        chunk: usize,
        rows: std::ops::Range<usize>,
        stamp: Option<&Arc<Stamp>>,
    ) -> Result<Option<(RowId, Twice)>> {
        for index in self.indexes() {
            let mut writing = index.write()?;
            let mut key = Vec::with_capacity(USUAL_KEY);
            for row in rows.clone().map(|row| RowId::new(chunk, row)) {
                key.clear();
                let Some(has_null) = index.key_of(self, row, &mut key) else { continue };
                if index.refuses_twice(has_null) {
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
                index.insert(&mut writing, self, &mut key, row)?;
            }
        }
        Ok(None)
    }

    /// Removes rows of a chunk from all ordered indexes, and waits for those who may be looking at them.
    pub(super) fn forget_in_indexes<I: Iterator<Item = usize>>(&self, chunk: usize, rows: impl Fn() -> I) {
        for index in self.indexes() {
            let mut writing = index.write_at_last();
            let mut key = Vec::with_capacity(USUAL_KEY);
            for row in rows().map(|row| RowId::new(chunk, row)) {
                key.clear();
                if index.key_of(self, row, &mut key).is_some() {
                    index.remove(&mut writing, self, &mut key, row);
                }
            }
            index.wait_for_readers();
        }
    }
}
