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

    /// To ask that of many rows.
    pub(crate) fn ranks(&self) -> Ranks<'_> {
        let mut before = [0; WORDS];
        for word in 1..WORDS {
            before[word] = before[word - 1] + self.0[word - 1].count_ones() as u16;
        }
        Ranks { of: self, before }
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

/// How many rows of a set there are before each row.
pub(crate) struct Ranks<'a> {
    of: &'a Bits,
    /// Before the rows of each word.
    before: [u16; WORDS],
}

impl Ranks<'_> {
    pub(crate) fn of(&self, row: usize) -> usize {
        let below = self.of.0[row / 64] & ((1 << (row % 64)) - 1);
        usize::from(self.before[row / 64]) + below.count_ones() as usize
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
            let ranks = bits.ranks();
            let before = |row: usize| (start..end).filter(|r| *r < row).count();
            (0..WINDOW).for_each(|row| assert_eq!((ranks.of(row), bits.rank(row)), (before(row), before(row))));
        }
    }
}
