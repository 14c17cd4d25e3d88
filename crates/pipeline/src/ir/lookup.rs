//! What a finished join tells an index of the table below its probe: the keys of the build rows.

use super::{StateId, Ty};

/// Keys of a join's build rows. A row of a table that has none of them need not come; an index may find those that do.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyLookup {
    /// A [`State::Join`](super::State::Join) that is finished before the pipeline starts.
    pub state: StateId,
    /// At least one.
    pub parts: Vec<LookupPart>,
}

/// An attribute of the table, and where a build row has what it is equal to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookupPart {
    /// Attribute of the table.
    pub attribute: usize,
    /// Of a build row.
    pub place: KeyPlace,
}

/// Where a build row has a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyPlace {
    /// The word that rows are found by is the key, which is the only one: [`JoinWord::Key`](super::JoinWord::Key).
    Word,
    /// In a field.
    Field {
        /// Byte offset.
        offset: u32,
        /// Type: an integer, at least as wide as the attribute, or a text.
        ty: Ty,
        /// Offset of a byte that is 1 if the key is NULL; none if it never is.
        null: Option<u32>,
    },
}
