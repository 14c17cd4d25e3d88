//! The statistics interface: what the optimizer may know of a table.

use std::fmt::Debug;
use std::sync::Arc;

use types::{Chunk, Value};

/// What is known of a table or file, as of the snapshot that the query reads.
pub trait Statistics: Send + Sync + Debug {
    /// Number of rows: exact for tables and Parquet, an estimate for CSV.
    fn rows(&self) -> u64;
    /// A uniform sample of at most about 1,024 rows (thesis 6: predicates are evaluated on it). It has all columns of the
    /// table, but those that are not among `attributes` may be NULL. None if there is none yet.
    fn sample(&self, attributes: &[usize]) -> Option<Arc<Chunk>>;
    /// What is known of one column.
    fn column(&self, attribute: usize) -> ColumnStatistics;
    /// Sets of attributes whose values are unique and not NULL (the primary key first).
    fn unique_keys(&self) -> Vec<Vec<usize>> {
        Vec::new()
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
