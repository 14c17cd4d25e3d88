//! What is sorted instead of rows: words that decide most comparisons, and behind them what else is known of the row
//! ([`Tail`](super::tail::Tail)).

use std::cmp::Ordering;

/// A row to be sorted: if the words differ, their order is that of the rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<const W: usize, T> {
    pub(super) words: [u64; W],
    pub(super) tail: T,
}

impl<const W: usize, T: Copy> Item<W, T> {
    /// The order of the words, then what `ties` says of the rows.
    #[inline(always)]
    pub(super) fn compare(&self, other: &Self, ties: impl FnOnce(T, T) -> Ordering) -> Ordering {
        for (a, b) in self.words.iter().zip(&other.words) {
            if a != b {
                return a.cmp(b);
            }
        }
        ties(self.tail, other.tail)
    }

    /// Whether the first `bits` bits of the words differ.
    #[inline(always)]
    pub(super) fn differ(&self, other: &Self, bits: u32) -> bool {
        let (whole, rest) = ((bits / 64) as usize, bits % 64);
        let rest_differs = || rest > 0 && (self.words[whole] ^ other.words[whole]) >> (64 - rest) != 0;
        self.words[..whole] != other.words[..whole] || rest_differs()
    }
}
