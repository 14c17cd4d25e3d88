//! The statistics interface: what the optimizer may know of a table.

use std::fmt::Debug;
use std::sync::Arc;

use storage::ScanOp;
use storage::index::{Deferrable, IndexPart, Unique};
use types::{Chunk, Value};

/// What is known of a table or file, as of the snapshot that the query reads.
pub trait Statistics: Send + Sync + Debug {
    /// A number that only tables have that give the same rows to a statement, if that can be told.
    fn identity(&self) -> Option<usize> {
        None
    }
    /// Number of rows: exact for tables and Parquet, an estimate for CSV.
    fn rows(&self) -> u64;
    /// A uniform sample of at most about 1,024 rows (thesis 6: predicates are evaluated on it). It has all columns of the
    /// table, but those that are not among `attributes` may be NULL. None if there is none yet.
    fn sample(&self, attributes: &[usize]) -> Option<Arc<Chunk>>;
    /// The rows of which all of these are true, each of an attribute: found in the table itself, if that is so small that it can be
    /// looked through while a query is planned.
    fn matching(&self, _asked: &[(usize, ScanOp)], _attributes: &[usize]) -> Option<Matching> {
        None
    }
    /// What is known of one column.
    fn column(&self, attribute: usize) -> ColumnStatistics;
    /// The indexes of the table, that of the primary key first.
    fn indexes(&self) -> Vec<IndexStatistics> {
        Vec::new()
    }
    /// Sets of attributes whose values are unique and not NULL.
    fn unique_keys(&self) -> Vec<Vec<usize>> {
        let unique = |index: IndexStatistics| {
            let is_key = index.is_unique_of_all() && !index.has_null && index.is_complete;
            is_key.then(|| index.attributes())
        };
        self.indexes().into_iter().filter_map(unique).collect()
    }
}

/// Rows of a table that satisfy predicates.
#[derive(Clone, Debug)]
pub struct Matching {
    /// How many there are.
    pub rows: u64,
    /// The attributes that were asked for, of all of them or of some that lie evenly among them.
    pub sample: Chunk,
}

/// What is known of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStatistics {
    /// Its name.
    pub name: String,
    /// Its attributes, in the order in which they count, and how it orders by them.
    pub parts: Vec<IndexPart>,
    /// Whether it is that of the primary key.
    pub is_primary: bool,
    /// If it is not of all rows: the attribute that is true of those that it has.
    pub only: Option<usize>,
    /// Whether rows, once it is complete, may have the same values.
    pub unique: Unique,
    /// If they may for a while all the same: how long.
    pub deferrable: Option<Deferrable>,
    /// Whether one of the attributes may be NULL.
    pub has_null: bool,
    /// Whether it knows all rows of the snapshot: one that was made later may not.
    pub is_complete: bool,
    /// Whether it finds ranges, and not only whole keys.
    pub is_ordered: bool,
    /// Attributes that are not part of its key, as INCLUDE names them.
    pub included: Vec<usize>,
}

impl IndexStatistics {
    /// Its attributes, in the order in which they count.
    pub fn attributes(&self) -> Vec<usize> {
        self.parts.iter().map(|part| part.attribute).collect()
    }

    /// Whether no two rows of the table have the same values, NULL perhaps not being the same as another NULL.
    pub fn is_unique_of_all(&self) -> bool {
        self.is_unique() && self.only.is_none()
    }

    /// Whether no two rows that it has have the same values, NULL perhaps not being the same as another NULL.
    pub fn is_unique(&self) -> bool {
        self.unique != Unique::No && self.deferrable.is_none()
    }
}

/// What is known of one column; every bound holds for all rows, the rest are estimates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStatistics {
    /// Estimated number of distinct values other than NULL (from a sketch over all rows).
    pub distinct: Option<f64>,
    /// A lower bound of all values.
    pub min: Option<Value>,
    /// An upper bound of all values.
    pub max: Option<Value>,
    /// Fraction of rows that are NULL; `Some(0.0)` promises that none is.
    pub null_fraction: Option<f64>,
}
