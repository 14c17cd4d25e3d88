//! Indexes: which rows have a key.
//!
//! Behind PRIMARY KEY is a unique index, that only answers which row has a key. All others are [`RowIndex`]es.
//!
//! A unique index holds keys of rows that may not be visible to its reader, who checks. Lookups take no writer's lock. There are
//! two implementations, tested against each other: [`SlotIndex`], which keeps 8 bytes a row and finds the keys in the rows,
//! and [`HashIndex`], which keeps the keys themselves and so never looks at a row.

pub(crate) mod bytes;
mod definition;
mod exact;
mod hash;
pub(crate) mod hashed;
mod keys;
mod looking;
mod one_key;
pub(crate) mod row_index;
mod slots;
#[cfg(test)]
mod tests;
mod usage;

pub use bytes::{IndexPart, RowOrder};
pub use definition::{Deferrable, IndexDefinition, IndexMethod, Unique};
pub use hash::HashIndex;
pub use hashed::{HashEntries, WriteKey};
pub use keys::Keys;
pub use one_key::{KeyPart, OneKey};
pub use row_index::RowIndex;
pub use slots::SlotIndex;
pub use usage::IndexUse;

use std::fmt::Debug;

use base::Result;

use crate::{ChunkReader, Guard, RowId};

/// Where an index that holds no keys finds those of its rows.
pub trait Rows {
    /// The first `rows` rows of a chunk.
    fn reader(&self, chunk: usize, rows: usize) -> ChunkReader;
}

/// What has become of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It is there.
    Alive,
    /// It is neither committed nor given up.
    Unfinished,
    /// It is gone: its key may be taken.
    Dead,
}

/// Why a key was not entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The row that wanted it.
    pub row: RowId,
    /// The row that has it.
    pub by: RowId,
    /// [`Alive`](Liveness::Alive): error 23505; [`Unfinished`](Liveness::Unfinished): 40001.
    pub liveness: Liveness,
}

/// An index of keys of which at most one row each is alive. Keys are of consecutive rows.
pub trait UniqueIndex: Debug + Send + Sync {
    /// Makes room for so many more entries; `rows` are those of the entries that are there.
    fn reserve(&self, additional: usize, rows: &dyn Rows) -> Result<()>;

    /// For each key the row that has it and that the caller sees, or none. Several rows may have a key of which all but one
    /// are dead, for some views.
    fn find(&self, keys: &Keys<'_>, rows: &dyn Rows, sees: &dyn Fn(RowId) -> bool, out: &mut Vec<Option<RowId>>);

    /// As [`find`](Self::find), of one key: the row that is it, among those that may have the key.
    fn find_one(&self, key: OneKey<'_>, guard: &Guard, is_it: &mut dyn FnMut(RowId) -> bool) -> Option<RowId>;

    /// Enters the keys for `first` and the rows behind it. Looking whether a key is taken and entering it are one step.
    /// If some are taken, the first of them is returned; others may have been entered by then, and
    /// [`remove`](Self::remove) of all takes these back.
    fn insert(
        &self,
        keys: &Keys<'_>,
        first: RowId,
        rows: &dyn Rows,
        alive: &dyn Fn(RowId) -> Liveness,
    ) -> Result<Option<Taken>>;

    /// As [`insert`](Self::insert), of one key for a row.
    fn insert_one(
        &self,
        key: OneKey<'_>,
        row: RowId,
        rows: &dyn Rows,
        alive: &dyn Fn(RowId) -> Liveness,
    ) -> Result<Option<Taken>>;

    /// Bytes of memory held.
    fn bytes(&self) -> usize;

    /// Removes the entries of `first` and the rows behind it that have these keys, as far as they are there.
    fn remove(&self, keys: &Keys<'_>, first: RowId);
}
