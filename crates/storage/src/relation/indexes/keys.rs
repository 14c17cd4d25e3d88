//! Rows by many keys: what an index join asks, a batch of keys after the other (decision 68).

use std::sync::Arc;

use types::{Chunk, SqlType};

use crate::index::RowIndex;
use crate::relation::Snapshot;
use crate::{RowId, Schema};

/// A way to all rows in which some attributes are equal to something: the primary key's, or an ordered index's.
#[derive(Clone, Debug)]
pub struct KeyAccess {
    /// The attributes whose values have to be given, in this order.
    pub attributes: Vec<usize>,
    /// At most so many rows have the same, as far as is known.
    pub rows_each: f64,
    /// None: the primary key.
    index: Option<Arc<RowIndex>>,
}

impl KeyAccess {
    /// The types of the values.
    pub fn types(&self, schema: &Schema) -> Vec<SqlType> {
        self.attributes.iter().map(|&attribute| schema.attributes()[attribute].sql_type).collect()
    }
}

impl Snapshot {
    /// How rows are found of which some attributes are given; none if no index begins with some of them.
    pub fn key_access(&self, given: &[usize]) -> Option<KeyAccess> {
        let rows_each = |attributes: &[usize]| {
            let distinct = attributes.iter().map(|&attribute| self.column(attribute).distinct).fold(1.0, f64::max);
            (self.rows() as f64 / distinct).max(1.0)
        };
        if let Some(key) = self.usable_key().filter(|key| key.iter().all(|part| given.contains(part))) {
            return Some(KeyAccess { attributes: key.to_vec(), rows_each: 1.0, index: None });
        }
        let access = |index: Arc<RowIndex>| {
            let definition = index.definition();
            let parts = definition.parts.iter().map(|part| part.attribute);
            let attributes: Vec<usize> = parts.take_while(|part| given.contains(part)).collect();
            let is_whole = attributes.len() == definition.parts.len();
            let usable = !attributes.is_empty() && definition.only.is_none() && (is_whole || index.is_ordered());
            let is_unique = is_whole && index.is_unique(false);
            let rows_each = if is_unique { 1.0 } else { rows_each(&attributes) };
            usable.then_some(KeyAccess { attributes, rows_each, index: Some(index) })
        };
        let accesses = self.usable_indexes().into_iter().filter_map(access);
        accesses.min_by(|a, b| a.rows_each.total_cmp(&b.rows_each).then(b.attributes.len().cmp(&a.attributes.len())))
    }

    /// Which of these keys, as for [`rows_of_keys`](Self::rows_of_keys), some row has: no row is read but to compare keys.
    pub fn keys_with_rows(&self, access: &KeyAccess, keys: &Chunk) -> Vec<usize> {
        match &access.index {
            None if keys.rows() == 0 => Vec::new(),
            None => {
                let found = self.find(keys.clone());
                found.iter().enumerate().filter(|(_, row)| row.is_some()).map(|(key, _)| key).collect()
            }
            Some(index) => index.keys_with_rows(&**self.relation(), keys, |row| self.sees(row)),
        }
    }

    /// Adds the rows that have one of these keys, whose columns are of the types of the access's attributes, without NULLs. In no
    /// order; a row is there for each of the keys that are its own.
    pub fn rows_of_keys(&self, access: &KeyAccess, keys: Chunk, found: &mut Vec<RowId>) {
        match &access.index {
            None if keys.rows() > 0 => found.extend(self.find(keys).into_iter().flatten()),
            None => {}
            Some(index) => index.rows_of(&**self.relation(), &keys, |row| self.sees(row), found),
        }
    }
}
