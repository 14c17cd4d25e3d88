//! A uniform sample without a random generator: every row id has a fixed pseudo-random priority, its hash, and the sample
//! is the rows of least priority. It is the same however many workers loaded the table, and extending it costs a hash a
//! row.
//!
//! The values are those of the rows that were sampled when the relation had last grown by an eighth: at moments that depend on
//! the sizes of commits alone, so that the same statements leave the same sample. They are gathered when somebody asks.

use std::collections::BinaryHeap;
use std::sync::Arc;

use base::simd::vectorised;
use types::Chunk;
use types::ops::hash::hash_u64;

use crate::RowId;

/// Rows of a sample.
pub const SAMPLE_ROWS: usize = 1024;

/// Rows whose priorities are computed at once.
const BLOCK: usize = 64;

const SEED: u64 = 0x5eed_0f5a_3b1e;

/// The sampled rows.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    /// The rows with their priorities: the greatest priority first.
    rows: BinaryHeap<(u64, u64)>,
    /// The rows that were sampled when the relation had `taken` rows: their values, or their ids as long as nobody has asked.
    values: Values,
    taken: usize,
}

#[derive(Debug, Default)]
enum Values {
    #[default]
    None,
    Of(Vec<RowId>),
    Gathered(Arc<Chunk>),
}

impl Sample {
    /// Considers the rows `from..to` of a chunk.
    pub(crate) fn extend(&mut self, chunk: usize, from: usize, to: usize) {
        for start in (from..to).step_by(BLOCK) {
            let first = RowId::new(chunk, start).to_bits();
            let priorities = priorities(first);
            let rows = &priorities[..BLOCK.min(to - start)];
            // Few rows of a large relation are sampled, so that most blocks have none.
            let least = rows.iter().fold(u64::MAX, |least, &p| least.min(p));
            if self.rows.len() < SAMPLE_ROWS || self.rows.peek().is_some_and(|top| least < top.0) {
                rows.iter().zip(first..).for_each(|(&priority, id)| self.consider(priority, id));
            }
        }
    }

    fn consider(&mut self, priority: u64, id: u64) {
        if self.rows.len() < SAMPLE_ROWS {
            self.rows.push((priority, id));
        } else if let Some(mut top) = self.rows.peek_mut()
            && priority < top.0
        {
            *top = (priority, id);
        }
    }

    /// Takes the rows as they are if there are enough more than the last time, `rows` in all.
    pub(crate) fn refresh(&mut self, rows: usize) {
        if rows > self.taken + self.taken / 8 {
            self.values = Values::Of(self.ids());
            self.taken = rows;
        }
    }

    /// The values; none before the first row.
    pub(crate) fn values(&mut self, gather: impl FnOnce(&[RowId]) -> Chunk) -> Option<Arc<Chunk>> {
        if let Values::Of(ids) = &self.values {
            self.values = Values::Gathered(Arc::new(gather(ids)));
        }
        match &self.values {
            Values::Gathered(chunk) => Some(chunk.clone()),
            _ => None,
        }
    }

    /// The sampled rows in the order of their ids.
    pub(crate) fn ids(&self) -> Vec<RowId> {
        let mut rows: Vec<RowId> = self.rows.iter().map(|&(_, id)| RowId::from_bits(id)).collect();
        rows.sort_unstable();
        rows
    }
}

/// The priorities of the row with this id and of those behind it.
fn priorities(first: u64) -> [u64; BLOCK] {
    let mut priorities = [0; BLOCK];
    vectorised(
        #[inline(always)]
        || {
            for (priority, id) in priorities.iter_mut().zip(first..) {
                *priority = hash_u64(id ^ SEED);
            }
        },
    );
    priorities
}
