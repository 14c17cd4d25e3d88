//! Relations: a directory of chunks, changed by atomic appends, read through snapshots.
//!
//! Row ids are (chunk, offset), and the order of ids is the order of rows: that of the statements that appended them, and
//! within a statement that of its source. Statements that commit at the same time append to zones of their own; one alone
//! always gets the same zone, whose last chunk is also the relation's.
//!
//! A commit writes its rows where nobody looks, enters its keys, and publishes a new view in one short critical section;
//! taking a snapshot copies one pointer. Columns that it leaves plain are frozen later, from the relation's backlog, where
//! ranges of strings and many sketches are made, too. Of two neighbouring chunks of a zone at least one is half full.

mod append;
mod backlog;
mod change;
mod claim;
mod commit;
mod directory;
mod fold;
mod found;
mod garbage;
mod indexes;
mod live;
mod piece;
mod record;
mod row_locks;
mod snapshot;
#[cfg(test)]
mod tests;
mod window_rows;
mod young;
mod zone;

pub use append::Append;
pub(crate) use change::Refused;
pub(crate) use commit::Commit;
pub use found::FoundRow;
pub use indexes::{Few, FirstRows, IndexedRows, KeyAccess};
pub(crate) use live::View as Visible;
pub use record::{Change, Record};
pub use row_locks::Strength;
pub use snapshot::{ColumnEstimate, Snapshot};
pub(crate) use window_rows::WindowRows;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};

use base::memory::{OnNode, on_node};
use base::{Budget, Result};
use types::{Chunk, ColumnBuilder};

use crate::body::Body;
use crate::chunk::StoredChunk;
use crate::clock::{Clock, Stamp, View};
use crate::index::{RowIndex, Rows, SlotIndex, UniqueIndex};
use crate::lock::lock;
use crate::{ChunkReader, Schema};
use backlog::Backlog;
use claim::Claim;
use directory::Directory;
use live::Live;
use row_locks::RowLocks;
use zone::Zones;

/// Where the rows of a relation go on a machine with several NUMA nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Where they are loaded, in the order of their source.
    Local,
    /// By the hash of the first key attribute: each of the 64 partitions belongs to one of so many nodes. Rows of a
    /// statement are in order on each node only.
    Hashed {
        /// Number of nodes.
        nodes: u16,
    },
}

impl Distribution {
    /// How many chunks a statement fills at the same time.
    fn parts(self) -> usize {
        match self {
            Self::Local => 1,
            Self::Hashed { nodes } => nodes.max(1).into(),
        }
    }
}

/// A table: schema, rows, key index and statistics.
#[derive(Debug)]
pub struct Relation {
    /// No other relation of the process has it.
    number: u64,
    name: String,
    schema: Arc<Schema>,
    distribution: Distribution,
    budget: Budget,
    directory: Directory<StoredChunk>,
    zones: Zones,
    /// Present if the schema has a primary key.
    index: Option<Box<dyn UniqueIndex>>,
    /// The others, as long as somebody has them.
    indexes: RwLock<Vec<Weak<RowIndex>>>,
    /// How many there ever were, counted when they are among them.
    indexes_made: AtomicUsize,
    /// Whether transactions note what they do to it.
    is_noted: AtomicBool,
    /// Transactions that have changed rows, some of which have ended.
    writers: Mutex<Vec<Arc<Stamp>>>,
    /// Held while keys of dead rows leave the indexes, and while such rows lose their values.
    folding: Mutex<()>,
    /// Held from the first key entered to the commit or its end, so that no key in the index is undecided.
    keys: Mutex<()>,
    live: Mutex<Live>,
    /// What is left to freeze.
    backlog: Backlog,
    /// Whether somebody works it off.
    is_freezing: AtomicBool,
    /// Whether texts of some chunk are expanded often.
    is_warm: Arc<AtomicBool>,
    /// The order of its commits and those of other relations.
    clock: Arc<Clock>,
    /// Rows that are dead for the newest of all views.
    dead: AtomicUsize,
    /// How often rows were changed to values that may be outside of what was known of the column.
    widened: AtomicU64,
    /// Whether its rows are, or become, another relation's.
    claim: Claim,
    /// Rows that transactions have locked.
    row_locks: RowLocks,
    /// The attribute by whose values its rows are parts of the database for those who are kept apart by parts, and one more; 0: it has
    /// no parts.
    partition_key: AtomicUsize,
}

impl Relation {
    /// The attribute whose value says to which part of the database a row belongs, if its parts are known.
    pub fn partition_key(&self) -> Option<usize> {
        self.partition_key.load(std::sync::atomic::Ordering::Relaxed).checked_sub(1)
    }

    /// Says which attribute that is, from now on. Nothing is stored by it.
    pub fn set_partition_key(&self, attribute: Option<usize>) {
        let number = attribute.map_or(0, |attribute| attribute + 1);
        self.partition_key.store(number, std::sync::atomic::Ordering::Relaxed);
    }

    /// A chunk that is begun for a part of the distribution has its memory there while this lives.
    fn on_node_of(&self, part: usize) -> Option<OnNode> {
        matches!(self.distribution, Distribution::Hashed { .. }).then(|| on_node(part as u16))
    }

    /// Where its rows go.
    pub fn distribution(&self) -> Distribution {
        self.distribution
    }

    /// An empty relation of a database with this clock. `name` is for error messages; memory is charged to `budget`.
    pub fn of_database(
        name: impl Into<String>,
        schema: Schema,
        distribution: Distribution,
        budget: &Budget,
        clock: &Arc<Clock>,
    ) -> Result<Arc<Self>> {
        let mut relation = Self::new(name, schema, distribution, budget)?;
        Arc::get_mut(&mut relation).expect("nobody else has it").clock = clock.clone();
        Ok(relation)
    }

    /// An empty relation that is alone in its database. `name` is for error messages; memory is charged to `budget`.
    pub fn new(
        name: impl Into<String>,
        schema: Schema,
        distribution: Distribution,
        budget: &Budget,
    ) -> Result<Arc<Self>> {
        let index = match schema.primary_key() {
            [] => None,
            key => Some(Box::new(SlotIndex::new(key.to_vec(), budget)?) as Box<dyn UniqueIndex>),
        };
        Ok(Self::with_index(name, schema, distribution, budget, index))
    }

    /// As [`new`](Self::new), with an index of the caller's choice for the primary key.
    pub fn with_index(
        name: impl Into<String>,
        schema: Schema,
        distribution: Distribution,
        budget: &Budget,
        index: Option<Box<dyn UniqueIndex>>,
    ) -> Arc<Self> {
        assert_eq!(index.is_some(), !schema.primary_key().is_empty());
        // Without a key there is nothing to hash.
        let distribution = if index.is_some() { distribution } else { Distribution::Local };
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Arc::new(Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            name: name.into(),
            live: Mutex::new(Live::new(schema.attributes().len())),
            backlog: Backlog::new(schema.attributes().len()),
            is_freezing: AtomicBool::new(false),
            schema: Arc::new(schema),
            distribution,
            budget: budget.clone(),
            directory: Directory::new(),
            zones: Zones::default(),
            index,
            indexes: RwLock::default(),
            indexes_made: AtomicUsize::new(0),
            is_noted: AtomicBool::new(false),
            partition_key: AtomicUsize::new(0),
            writers: Mutex::default(),
            folding: Mutex::default(),
            keys: Mutex::new(()),
            is_warm: Arc::default(),
            clock: Arc::default(),
            dead: AtomicUsize::new(0),
            widened: AtomicU64::new(0),
            claim: Claim::default(),
            row_locks: RowLocks::default(),
        })
    }

    /// Tells it from all other relations of the process.
    pub fn number(&self) -> u64 {
        self.number
    }
    /// The name that error messages use.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }
    /// All rows committed so far, from now on unchanging.
    pub fn snapshot(self: &Arc<Self>) -> Snapshot {
        self.snapshot_of(self.clock.view())
    }
    /// All rows that a view of the relation's clock sees.
    pub fn snapshot_of(self: &Arc<Self>, view: View) -> Snapshot {
        let visible = self.visible_at(&view);
        Snapshot::new(self.clone(), visible, view)
    }
    /// Which rows a view sees, but for its transaction's own, whatever has become of them since.
    pub(crate) fn visible_at(&self, view: &View) -> Arc<Visible> {
        lock(&self.live).view_at(view.timestamp())
    }
    /// Number of committed rows.
    pub fn row_count(&self) -> usize {
        lock(&self.live).view().rows.saturating_sub(self.dead_rows())
    }
    /// Bytes of memory that the committed rows hold.
    pub fn bytes(self: &Arc<Self>) -> usize {
        self.snapshot().chunks().map(|c| c.read().bytes()).sum()
    }
    /// Bytes of memory that its indexes hold.
    pub fn key_bytes(&self) -> usize {
        let ordered: usize = self.indexes().iter().map(|index| index.bytes()).sum();
        ordered + self.index.as_ref().map_or(0, |index| index.bytes())
    }
    /// Begins to append rows, charged to `budget` until they are committed. Nothing is visible before [`commit`](Append::commit); dropping the append forgets its rows.
    pub fn append(self: &Arc<Self>, budget: &Budget) -> Append {
        Append::new(self.clone(), budget.clone())
    }
}

impl Relation {
    /// What readers see of a chunk without rows.
    fn empty_body(&self) -> Body {
        let column = |a: &crate::Attribute| ColumnBuilder::new(a.sql_type, 0).finish();
        let columns: Vec<_> = self.schema.attributes().iter().map(column).collect();
        Body::plain(Chunk::new(0, columns))
    }
}

impl Drop for Relation {
    /// Its memory is to go back to the system, and not to wait for somebody.
    fn drop(&mut self) {
        let charged = |number| self.directory.get(number).charged();
        base::memory::are_free((0..self.directory.len()).map(charged).sum());
    }
}

impl Rows for Relation {
    fn reader(&self, chunk: usize, rows: usize) -> ChunkReader {
        ChunkReader::new(self.directory.get(chunk).pin(), rows)
    }
}
