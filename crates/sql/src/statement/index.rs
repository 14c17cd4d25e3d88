//! Indexes that are to be made.

use catalog::{Deferrable, IndexMethod, IndexPart, Unique};
use plan::TableSource;

use super::{AlterTable, ObjectName};

/// An index that is to be made.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexShape {
    /// Its name.
    pub name: String,
    /// Whether somebody has named it so: else it gets a number if the name is taken.
    pub is_named: bool,
    /// The attributes that it is of.
    pub parts: Vec<IndexPart>,
    /// Whether keys are unique.
    pub unique: Unique,
    /// If it is not of all rows: the attribute that is true of those that it has.
    pub only: Option<usize>,
    /// Whether it is that of a constraint.
    pub is_constraint: bool,
    /// If that can be deferred: how. Other primary keys are no such indexes.
    pub deferrable: Option<Deferrable>,
    /// How it finds rows.
    pub method: IndexMethod,
    /// Attributes of INCLUDE.
    pub included: Vec<usize>,
}

/// CREATE INDEX.
#[derive(Clone, Debug)]
pub struct CreateIndex {
    /// The table.
    pub table: ObjectName,
    /// The table as resolved.
    pub of: TableSource,
    /// The index.
    pub shape: IndexShape,
    /// If the table has to compute something for it first: what becomes of the table, with the index.
    pub altering: Option<Box<AlterTable>>,
    /// Nothing happens if the name is taken.
    pub if_not_exists: bool,
    /// It is not to be made in a transaction of several statements.
    pub concurrently: bool,
}
