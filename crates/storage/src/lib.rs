//! Relations in main memory: chunks of columns, permanent zones that grow, snapshots, statistics and scan kernels.
//!
//! - [`Relation`] is a table; [`Append`] adds rows to it atomically, in the order of their source; [`Snapshot`] is what a
//!   query reads, [`ChunkReader`] how it reads a chunk, whatever the chunk's body is like.
//! - [`index`] holds the unique indexes behind PRIMARY KEY.
//! - [`scan`] holds the vectorised predicates that scans evaluate before generated code sees a row, and block skipping.
//! - [`statistics`] are kept at load: bounds, null counts, distinct sketches and a sample.
//!
//! - [`transaction`] says which commits a reader sees; [`Transaction`] changes rows.
//!
//! Architecture invariant: nothing here knows a query plan or SQL text. Rows that are visible never move, so a row id (chunk,
//! offset) stays valid until the relation is gone; what a snapshot sees of a row never changes.

mod bits;
mod body;
mod chunk;
mod clock;
mod hash;
pub mod index;
mod lock;
mod open;
mod published;
mod reader;
pub mod relation;
mod row_set;
pub mod scan;
pub mod schema;
mod sidecar;
pub mod statistics;
#[cfg(test)]
mod testing;
pub mod transaction;
mod values;

pub use body::{Scratch, Texts};
pub use chunk::{ChunkView, ColumnRef, RowId};
pub use hash::{PARTITIONS, partition_of};
pub use published::{Guard, pin};
pub use reader::{Applicable, ChunkReader};
pub use relation::{Append, Relation, Snapshot, Strength};
pub use scan::{Comparison, Computed, ScanOp, ScanPredicate};
pub use schema::{Attribute, Schema};
pub use transaction::Transaction;

/// Most rows of a chunk.
pub const CHUNK_ROWS: usize = 1 << 16;

/// Most rows that a reader hands out at once.
pub const WINDOW: usize = 1024;
