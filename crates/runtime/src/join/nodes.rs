//! Which nodes a join's table lies on, for the counts of local and remote bytes (thesis 4.5.3, table 4.1).
//!
//! The slots are taken in as many blocks as there are nodes. What the rows of each block's slots lie on is counted when they are
//! inserted; a probe then notes the blocks that its batch looks at. Both look at one in [`SAMPLE`].

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use base::memory::Spread;
use base::traffic::{self, Access};

/// One of so many is looked at.
pub(super) const SAMPLE: usize = 8;
/// Of more nodes, tables are taken to lie on all alike.
const MOST: usize = 64;

/// How many are in each block.
pub(super) type Histogram = [u32; MOST];
/// None in any.
pub(super) const NONE: Histogram = [0; MOST];

/// See the module.
#[derive(Debug)]
pub(super) struct Blocks {
    nodes: usize,
    slots: u64,
    /// Whether the slots of a block lie on the node of its number; else on all nodes alike.
    are_placed: bool,
    /// Rows by block and node.
    rows: Box<[AtomicU64]>,
}

impl Blocks {
    /// None if there is nothing to tell apart.
    pub(super) fn new(nodes: usize, slots: usize, spread: Spread) -> Option<Self> {
        let rows = (0..nodes * nodes).map(|_| AtomicU64::new(0));
        (2..=MOST).contains(&nodes).then(|| Self {
            nodes,
            slots: slots as u64,
            are_placed: spread == Spread::Blocks,
            rows: rows.collect(),
        })
    }

    /// How many of these slots are in each block.
    pub(super) fn of(&self, slots: impl Iterator<Item = u64>) -> Histogram {
        let mut blocks = NONE;
        self.count(&mut blocks, slots);
        blocks
    }

    /// Counts these slots too.
    pub(super) fn count(&self, blocks: &mut Histogram, slots: impl Iterator<Item = u64>) {
        for slot in slots {
            let block = u128::from(slot) * self.nodes as u128 / u128::from(self.slots);
            blocks[block as usize % MOST] += 1;
        }
    }

    /// Rows of these blocks, which lie on a node, are found from now on.
    pub(super) fn add(&self, blocks: &Histogram, node: u16) {
        let node = usize::from(node) % self.nodes;
        for (block, &rows) in blocks.iter().enumerate().take(self.nodes).filter(|(_, rows)| **rows > 0) {
            self.rows[block * self.nodes + node].fetch_add(u64::from(rows), Relaxed);
        }
    }

    /// Notes bytes of slots of these blocks.
    pub(super) fn note_slots(&self, blocks: &Histogram, bytes: u64) {
        match self.are_placed {
            true => note(bytes, blocks[..self.nodes].iter().map(|&slots| f64::from(slots))),
            false => traffic::note_spread(Access::Shared, bytes),
        }
    }

    /// Notes bytes of rows of these blocks.
    pub(super) fn note_rows(&self, blocks: &Histogram, bytes: u64) {
        let mut nodes = [0.0; MOST];
        for (rows, &looks) in self.rows.chunks(self.nodes).zip(blocks).filter(|(_, looks)| **looks > 0) {
            let all: u64 = rows.iter().map(|rows| rows.load(Relaxed)).sum();
            for (node, rows) in nodes.iter_mut().zip(rows) {
                *node += f64::from(looks) * rows.load(Relaxed) as f64 / all.max(1) as f64;
            }
        }
        note(bytes, nodes[..self.nodes].iter().copied());
    }
}

/// Notes bytes that lie on the nodes in these shares; on all alike if these are none.
fn note(bytes: u64, shares: impl Iterator<Item = f64> + Clone) {
    let all: f64 = shares.clone().sum();
    if all == 0.0 {
        return traffic::note_spread(Access::Shared, bytes);
    }
    let (mut sum, mut noted) = (0.0, 0);
    for (node, share) in shares.enumerate().filter(|(_, share)| *share > 0.0) {
        sum += share;
        let until = (bytes as f64 * sum / all).round() as u64;
        traffic::note(Access::Shared, node as u16, until - noted);
        noted = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::traffic::{MemoryPlacement, Traffic};

    /// What a worker of the second of two nodes notes.
    fn noted(work: impl FnOnce()) -> [u64; 3] {
        traffic::sit(1, [1, 0].into());
        traffic::begin(MemoryPlacement::FirstTouch);
        work();
        let Traffic(bytes) = traffic::so_far();
        traffic::sit(0, Box::default());
        bytes[Access::Shared as usize]
    }

    #[test]
    fn slots_lie_where_their_blocks_are_and_rows_where_they_were_inserted() {
        assert!(Blocks::new(1, 16, Spread::Blocks).is_none() && Blocks::new(65, 16, Spread::Blocks).is_none());
        let (placed, spread) = (Blocks::new(2, 16, Spread::Blocks), Blocks::new(2, 16, Spread::Interleaved));
        let (placed, spread) = (placed.unwrap(), spread.unwrap());
        let blocks = placed.of([0, 7, 8, 15, 9, 10].into_iter());
        assert_eq!(blocks[..3], [2, 4, 0]);
        assert_eq!(noted(|| placed.note_slots(&blocks, 60)), [40, 20, 0]);
        assert_eq!(noted(|| spread.note_slots(&blocks, 60)), [30, 30, 0]);
        // Nobody knows yet.
        assert_eq!(noted(|| placed.note_rows(&blocks, 61)), [30, 31, 0]);
        // The first block's rows lie on the second node, the second block's on both.
        placed.add(&placed.of([0, 1].into_iter()), 1);
        placed.add(&placed.of([8, 9, 10].into_iter()), 1);
        placed.add(&placed.of([12].into_iter()), 0);
        assert_eq!(noted(|| placed.note_rows(&blocks, 60)), [50, 10, 0]);
        assert_eq!(noted(|| placed.note_rows(&placed.of([3].into_iter()), 60)), [60, 0, 0]);
    }

    #[test]
    fn the_last_slot_of_a_wide_array_is_in_the_last_block() {
        let slots = 1 << 60;
        let blocks = Blocks::new(64, slots, Spread::Blocks).unwrap();
        assert_eq!(blocks.of([slots as u64 - 1].into_iter())[63], 1);
    }
}
