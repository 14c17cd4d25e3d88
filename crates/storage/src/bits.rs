//! A set of rows of a window.

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
    pub(crate) fn complement(&self) -> Self {
        Self(self.0.map(|word| !word))
    }
    pub(crate) fn touches(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).any(|(mine, theirs)| mine & theirs != 0)
    }

    /// How many rows there are before a row.
    pub(crate) fn rank(&self, row: usize) -> usize {
        let whole: u32 = self.0[..row / 64].iter().map(|word| word.count_ones()).sum();
        whole as usize + (self.0[row / 64] & ((1 << (row % 64)) - 1)).count_ones() as usize
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
