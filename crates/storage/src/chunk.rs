//! Chunks as a relation holds them: the rows, what scans ask of them, and the hook for versions.

use std::fmt;
use std::sync::Arc;

use base::memory::Reservation;
use types::{Chunk, Column};

use crate::CHUNK_ROWS;
use crate::statistics::Bounds;

/// Where a row is: never changes while the relation exists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(u64);

impl RowId {
    /// Row `offset` of chunk number `chunk`.
    pub fn new(chunk: usize, offset: usize) -> Self {
        debug_assert!(offset < CHUNK_ROWS && chunk < 1 << 32);
        Self((chunk as u64) << 16 | offset as u64)
    }
    /// The number of the chunk in the relation.
    pub fn chunk(self) -> usize {
        (self.0 >> 16) as usize
    }
    /// The row in the chunk.
    pub fn offset(self) -> usize {
        (self.0 & 0xffff) as usize
    }
    /// 48 bits that order like (chunk, offset).
    pub fn to_bits(self) -> u64 {
        self.0
    }
    /// The reverse of [`to_bits`](Self::to_bits).
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Debug for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}:{}", self.chunk(), self.offset())
    }
}

/// The addresses of one column, as kernels and generated code take them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ColumnRef {
    /// First byte of the values.
    pub data: *const u8,
    /// One byte a row (1: NULL), or null if no row is NULL.
    pub nulls: *const u8,
}

// SAFETY: addresses only; who dereferences them vouches that the column is alive, and columns are immutable.
unsafe impl Send for ColumnRef {}
// SAFETY: as above.
unsafe impl Sync for ColumnRef {}

impl ColumnRef {
    /// The addresses of `column`, valid while it or a clone of it lives.
    pub fn of(column: &Column) -> Self {
        Self { data: column.data(), nulls: column.nulls().map_or(std::ptr::null(), <[u8]>::as_ptr) }
    }
}

/// When the rows of a chunk were created. Chunks of which every row is visible to every reader have none.
#[derive(Clone, Debug)]
pub struct VersionVector {
    created: Box<[u64]>,
}

impl VersionVector {
    /// A vector with the timestamp at which each row was committed.
    pub fn new(created: impl Into<Box<[u64]>>) -> Self {
        Self { created: created.into() }
    }
    /// Whether a reader as of timestamp `at` sees the row.
    pub fn visible(&self, row: usize, at: u64) -> bool {
        self.created[row] <= at
    }
}

/// A chunk of a relation. Immutable: a growing chunk is seen through ever longer wrappers over the same memory.
#[derive(Debug)]
pub struct StoredChunk {
    chunk: Arc<Chunk>,
    number: usize,
    partition: usize,
    refs: Box<[ColumnRef]>,
    bounds: Box<[Bounds]>,
    versions: Option<VersionVector>,
    /// The chunk's share of the database's budget, given back when the last snapshot drops the chunk.
    _memory: Option<Reservation>,
}

impl StoredChunk {
    pub(crate) fn new(
        chunk: Arc<Chunk>,
        number: usize,
        partition: usize,
        bounds: Box<[Bounds]>,
        memory: Option<Reservation>,
    ) -> Self {
        let refs = chunk.columns().iter().map(ColumnRef::of).collect();
        Self { chunk, number, partition, refs, bounds, versions: None, _memory: memory }
    }

    /// The rows.
    pub fn chunk(&self) -> &Arc<Chunk> {
        &self.chunk
    }
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.chunk.rows()
    }
    /// The number of the chunk in the relation: the first half of row ids.
    pub fn number(&self) -> usize {
        self.number
    }
    /// The partition, that is, the NUMA node, that the chunk belongs to.
    pub fn partition(&self) -> usize {
        self.partition
    }
    /// The addresses of all columns, by attribute.
    pub fn columns(&self) -> &[ColumnRef] {
        &self.refs
    }
    /// Bounds and null count of every column, by attribute: what [`may_match`](crate::scan::may_match) takes.
    pub fn bounds(&self) -> &[Bounds] {
        &self.bounds
    }
    /// The versions that scans must check row by row, or none if every row is visible: one test per chunk.
    pub fn versions(&self) -> Option<&VersionVector> {
        self.versions.as_ref()
    }
}
