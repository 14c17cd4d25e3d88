//! Where rows go when a worker's directory is full: partitions by the upper bits of the hash.
//!
//! All partitions are cut in chunks from one area, so that they lie in huge pages though each is small (with an area for
//! each, page faults took as long as all the rest).

use base::{Area, Budget, Result};

use super::OPERATOR;
use crate::rows::Segment;

/// Logarithm of the number of partitions.
pub(super) const BITS: u32 = 8;
/// Bytes of a chunk, about.
const CHUNK: usize = 16 << 10;

/// One worker's overflow partitions.
#[derive(Debug)]
pub(super) struct Overflow {
    area: Area,
    stride: usize,
    /// Rows of a chunk.
    rows: usize,
    partitions: Vec<Partition>,
}

#[derive(Clone, Debug)]
struct Partition {
    /// First bytes of the chunks; all but the last one are full.
    chunks: Vec<*mut u8>,
    /// Rows in the last chunk.
    used: usize,
}

impl Overflow {
    pub(super) fn new(stride: usize, budget: &Budget) -> Self {
        let rows = (CHUNK / stride).max(1);
        let none = Partition { chunks: Vec::new(), used: rows };
        let partitions = vec![none; 1 << BITS];
        Self { area: Area::new(budget.clone(), OPERATOR), stride, rows, partitions }
    }

    /// A new zeroed row for the hash.
    pub(super) fn allocate(&mut self, hash: u64) -> Result<*mut u8> {
        let partition = &mut self.partitions[(hash >> (64 - BITS)) as usize];
        if partition.used == self.rows {
            partition.chunks.push(self.area.allocate(self.rows * self.stride)?.as_ptr());
            partition.used = 0;
        }
        let last = *partition.chunks.last().expect("pushed when there was none");
        partition.used += 1;
        // SAFETY: a chunk has room for `rows` rows.
        Ok(unsafe { last.add((partition.used - 1) * self.stride) })
    }

    /// The rows of a partition.
    pub(super) fn segments(&self, partition: usize) -> impl Iterator<Item = Segment> + '_ {
        let Partition { chunks, used } = &self.partitions[partition];
        chunks.iter().enumerate().map(|(i, &start)| {
            let rows = if i + 1 == chunks.len() { *used } else { self.rows };
            Segment::Block { start, stride: self.stride, rows }
        })
    }
}
