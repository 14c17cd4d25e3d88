//! A sample of the rows to be sorted, which says how many fields and words tell rows apart, and where to cut.

use super::bounds::Bounds;
use super::coder::{Coder, MOST_WORDS};
use super::item::Item;
use super::merge::Merge;
use super::order::Order;
use super::ties::Ties;
use crate::rows::Segment;
use crate::source::Address;

/// Rows of a sample.
const SAMPLE: usize = 4 << 10;
/// Up to so many other rows that a row ties with, on the average, are compared in the rows.
const FEW_TIES: f64 = 2.0;

/// Some of the rows, in order once they are [sorted](Self::sort).
#[derive(Debug)]
pub(super) struct Sample {
    rows: Vec<*mut u8>,
    /// Rows that it was taken from.
    of: usize,
    scratch: Vec<*mut u8>,
    merge: Merge,
}
// SAFETY: rows are only read while they are sorted.
unsafe impl Send for Sample {}

impl Sample {
    /// Equidistant rows of all segments.
    pub(super) fn take(segments: &[Segment]) -> Self {
        let of: usize = segments.iter().map(Segment::rows).sum();
        let step = (of / SAMPLE).max(1);
        let (mut rows, mut next) = (Vec::with_capacity(SAMPLE + 1), step / 2);
        for segment in segments {
            while next < segment.rows() {
                // SAFETY: the row exists.
                rows.push(unsafe { segment.row(next) });
                next += step;
            }
            next -= segment.rows();
        }
        Self { scratch: rows.clone(), rows, of, merge: Merge::new() }
    }

    /// Goes on until they are sorted, which is told, or steps are used up.
    ///
    /// # Safety
    /// They must be rows of the order's layout, with all strings alive.
    pub(super) unsafe fn sort(&mut self, order: &Order, steps: &mut u64) -> bool {
        // SAFETY: as the caller promises.
        let ties = unsafe { Ties::new(&order.fields) };
        let compare = |&a: &*mut u8, &b: &*mut u8, steps: &mut u64| ties.compare(Address(a), Address(b), steps);
        self.merge.go_on(&mut self.rows, &mut self.scratch, steps, compare)
    }

    /// Whether, of all rows, many are in groups for which `tied` holds of neighbours.
    ///
    /// The pairs that tie within the sample estimate, by their share of all pairs, with how many others a row ties.
    fn has_many_ties<T>(&self, sorted: &[T], tied: impl FnMut(&T, &T) -> bool) -> bool {
        let pairs: usize = sorted.chunk_by(tied).map(|group| group.len() * (group.len() - 1)).sum();
        let share = pairs as f64 / (sorted.len() as f64 * sorted.len() as f64).max(1.0);
        share * self.of as f64 > FEW_TIES
    }

    /// How many leading fields tell rows apart, but for few ties.
    ///
    /// # Safety
    /// As [`sort`](Self::sort), with the same order.
    pub(super) unsafe fn fields(&self, order: &Order) -> usize {
        let all = order.fields.len();
        let many_ties = |&fields: &usize| {
            // SAFETY: as the caller promises.
            self.has_many_ties(&self.rows, |&a, &b| unsafe { order.agree(fields, a, b) })
        };
        (0..all).find(|fields| !many_ties(fields)).unwrap_or(all)
    }

    /// Whether rows may fit into words: those of the sample do.
    ///
    /// # Safety
    /// As [`sort`](Self::sort), with the same order.
    pub(super) unsafe fn is_reversible(&self, order: &Order) -> bool {
        // SAFETY: as the caller promises.
        let bounds: Vec<Bounds> = order.fields.iter().map(|f| unsafe { Bounds::of(f, &self.rows) }).collect();
        Coder::new(&order.fields, &bounds).is_reversible(&order.fields)
    }

    /// How many words tell rows apart, but for few ties, and the sample's rows with all words, in order.
    ///
    /// # Safety
    /// As [`sort`](Self::sort), with the same order.
    pub(super) unsafe fn words(&self, coder: &Coder) -> (usize, Vec<Item<MOST_WORDS, Address>>) {
        let mut items: Vec<Item<MOST_WORDS, Address>> = self.rows.iter().map(|&row| Item::new(row)).collect();
        // SAFETY: as the caller promises.
        unsafe { coder.encode(&self.rows, &mut items) };
        let many_ties = |&words: &usize| self.has_many_ties(&items, |a, b| a.words[..words] == b.words[..words]);
        let words = (1..coder.words()).find(|words| !many_ties(words)).unwrap_or(coder.words());
        (words, items)
    }
}
