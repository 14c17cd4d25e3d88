//! What the optimizer may know of a stored table: the snapshot's statistics behind the [`Statistics`] interface.

use std::sync::Arc;

use storage::ScanOp;
use storage::index::{IndexPart, Unique};
use types::Chunk;

use crate::matching::matching;
use crate::{ColumnStatistics, IndexStatistics, Matching, Statistics};

impl Statistics for storage::Snapshot {
    fn identity(&self) -> Option<usize> {
        Some(Arc::as_ptr(self.relation()).addr())
    }

    fn rows(&self) -> u64 {
        self.rows() as u64
    }

    fn sample(&self, attributes: &[usize]) -> Option<Arc<Chunk>> {
        self.sample(attributes)
    }

    fn matching(&self, asked: &[(usize, ScanOp)], attributes: &[usize]) -> Option<Matching> {
        matching(self, asked, attributes)
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

    fn indexes(&self) -> Vec<IndexStatistics> {
        let (relation, attributes) = (self.relation(), self.schema().attributes());
        let key = self.schema().primary_key();
        let primary = (!key.is_empty()).then(|| IndexStatistics {
            name: format!("{}_pkey", relation.name()),
            parts: key.iter().map(|&attribute| IndexPart::ascending(attribute)).collect(),
            only: None,
            unique: Unique::Yes,
            deferrable: None,
            is_primary: true,
            has_null: false,
            is_complete: self.usable_key().is_some(),
            is_ordered: false,
            included: Vec::new(),
        });
        let usable = self.usable_indexes();
        let others = relation.indexes().into_iter().map(|index| {
            let definition = index.definition();
            IndexStatistics {
                name: definition.name.clone(),
                is_primary: false,
                deferrable: definition.deferrable,
                unique: definition.unique,
                has_null: definition.parts.iter().any(|part| !attributes[part.attribute].not_null),
                parts: definition.parts.clone(),
                only: definition.only,
                is_complete: usable.iter().any(|known| Arc::ptr_eq(known, &index)),
                is_ordered: index.is_ordered(),
                included: definition.included.clone(),
            }
        });
        primary.into_iter().chain(others).collect()
    }
}
