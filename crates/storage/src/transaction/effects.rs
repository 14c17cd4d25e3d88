//! What the statement that runs has done to relations whose rows others depend on: noted for those who look after that.

use std::ops::Range;
use std::sync::Arc;

use base::Result;
use types::{Chunk, Value};

use super::{Reads, Transaction};
use crate::RowId;
use crate::index::RowIndex;
use crate::relation::{Relation, Snapshot};

/// Rows of a relation that a statement has changed.
#[derive(Debug)]
pub struct Effect {
    /// Whose rows they are.
    pub relation: Arc<Relation>,
    /// What the statement saw.
    pub before: Snapshot,
    /// The rows.
    pub rows: ChangedRows,
}

/// What was done with rows.
#[derive(Debug)]
pub enum ChangedRows {
    /// They are new: chunks, and which of their rows.
    Inserted(Vec<(usize, Range<usize>)>),
    /// They are gone.
    Deleted(Vec<RowId>),
    /// They are gone, and rows with these values come in their places.
    Replaced(Vec<RowId>, Chunk),
    /// They have got new values of these attributes.
    Updated(Vec<RowId>, Vec<usize>),
}

impl Transaction {
    /// From now on it is noted what statements do to a relation. Error 40001 if another transaction has begun to change it and
    /// has not ended.
    pub fn note_effects_on(&self, relation: &Arc<Relation>) -> Result<()> {
        self.told(relation.note_effects(&self.stamp))
    }

    pub(super) fn note(&self, relation: &Arc<Relation>, rows: impl FnOnce() -> ChangedRows) {
        if relation.effects_are_noted() {
            let before = self.snapshot(relation);
            self.effects.lock().push(Effect { relation: relation.clone(), before, rows: rows() });
        }
    }

    /// What was noted since this was asked last.
    pub fn take_effects(&self) -> Vec<Effect> {
        self.effects.used().map_or_else(Vec::new, |mut effects| std::mem::take(&mut *effects))
    }

    /// What was noted before something that has taken what it has noted itself.
    pub fn put_effects(&self, effects: Vec<Effect>) {
        if !effects.is_empty() {
            *self.effects.lock() = effects;
        } else if let Some(mut all) = self.effects.used() {
            all.clear();
        }
    }

    /// What is read from here on until `read` returns decides whether the transaction may commit, whatever its level is.
    pub fn depend_on_reads<T>(&self, read: impl FnOnce() -> T) -> T {
        if self.reads.is_some() {
            return read();
        }
        let reads = Arc::new(Reads::default());
        let outer = self.dependent.lock().replace(reads.clone());
        let moment = self.moment.lock().clone();
        let result = read();
        *self.dependent.lock() = outer;
        if !reads.is_empty() {
            self.dependencies.lock().push((moment, reads));
        }
        result
    }

    /// Where reads are noted; none if nothing depends on them.
    pub fn reads(&self) -> Option<Arc<Reads>> {
        self.reads.clone().or_else(|| self.dependent.used()?.clone())
    }

    /// Notes reads where they are noted, if they are; what `note` says.
    pub fn note_reads(&self, note: impl FnOnce(&Reads) -> Option<()>) -> Option<()> {
        match &self.reads {
            Some(reads) => note(reads),
            None => self.reads().map_or(Some(()), |reads| note(&reads)),
        }
    }
}

impl Snapshot {
    /// Error 23505 if one of the rows that are there still has, in an index that does not look after that itself, the key of another
    /// row. Otherwise the keys that were asked about: those that have no NULL, unless NULLs are alike.
    pub fn check_unique(&self, index: &RowIndex, rows: impl Iterator<Item = RowId>) -> Result<Vec<Vec<Value>>> {
        let (relation, definition) = (self.relation(), index.definition());
        let (mut key, mut asked) = (Vec::new(), Vec::new());
        for row in rows.filter(|row| self.sees(*row)) {
            key.clear();
            let Some(has_null) = index.key_of(&**relation, row, &mut key) else { continue };
            if !index.is_unique(has_null) {
                continue;
            }
            let other = |found: RowId| (found != row && self.sees(found)).then_some(());
            let values = self.row(row);
            if index.find(&**relation, &key, other).is_some() {
                return Err(relation.duplicate(definition, &values));
            }
            asked.push(definition.parts.iter().map(|part| values[part.attribute].clone()).collect());
        }
        Ok(asked)
    }

    /// The rows that have keys, each the only one, by a unique index over these attributes: `keys` has a column for each of them,
    /// of its type. None if there is no such index.
    pub fn find_unique(&self, attributes: &[usize], keys: &Chunk) -> Option<Vec<Option<RowId>>> {
        let is_permutation = |of: &[usize]| of.len() == attributes.len() && of.iter().all(|a| attributes.contains(a));
        let column = |attribute: &usize| {
            let at = attributes.iter().position(|a| a == attribute).expect("one of them");
            keys.column(at).clone()
        };
        let primary = self.schema().primary_key();
        if is_permutation(primary) {
            return Some(self.find(Chunk::new(keys.rows(), primary.iter().map(column).collect())));
        }
        let indexes = self.relation().indexes();
        let index = indexes.iter().find(|index| {
            let of: Vec<usize> = index.definition().parts.iter().map(|part| part.attribute).collect();
            index.refuses_twice(false) && is_permutation(&of)
        })?;
        let columns: Vec<_> = index.definition().parts.iter().map(|part| column(&part.attribute)).collect();
        let mut key = Vec::new();
        let mut find = |row: usize| {
            key.clear();
            index.encode_key(&columns, row, &mut key);
            index.find(&**self.relation(), &key, |found| self.sees(found).then_some(found))
        };
        Some((0..keys.rows()).map(&mut find).collect())
    }
}
