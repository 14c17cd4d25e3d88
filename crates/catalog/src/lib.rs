//! What exists: schemas with their tables and views, and the statistics interface that planning sees.
//!
//! Architecture invariant: planning reads statistics through [`Statistics`] only, never storage.

mod alter;
mod filling;
mod foreign_keys;
mod indexes;
pub mod names;
mod sequences;
pub mod statistics;
mod table_statistics;
pub mod tables;

pub use alter::Alteration;
pub use filling::{Check, Filling};
pub use foreign_keys::{Action, ForeignKey};
pub use indexes::TableIndex;
pub use names::nearest_name;
pub use sequences::{Owner, SequenceEntry};
pub use statistics::{ColumnStatistics, IndexStatistics, Statistics};
pub use storage::index::{IndexDefinition, IndexPart, Unique};
pub use tables::{
    Catalog, CatalogSnapshot, DEFAULT_SCHEMA, Fork, IfExists, Kind, TEMPORARY_SCHEMA, Table, TableEntry, View,
    canonical,
};

use types::SqlType;

/// A column of a table, file or view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name, as written when it was quoted, else in lower case.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether it can hold NULL.
    pub nullable: bool,
}
