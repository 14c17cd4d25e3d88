//! What the optimizer may know of a stored table: the snapshot's statistics behind the [`Statistics`] interface.

use std::sync::Arc;

use types::Chunk;

use crate::{ColumnStatistics, Statistics};

impl Statistics for storage::Snapshot {
    fn rows(&self) -> u64 {
        self.rows() as u64
    }

    fn sample(&self, _attributes: &[usize]) -> Option<Arc<Chunk>> {
        self.sample()
    }

    fn column(&self, attribute: usize) -> ColumnStatistics {
        let estimate = self.column(attribute);
        let (min, max) = estimate.range();
        let null_fraction = match self.rows_with_dead() {
            // An empty snapshot may be younger than the statistics; nothing in it is NULL.
            0 => 0.0,
            rows => (estimate.bounds.nulls as f64 / rows as f64).min(1.0),
        };
        ColumnStatistics { distinct: Some(estimate.distinct), min, max, null_fraction: Some(null_fraction) }
    }

    fn unique_keys(&self) -> Vec<Vec<usize>> {
        match self.schema().primary_key() {
            [] => Vec::new(),
            key => vec![key.to_vec()],
        }
    }
}
