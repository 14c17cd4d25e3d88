//! Relations: partitioned lists of append-only chunks, changed by atomic appends, read through snapshots.
//!
//! Writers serialise on one lock while a commit checks keys; readers take another, only to copy one pointer, so a
//! query's snapshot never waits for a commit. Every chunk but the growing tail of each partition has at least half of
//! [`CHUNK_ROWS`](crate::CHUNK_ROWS) rows.

mod append;
mod commit;
mod key_index;
mod snapshot;
#[cfg(test)]
mod tests;
mod zone;

pub use append::Append;
pub use snapshot::{ColumnEstimate, Snapshot};
pub use zone::InsertZone;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{Budget, Result};

use crate::open::OpenChunk;
use crate::statistics::{Bounds, Sample, Summary};
use crate::{Schema, StoredChunk};
use key_index::KeyIndex;

/// A table: schema, rows, key index and statistics.
#[derive(Debug)]
pub struct Relation {
    name: String,
    schema: Arc<Schema>,
    partitions: usize,
    budget: Budget,
    writer: Mutex<Writer>,
    published: Mutex<Snapshot>,
    live: Arc<Mutex<Live>>,
}

/// What commits change, under one lock.
#[derive(Debug)]
struct Writer {
    chunks: Vec<Arc<StoredChunk>>,
    /// By partition, the chunk that still grows.
    tails: Vec<Option<Tail>>,
    /// Present if the schema has a primary key.
    index: Option<KeyIndex>,
    /// Rows so far.
    rows: usize,
}

/// The last chunk of a partition.
#[derive(Debug)]
struct Tail {
    number: usize,
    open: OpenChunk,
    bounds: Box<[Bounds]>,
}

/// The statistics of all committed rows. Readers of older snapshots use them too: bounds only widen.
#[derive(Debug)]
struct Live {
    summary: Summary,
    sample: Sample,
}

/// Locks without regard to a panic elsewhere: every critical section leaves the data consistent at each step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Relation {
    /// An empty relation over `partitions` NUMA nodes. `name` is for error messages; memory is charged to `budget`.
    pub fn new(name: impl Into<String>, schema: Schema, partitions: usize, budget: &Budget) -> Result<Arc<Self>> {
        assert!(partitions > 0);
        let schema = Arc::new(schema);
        let index = match schema.primary_key() {
            [] => None,
            key => Some(KeyIndex::new(key.to_vec(), budget)?),
        };
        let tails = (0..partitions).map(|_| None).collect();
        let live = Live { summary: Summary::new(schema.attributes().len()), sample: Sample::default() };
        let live = Arc::new(Mutex::new(live));
        Ok(Arc::new(Self {
            name: name.into(),
            published: Mutex::new(Snapshot::new(schema.clone(), partitions, Vec::new(), 0, live.clone())),
            schema,
            partitions,
            budget: budget.clone(),
            writer: Mutex::new(Writer { chunks: Vec::new(), tails, index, rows: 0 }),
            live,
        }))
    }

    /// The name that error messages use.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }
    /// Number of partitions.
    pub fn partitions(&self) -> usize {
        self.partitions
    }
    /// All rows committed so far, from now on unchanging.
    pub fn snapshot(&self) -> Snapshot {
        lock(&self.published).clone()
    }
    /// Number of committed rows.
    pub fn row_count(&self) -> usize {
        lock(&self.published).rows()
    }
    /// Bytes of memory that the committed rows hold.
    pub fn bytes(&self) -> usize {
        self.snapshot().chunks().iter().map(|c| c.chunk().bytes()).sum()
    }
    /// Begins to append rows with up to `workers` threads at once. Nothing is visible before
    /// [`commit`](Append::commit); dropping the append forgets its rows.
    pub fn append(self: &Arc<Self>, workers: usize) -> Append {
        Append::new(self.clone(), workers)
    }
}
