//! Few rows, sorted by one worker at once.

use super::bounds::Bounds;
use super::coder::Coder;
use super::exchange::rows_of;
use super::item::Item;
use super::order::{Field, Order};
use super::radix;
use super::tail::Tail;
use crate::rows::Segment;
use crate::source::Address;

/// The rows of some segments in order.
///
/// # Safety
/// They must be rows of the order's layout, with all strings alive.
pub(super) unsafe fn sorted(segments: &[Segment], order: &Order) -> Vec<*mut u8> {
    // SAFETY: as the caller promises.
    let (mut items, ties) = unsafe { items(segments, order) };
    // SAFETY: likewise.
    radix::sort(&mut items, &mut Vec::new(), &|a, b| unsafe { a.compare(b, ties) });
    items.iter().map(|item| item.tail.0).collect()
}

/// The first `needed` rows of some segments, which have more, in no order.
///
/// # Safety
/// As [`sorted`].
pub(super) unsafe fn first(segments: &[Segment], order: &Order, needed: usize) -> Vec<*mut u8> {
    // SAFETY: as the caller promises.
    let (mut items, ties) = unsafe { items(segments, order) };
    if needed > 0 {
        // SAFETY: likewise.
        items.select_nth_unstable_by(needed - 1, |a, b| a.compare(b, |a, b| unsafe { a.compare(b, ties) }));
    }
    items[..needed].iter().map(|item| item.tail.0).collect()
}

/// Items of two words, and the fields that decide where these are equal.
unsafe fn items<'o>(segments: &[Segment], order: &'o Order) -> (Vec<Item<2, Address>>, &'o [Field]) {
    let rows: Vec<*mut u8> = segments.iter().flat_map(rows_of).collect();
    let mut items: Vec<Item<2, Address>> = rows.iter().map(|&row| Item::new(row)).collect();
    // A few comparisons cost less than bounds.
    if items.len() <= radix::FEW {
        return (items, &order.fields);
    }
    // SAFETY: as the caller of `sorted` promises.
    let bounds: Vec<Bounds> = order.fields[..order.keys].iter().map(|f| unsafe { Bounds::of(f, &rows) }).collect();
    let coder = Coder::new(&order.fields, &bounds);
    // SAFETY: the bounds are those of these rows.
    unsafe { coder.encode(&rows, &mut items) };
    (items, &order.fields[coder.fields_in(2)..])
}
