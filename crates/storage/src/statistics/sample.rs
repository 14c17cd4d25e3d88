//! A uniform sample without a random generator: every row id has a fixed pseudo-random priority, its hash, and the sample
//! is the rows of least priority. It is the same however many workers loaded the table, and extending it costs a hash a
//! row.
//!
//! The values are kept beside the ids, gathered anew when the relation has grown by an eighth: at moments that depend on
//! the sizes of commits alone, so that the same statements leave the same sample.

use std::collections::BinaryHeap;
use std::sync::Arc;

use types::Chunk;
use types::ops::hash::hash_u64;

use crate::RowId;

/// Rows of a sample.
pub const SAMPLE_ROWS: usize = 1024;

const SEED: u64 = 0x5eed_0f5a_3b1e;

/// The sampled rows.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    /// The rows with their priorities: the greatest priority first.
    rows: BinaryHeap<(u64, u64)>,
    /// Values of the rows that were sampled when the relation had `gathered` rows.
    values: Option<Arc<Chunk>>,
    gathered: usize,
}

impl Sample {
    /// Considers the rows `from..to` of a chunk.
    pub(crate) fn extend(&mut self, chunk: usize, from: usize, to: usize) {
        for offset in from..to {
            let id = RowId::new(chunk, offset).to_bits();
            let priority = hash_u64(id ^ SEED);
            if self.rows.len() < SAMPLE_ROWS {
                self.rows.push((priority, id));
            } else if self.rows.peek().is_some_and(|top| priority < top.0) {
                self.rows.pop();
                self.rows.push((priority, id));
            }
        }
    }

    /// Has the values gathered if there are enough rows more than the last time, `rows` in all.
    pub(crate) fn refresh(&mut self, rows: usize, gather: impl FnOnce(&[RowId]) -> Chunk) {
        if rows > self.gathered + self.gathered / 8 {
            self.values = Some(Arc::new(gather(&self.ids())));
            self.gathered = rows;
        }
    }

    /// The values; none before the first row.
    pub(crate) fn values(&self) -> Option<Arc<Chunk>> {
        self.values.clone()
    }

    /// The sampled rows in the order of their ids.
    pub(crate) fn ids(&self) -> Vec<RowId> {
        let mut rows: Vec<RowId> = self.rows.iter().map(|&(_, id)| RowId::from_bits(id)).collect();
        rows.sort_unstable();
        rows
    }
}
