//! Segment trees (thesis 5.4.3, figures 5.5 to 5.7): levels of nodes without pointers, each a summary of as many nodes of
//! the level below as the fan-out says; the rows themselves are the lowest level. Any range is the sum of O(fan-out * log n)
//! nodes and rows at its ends, found from both ends upwards, so short ranges look at little.
//!
//! Levels are built one after the other, a level in independent pieces, each of which is allocated by whoever builds it.
//! Nodes are full: what is left over at the end of a level is read from the level below.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use base::memory::Reservation;
use base::{Budget, Result};

use super::{OPERATOR, PIECE};

/// Nodes of a piece above the lowest level.
const NODES: usize = 1024;

/// A segment tree over rows.
#[derive(Debug)]
pub(super) struct Tree<N> {
    /// Rows below a node of the lowest level, as a power of two.
    leaf: u32,
    /// Children of the other nodes, likewise.
    fanout: u32,
    levels: Box<[Level<N>]>,
    /// What the nodes take, and what those of each piece have allocated.
    charged: Mutex<Vec<Reservation>>,
}

#[derive(Debug)]
struct Level<N> {
    nodes: usize,
    /// Nodes of a piece, as a power of two.
    piece: u32,
    pieces: Box<[OnceLock<Box<[N]>>]>,
}

impl<N> Tree<N> {
    /// A tree with nodes for `leaf` rows each, and above them for `fanout` nodes each; both are rounded up to powers of
    /// two.
    pub(super) fn new(rows: usize, leaf: usize, fanout: usize, budget: &Budget) -> Result<Self> {
        let log = |n: usize| n.max(2).next_power_of_two().trailing_zeros();
        let (leaf, fanout) = (log(leaf), log(fanout));
        let mut levels = Vec::new();
        let (mut nodes, mut piece) = (rows >> leaf, log(PIECE).saturating_sub(leaf));
        while nodes > 0 {
            let pieces = (0..nodes.div_ceil(1 << piece)).map(|_| OnceLock::new()).collect();
            levels.push(Level { nodes, piece, pieces });
            (nodes, piece) = (nodes >> fanout, log(NODES));
        }
        let nodes: usize = levels.iter().map(|level: &Level<N>| level.nodes).sum();
        let charged = budget.reserve(nodes * size_of::<N>(), OPERATOR)?;
        Ok(Self { leaf, fanout, levels: levels.into(), charged: Mutex::new(vec![charged]) })
    }

    /// Charges what nodes of a piece have allocated.
    pub(super) fn charge(&self, budget: &Budget, bytes: usize) -> Result<()> {
        if bytes > 0 {
            let charged = budget.reserve(bytes, OPERATOR)?;
            self.charged.lock().unwrap_or_else(PoisonError::into_inner).push(charged);
        }
        Ok(())
    }

    /// How many levels there are.
    pub(super) fn levels(&self) -> usize {
        self.levels.len()
    }

    /// How many pieces a level has, the lowest first.
    pub(super) fn pieces(&self, level: usize) -> usize {
        self.levels[level].pieces.len()
    }

    /// Builds a piece of a level: `node` makes the node of some rows from those below it, which are a range of nodes of the
    /// level below, or at the lowest level of rows.
    pub(super) fn build(
        &self,
        level: usize,
        piece: usize,
        mut node: impl FnMut(Range<usize>, Range<usize>) -> Result<N>,
    ) -> Result<()> {
        let Level { nodes, piece: size, pieces } = &self.levels[level];
        let (rows, children) =
            (self.leaf + self.fanout * level as u32, if level == 0 { self.leaf } else { self.fanout });
        let of = |node: usize, log: u32| node << log..(node + 1) << log;
        let made = (piece << size..(*nodes).min((piece + 1) << size)).map(|at| node(of(at, rows), of(at, children)));
        let made = made.collect::<Result<Box<[N]>>>()?;
        assert!(pieces[piece].set(made).is_ok(), "a piece is built once");
        Ok(())
    }

    /// Calls `each` with nodes of a level.
    #[inline]
    pub(super) fn nodes(&self, level: usize, nodes: Range<usize>, mut each: impl FnMut(&N)) {
        let Level { piece: size, pieces, .. } = &self.levels[level];
        let Range { mut start, end } = nodes;
        while start < end {
            let piece = start >> size;
            let last = end.min((piece + 1) << size);
            let nodes = pieces[piece].get().expect("lower levels are built first");
            nodes[start - (piece << size)..last - (piece << size)].iter().for_each(&mut each);
            start = last;
        }
    }

    /// Calls `rows` and `node` with rows and nodes that a range consists of, in no order.
    pub(super) fn visit(&self, range: Range<usize>, mut rows: impl FnMut(Range<usize>), mut node: impl FnMut(&N)) {
        let (mut start, mut end) = (range.start.div_ceil(1 << self.leaf), range.end >> self.leaf);
        if start >= end {
            return rows(range);
        }
        rows(range.start..start << self.leaf);
        rows(end << self.leaf..range.end);
        for level in 0.. {
            let (first, last) = (start.div_ceil(1 << self.fanout), end >> self.fanout);
            if first >= last {
                return self.nodes(level, start..end, &mut node);
            }
            self.nodes(level, start..first << self.fanout, &mut node);
            self.nodes(level, last << self.fanout..end, &mut node);
            (start, end) = (first, last);
        }
    }

    /// How many rows and nodes a long range takes at most, about.
    pub(super) fn cost(&self) -> usize {
        (2 << self.leaf) + self.levels.len() * (2 << self.fanout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_is_a_sum_of_nodes() {
        for (rows, leaf, fanout) in [(0, 2, 2), (1, 2, 2), (37, 2, 3), (300, 3, 16), (1000, 16, 128), (200_000, 16, 4)]
        {
            let tree = Tree::<u64>::new(rows, leaf, fanout, &Budget::new(usize::MAX)).unwrap();
            let sum = |rows: Range<usize>| rows.map(|row| row as u64).sum::<u64>();
            for level in 0..tree.levels() {
                for piece in 0..tree.pieces(level) {
                    let build = |covered: Range<usize>, below: Range<usize>| {
                        let mut total = 0;
                        match level {
                            0 => total = sum(below),
                            _ => tree.nodes(level - 1, below, |node| total += node),
                        }
                        assert_eq!(total, sum(covered));
                        Ok(total)
                    };
                    tree.build(level, piece, build).unwrap();
                }
            }
            let mut random = base::Random(rows as u64);
            for _ in 0..500 {
                let (a, b) = (random.index(rows + 1), random.index(rows + 1));
                let (range, mut seen) = (a.min(b)..a.max(b), std::cell::Cell::new(0));
                tree.visit(range.clone(), |rows| seen.set(seen.get() + sum(rows)), |node| seen.set(seen.get() + node));
                assert_eq!(*seen.get_mut(), sum(range));
            }
        }
    }

    #[test]
    fn nodes_are_charged_before_they_are_made() {
        let error = Tree::<u128>::new(1 << 20, 16, 16, &Budget::new(1 << 20)).unwrap_err();
        assert_eq!(error.message(), "out of memory in window");
    }
}
