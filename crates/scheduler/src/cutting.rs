//! How a phase is cut into morsels: decided when the phase starts, from what is so at that moment.

use crate::morsel::Morsel;
use crate::ranges::MorselRanges;
use crate::size::Sizes;
use crate::topology::{NodeId, Placement, Topology};
use base::memory::Spread;
use base::traffic::MemoryPlacement;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows of a morsel (thesis 4.4.3: more than 10,000, so that scheduling is cheap).
pub const MORSEL_ROWS: u64 = 16_384;
/// How long a morsel runs before it yields.
pub const SLICE: Duration = Duration::from_millis(1);
/// Steps of a long loop between two looks at the clock: some ten microseconds, and a few milliseconds where each step is a
/// search in a text.
pub const STEPS: u64 = 8192;

/// Who may cut what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Each worker has a lane; one whose own is exhausted steals, from the nearest node first.
    #[default]
    Lanes,
    /// One lane for all: morsels are claimed in the order of their rows.
    InOrder,
}

/// How much a worker takes at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Division {
    /// A morsel, as often as it comes.
    #[default]
    Morsels,
    /// An equal part for each worker, as plans that are made parallel beforehand do it (thesis 4.6.4): for comparisons.
    Static,
}

impl Division {
    /// All of them, with their names.
    pub const ALL: [(&str, Self); 2] = [("morsels", Self::Morsels), ("static", Self::Static)];
}

/// What a [`Stage`](crate::Stage) is told when a phase of it starts. All cutting goes through here, so that nothing else
/// decides by the number of workers or the size of a morsel.
#[derive(Clone, Debug)]
pub struct Cutting {
    /// Workers that run now: there may be more or fewer later, and any of them finds what is left.
    pub threads: usize,
    /// Where the workers sit.
    pub placement: Arc<Placement>,
    /// Rows that a morsel should have as long as nobody knows how long they take.
    pub morsel_rows: u64,
    /// Whether further ones have as many as take three quarters of a slice, and fewer towards the end; else each has
    /// `morsel_rows`, and which there are depends on nothing else (record 70).
    pub adapts: bool,
    /// How long a morsel should run before it yields.
    pub slice: Duration,
    /// How many steps what runs long within a batch goes before it looks at the clock: at least one.
    pub steps: u64,
    /// Who cuts what.
    pub strategy: Strategy,
    /// How much a worker takes at a time.
    pub division: Division,
    /// Where memory is taken to lie.
    pub memory: MemoryPlacement,
    /// How tables that all workers share are to lie on the nodes of the machine.
    pub spread: Spread,
}

impl Cutting {
    /// For `threads` workers of a machine with one node.
    pub fn new(threads: usize) -> Self {
        let placement = Arc::new(Placement::new(Topology::single(threads.max(1)), threads.max(1)));
        Self {
            threads,
            placement,
            morsel_rows: MORSEL_ROWS,
            adapts: false,
            slice: SLICE,
            steps: STEPS,
            strategy: Strategy::Lanes,
            division: Division::Morsels,
            memory: MemoryPlacement::FirstTouch,
            spread: Spread::default(),
        }
    }

    /// The same with another strategy.
    pub fn with_strategy(&self, strategy: Strategy) -> Self {
        Self { strategy, ..self.clone() }
    }

    /// Rows `0..rows` that lie nowhere in particular.
    pub fn rows(&self, rows: u64) -> MorselRanges {
        match self.strategy {
            Strategy::Lanes => MorselRanges::cut(rows, self.threads.max(1), self.sizes(rows)),
            Strategy::InOrder => MorselRanges::in_order(std::iter::once((NodeId(0), 0..rows)), self.sizes(rows)),
        }
    }

    /// Ranges of rows with the node that each lies on. No morsel crosses the border of a range.
    pub fn placed(&self, ranges: &[(NodeId, Range<u64>)]) -> MorselRanges {
        let sizes = self.sizes(ranges.iter().map(|(_, rows)| rows.end - rows.start).sum());
        match self.strategy {
            Strategy::Lanes => MorselRanges::cut_placed(ranges, &self.placement, self.threads, sizes),
            Strategy::InOrder => MorselRanges::in_order(ranges.iter().cloned(), sizes),
        }
    }

    /// Sizes of morsels of so many rows in all.
    fn sizes(&self, rows: u64) -> Sizes {
        match (self.division, self.strategy) {
            (Division::Static, Strategy::Lanes) => Sizes::fixed(rows.div_ceil(self.threads.max(1) as u64)),
            (Division::Morsels, Strategy::Lanes) if self.adapts => Sizes::adapted(self.morsel_rows),
            _ => Sizes::fixed(self.morsel_rows),
        }
    }

    /// Pieces that one worker must do as a whole, with the rows of each: piece `i` is the morsel of the rows that `i`
    /// has in [`Offsets`] over the same sizes. Pieces without rows are nobody's.
    pub fn pieces(&self, offsets: &Offsets) -> MorselRanges {
        self.pieces_from(offsets, 0)
    }

    /// The same without the rows before a given one, which may lie within a piece.
    pub fn pieces_from(&self, offsets: &Offsets, first: u64) -> MorselRanges {
        let rest = offsets.ranges().map(|range| range.start.max(first)..range.end).filter(|range| !range.is_empty());
        let (pieces, whole) = (rest.map(|range| (NodeId(0), range)), Sizes::fixed(u64::MAX));
        match self.strategy {
            Strategy::Lanes => MorselRanges::cut_pieces(pieces, self.threads.max(1), whole),
            Strategy::InOrder => MorselRanges::in_order(pieces, whole),
        }
    }

    /// The end of the slice that begins now.
    pub fn begin(&self) -> Slice {
        Slice { begin: Instant::now(), length: self.slice }
    }
}

/// The time that a morsel may run.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    begin: Instant,
    length: Duration,
}

impl Slice {
    /// Whether it is time to yield. Reads the clock: to be asked about every ten microseconds.
    pub fn is_over(&self) -> bool {
        self.begin.elapsed() >= self.length
    }

    /// Whether so many times as much as has been done fits into a slice.
    pub fn has_room_for(&self, times: u32) -> bool {
        self.begin.elapsed() * times < self.length
    }
}

/// A slice that is asked about more often than the clock should be read, which takes as long as adding up a hundred numbers.
#[derive(Clone, Copy, Debug)]
pub struct Glances {
    slice: Slice,
    /// When the clock was read last, how many questions were then left unasked until the next time, and how many still are.
    last: Duration,
    between: u32,
    left: u32,
}

impl Glances {
    /// As long as it takes until the clock is read again, about.
    const APART: Duration = Duration::from_micros(10);
    /// No more questions than this in between, as what comes next may take longer.
    const MOST: u32 = 15;

    /// At a slice that has begun now.
    pub fn at(slice: Slice) -> Self {
        Self { slice, last: Duration::ZERO, between: 0, left: 0 }
    }

    /// Whether it is time to yield, as far as one knows.
    #[inline]
    pub fn is_over(&mut self) -> bool {
        if self.left > 0 {
            self.left -= 1;
            return false;
        }
        let now = self.slice.begin.elapsed();
        let each = (now - self.last) / (self.between + 1);
        self.between = (Self::APART.as_nanos() / each.as_nanos().max(1)).min(Self::MOST.into()) as u32;
        let is_over = now >= self.slice.length;
        (self.last, self.left) = (now, if is_over { 0 } else { self.between });
        is_over
    }
}

/// The rows of many pieces (chunks, blocks, runs) as one range of numbers: prefix sums of their sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offsets(Vec<u64>);

impl Offsets {
    /// Numbers the rows of pieces of these sizes, one piece after the other.
    pub fn new(sizes: impl IntoIterator<Item = u64>) -> Self {
        let mut sum = 0;
        let ends = sizes.into_iter().map(|size| {
            sum += size;
            sum
        });
        Self(std::iter::once(0).chain(ends).collect())
    }

    /// Rows of all pieces.
    pub fn rows(&self) -> u64 {
        self.0[self.0.len() - 1]
    }
    /// Number of pieces.
    pub fn len(&self) -> usize {
        self.0.len() - 1
    }
    /// Whether there is no piece.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The piece that row number `row` lies in.
    pub fn piece(&self, row: u64) -> usize {
        debug_assert!(row < self.rows());
        self.0.partition_point(|&start| start <= row) - 1
    }

    /// The number behind that of a piece's last row.
    pub fn end_of(&self, piece: usize) -> u64 {
        self.0[piece + 1]
    }

    /// The numbers of each piece's rows.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.windows(2).map(|ends| ends[0]..ends[1])
    }

    /// The pieces that the rows of a morsel lie in, with the rows within each.
    pub fn within(&self, morsel: Morsel) -> impl Iterator<Item = (usize, Range<usize>)> {
        let first = if morsel.is_empty() { self.len() } else { self.piece(morsel.begin) };
        (first..self.len()).take_while(move |&piece| self.0[piece] < morsel.end).filter_map(move |piece| {
            let (start, end) = (self.0[piece], self.0[piece + 1]);
            let rows = (morsel.begin.max(start) - start) as usize..(morsel.end.min(end) - start) as usize;
            (!rows.is_empty()).then_some((piece, rows))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::morsel::{Claim, WorkerId};
    use crate::size::Wanted;

    fn morsels(ranges: &MorselRanges) -> Vec<Range<u64>> {
        std::iter::from_fn(|| match ranges.claim(WorkerId(0), Wanted::USUAL) {
            Claim::Morsel { morsel, .. } => Some(morsel.rows()),
            Claim::NotNow | Claim::Done => None,
        })
        .collect()
    }

    #[test]
    fn rows_of_pieces_are_found() {
        let offsets = Offsets::new([3, 0, 5, 1]);
        assert_eq!((offsets.rows(), offsets.len()), (9, 4));
        assert_eq!((0..9).map(|row| offsets.piece(row)).collect::<Vec<_>>(), [0, 0, 0, 2, 2, 2, 2, 2, 3]);
        let within = |begin, end| offsets.within(Morsel { begin, end }).collect::<Vec<_>>();
        assert_eq!(within(0, 9), [(0, 0..3), (2, 0..5), (3, 0..1)]);
        assert_eq!(within(2, 4), [(0, 2..3), (2, 0..1)]);
        assert_eq!(within(4, 4), []);
        assert_eq!(within(8, 9), [(3, 0..1)]);
        assert_eq!(Offsets::new([]).within(Morsel { begin: 0, end: 0 }).count(), 0);
    }

    #[test]
    fn a_piece_is_one_morsel() {
        let cut = Cutting { morsel_rows: 2, ..Cutting::new(3) };
        let offsets = Offsets::new([3, 0, 5, 1]);
        let mut all = morsels(&cut.pieces(&offsets));
        all.sort_by_key(|rows| rows.start);
        assert_eq!(all, [0..3, 3..8, 8..9]);
        assert_eq!(all.iter().map(|rows| offsets.piece(rows.start)).collect::<Vec<_>>(), [0, 2, 3]);
    }

    #[test]
    fn pieces_may_begin_within_one() {
        let offsets = Offsets::new([3, 0, 5, 1]);
        let from = |first| morsels(&Cutting::new(3).with_strategy(Strategy::InOrder).pieces_from(&offsets, first));
        assert_eq!(from(0), [0..3, 3..8, 8..9]);
        assert_eq!(from(3), [3..8, 8..9]);
        assert_eq!(from(4), [4..8, 8..9]);
        assert_eq!(from(9), []);
    }

    #[test]
    fn slow_work_looks_at_the_clock_each_time() {
        let begin = Instant::now();
        let mut glances = Glances::at(Slice { begin, length: Duration::from_millis(2) });
        let mut asked = 0;
        while !glances.is_over() {
            std::thread::sleep(Duration::from_micros(100));
            asked += 1;
        }
        assert!(begin.elapsed() >= Duration::from_millis(2) && asked <= 20 + 2 * Glances::MOST, "{asked}");
        let mut over = Glances::at(Slice { begin, length: Duration::ZERO });
        assert!((0..3).all(|_| over.is_over()));
    }

    #[test]
    fn a_static_division_has_a_part_for_each_worker() {
        let cut = Cutting { morsel_rows: 2, division: Division::Static, ..Cutting::new(3) };
        assert_eq!(morsels(&cut.rows(10)), [0..4, 4..8, 8..10]);
        assert_eq!(morsels(&cut.placed(&[(NodeId(0), 0..7)])), [0..3, 3..6, 6..7]);
        assert_eq!(morsels(&cut.rows(0)), []);
    }

    #[test]
    fn in_order_means_in_order() {
        let cut = Cutting { morsel_rows: 4, ..Cutting::new(3) }.with_strategy(Strategy::InOrder);
        assert_eq!(morsels(&cut.rows(10)), [0..4, 4..8, 8..10]);
        assert_eq!(morsels(&cut.placed(&[(NodeId(0), 0..3), (NodeId(0), 3..9)])), [0..3, 3..7, 7..9]);
    }
}
