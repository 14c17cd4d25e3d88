//! Sorting many rows in parallel: deal them out into ranges, then sort each range in its place.
//!
//! 1. *Deal*: each piece of the rows becomes items, grouped by the range that each belongs to. Ranges lie between
//!    separators, which come from the sample.
//! 2. *Sort*: each range gathers its items from all pieces, sorts them, and writes the rows' addresses to its place of
//!    the output, which follows from how many items the ranges before it have; or the rows, if the words hold all of them.
//!
//! Separators are rows, too, and compared like rows, so that ranges are even however many rows share a key. If many rows
//! hold the same, some separators are equal: the rows that equal these get a range of their own, which need not be
//! sorted. Ranges that lie before the offset or behind the limit are left out; those that surely do, as far as the sample can tell
//! ([`wanted_ranges`]), already when rows are dealt out. If that was wrong, they are dealt out again.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use base::Result;
use base::memory::{Buffer, Reservation};

use super::begins::Begins;
use super::coder::{Coder, MOST_WORDS};
use super::item::Item;
use super::lock;
use super::order::{Field, Order};
use super::output::Output;
use super::radix::Sorter;
use super::separators::{Separators, Side};
use super::tail::{Nothing, Tail};
use super::ties::Ties;
use crate::rows::Segment;
use crate::source::Address;

/// Rows of a piece, and about those of a range: their items stay in a core's cache.
pub(super) const PIECE: usize = 32 << 10;
/// Rows whose fields are read one after the other: they stay in the fastest cache.
pub(super) const BATCH: usize = 512;
const MOST_RANGES: usize = 1 << 10;

/// The ranges, of those that so many rows are dealt out to, that may hold wanted places: by the places that the sample gives to
/// the ranges' ends, which are off by four standard deviations once in fifteen thousand times.
pub(super) fn wanted_ranges(rows: usize, wanted: &Range<usize>, sample: usize) -> Range<usize> {
    let ranges = ranges_of(rows);
    let share = |place: usize| place.min(rows) as f64 / rows as f64;
    let off = |share: f64| 4.0 * (share * (1.0 - share) / sample as f64).sqrt() + 1.0 / ranges as f64;
    let (low, high) = (share(wanted.start), share(wanted.end));
    let (low, high) = ((low - off(low)) * ranges as f64, (high + off(high)) * ranges as f64);
    low.max(0.0) as usize..(high.ceil() as usize).min(ranges)
}

/// How many ranges so many rows are dealt out to.
fn ranges_of(rows: usize) -> usize {
    (rows / PIECE).clamp(1, MOST_RANGES)
}

/// An exchange with items of any width.
pub(super) trait Deal: Send + Sync + std::fmt::Debug {
    fn pieces(&self) -> usize;
    /// Goes on dealing out a piece until that is done, which is told, or steps are used up.
    fn deal(&self, piece: usize, steps: &mut u64) -> bool;
    /// After all pieces are dealt out: whether items of all ranges that hold some of the wanted places were kept.
    fn has_kept(&self, wanted: &Range<usize>) -> bool;
    /// Likewise the number of ranges.
    fn ranges(&self) -> usize;
    /// Likewise sorts a range, if it holds some of the wanted places.
    fn sort(&self, range: usize, wanted: &Range<usize>, begins: Option<(&Begins, &Order)>, steps: &mut u64) -> bool;
    /// Notes what begins each range, once all are sorted.
    fn begin_ranges(&self, begins: &Begins, order: &Order);
    /// The sorted rows, in the room of those that came in, and what they are charged with.
    fn finish(self: Arc<Self>, rows: Vec<Segment>, charged: Reservation) -> Result<Output>;
}

/// An exchange whose items have `words` words, cut at the sample's `items`; `whole` if the words hold all of the rows. Items of
/// other ranges than those to `keep` are only counted.
pub(super) fn exchange(
    (words, whole): (usize, bool),
    pieces: Arc<[Segment]>,
    order: &Order,
    coder: Coder,
    sample: &[Item<MOST_WORDS, Address>],
    keep: Range<usize>,
) -> Arc<dyn Deal> {
    match (words, whole) {
        (1, true) => Arc::new(Exchange::<1, Nothing>::new(pieces, order, coder, sample, keep)),
        (2, true) => Arc::new(Exchange::<2, Nothing>::new(pieces, order, coder, sample, keep)),
        (3, true) => Arc::new(Exchange::<3, Nothing>::new(pieces, order, coder, sample, keep)),
        (_, true) => Arc::new(Exchange::<MOST_WORDS, Nothing>::new(pieces, order, coder, sample, keep)),
        (1, false) => Arc::new(Exchange::<1, Address>::new(pieces, order, coder, sample, keep)),
        (2, false) => Arc::new(Exchange::<2, Address>::new(pieces, order, coder, sample, keep)),
        (3, false) => Arc::new(Exchange::<3, Address>::new(pieces, order, coder, sample, keep)),
        (_, false) => Arc::new(Exchange::<MOST_WORDS, Address>::new(pieces, order, coder, sample, keep)),
    }
}

#[derive(Debug)]
struct Exchange<const W: usize, T: Tail> {
    pieces: Arc<[Segment]>,
    coder: Coder,
    /// The fields that decide where all words are equal.
    ties: Box<[Field]>,
    separators: Separators<W, T>,
    /// The items of all pieces, by range in each piece, and where each piece's begin.
    items: Buffer<Item<W, T>>,
    starts: Box<[usize]>,
    /// What is left of the items once they are sorted, and the first and last one of each range.
    sorted: Buffer<T::Place<W>>,
    ends: Box<[OnceLock<[Item<W, T>; 2]>]>,
    /// The pieces that are being dealt out, and where each range's items end in those that are.
    dealing: Box<[Mutex<Option<Dealing<W, T>>>]>,
    dealt: Box<[OnceLock<Vec<u32>>]>,
    sorting: Box<[Mutex<Option<Sorting<W, T>>>]>,
    /// Items of each range, and the ranges whose items are kept: of those before and behind these, some may be counted for the first
    /// range, and for the last.
    counts: Box<[AtomicUsize]>,
    keep: Range<usize>,
}

/// A piece that is being dealt out: the rows so far, the items kept of them, and the range of each.
#[derive(Debug)]
struct Dealing<const W: usize, T> {
    rows: usize,
    items: Vec<Item<W, T>>,
    ranges: Vec<u16>,
    /// Items of each range.
    counts: Vec<u32>,
}

/// A range that is being sorted, and then looked at for where keys change: so far.
#[derive(Debug)]
struct Sorting<const W: usize, T> {
    sorter: Sorter<W, T>,
    noted: usize,
}

impl<const W: usize, T: Tail> Exchange<W, T> {
    fn new(
        pieces: Arc<[Segment]>,
        order: &Order,
        coder: Coder,
        sample: &[Item<MOST_WORDS, Address>],
        keep: Range<usize>,
    ) -> Self {
        let mut rows = 0;
        let start = |piece: &Segment| {
            rows += piece.rows();
            rows - piece.rows()
        };
        let starts = pieces.iter().map(start).collect();
        let ranges = ranges_of(rows);
        let cut = |item: &Item<MOST_WORDS, Address>| Item {
            words: std::array::from_fn(|i| item.words[i]),
            tail: T::of(item.tail.0),
        };
        let separators = (1..ranges).map(|i| cut(&sample[i * sample.len() / ranges])).collect();
        // SAFETY: any bits are words and an address, which nobody follows before it is written.
        let (items, sorted) = unsafe { (Buffer::recycled(rows), Buffer::recycled(rows)) };
        Self {
            items,
            sorted,
            ends: (0..ranges).map(|_| OnceLock::new()).collect(),
            sorting: (0..ranges).map(|_| Mutex::default()).collect(),
            starts,
            dealing: pieces.iter().map(|_| Mutex::default()).collect(),
            dealt: pieces.iter().map(|_| OnceLock::new()).collect(),
            counts: (0..ranges).map(|_| AtomicUsize::new(0)).collect(),
            ties: order.fields[coder.fields_in(W)..].into(),
            pieces,
            coder,
            separators: Separators::new(separators),
            keep,
        }
    }

    fn keeps_all(&self) -> bool {
        self.keep.len() == self.counts.len()
    }

    fn ties(&self) -> Ties<'_> {
        // SAFETY: rows of the state that is sorted, whose strings live as long.
        unsafe { Ties::new(&self.ties) }
    }

    /// The range of an item: as many separators are less; but if several are equal to it, the range between these.
    fn range_of(&self, item: &Item<W, T>, ties: Ties<'_>, steps: &mut u64) -> usize {
        let (separators, first) = (self.separators.as_slice(), self.separators.less_than(&item.words));
        if T::WORDS_ARE_ALL && !self.separators.are_alike() {
            return first;
        }
        if separators.get(first).is_none_or(|s| s.words != item.words) {
            return first;
        }
        let alike = &separators[first..];
        let alike = &alike[..alike.partition_point(|s| s.words == item.words)];
        let less = alike.partition_point(|s| ties.compare(s.tail, item.tail, steps).is_lt());
        let equal = alike[less..].partition_point(|s| ties.compare(s.tail, item.tail, steps).is_eq());
        first + less + usize::from(equal > 1)
    }

    /// Whether all rows of a range hold the same.
    fn is_uniform(&self, range: usize) -> bool {
        let separators = self.separators.as_slice();
        range > 0 && range < separators.len() && {
            let (a, b) = (&separators[range - 1], &separators[range]);
            a.compare(b, |a, b| self.ties().compare(a, b, &mut 0)).is_eq()
        }
    }

    /// Makes items of the next rows of a piece and finds their ranges.
    fn deal_batch(&self, dealing: &mut Dealing<W, T>, rows: &Segment, steps: &mut u64) {
        let (rows, first) = (rows_of(rows), dealing.items.len());
        dealing.items.extend(rows.iter().map(|&row| Item::new(row)));
        // SAFETY: the coder was made for these rows, whose strings live as long as they are sorted.
        unsafe { self.coder.encode(&rows, &mut dealing.items[first..]) };
        let (ties, counts) = (self.ties(), &mut dealing.counts);
        let mut range_of = |item: &Item<W, T>| {
            let range = self.range_of(item, ties, steps);
            counts[range] += 1;
            range
        };
        if self.keeps_all() {
            dealing.ranges.extend(dealing.items[first..].iter().map(|item| range_of(item) as u16));
        } else {
            let beyond = self.separators.beyond(&self.keep);
            let (mut kept, mut before, mut behind) = (first, 0, 0);
            for at in first..dealing.items.len() {
                let item = dealing.items[at];
                // Most are, and nobody asks in which range.
                match beyond.side(&item.words) {
                    Side::Before => before += 1,
                    Side::Behind => behind += 1,
                    Side::Perhaps => {
                        let range = range_of(&item);
                        if self.keep.contains(&range) {
                            dealing.items[kept] = item;
                            dealing.ranges.push(range as u16);
                            kept += 1;
                        }
                    }
                }
            }
            dealing.items.truncate(kept);
            let last = dealing.counts.len() - 1;
            dealing.counts[0] += before;
            dealing.counts[last] += behind;
        }
        dealing.rows += rows.len();
        *steps = steps.saturating_sub(rows.len() as u64);
    }

    /// Writes the items of a piece to their places, by range; returns where those of each range end.
    fn place(&self, piece: usize, Dealing { items, ranges, counts: mut ends, .. }: Dealing<W, T>) -> Vec<u32> {
        let mut sum = 0;
        for (range, (end, total)) in ends.iter_mut().zip(&self.counts).enumerate() {
            if *end > 0 {
                total.fetch_add(*end as usize, Relaxed);
            }
            let kept = if self.keep.contains(&range) { *end } else { 0 };
            (*end, sum) = (sum, sum + kept);
        }
        let start = self.starts[piece];
        // SAFETY: pieces do not overlap, and each is dealt out once.
        let places = unsafe { self.items.places(start..start + items.len()) };
        for (item, range) in items.iter().zip(ranges) {
            let place = &mut ends[range as usize];
            places[*place as usize] = *item;
            *place += 1;
        }
        ends
    }

    /// The items of a range, from all pieces.
    fn gather(&self, range: usize) -> Vec<Item<W, T>> {
        let mut items = Vec::with_capacity(self.counts[range].load(Relaxed));
        for (dealt, start) in self.dealt.iter().zip(&self.starts) {
            let ends = dealt.get().expect("all pieces are dealt out");
            let from = if range == 0 { 0 } else { ends[range - 1] };
            items.extend_from_slice(&self.items[start + from as usize..start + ends[range] as usize]);
        }
        items
    }
}

impl<const W: usize, T: Tail> Deal for Exchange<W, T> {
    fn pieces(&self) -> usize {
        self.pieces.len()
    }

    fn deal(&self, piece: usize, steps: &mut u64) -> bool {
        let (rows, ranges) = (self.pieces[piece], self.counts.len());
        let mut place = lock(&self.dealing[piece]);
        // Few are kept of most pieces, if not all are.
        let room = if self.keeps_all() { rows.rows() } else { BATCH };
        let begin = || Dealing {
            rows: 0,
            items: Vec::with_capacity(room),
            ranges: Vec::with_capacity(room),
            counts: vec![0; ranges],
        };
        let dealing = place.get_or_insert_with(begin);
        while dealing.rows < rows.rows() {
            if *steps == 0 {
                return false;
            }
            let done = dealing.rows;
            self.deal_batch(dealing, &rows.slice(done..rows.rows().min(done + BATCH)), steps);
        }
        let ends = self.place(piece, place.take().expect("made above"));
        self.dealt[piece].set(ends).expect("each piece is dealt out once");
        true
    }

    fn has_kept(&self, wanted: &Range<usize>) -> bool {
        let rows_to = |range: usize| self.counts[..range].iter().map(|n| n.load(Relaxed)).sum::<usize>();
        rows_to(self.keep.start) <= wanted.start && rows_to(self.keep.end) >= wanted.end.min(rows_to(self.counts.len()))
    }

    fn ranges(&self) -> usize {
        self.counts.len()
    }

    fn sort(&self, range: usize, wanted: &Range<usize>, begins: Option<(&Begins, &Order)>, steps: &mut u64) -> bool {
        let start: usize = self.counts[..range].iter().map(|n| n.load(Relaxed)).sum();
        let count = self.counts[range].load(Relaxed);
        if count == 0 || start >= wanted.end || start + count <= wanted.start {
            return true;
        }
        let mut place = lock(&self.sorting[range]);
        let begin = || {
            let sorter = if self.is_uniform(range) { Sorter::of_sorted } else { Sorter::new };
            Sorting { sorter: sorter(self.gather(range)), noted: 0 }
        };
        let Sorting { sorter, noted } = place.get_or_insert_with(begin);
        if !sorter.go_on(self.ties(), steps) {
            return false;
        }
        let items = sorter.items();
        while let Some((begins, order)) = begins
            && *noted < count
        {
            if *steps == 0 {
                return false;
            }
            // A row is compared with the one before it.
            let (from, to) = (noted.saturating_sub(1), count.min(*noted + BATCH));
            begins.note(start + from, &items[from..to], &self.coder, order);
            *noted = to;
            *steps = steps.saturating_sub(BATCH as u64);
        }
        self.ends[range].set([items[0], items[count - 1]]).expect("each range is sorted once");
        // SAFETY: the ranges' places do not overlap.
        let places = unsafe { self.sorted.places(start..start + count) };
        places.iter_mut().zip(items).for_each(|(place, item)| *place = T::place(item));
        *place = None;
        true
    }

    fn begin_ranges(&self, begins: &Begins, order: &Order) {
        let (mut start, mut before) = (0, None);
        for (ends, count) in self.ends.iter().zip(&self.counts) {
            if let Some([first, last]) = ends.get()
                && let Some(before) = before.replace(*last)
            {
                begins.note(start - 1, &[before, *first], &self.coder, order);
            }
            start += count.load(Relaxed);
        }
    }

    fn finish(self: Arc<Self>, rows: Vec<Segment>, mut charged: Reservation) -> Result<Output> {
        let Self { sorted, coder, .. } = Arc::into_inner(self).expect("its morsels have ended");
        charged.resize(size_of_val(&*sorted))?;
        Ok(T::output(sorted, coder, rows, charged))
    }
}

/// The addresses of a segment's rows.
pub(super) fn rows_of(segment: &Segment) -> Vec<*mut u8> {
    // SAFETY: the rows exist.
    (0..segment.rows()).map(|at| unsafe { segment.row(at) }).collect()
}
