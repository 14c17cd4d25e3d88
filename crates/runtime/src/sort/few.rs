//! Few rows, sorted by one worker after the other.

use super::bounds::Bounds;
use super::coder::Coder;
use super::exchange::{BATCH, rows_of};
use super::item::Item;
use super::order::Order;
use super::radix::{self, Sorter};
use super::ties::Ties;
use crate::rows::Segment;
use crate::source::Address;

/// Rows that are being sorted.
#[derive(Debug)]
pub(super) struct Few {
    rows: Vec<Address>,
    /// The bounds of the keys in so many of them.
    bounds: Vec<Bounds>,
    measured: usize,
    /// Items of two words, and how many fields these hold.
    sorter: Option<(Sorter<2, Address>, usize)>,
}

impl Few {
    pub(super) fn new(segments: &[Segment], order: &Order) -> Self {
        let rows = rows_of_all(segments);
        Self { rows, bounds: vec![Bounds::default(); order.keys], measured: 0, sorter: None }
    }

    /// Goes on until all is sorted, which is told, or steps are used up.
    ///
    /// # Safety
    /// They must be rows of the order's layout, with all strings alive.
    pub(super) unsafe fn go_on(&mut self, order: &Order, steps: &mut u64) -> bool {
        // SAFETY: as the caller promises.
        if self.sorter.is_none() && !unsafe { self.measure(order, steps) } {
            return false;
        }
        let items = || {
            // SAFETY: as the caller promises.
            let (items, coder) = unsafe { items(&self.rows, order, &self.bounds) };
            (Sorter::new(items), coder.fields_in(2))
        };
        let (sorter, held) = self.sorter.get_or_insert_with(items);
        // SAFETY: likewise.
        sorter.go_on(unsafe { Ties::new(&order.fields[*held..]) }, steps)
    }

    /// The rows, sorted when all is done.
    pub(super) fn sorted(&self) -> Vec<Address> {
        let sorter = self.sorter.as_ref().map_or(&[][..], |(sorter, _)| sorter.items());
        sorter.iter().map(|item| item.tail).collect()
    }

    /// Takes the bounds of all rows; true once they are known.
    unsafe fn measure(&mut self, order: &Order, steps: &mut u64) -> bool {
        // A few comparisons cost less than bounds.
        if self.rows.len() <= radix::FEW {
            self.bounds.clear();
            return true;
        }
        while self.measured < self.rows.len() && *steps > 0 {
            let batch = &self.rows[self.measured..self.rows.len().min(self.measured + BATCH)];
            // SAFETY: as the caller of `go_on` promises.
            unsafe { measure(&mut self.bounds, order, batch) };
            self.measured += batch.len();
            *steps = steps.saturating_sub(batch.len() as u64);
        }
        self.measured == self.rows.len()
    }
}

/// The first `needed` rows of some segments, which have more, in no order but that the last one of them is the last.
///
/// # Safety
/// They must be rows of the order's layout, with all strings alive.
pub(super) unsafe fn first(segments: &[Segment], order: &Order, needed: usize) -> Vec<*mut u8> {
    let mut rows = rows_of_all(segments);
    // SAFETY: as the caller promises, here and below.
    let compare = |a: &Address, b: &Address| unsafe { order.compare(a.0, b.0) };
    // The first rows of a list are those that were first the last time: nearly all others come behind the last one of them.
    let (known, others) = rows.split_at(needed);
    if let Some(&last) = known.iter().max_by(|a, b| compare(a, b)) {
        let better: Vec<Address> = others.iter().filter(|row| compare(row, &last).is_lt()).copied().collect();
        rows.truncate(needed);
        rows.extend(better);
    }
    // SAFETY: likewise.
    let (mut items, ties) = unsafe {
        let (items, coder) = items_of(&rows, order);
        (items, Ties::new(&order.fields[coder.fields_in(2)..]))
    };
    if needed > 0 {
        items.select_nth_unstable_by(needed - 1, |a, b| a.compare(b, |a, b| ties.compare(a, b, &mut 0)));
    }
    items[..needed].iter().map(|item| item.tail.0).collect()
}

/// The rows of some segments, one after the other.
pub(super) fn rows_of_all(segments: &[Segment]) -> Vec<Address> {
    segments.iter().flat_map(rows_of).map(Address).collect()
}

/// The items of some rows, and what has made their words.
///
/// # Safety
/// They must be rows of the order's layout, with all strings alive.
pub(super) unsafe fn items_of(rows: &[Address], order: &Order) -> (Vec<Item<2, Address>>, Coder) {
    let mut bounds = vec![Bounds::default(); order.keys];
    // SAFETY: as the caller promises.
    unsafe {
        measure(&mut bounds, order, rows);
        items(rows, order, &bounds)
    }
}

/// Widens the bounds of the keys to those of further rows.
unsafe fn measure(bounds: &mut [Bounds], order: &Order, rows: &[Address]) {
    let rows: Vec<*mut u8> = rows.iter().map(|row| row.0).collect();
    for (bounds, field) in bounds.iter_mut().zip(&order.fields) {
        // SAFETY: as the caller of `first` promises.
        *bounds = bounds.join(unsafe { Bounds::of(field, &rows) });
    }
}

/// Items of two words, given the bounds of some leading fields, and what has made the words.
unsafe fn items(rows: &[Address], order: &Order, bounds: &[Bounds]) -> (Vec<Item<2, Address>>, Coder) {
    let rows: Vec<*mut u8> = rows.iter().map(|row| row.0).collect();
    let mut items: Vec<Item<2, Address>> = rows.iter().map(|&row| Item::new(row)).collect();
    let coder = Coder::new(&order.fields, bounds);
    // SAFETY: as the caller of `first` promises; the bounds are those of these rows.
    unsafe { coder.encode(&rows, &mut items) };
    (items, coder)
}
