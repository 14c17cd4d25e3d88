//! A set of rows of a window.

use std::ops::Range;

use crate::WINDOW;

const WORDS: usize = WINDOW / 64;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits([u64; WORDS]);

impl Bits {
    pub(crate) fn of(rows: impl Iterator<Item = usize>) -> Self {
        let mut bits = Self::default();
        rows.for_each(|row| bits.insert(row));
        bits
    }

    /// All rows of a range.
    pub(crate) fn of_range(rows: Range<usize>) -> Self {
        let below = |row: usize, word: usize| match row.saturating_sub(word * 64) {
            whole if whole >= 64 => u64::MAX,
            some => (1 << some) - 1,
        };
        Self(std::array::from_fn(|word| below(rows.end, word) & !below(rows.start, word)))
    }

    pub(crate) fn insert(&mut self, row: usize) {
        self.0[row / 64] |= 1 << (row % 64);
    }
    pub(crate) fn has(&self, row: usize) -> bool {
        self.0[row / 64] >> (row % 64) & 1 != 0
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
    pub(crate) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }
    pub(crate) fn remove(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine &= !theirs);
    }
    /// Those that are not in the other one.
    pub(crate) fn without(&self, other: &Self) -> Self {
        let mut rest = *self;
        rest.remove(other);
        rest
    }
    /// Those that are in both.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let mut both = *self;
        both.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine &= theirs);
        both
    }
    pub(crate) fn complement(&self) -> Self {
        Self(self.0.map(|word| !word))
    }
    pub(crate) fn touches(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).any(|(mine, theirs)| mine & theirs != 0)
    }

    /// How many rows there are before a row.
    pub(crate) fn rank(&self, row: usize) -> usize {
        let whole: u32 = self.0[..row / 64].iter().map(|word| word.count_ones()).sum();
        let below = self.0[row / 64] & ((1 << (row % 64)) - 1);
        (whole + below.count_ones()) as usize
    }

    /// The rows in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(number, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(number * 64 + bit)
            })
        })
    }
}

/// A set of rows that knows how many of them there are before each row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranked {
    bits: Bits,
    /// Before the rows of each word.
    before: [u16; WORDS],
    count: u16,
}

impl Ranked {
    pub(crate) fn bits(&self) -> &Bits {
        &self.bits
    }
    pub(crate) fn has(&self, row: usize) -> bool {
        self.bits.has(row)
    }
    pub(crate) fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// Adds a row that it does not have.
    pub(crate) fn insert(&mut self, row: usize) {
        debug_assert!(!self.has(row));
        self.bits.insert(row);
        self.count += 1;
        self.before[row / 64 + 1..].iter_mut().for_each(|before| *before += 1);
    }

    /// How many rows there are before a row.
    pub(crate) fn rank(&self, row: usize) -> usize {
        let below = self.bits.0[row / 64] & ((1 << (row % 64)) - 1);
        usize::from(self.before[row / 64]) + below.count_ones() as usize
    }
}

impl From<Bits> for Ranked {
    fn from(bits: Bits) -> Self {
        let (mut before, mut count) = ([0; WORDS], 0);
        for (before, word) in before.iter_mut().zip(bits.0) {
            *before = count;
            count += word.count_ones() as u16;
        }
        Self { bits, before, count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_ranks_are_as_counted_row_by_row() {
        for (start, end) in [(0, 0), (0, 1), (3, 64), (63, 65), (64, 128), (5, 1000), (0, WINDOW), (WINDOW, WINDOW)] {
            let bits = Bits::of_range(start..end);
            assert_eq!(bits, Bits::of(start..end));
            let (ranked, mut grown) = (Ranked::from(bits), Ranked::default());
            (start..end).rev().for_each(|row| grown.insert(row));
            assert_eq!((ranked.count(), grown.count(), grown.bits()), (end - start, end - start, &bits));
            let before = |row: usize| (start..end).filter(|r| *r < row).count();
            for row in 0..WINDOW {
                assert_eq!([ranked.rank(row), grown.rank(row), bits.rank(row)], [before(row); 3]);
            }
        }
    }
}
