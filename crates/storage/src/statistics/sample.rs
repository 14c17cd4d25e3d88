//! A uniform sample without a random generator: every row id has a fixed pseudo-random priority, and the sample is the
//! rows of least priority. It is the same however many workers loaded the table, and extending it costs one
//! multiplication a row.

use crate::RowId;
use crate::hash::mix;

/// Rows of a sample.
pub const SAMPLE_ROWS: usize = 1024;

const SEED: u64 = 0x5eed_0f5a_3b1e;

/// The sampled rows. As committed rows never move, their ids suffice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// The rows with their priorities: a binary heap, the greatest priority first.
    rows: std::collections::BinaryHeap<(u64, u64)>,
}

impl Sample {
    /// Considers the rows `from..to` of a chunk.
    pub(crate) fn extend(&mut self, chunk: usize, from: usize, to: usize) {
        for offset in from..to {
            let id = RowId::new(chunk, offset).to_bits();
            let priority = mix(id ^ SEED);
            if self.rows.len() < SAMPLE_ROWS {
                self.rows.push((priority, id));
            } else if self.rows.peek().is_some_and(|top| priority < top.0) {
                self.rows.pop();
                self.rows.push((priority, id));
            }
        }
    }

    /// The sampled rows in the order of their ids.
    pub(crate) fn rows(&self) -> Vec<RowId> {
        let mut rows: Vec<RowId> = self.rows.iter().map(|&(_, id)| RowId::from_bits(id)).collect();
        rows.sort_unstable();
        rows
    }
}
