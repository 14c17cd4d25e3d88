//! What is sorted instead of rows: the row's address behind as many words as decide most comparisons.

use std::cmp::Ordering;

/// A row to be sorted: if the words differ, their order is that of the rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<const W: usize> {
    pub(super) words: [u64; W],
    pub(super) row: *mut u8,
}
// SAFETY: rows are only read while they are sorted.
unsafe impl<const W: usize> Send for Item<W> {}
// SAFETY: as for `Send`: nobody writes to the rows.
unsafe impl<const W: usize> Sync for Item<W> {}

impl<const W: usize> Item<W> {
    /// An item without words.
    pub(super) fn new(row: *mut u8) -> Self {
        Self { words: [0; W], row }
    }

    /// The order of the words, then what `ties` says of the rows.
    #[inline(always)]
    pub(super) fn compare(&self, other: &Self, ties: impl FnOnce(*const u8, *const u8) -> Ordering) -> Ordering {
        for (a, b) in self.words.iter().zip(&other.words) {
            if a != b {
                return a.cmp(b);
            }
        }
        ties(self.row, other.row)
    }

    /// Whether the first `bits` bits of the words differ.
    #[inline(always)]
    pub(super) fn differ(&self, other: &Self, bits: u32) -> bool {
        let (whole, rest) = ((bits / 64) as usize, bits % 64);
        let rest_differs = || rest > 0 && (self.words[whole] ^ other.words[whole]) >> (64 - rest) != 0;
        self.words[..whole] != other.words[..whole] || rest_differs()
    }

    /// Writes the highest `width` bits of `value` (its lower ones are zero) at bit `at` of the words, counted from the
    /// most significant; what lies behind the last word is left out.
    #[inline(always)]
    pub(super) fn put(&mut self, at: u32, value: u128) {
        let (word, shift) = ((at / 64) as usize, at % 64);
        let (high, low) = ((value >> 64) as u64, value as u64);
        let mut write = |i: usize, bits: u64| {
            if let Some(word) = self.words.get_mut(word + i) {
                *word |= bits;
            }
        };
        write(0, high >> shift);
        if shift == 0 {
            write(1, low);
        } else {
            write(1, high << (64 - shift) | low >> shift);
            write(2, low << (64 - shift));
        }
    }
}
