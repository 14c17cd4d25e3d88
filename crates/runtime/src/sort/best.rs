//! Top-k of each group: bounding a worker's rows to those that may be among the first k of their group.
//!
//! The words that sort rows begin with the keys that make groups, so their leading bits number these: directly where they
//! are few, by a table of the numbers that occur otherwise. Each group keeps its first k rows in order; most others come
//! behind the last of them. Nothing is kept from one look to the next: O(rows) a look, every `(SLACK - 1)` times as many
//! rows as stay. Rows that are thrown away have k others of their group before them, so what the sort keeps in the end is
//! the same.

use std::sync::Arc;

use base::{Result, statement};
use types::ops::hash::hash_i128;

use super::OPERATOR;
use super::few::{items_of, rows_of_all};
use super::item::Item;
use super::order::Order;
use super::ties::Ties;
use crate::rows::{Bound, Look, Segment};
use crate::source::Address;

/// A worker gathers this many times the rows that stayed before it looks again.
const SLACK: usize = 4;
/// Fewer rows than this are not worth looking at, and more are not looked at in one go.
const LEAST: usize = 8 << 10;
const MOST: usize = 1 << 20;
/// Once so many rows have been looked at, a third at least must go.
const ENOUGH: usize = 1 << 18;
/// Up to so many bits number groups directly.
const DIRECT_BITS: u32 = 16;

/// The first rows of each group.
#[derive(Debug)]
pub(super) struct Best {
    order: Arc<Order>,
    /// So many leading keys make groups.
    partition: usize,
    needed: usize,
}

impl Best {
    pub(super) fn new(order: &Arc<Order>, partition: usize, needed: usize) -> Self {
        Self { order: order.clone(), partition, needed }
    }

    /// The first `needed` rows of each group, unless groups cannot be told by the words of rows.
    ///
    /// # Safety
    /// They must be rows of the order's layout, with all strings alive.
    unsafe fn first(&self, segments: &[Segment]) -> Result<Option<Vec<*mut u8>>> {
        // SAFETY: as the caller promises.
        let (items, coder) = unsafe { items_of(&rows_of_all(segments), &self.order) };
        let Some(bits) = coder.bits_of(self.partition).filter(|&bits| bits <= u128::BITS) else { return Ok(None) };
        let key = |item: &Item<2, Address>| {
            let [high, low] = item.words.map(u128::from);
            (high << 64 | low).checked_shr(u128::BITS - bits).unwrap_or(0)
        };
        let (numbers, groups) = match bits <= DIRECT_BITS {
            true => (items.iter().map(|item| key(item) as u32).collect(), 1 << bits),
            false => numbered(items.iter().map(key)),
        };
        statement::check()?;
        // Groups with room for more rows than there are would be fewer by little.
        if groups.saturating_mul(self.needed) > items.len() {
            return Ok(None);
        }
        // SAFETY: likewise.
        let ties = unsafe { Ties::new(&self.order.fields[coder.fields_in(2)..]) };
        let is_before =
            |a: &Item<2, Address>, b: &Item<2, Address>| a.compare(b, |a, b| ties.compare(a, b, &mut 0)).is_lt();
        let mut best = vec![Item::new(std::ptr::null_mut()); groups * self.needed];
        let mut counts = vec![0usize; groups];
        for (item, &number) in items.iter().zip(&numbers) {
            let (group, count) =
                (&mut best[number as usize * self.needed..][..self.needed], &mut counts[number as usize]);
            let full = *count == self.needed;
            if full && !group.last().is_some_and(|last| is_before(item, last)) {
                continue;
            }
            let known = *count - usize::from(full);
            let at = group[..known].partition_point(|known| is_before(known, item));
            group.copy_within(at..known, at + 1);
            group[at] = *item;
            *count = known + 1;
        }
        let groups = best.chunks_exact(self.needed.max(1)).zip(&counts);
        Ok(Some(groups.flat_map(|(group, &count)| group[..count].iter().map(|item| item.tail.0)).collect()))
    }
}

impl Bound for Best {
    fn least(&self) -> usize {
        LEAST
    }

    fn look(&self, rows: &[Segment]) -> Result<Look> {
        let stop = || Look { kept: None, next: usize::MAX };
        let count: usize = rows.iter().map(Segment::rows).sum();
        // Items, those of groups, and numbers.
        let room = count * (2 * size_of::<Item<2, Address>>() + 2 * size_of::<u64>());
        if count > MOST || statement::make_room(room, OPERATOR).is_err() {
            return statement::check().map(|()| stop());
        }
        // SAFETY: rows of this state, all fields of which have been stored, with strings that are alive.
        let kept = unsafe { self.first(rows)? };
        let left = kept.as_ref().map_or(count, Vec::len);
        if count >= ENOUGH && left * 3 > count * 2 {
            return Ok(stop());
        }
        Ok(Look { kept, next: LEAST.max(left.saturating_mul(SLACK)) })
    }
}

/// A number for each key in the order in which they come first, and how many different ones there are.
fn numbered(keys: impl ExactSizeIterator<Item = u128>) -> (Vec<u32>, usize) {
    // Keys by number, and the numbers plus one by hash.
    let (mut known, mut slots): (Vec<u128>, Vec<u32>) = (Vec::new(), vec![0; LEAST]);
    let mut numbers = Vec::with_capacity(keys.len());
    for key in keys {
        if known.len() * 2 >= slots.len() {
            slots = vec![0; slots.len() * 4];
            for (number, &key) in known.iter().enumerate() {
                let at = place(&slots, &known, key);
                slots[at] = number as u32 + 1;
            }
        }
        let at = place(&slots, &known, key);
        if slots[at] == 0 {
            known.push(key);
            slots[at] = known.len() as u32;
        }
        numbers.push(slots[at] - 1);
    }
    (numbers, known.len())
}

/// Where a key's number is or belongs.
fn place(slots: &[u32], known: &[u128], key: u128) -> usize {
    let mut at = hash_i128(key as i128) as usize & (slots.len() - 1);
    while slots[at] != 0 && known[slots[at] as usize - 1] != key {
        at = (at + 1) & (slots.len() - 1);
    }
    at
}
