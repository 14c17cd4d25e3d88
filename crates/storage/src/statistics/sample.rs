//! A uniform sample without a random generator: every row id has a fixed pseudo-random priority, its hash, and the sample
//! is the rows of least priority. It is the same however many workers loaded the table, and extending it costs a hash a
//! row.
//!
//! The values are those of the rows that were sampled when the relation had last grown by an eighth: at moments that depend on
//! the sizes of commits alone, so that the same statements leave the same sample. Those of a column are gathered when somebody asks:
//! each is a look at memory that nobody may have touched for long.

use std::collections::BinaryHeap;
use std::sync::Arc;

use base::simd::vectorised;
use types::ops::hash::hash_u64;
use types::{Chunk, Column, ColumnBuilder, SqlType};

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
    /// The rows that were sampled when the relation had `taken` rows.
    sampled: Sampled,
    taken: usize,
}

/// Rows, and the columns of them that somebody has asked for.
#[derive(Debug, Default)]
struct Sampled {
    ids: Vec<RowId>,
    columns: Vec<Option<Column>>,
    chunk: Option<Arc<Chunk>>,
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
            self.sampled = Sampled { ids: self.ids(), ..Sampled::default() };
            self.taken = rows;
        }
    }

    /// The values of some columns of these types; others are NULL as long as nobody has asked for them. None before the first row.
    pub(crate) fn values(
        &mut self,
        asked: &[usize],
        types: impl ExactSizeIterator<Item = SqlType> + Clone,
        gather: impl FnOnce(&[RowId], &[usize]) -> Vec<Column>,
    ) -> Option<Arc<Chunk>> {
        let Sampled { ids, columns, chunk } = &mut self.sampled;
        if ids.is_empty() {
            return None;
        }
        columns.resize(types.len(), None);
        // The number of a row is no column.
        let is_missing = |asked: &usize| columns.get(*asked).is_some_and(Option::is_none);
        let missing: Vec<usize> = asked.iter().copied().filter(is_missing).collect();
        if !missing.is_empty() {
            for (attribute, column) in missing.iter().zip(gather(ids, &missing)) {
                columns[*attribute] = Some(column);
            }
            *chunk = None;
        }
        let whole = || {
            let all = columns.iter().zip(types);
            let all = all.map(|(column, of)| column.clone().unwrap_or_else(|| nothing(of, ids.len())));
            Arc::new(Chunk::new(ids.len(), all.collect()))
        };
        Some(chunk.get_or_insert_with(whole).clone())
    }

    /// The sampled rows in the order of their ids.
    pub(crate) fn ids(&self) -> Vec<RowId> {
        let mut rows: Vec<RowId> = self.rows.iter().map(|&(_, id)| RowId::from_bits(id)).collect();
        rows.sort_unstable();
        rows
    }
}

/// A column that nobody has asked for.
fn nothing(sql_type: SqlType, rows: usize) -> Column {
    let mut nulls = ColumnBuilder::new(sql_type, rows);
    (0..rows).for_each(|_| nulls.push_null());
    nulls.finish()
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
