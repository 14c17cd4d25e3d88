//! Where rows go when a worker's directory is full: partitions by the upper bits of the hash.

use base::{Budget, Result};

use super::OPERATOR;
use crate::rows::{ChunkList, Pool, Segment, StringFields};

/// Logarithm of the number of partitions.
pub(super) const BITS: u32 = 8;

/// One worker's overflow partitions.
#[derive(Debug)]
pub(super) struct Overflow {
    pool: Pool,
    partitions: Box<[ChunkList]>,
}

impl Overflow {
    pub(super) fn new(stride: usize, strings: StringFields, budget: &Budget) -> Self {
        let partitions = (0..1 << BITS).map(|_| ChunkList::default()).collect();
        Self { pool: Pool::new(stride, strings, budget, OPERATOR), partitions }
    }

    /// A new zeroed row for the hash.
    pub(super) fn allocate(&mut self, hash: u64) -> Result<*mut u8> {
        self.partitions[(hash >> (64 - BITS)) as usize].allocate(&mut self.pool)
    }

    /// Makes all rows own the strings of their keys.
    pub(super) fn own_strings(&mut self) -> Result<()> {
        self.partitions.iter_mut().try_for_each(|partition| partition.own_strings(&mut self.pool))
    }

    /// Bytes of the chunks that rows and their strings have taken.
    pub(super) fn written(&self) -> u64 {
        self.pool.taken()
    }

    /// The rows of a partition.
    pub(super) fn segments(&self, partition: usize) -> impl Iterator<Item = Segment> {
        self.partitions[partition].segments(&self.pool)
    }
}
