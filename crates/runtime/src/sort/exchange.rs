//! Sorting many rows in parallel: deal them out into ranges, then sort each range in its place.
//!
//! 1. *Deal*: each piece of the rows becomes items, grouped by the range that each belongs to. Ranges lie between
//!    separators, which come from the sample.
//! 2. *Sort*: each range gathers its items from all pieces, sorts them, and writes the rows' addresses to its place of
//!    the output, which follows from how many items the ranges before it have; or the rows, if the words hold all of them.
//!
//! Separators are rows, too, and compared like rows, so that ranges are even however many rows share a key. If many rows
//! hold the same, some separators are equal: the rows that equal these get a range of their own, which need not be
//! sorted. Ranges that lie before the offset or behind the limit are left out.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use base::Result;
use base::memory::{Buffer, Reservation};

use super::OPERATOR;
use super::begins::Begins;
use super::coder::{Coder, MOST_WORDS};
use super::item::Item;
use super::order::{Field, Order};
use super::output::Output;
use super::radix;
use super::separators::Separators;
use super::tail::{Nothing, Tail};
use crate::rows::Segment;
use crate::source::Address;

/// Rows of a piece, and about those of a range: their items stay in a core's cache.
pub(super) const PIECE: usize = 32 << 10;
/// Rows whose fields are read one after the other: they stay in the fastest cache.
pub(super) const BATCH: usize = 512;
const MOST_RANGES: usize = 1 << 10;

/// An exchange with items of any width.
pub(super) trait Deal: Send + Sync + std::fmt::Debug {
    fn pieces(&self) -> usize;
    /// Deals out a piece; each once.
    fn deal(&self, piece: usize);
    /// After all pieces are dealt out: the number of ranges.
    fn ranges(&self) -> usize;
    /// Sorts a range that holds some of the wanted places; each once.
    fn sort(&self, range: usize, wanted: &Range<usize>, begins: Option<(&Begins, &Order)>);
    /// Notes what begins each range, once all are sorted.
    fn begin_ranges(&self, begins: &Begins, order: &Order);
    /// The sorted rows, in the room of those that came in, and what they are charged with.
    fn finish(self: Arc<Self>, rows: Vec<Segment>, charged: Reservation) -> Result<Output>;
}

/// An exchange whose items have `words` words, cut at the sample's `items`; `whole` if the words hold all of the rows.
pub(super) fn exchange(
    (words, whole): (usize, bool),
    pieces: Arc<[Segment]>,
    order: &Order,
    coder: Coder,
    sample: &[Item<MOST_WORDS, Address>],
) -> Arc<dyn Deal> {
    match (words, whole) {
        (1, true) => Arc::new(Exchange::<1, Nothing>::new(pieces, order, coder, sample)),
        (2, true) => Arc::new(Exchange::<2, Nothing>::new(pieces, order, coder, sample)),
        (3, true) => Arc::new(Exchange::<3, Nothing>::new(pieces, order, coder, sample)),
        (_, true) => Arc::new(Exchange::<MOST_WORDS, Nothing>::new(pieces, order, coder, sample)),
        (1, false) => Arc::new(Exchange::<1, Address>::new(pieces, order, coder, sample)),
        (2, false) => Arc::new(Exchange::<2, Address>::new(pieces, order, coder, sample)),
        (3, false) => Arc::new(Exchange::<3, Address>::new(pieces, order, coder, sample)),
        (_, false) => Arc::new(Exchange::<MOST_WORDS, Address>::new(pieces, order, coder, sample)),
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
    /// Where each range's items end in each piece.
    dealt: Box<[OnceLock<Vec<u32>>]>,
    /// Items of each range.
    counts: Box<[AtomicUsize]>,
}

impl<const W: usize, T: Tail> Exchange<W, T> {
    fn new(pieces: Arc<[Segment]>, order: &Order, coder: Coder, sample: &[Item<MOST_WORDS, Address>]) -> Self {
        let mut rows = 0;
        let start = |piece: &Segment| {
            rows += piece.rows();
            rows - piece.rows()
        };
        let starts = pieces.iter().map(start).collect();
        let ranges = (rows / PIECE).clamp(1, MOST_RANGES);
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
            starts,
            dealt: pieces.iter().map(|_| OnceLock::new()).collect(),
            counts: (0..ranges).map(|_| AtomicUsize::new(0)).collect(),
            ties: order.fields[coder.fields_in(W)..].into(),
            pieces,
            coder,
            separators: Separators::new(separators),
        }
    }

    fn ties(&self, a: T, b: T) -> Ordering {
        // SAFETY: rows of the state that is sorted, whose strings live as long.
        unsafe { a.compare(b, &self.ties) }
    }

    /// The range of an item: as many separators are less; but if several are equal to it, the range between these.
    fn range_of(&self, item: &Item<W, T>) -> usize {
        let (separators, first) = (self.separators.as_slice(), self.separators.less_than(&item.words));
        if T::WORDS_ARE_ALL && !self.separators.are_alike() {
            return first;
        }
        if separators.get(first).is_none_or(|s| s.words != item.words) {
            return first;
        }
        let alike = &separators[first..];
        let alike = &alike[..alike.partition_point(|s| s.words == item.words)];
        let less = alike.partition_point(|s| self.ties(s.tail, item.tail).is_lt());
        let equal = alike[less..].partition_point(|s| self.ties(s.tail, item.tail).is_eq());
        first + less + usize::from(equal > 1)
    }

    /// Whether all rows of a range hold the same.
    fn is_uniform(&self, range: usize) -> bool {
        let separators = self.separators.as_slice();
        range > 0 && range < separators.len() && {
            let (a, b) = (&separators[range - 1], &separators[range]);
            a.compare(b, |a, b| self.ties(a, b)).is_eq()
        }
    }
}

impl<const W: usize, T: Tail> Deal for Exchange<W, T> {
    fn pieces(&self) -> usize {
        self.pieces.len()
    }

    fn deal(&self, piece: usize) {
        let mut items: Vec<Item<W, T>> = Vec::with_capacity(self.pieces[piece].rows());
        for rows in self.pieces[piece].cut(BATCH).map(|rows| rows_of(&rows)) {
            let first = items.len();
            items.extend(rows.iter().map(|&row| Item::new(row)));
            // SAFETY: the coder was made for these rows, whose strings live as long as they are sorted.
            unsafe { self.coder.encode(&rows, &mut items[first..]) };
        }
        let mut ends = vec![0u32; self.counts.len()];
        let ranges: Vec<u16> = items
            .iter()
            .map(|item| {
                let range = self.range_of(item);
                ends[range] += 1;
                range as u16
            })
            .collect();
        let mut sum = 0;
        for (end, total) in ends.iter_mut().zip(&self.counts) {
            if *end > 0 {
                total.fetch_add(*end as usize, Relaxed);
            }
            (*end, sum) = (sum, sum + *end);
        }
        let start = self.starts[piece];
        // SAFETY: pieces do not overlap, and each is dealt out once.
        let places = unsafe { self.items.places(start..start + items.len()) };
        for (item, range) in items.iter().zip(ranges) {
            let place = &mut ends[range as usize];
            places[*place as usize] = *item;
            *place += 1;
        }
        self.dealt[piece].set(ends).expect("each piece is dealt out once");
    }

    fn ranges(&self) -> usize {
        self.counts.len()
    }

    fn sort(&self, range: usize, wanted: &Range<usize>, begins: Option<(&Begins, &Order)>) {
        let start: usize = self.counts[..range].iter().map(|n| n.load(Relaxed)).sum();
        let count = self.counts[range].load(Relaxed);
        if count == 0 || start >= wanted.end || start + count <= wanted.start {
            return;
        }
        let (mut items, mut scratch) = (Vec::with_capacity(count), Vec::new());
        for (dealt, start) in self.dealt.iter().zip(&self.starts) {
            let ends = dealt.get().expect("all pieces are dealt out");
            let from = if range == 0 { 0 } else { ends[range - 1] };
            items.extend_from_slice(&self.items[start + from as usize..start + ends[range] as usize]);
        }
        if !self.is_uniform(range) {
            radix::sort(&mut items, &mut scratch, &|a, b| self.ties(a, b));
        }
        if let Some((begins, order)) = begins {
            begins.note(start, &items, &self.coder, order);
        }
        self.ends[range].set([items[0], items[count - 1]]).expect("each range is sorted once");
        // SAFETY: the ranges' places do not overlap.
        let places = unsafe { self.sorted.places(start..start + count) };
        places.iter_mut().zip(&items).for_each(|(place, item)| *place = T::place(item));
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
        charged.resize(size_of_val(&*sorted), OPERATOR)?;
        Ok(T::output(sorted, coder, rows, charged))
    }
}

/// The addresses of a segment's rows.
pub(super) fn rows_of(segment: &Segment) -> Vec<*mut u8> {
    // SAFETY: the rows exist.
    (0..segment.rows()).map(|at| unsafe { segment.row(at) }).collect()
}
