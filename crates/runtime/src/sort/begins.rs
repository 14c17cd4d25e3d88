//! Where sorted rows differ from the row before in their leading keys: where partitions and peers begin, for windows.
//!
//! Known best when a range has just been sorted: then the words that tell are in the cache, where rows are not. What begins
//! a range is compared once all are sorted.

use std::ops::Range;
use std::sync::Arc;

use base::{Budget, Result};

use super::coder::Coder;
use super::item::Item;
use super::order::Order;
use super::tail::Tail;
use crate::bits::BitSet;
use crate::source::Address;

/// For some numbers of leading keys, the rows that differ in these from the row before.
#[derive(Clone, Debug)]
pub(crate) struct Begins(Arc<[(usize, Arc<BitSet>)]>);

impl Begins {
    /// For `rows` rows; the first one differs.
    pub(super) fn new(keys: &[usize], rows: usize, budget: &Budget) -> Result<Self> {
        let set = |&keys: &usize| {
            let set = BitSet::new(rows, budget)?;
            set.add(0..rows.min(1), |_| true);
            Ok((keys, Arc::new(set)))
        };
        Ok(Self(keys.iter().map(set).collect::<Result<_>>()?))
    }

    /// The rows that differ in so many keys.
    pub(crate) fn of(&self, keys: usize) -> Arc<BitSet> {
        self.0.iter().find(|(known, _)| *known == keys).expect("asked for when the sort was made").1.clone()
    }

    /// Notes where items differ, which are rows number `at` and on.
    pub(super) fn note<const W: usize, T: Tail>(&self, at: usize, items: &[Item<W, T>], coder: &Coder, order: &Order) {
        for (keys, set) in self.0.iter().filter(|(keys, _)| *keys > 0) {
            let rows = at + 1..at + items.len();
            let pair = |row: usize| (&items[row - at - 1], &items[row - at]);
            match coder.bits_of(*keys) {
                Some(bits) if bits as usize <= 64 => {
                    let differ = |a: &Item<W, T>, b: &Item<W, T>| {
                        (a.words[0] ^ b.words[0]).checked_shr(64 - bits).unwrap_or(0) != 0
                    };
                    set.add_runs(
                        rows,
                        |before, last| differ(&items[before - at], &items[last - at]),
                        |row| {
                            let (a, b) = pair(row);
                            differ(a, b)
                        },
                    );
                }
                Some(bits) if bits as usize <= 64 * W => {
                    let differ = |before: usize, last: usize| items[before - at].differ(&items[last - at], bits);
                    set.add_runs(rows, differ, |row| differ(row - 1, row));
                }
                _ => set.add(rows, |row| {
                    let (a, b) = pair(row);
                    // SAFETY: rows of the order's layout, whose strings live as long as they are sorted.
                    unsafe { a.tail.compare(b.tail, &order.fields[..*keys]) }.is_ne()
                }),
            }
        }
    }

    /// Notes where some of these rows, which are all there are, differ from those before.
    pub(super) fn note_rows(&self, rows: &[Address], some: Range<usize>, order: &Order) {
        for (keys, set) in self.0.iter().filter(|(keys, _)| *keys > 0) {
            // SAFETY: rows of the order's layout, whose strings live as long as they are sorted.
            set.add(some.start.max(1)..some.end, |row| !unsafe { order.agree(*keys, rows[row - 1].0, rows[row].0) });
        }
    }

    /// Completes the sets.
    pub(super) fn finish(&self) {
        self.0.iter().for_each(|(_, set)| set.finish());
    }
}
