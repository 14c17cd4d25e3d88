//! Ranges that are cut into morsels on demand, and stolen from the nearest node first (thesis 4.4.2, 4.4.3).
//!
//! Rows are numbered in units; the units are dealt to lanes, one for each worker, each in a cache line of its own. To
//! claim is one compare-and-exchange on a lane, which takes one unit or several: from the front of the worker's own lane,
//! else from the back of the fullest one of the nearest node that has any left. So one that comes late, or is done with
//! its own, has half of the largest rest, or more if it is the quicker one. A claim that fails has seen every lane empty,
//! and lanes only shrink, so failure is final.
//!
//! Invariant: of fixed sizes, the set of morsels depends on the rows and the size alone, never on workers or stealing.
//! Complexity: a claim is O(1) on the own lane, O(lanes) when another one is chosen to steal from; making the ranges is
//! O(lanes + parts).

use crate::morsel::{Claim, Morsel, WorkerId};
use crate::size::{Sizes, Wanted};
use crate::topology::{NodeId, Placement};
use base::ids::Id;
use lane::Lane;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

#[cfg(test)]
mod finish;
mod lane;
#[cfg(test)]
mod tests;

pub use lane::Word;

/// Rows `begin..end`, which are `units`.
struct Part {
    units: Range<u32>,
    begin: u64,
    end: u64,
    node: NodeId,
}

/// A count in a line of its own.
#[repr(align(128))]
struct Left(AtomicU32);

/// Which end of a lane is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// By the worker whose lane it is.
    Front,
    /// By all others.
    Back,
}

/// Ranges of rows, cut into morsels on demand. [`Cutting`](crate::Cutting) makes them.
pub struct MorselRanges<W = AtomicU64> {
    parts: Vec<Part>,
    sizes: Sizes,
    rows: u64,
    lanes: Box<[Lane<W>]>,
    /// Units in all lanes, of sizes that adapt: a hint for these.
    left: Left,
    /// The lanes of each node.
    of_node: Vec<Range<usize>>,
    /// All workers claim from the front of the one lane.
    in_order: bool,
    /// None: one node, and worker `w` has lane `w`.
    placement: Option<Arc<Placement>>,
}

impl<W: Word> MorselRanges<W> {
    /// Rows `0..rows`, without regard to nodes, in `lanes` lanes.
    pub(crate) fn cut(rows: u64, lanes: usize, sizes: Sizes) -> Self {
        Self::cut_pieces(std::iter::once((NodeId(0), 0..rows)), lanes, sizes)
    }

    /// Ranges of rows that no morsel crosses, dealt to `lanes` lanes without regard to nodes.
    pub(crate) fn cut_pieces(parts: impl Iterator<Item = (NodeId, Range<u64>)>, lanes: usize, sizes: Sizes) -> Self {
        let mut ranges = Self::with_parts(parts, sizes);
        let units = 0..ranges.units();
        ranges.deal(std::iter::once((units, lanes)));
        ranges
    }

    /// The same in the order of the rows, for all workers.
    pub(crate) fn in_order(parts: impl Iterator<Item = (NodeId, Range<u64>)>, sizes: Sizes) -> Self {
        Self { in_order: true, ..Self::cut_pieces(parts, 1, sizes) }
    }

    /// Ranges of rows with the node of each, for the workers of `placement` below `workers`.
    pub(crate) fn cut_placed(
        parts: &[(NodeId, Range<u64>)],
        placement: &Arc<Placement>,
        workers: usize,
        sizes: Sizes,
    ) -> Self {
        let nodes = placement.node_count();
        assert!(parts.iter().all(|(node, _)| node.index() < nodes), "a part lies on a node that does not exist");
        let sorted = (0..nodes).flat_map(|n| parts.iter().filter(move |(node, _)| node.index() == n).cloned());
        let mut ranges = Self::with_parts(sorted, sizes);
        let mut workers_of = vec![0; nodes];
        for worker in 0..workers.clamp(1, placement.max_workers()) {
            workers_of[placement.node(WorkerId::from_index(worker)).index()] += 1;
        }
        let mut begin = 0;
        let units_of = workers_of.iter().enumerate().map(|(node, &workers)| {
            let of_node = ranges.parts.iter().filter(|part| part.node.index() == node);
            let units = begin..begin + of_node.map(|part| part.units.len() as u32).sum::<u32>();
            begin = units.end;
            (units, workers)
        });
        let units_of: Vec<(Range<u32>, usize)> = units_of.collect();
        ranges.deal(units_of.into_iter());
        ranges.placement = Some(placement.clone());
        ranges
    }

    fn with_parts(parts: impl Iterator<Item = (NodeId, Range<u64>)>, mut sizes: Sizes) -> Self {
        let parts: Vec<_> = parts.filter(|(_, rows)| !rows.is_empty()).collect();
        let units = |rows: &Range<u64>, sizes: Sizes| (rows.end - rows.start).div_ceil(sizes.unit);
        // Units are numbered by half a word.
        while parts.iter().map(|(_, rows)| u128::from(units(rows, sizes))).sum::<u128>() > u128::from(u32::MAX) {
            sizes = sizes.coarser();
        }
        let mut first = 0;
        let part = |(node, rows): &(NodeId, Range<u64>)| {
            let units = first..first + units(rows, sizes) as u32;
            first = units.end;
            Part { units, begin: rows.start, end: rows.end, node: *node }
        };
        let rows = parts.iter().map(|(_, rows)| rows.end - rows.start).sum();
        Self {
            parts: parts.iter().map(part).collect(),
            sizes,
            rows,
            lanes: Box::new([]),
            left: Left(AtomicU32::new(0)),
            of_node: Vec::new(),
            in_order: false,
            placement: None,
        }
    }

    /// Deals ranges of units evenly to so many lanes each, by usual morsels; where nobody is at home there is one lane
    /// that all steal from.
    fn deal(&mut self, units_of: impl Iterator<Item = (Range<u32>, usize)>) {
        let mut lanes = Vec::new();
        for (units, workers) in units_of {
            let count = workers.max(1) as u64;
            let first = lanes.len();
            let (length, usual) = (units.len() as u64, u64::from(self.sizes.usual));
            let morsels = length.div_ceil(usual);
            let edge = |i: u64| units.start + (morsels * i / count * usual).min(length) as u32;
            lanes.extend((0..count).map(|i| Lane::new(edge(i)..edge(i + 1))));
            self.of_node.push(first..lanes.len());
        }
        self.left = Left(AtomicU32::new(self.units()));
        self.lanes = lanes.into_boxed_slice();
    }

    /// Rows in all parts.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Units in all parts: of fixed sizes, the morsels.
    pub(crate) fn units(&self) -> u32 {
        self.parts.last().map_or(0, |last| last.units.end)
    }

    /// The next morsel for `worker`. Never [`Claim::NotNow`].
    #[inline]
    pub fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim {
        let (lane, is_own) = self.lane_of(worker);
        if is_own && let Some(claim) = self.take(lane, End::Front, wanted) {
            return claim;
        }
        self.steal(worker, lane, wanted)
    }

    /// The lane that a worker begins with, and whether it is its own: one that came later shares another's hint.
    #[inline]
    fn lane_of(&self, worker: WorkerId) -> (usize, bool) {
        if self.in_order {
            return (0, true);
        }
        // A division costs as much as all the rest of a claim.
        let wrap = |index: usize, count: usize| if index < count { (index, true) } else { (index % count, false) };
        match &self.placement {
            None => wrap(worker.index(), self.lanes.len()),
            Some(placement) => {
                let lanes = &self.of_node[placement.node(worker).index()];
                let (lane, is_own) = wrap(placement.rank(worker), lanes.len());
                (lanes.start + lane, is_own)
            }
        }
    }

    /// A morsel of another lane: of the one that the worker has helped last, else of the fullest one of the nearest node
    /// that has any left.
    #[cold]
    fn steal(&self, worker: WorkerId, own: usize, wanted: Wanted) -> Claim {
        if self.in_order {
            return Claim::Done;
        }
        let again = self.lanes[own].helps().and_then(|lane| self.take(lane, End::Back, wanted));
        if let Some(claim) = again {
            return claim;
        }
        loop {
            let Some(lane) = self.fullest(worker, own) else { return Claim::Done };
            // Others may have been quicker: then there is less than before, so this ends.
            if let Some(claim) = self.take(lane, End::Back, wanted) {
                self.lanes[own].help(lane);
                return claim;
            }
        }
    }

    /// The lane with most units left, of the nearest node that has any.
    fn fullest(&self, worker: WorkerId, own: usize) -> Option<usize> {
        let Some(placement) = &self.placement else {
            return self.fullest_among(0..self.lanes.len(), own);
        };
        placement.near(placement.node(worker)).iter().find_map(|&node| {
            let lanes = self.of_node[node.index()].clone();
            // Thieves begin at different lanes, so that they seldom choose the same one of equally full ones.
            let start = lanes.start + placement.rank(worker) % lanes.len();
            self.fullest_among(lanes, start)
        })
    }

    /// The same, of `lanes` in a circle from `start`: of equally full ones the first.
    fn fullest_among(&self, lanes: Range<usize>, start: usize) -> Option<usize> {
        let mut best = (0, None);
        for lane in (start..lanes.end).chain(lanes.start..start) {
            let rest = self.lanes[lane].rest();
            if rest > best.0 {
                best = (rest, Some(lane));
            }
        }
        best.1
    }

    /// Cuts a morsel off an end of a lane, within one part.
    #[inline]
    fn take(&self, lane: usize, end: End, wanted: Wanted) -> Option<Claim> {
        let all = if self.sizes.adapt() { self.left.0.load(Relaxed) } else { 0 };
        let choose = |left: Range<u32>| {
            let units = self.sizes.units(left.len() as u32, all, wanted);
            match end {
                End::Front => left.start..(left.start + units).min(self.part(left.start).units.end),
                End::Back => (left.end - units).max(self.part(left.end - 1).units.start)..left.end,
            }
        };
        let units = self.lanes[lane].cut(choose)?;
        if self.sizes.adapt() {
            self.left.0.fetch_sub(units.len() as u32, Relaxed);
        }
        Some(self.morsel(units, end == End::Back))
    }

    /// The part that a unit is of.
    #[inline]
    fn part(&self, unit: u32) -> &Part {
        match &*self.parts {
            [one] => one,
            parts => &parts[parts.partition_point(|part| part.units.start <= unit) - 1],
        }
    }

    #[inline]
    fn morsel(&self, units: Range<u32>, stolen: bool) -> Claim {
        let part = self.part(units.start);
        let row = |unit: u32| {
            let rows = u64::from(unit - part.units.start).saturating_mul(self.sizes.unit);
            part.end.min(part.begin.saturating_add(rows))
        };
        let morsel = Morsel { begin: row(units.start), end: row(units.end) };
        Claim::Morsel { morsel, node: self.placement.as_ref().map(|_| part.node), stolen }
    }
}
