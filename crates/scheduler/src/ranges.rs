//! Ranges that are cut into morsels on demand, and stolen from the nearest node first (thesis 4.4.2, 4.4.3).
//!
//! Rows are numbered in units of one morsel; the units are dealt to lanes, one for each worker, each in a cache line of
//! its own. To claim is one `fetch_add` on a lane: the worker's own, else one of the same node, else of the nearest
//! node that has any left. A claim that fails has seen every lane exhausted, and lanes only shrink, so failure is final.
//!
//! Invariant: the set of morsels depends on the rows and the morsel size alone, never on workers or stealing.
//! Complexity: a claim is O(1) on the own lane, O(lanes) when stealing; making the ranges is O(lanes + parts).

use crate::morsel::{Claim, Morsel, WorkerId};
use crate::topology::{NodeId, Placement};
use base::ids::Id;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An atomic counter: the standard library's, or a model checker's in tests.
pub trait Counter: Send + Sync {
    /// A counter that stands at `value`.
    fn new(value: u64) -> Self;
    /// The value, relaxed: what the units refer to is published otherwise.
    fn load(&self) -> u64;
    /// Adds one, relaxed, and returns the value before.
    fn increment(&self) -> u64;
}

impl Counter for AtomicU64 {
    fn new(value: u64) -> Self {
        AtomicU64::new(value)
    }
    fn load(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }
    fn increment(&self) -> u64 {
        self.fetch_add(1, Ordering::Relaxed)
    }
}

/// A run of units that one worker owns until others run dry. Two lines, for processors that fetch pairs of them.
#[repr(align(128))]
struct Lane<C> {
    next: C,
    end: u64,
}

impl<C: Counter> Lane<C> {
    /// The next unit. `next` may overshoot `end` by one for each thread that lost a race, hence the test first: the
    /// counter cannot run away.
    fn cut(&self) -> Option<u64> {
        if self.next.load() >= self.end {
            return None;
        }
        let unit = self.next.increment();
        (unit < self.end).then_some(unit)
    }
}

/// Rows `begin..end`, whose morsels are units `first_unit..`.
struct Part {
    first_unit: u64,
    begin: u64,
    end: u64,
    node: NodeId,
}

/// Ranges of rows, cut into morsels on demand. [`Cutting`](crate::Cutting) makes them.
pub struct MorselRanges<C = AtomicU64> {
    parts: Vec<Part>,
    morsel: u64,
    rows: u64,
    lanes: Box<[Lane<C>]>,
    /// The lanes of each node.
    of_node: Vec<Range<usize>>,
    /// None: one node, and worker `w` has lane `w % lanes`.
    placement: Option<Arc<Placement>>,
}

impl<C: Counter> MorselRanges<C> {
    /// Rows `0..rows`, without regard to nodes, in `lanes` lanes and morsels of `morsel` rows, the last one less.
    pub(crate) fn cut(rows: u64, lanes: usize, morsel: u64) -> Self {
        Self::cut_pieces(std::iter::once((NodeId(0), 0..rows)), lanes, morsel)
    }

    /// Ranges of rows that no morsel crosses, dealt to `lanes` lanes without regard to nodes.
    pub(crate) fn cut_pieces(parts: impl Iterator<Item = (NodeId, Range<u64>)>, lanes: usize, morsel: u64) -> Self {
        let mut ranges = Self::with_parts(parts, morsel);
        let units = 0..ranges.morsels();
        ranges.deal(std::iter::once((units, lanes)));
        ranges
    }

    /// Ranges of rows with the node of each, for the workers of `placement` below `workers`.
    pub(crate) fn cut_placed(
        parts: &[(NodeId, Range<u64>)],
        placement: &Arc<Placement>,
        workers: usize,
        morsel: u64,
    ) -> Self {
        let nodes = placement.node_count();
        assert!(parts.iter().all(|(node, _)| node.index() < nodes), "a part lies on a node that does not exist");
        let sorted = (0..nodes).flat_map(|n| parts.iter().filter(move |(node, _)| node.index() == n).cloned());
        let mut ranges = Self::with_parts(sorted, morsel);
        let mut workers_of = vec![0; nodes];
        for worker in 0..workers.clamp(1, placement.max_workers()) {
            workers_of[placement.node(WorkerId::from_index(worker)).index()] += 1;
        }
        let mut begin = 0;
        let units_of = workers_of.iter().enumerate().map(|(node, &workers)| {
            let of_node = ranges.parts.iter().filter(|part| part.node.index() == node);
            let units = begin..begin + of_node.map(|part| ranges.units(part)).sum::<u64>();
            begin = units.end;
            (units, workers)
        });
        let units_of: Vec<(Range<u64>, usize)> = units_of.collect();
        ranges.deal(units_of.into_iter());
        ranges.placement = Some(placement.clone());
        ranges
    }

    fn with_parts(parts: impl Iterator<Item = (NodeId, Range<u64>)>, morsel: u64) -> Self {
        let morsel = morsel.max(1);
        let (mut units, mut rows) = (0, 0);
        let parts = parts
            .filter(|(_, range)| !range.is_empty())
            .map(|(node, range)| {
                let first_unit = units;
                units += (range.end - range.start).div_ceil(morsel);
                rows += range.end - range.start;
                Part { first_unit, begin: range.start, end: range.end, node }
            })
            .collect();
        Self { parts, morsel, rows, lanes: Box::new([]), of_node: Vec::new(), placement: None }
    }

    /// Deals ranges of units evenly to so many lanes each; where nobody is at home there is one lane that all steal from.
    fn deal(&mut self, units_of: impl Iterator<Item = (Range<u64>, usize)>) {
        let mut lanes = Vec::new();
        for (units, workers) in units_of {
            let count = workers.max(1) as u64;
            let first = lanes.len();
            // 128 bits, as the product may not fit in 64.
            let length = u128::from(units.end - units.start);
            let edge = |i: u64| units.start + (length * u128::from(i) / u128::from(count)) as u64;
            lanes.extend((0..count).map(|i| Lane { next: C::new(edge(i)), end: edge(i + 1) }));
            self.of_node.push(first..lanes.len());
        }
        self.lanes = lanes.into_boxed_slice();
    }

    fn units(&self, part: &Part) -> u64 {
        (part.end - part.begin).div_ceil(self.morsel)
    }

    /// Rows in all parts.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Morsels in all parts.
    pub fn morsels(&self) -> u64 {
        self.parts.last().map_or(0, |last| last.first_unit + self.units(last))
    }

    /// The next morsel for `worker`. Never [`Claim::NotNow`].
    #[inline]
    pub fn claim(&self, worker: WorkerId) -> Claim {
        let own = self.own_lane(worker);
        match self.lanes[own].cut() {
            Some(unit) => self.morsel(unit, false),
            None => self.steal(worker, own).map_or(Claim::Done, |unit| self.morsel(unit, true)),
        }
    }

    /// The lane that a worker begins with.
    #[inline]
    fn own_lane(&self, worker: WorkerId) -> usize {
        // A division costs as much as all the rest of a claim.
        let wrap = |index: usize, count: usize| if index < count { index } else { index % count };
        match &self.placement {
            None => wrap(worker.index(), self.lanes.len()),
            Some(placement) => {
                let lanes = &self.of_node[placement.node(worker).index()];
                lanes.start + wrap(placement.rank(worker), lanes.len())
            }
        }
    }

    /// A unit of another lane, of the nearest node that has one.
    #[cold]
    fn steal(&self, worker: WorkerId, own: usize) -> Option<u64> {
        let Some(placement) = &self.placement else {
            return self.steal_among(0..self.lanes.len(), own);
        };
        placement.near(placement.node(worker)).iter().find_map(|&node| {
            let lanes = self.of_node[node.index()].clone();
            // Thieves start at different lanes too, so that they seldom meet.
            let start = lanes.start + placement.rank(worker) % lanes.len();
            self.steal_among(lanes, start)
        })
    }

    /// Tries `lanes` in a circle from `start`.
    fn steal_among(&self, lanes: Range<usize>, start: usize) -> Option<u64> {
        (start..lanes.end).chain(lanes.start..start).find_map(|lane| self.lanes[lane].cut())
    }

    #[inline]
    fn morsel(&self, unit: u64, stolen: bool) -> Claim {
        let part = match &*self.parts {
            [one] => one,
            parts => &parts[parts.partition_point(|p| p.first_unit <= unit) - 1],
        };
        let begin = part.begin + (unit - part.first_unit) * self.morsel;
        let end = part.end.min(begin.saturating_add(self.morsel));
        Claim::Morsel { morsel: Morsel { begin, end }, node: self.placement.as_ref().map(|_| part.node), stolen }
    }
}

#[cfg(test)]
mod tests;
