//! Relations in main memory: partitions of append-only chunks, insert zones, snapshots, statistics and scan kernels.
//!
//! - [`Relation`] is a table; [`Append`] adds rows to it atomically, with one [`InsertZone`] per worker (thesis 2.6.1);
//!   [`Snapshot`] is what a query reads.
//! - [`scan`] holds the vectorised predicates that scans evaluate before generated code sees a row, and block skipping.
//! - [`statistics`] are kept at load: bounds, null counts, distinct sketches and a sample.
//!
//! Architecture invariant: nothing here knows a query plan or SQL text. Rows that are visible never move and never
//! change, so a row id (chunk, offset) stays valid until the relation is gone.

pub mod chunk;
mod hash;
mod open;
pub mod relation;
pub mod scan;
pub mod schema;
mod simd;
pub mod statistics;
#[cfg(test)]
mod testing;

pub use chunk::{ColumnRef, RowId, StoredChunk, VersionVector};
pub use relation::{Append, InsertZone, Relation, Snapshot};
pub use scan::{Comparison, ScanOp, ScanPredicate};
pub use schema::{Attribute, Schema};

/// Most rows of a chunk.
pub const CHUNK_ROWS: usize = 1 << 16;
