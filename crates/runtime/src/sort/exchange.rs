//! Sorting many rows in parallel: deal them out into ranges, then sort each range in its place.
//!
//! 1. *Deal*: each piece of the rows becomes items, grouped by the range that each belongs to. Ranges lie between
//!    separators, which come from the sample.
//! 2. *Sort*: each range gathers its items from all pieces, sorts them, and writes the rows' addresses to its place of
//!    the output, which follows from how many items the ranges before it have.
//!
//! Separators are rows, too, and compared like rows, so that ranges are even however many rows share a key. If many rows
//! hold the same, some separators are equal: the rows that equal these get a range of their own, which need not be
//! sorted. Ranges that lie before the offset or behind the limit are left out.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use base::memory::Buffer;

use super::begins::Begins;
use super::coder::{Coder, MOST_WORDS};
use super::item::Item;
use super::order::{Field, Order, compare};
use super::output::Output;
use super::radix;
use super::separators::Separators;
use crate::rows::Segment;

/// Rows of a piece, and about those of a range: their items stay in a core's cache.
pub(super) const PIECE: usize = 32 << 10;
const MOST_RANGES: usize = 1 << 10;

/// An exchange with items of any width.
pub(super) trait Deal: Send + Sync + std::fmt::Debug {
    fn pieces(&self) -> usize;
    /// Deals out a piece; each once.
    fn deal(&self, piece: usize);
    /// After all pieces are dealt out: the number of ranges.
    fn ranges(&self) -> usize;
    /// Sorts a range that holds some of the wanted places; each once.
    fn sort(&self, range: usize, output: &Output, wanted: &Range<usize>, begins: Option<(&Begins, &Order)>);
    /// Notes what begins each range, once all are sorted.
    fn begin_ranges(&self, output: &Output, begins: &Begins, order: &Order);
}

/// An exchange whose items have `words` words, cut at the sample's `items`.
pub(super) fn exchange(
    words: usize,
    pieces: Arc<[Segment]>,
    order: &Order,
    coder: Coder,
    sample: &[Item<MOST_WORDS>],
) -> Arc<dyn Deal> {
    match words {
        1 => Arc::new(Exchange::<1>::new(pieces, order, coder, sample)),
        2 => Arc::new(Exchange::<2>::new(pieces, order, coder, sample)),
        3 => Arc::new(Exchange::<3>::new(pieces, order, coder, sample)),
        _ => Arc::new(Exchange::<MOST_WORDS>::new(pieces, order, coder, sample)),
    }
}

#[derive(Debug)]
struct Exchange<const W: usize> {
    pieces: Arc<[Segment]>,
    coder: Coder,
    /// The fields that decide where all words are equal.
    ties: Box<[Field]>,
    separators: Separators<W>,
    /// The items of all pieces, by range in each piece, and where each piece's begin.
    items: Buffer<Item<W>>,
    starts: Box<[usize]>,
    /// Where each range's items end in each piece.
    dealt: Box<[OnceLock<Vec<u32>>]>,
    /// Items of each range.
    counts: Box<[AtomicUsize]>,
}

impl<const W: usize> Exchange<W> {
    fn new(pieces: Arc<[Segment]>, order: &Order, coder: Coder, sample: &[Item<MOST_WORDS>]) -> Self {
        let mut rows = 0;
        let start = |piece: &Segment| {
            rows += piece.rows();
            rows - piece.rows()
        };
        let starts = pieces.iter().map(start).collect();
        let ranges = (rows / PIECE).clamp(1, MOST_RANGES);
        let cut = |item: &Item<MOST_WORDS>| Item { words: std::array::from_fn(|i| item.words[i]), row: item.row };
        let separators = (1..ranges).map(|i| cut(&sample[i * sample.len() / ranges])).collect();
        // SAFETY: any bits are words and an address, which nobody follows before it is written.
        let items = unsafe { Buffer::recycled(rows) };
        Self {
            items,
            starts,
            dealt: pieces.iter().map(|_| OnceLock::new()).collect(),
            counts: (0..ranges).map(|_| AtomicUsize::new(0)).collect(),
            ties: order.fields[coder.fields_in(W)..].into(),
            pieces,
            coder,
            separators: Separators::new(separators),
        }
    }

    fn ties(&self, a: *const u8, b: *const u8) -> Ordering {
        // SAFETY: rows of the state that is sorted, whose strings live as long.
        unsafe { compare(&self.ties, a, b) }
    }

    /// The range of an item: as many separators are less; but if several are equal to it, the range between these.
    fn range_of(&self, item: &Item<W>) -> usize {
        let (separators, first) = (self.separators.as_slice(), self.separators.less_than(&item.words));
        if separators.get(first).is_none_or(|s| s.words != item.words) {
            return first;
        }
        let alike = &separators[first..];
        let alike = &alike[..alike.partition_point(|s| s.words == item.words)];
        let less = alike.partition_point(|s| self.ties(s.row, item.row).is_lt());
        let equal = alike[less..].partition_point(|s| self.ties(s.row, item.row).is_eq());
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

impl<const W: usize> Deal for Exchange<W> {
    fn pieces(&self) -> usize {
        self.pieces.len()
    }

    fn deal(&self, piece: usize) {
        let mut items = items_of(&self.pieces[piece]);
        // SAFETY: the coder was made for these rows, whose strings live as long as they are sorted.
        unsafe { self.coder.encode(&mut items) };
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

    fn sort(&self, range: usize, output: &Output, wanted: &Range<usize>, begins: Option<(&Begins, &Order)>) {
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
        // SAFETY: the ranges' places do not overlap, and each range is sorted once.
        unsafe { output.write(start, items.iter().map(|item| item.row)) };
    }

    fn begin_ranges(&self, output: &Output, begins: &Begins, order: &Order) {
        let mut start = 0;
        for count in self.counts.iter().map(|count| count.load(Relaxed)) {
            if start > 0 && count > 0 {
                let rows = output.segment(start - 1, 2);
                // SAFETY: two rows that have been written.
                let (before, at) = unsafe { (rows.row(0), rows.row(1)) };
                begins.compare(start, before, at, order);
            }
            start += count;
        }
    }
}

/// The rows of a segment as items without words.
pub(super) fn items_of<const W: usize>(segment: &Segment) -> Vec<Item<W>> {
    rows_of(segment).into_iter().map(Item::new).collect()
}

/// The addresses of a segment's rows.
pub(super) fn rows_of(segment: &Segment) -> Vec<*mut u8> {
    // SAFETY: the rows exist.
    (0..segment.rows()).map(|at| unsafe { segment.row(at) }).collect()
}
