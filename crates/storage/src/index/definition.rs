//! What indexes are of.

use super::bytes::IndexPart;

/// Whether several rows may have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unique {
    /// They may.
    No,
    /// Only if something in it is NULL.
    ButNull,
    /// They may not.
    Yes,
}

/// How an index finds rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexMethod {
    /// By ranges of keys, in their order: an Adaptive Radix Tree.
    #[default]
    Tree,
    /// By whole keys alone: a hash table. No such index is unique.
    Hash,
}

/// What an index is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDefinition {
    /// Its name, as error messages say it.
    pub name: String,
    /// The attributes in the order in which they count.
    pub parts: Vec<IndexPart>,
    /// Whether keys are unique.
    pub unique: Unique,
    /// If it is not of all rows: the attribute that is true of those that it has.
    pub only: Option<usize>,
    /// If rows may have the same key for a while, and somebody else looks after that: how long.
    pub deferrable: Option<Deferrable>,
    /// How it finds rows.
    pub method: IndexMethod,
    /// Attributes that somebody wants to have beside the key (INCLUDE): they are found in the rows.
    pub included: Vec<usize>,
}

/// A key that can be deferred: rows may have the same one until their statement ends, or their transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deferrable {
    /// Whether it is until their transaction ends from the beginning.
    pub initially: bool,
    /// Whether it is a primary key, whose attributes are not NULL.
    pub is_primary: bool,
}

impl IndexDefinition {
    /// Whether it is that of a primary key, which can be deferred: of others there is no such index.
    pub fn is_primary(&self) -> bool {
        self.deferrable.is_some_and(|deferrable| deferrable.is_primary)
    }

    /// Whether the attribute decides where a row is in the index, or whether it is.
    pub fn is_of(&self, attribute: usize) -> bool {
        self.only == Some(attribute) || self.parts.iter().any(|part| part.attribute == attribute)
    }
}
