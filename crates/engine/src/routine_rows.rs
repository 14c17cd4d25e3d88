//! A call of a function in FROM, before its rows are there.

use std::fmt;
use std::sync::Arc;

use catalog::{ColumnStatistics, Routine, Statistics};
use plan::Expr;
use types::Chunk;

/// A call in FROM, whose rows are there when the query runs.
pub(crate) struct RoutineRows {
    pub routine: Arc<Routine>,
    pub arguments: Vec<Expr>,
}

/// What is known of rows that are not there yet.
pub(crate) struct Unknown;

impl fmt::Debug for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unknown")
    }
}

impl Statistics for Unknown {
    fn rows(&self) -> u64 {
        1000
    }

    fn sample(&self, _attributes: &[usize]) -> Option<Arc<Chunk>> {
        None
    }

    fn column(&self, _attribute: usize) -> ColumnStatistics {
        ColumnStatistics::default()
    }
}
