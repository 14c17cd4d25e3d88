//! Room for the words of one group, from which a percentile is selected.

use base::memory::Reservation;
use base::{Budget, Result};

/// A worker's room, as large as the largest group that needed it.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    words: Vec<u64>,
    charged: Option<Reservation>,
}

impl Selection {
    /// Room for so many words, charged to the query.
    pub(crate) fn room(&mut self, words: usize, budget: &Budget) -> Result<&mut Vec<u64>> {
        self.words.clear();
        if self.words.capacity() < words {
            self.charged = None;
            self.words = Vec::new();
            self.charged = Some(budget.reserve(words * 8, "aggregation")?);
            self.words.reserve_exact(words);
        }
        Ok(&mut self.words)
    }
}
