//! Footers that were read before: a file that has not changed since says the same again, and reading what it says of each
//! column of each row group takes longer than many a query.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Budget;
use base::memory::Reservation;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;

use super::statistics::Cache;
use crate::identity::Identity;
use crate::source::{ColumnStatistics, Field};

/// Files whose footers are kept: those asked for last.
const MOST: usize = 64;
/// Whose memory footers are.
const OPERATOR: &str = "footers of files";

/// What a footer says.
pub(super) struct Footer {
    pub metadata: ArrowReaderMetadata,
    pub fields: Vec<Field>,
    statistics: Cache,
}

impl Footer {
    pub fn new(metadata: ArrowReaderMetadata, fields: Vec<Field>) -> Self {
        Self { statistics: Cache::new(fields.len()), metadata, fields }
    }

    /// Statistics of one column in one row group; empty where the file has none or they make no sense.
    pub fn statistics(&self, column: usize, row_group: usize) -> ColumnStatistics {
        self.statistics.get(&self.metadata, column, row_group)
    }
}

/// The footers that a database keeps within its budget.
pub struct Footers {
    kept: Mutex<VecDeque<Kept>>,
    budget: Budget,
}

struct Kept {
    of: Identity,
    footer: Arc<Footer>,
    _charged: Reservation,
}

impl std::fmt::Debug for Footers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Footers").field("kept", &self.lock().len()).finish_non_exhaustive()
    }
}

impl Footers {
    /// None yet.
    pub fn new(budget: Budget) -> Self {
        Self { kept: Mutex::default(), budget }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That of a file that is as it was.
    pub(super) fn get(&self, of: &Identity) -> Option<Arc<Footer>> {
        let mut kept = self.lock();
        let at = kept.iter().position(|kept| kept.of == *of)?;
        let found = kept.remove(at)?;
        let footer = found.footer.clone();
        kept.push_front(found);
        Some(footer)
    }

    /// Keeps a footer, if there is memory for it.
    pub(super) fn keep(&self, of: Identity, footer: &Arc<Footer>) {
        // What it says of a column's row groups becomes values, beside what it is.
        let Ok(charged) = self.budget.reserve(footer.metadata.metadata().memory_size() * 2, OPERATOR) else { return };
        let mut kept = self.lock();
        kept.retain(|kept| kept.of != of);
        kept.push_front(Kept { of, footer: footer.clone(), _charged: charged });
        kept.truncate(MOST);
    }
}
