//! What exists: schemas with their tables and views, and the statistics interface that planning sees.
//!
//! Architecture invariant: planning reads statistics through [`Statistics`] only, never storage.

mod alter;
mod collations;
mod comments;
mod domains;
mod filling;
mod foreign_keys;
mod indexes;
mod inheritance;
mod matching;
mod moves;
pub mod names;
mod rounded;
mod routines;
mod schemas;
mod sequences;
pub mod statistics;
mod system_triggers;
mod table;
mod table_statistics;
pub mod tables;
mod triggers;
mod unsigned;
mod user_types;

pub use alter::Alteration;
pub use comments::Commented;
pub use domains::{Domain, DomainChange};
pub use filling::{Check, Computed, Filling};
pub use foreign_keys::{Action, ForeignKey};
pub use indexes::TableIndex;
pub use inheritance::{Bound, Kinship, Limit, Partitioning, Strategy};
pub use names::nearest_name;
pub use rounded::rounded_name;
pub use routines::{
    Language, Mode, Returns, Routine, RoutineAlteration, RoutineKind, RoutineName, RoutineParameter, Volatility,
    schema_of_routine, signature,
};
pub use sequences::{Owner, SequenceEntry};
pub use statistics::{ColumnStatistics, IndexStatistics, Matching, Statistics};
pub use storage::index::{Deferrable, IndexDefinition, IndexMethod, IndexPart, Unique};
pub use storage::{Comparison, ScanOp};
pub use system_triggers::{SYSTEM_SCHEMA, system_trigger};
pub use table::Table;
pub use tables::{
    Catalog, CatalogSnapshot, CheckOption, DEFAULT_SCHEMA, Fork, IfExists, Kind, Name, TEMPORARY_SCHEMA, TableEntry,
    View, canonical,
};
pub use triggers::{Event, Timing, Trigger};
pub use unsigned::below_unsigned;
pub use user_types::{Dependent, TypeChange, UserType};

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

impl Field {
    /// The column that an attribute is.
    pub fn of(attribute: &storage::Attribute) -> Self {
        let storage::Attribute { name, sql_type, not_null, .. } = attribute;
        Self { name: name.clone(), sql_type: *sql_type, nullable: !not_null }
    }
}
