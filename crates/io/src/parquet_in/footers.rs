//! Footers that were read before: a file that has not changed since says the same again, and reading what it says of each
//! column of each row group takes longer than many a query.

use std::sync::Arc;

use base::Budget;
use base::memory::Reservation;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;

use super::statistics::Cache;
use crate::identity::{Identity, Known};
use crate::source::{ColumnStatistics, Field};

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
#[derive(Debug)]
pub struct Footers {
    kept: Known<Kept>,
    budget: Budget,
}

#[derive(Clone)]
struct Kept {
    footer: Arc<Footer>,
    _charged: Arc<Reservation>,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

impl Footers {
    /// None yet.
    pub fn new(budget: Budget) -> Self {
        Self { kept: Known::default(), budget }
    }

    /// That of a file that is as it was.
    pub(super) fn get(&self, of: &Identity) -> Option<Arc<Footer>> {
        self.kept.get(of).map(|kept| kept.footer)
    }

    /// Keeps a footer, if there is memory for it.
    pub(super) fn keep(&self, of: Identity, footer: &Arc<Footer>) {
        // What it says of a column's row groups becomes values, beside what it is.
        if let Ok(charged) = self.budget.reserve(footer.metadata.metadata().memory_size() * 2, OPERATOR) {
            self.kept.keep(of, Kept { footer: footer.clone(), _charged: Arc::new(charged) });
        }
    }
}
