//! A wavelet matrix (Claude, Navarro, Ordóñez 2015): a merge-sort tree (Vogelsgesang et al., SIGMOD 2022) of which only the
//! bits are kept that say to which side each number went. Level by level, the highest bit first, numbers with a 0 go to the
//! front and those with a 1 behind them, neither changing its order; a range of numbers so becomes a range of those with a
//! 0 and one of those with a 1, both found by counting bits. In ranges of n numbers it finds in O(log n) the k-th smallest,
//! and how many are below a bound: two bits of memory a number and level.
//!
//! Numbers are at most as large as the largest partition, whatever the number of rows.

use std::ops::Range;

use base::{Budget, CancelToken, Result};

use super::numbers::Numbers;
use super::phases::Built;
use super::{BitSet, PIECE};

/// Where a wavelet matrix gets its numbers from.
pub(super) trait Filled {
    /// How many there are, once it may be asked.
    fn numbers(&self) -> usize;
    /// Writes those that come from the rows of a piece.
    fn fill(&self, piece: usize, set: impl Fn(usize, usize));
}

/// A wavelet matrix of at most as many numbers as there are rows.
#[derive(Debug)]
pub(super) struct Wavelet {
    rows: usize,
    levels: Box<[BitSet]>,
    /// The numbers in the order of a level and of the next one.
    buffers: [Numbers; 2],
    cancel: CancelToken,
}

/// Ranges that are looked at together.
type Ranges = [Range<usize>; 3];

impl Wavelet {
    /// Room for numbers below `bound`.
    pub(super) fn new(rows: usize, bound: usize, budget: &Budget, cancel: CancelToken) -> Result<Self> {
        let bits = bound.max(1).next_power_of_two().trailing_zeros();
        let levels = (0..bits).map(|_| BitSet::new(rows, budget)).collect::<Result<_>>()?;
        let buffers = [Numbers::new(rows, budget)?, Numbers::new(rows, budget)?];
        Ok(Self { rows, levels, buffers, cancel })
    }

    fn bit(&self, level: usize) -> usize {
        self.levels.len() - 1 - level
    }

    /// Where ranges of a level are in the next one, of numbers with a 1 or a 0.
    #[inline]
    fn descend(&self, level: usize, ranges: &mut Ranges, ones: bool, numbers: usize) {
        let bits = &self.levels[level];
        let zeros = numbers - bits.len();
        for range in ranges.iter_mut().filter(|range| range.start < range.end) {
            let (start, end) = (bits.count_before(range.start), bits.count_before(range.end));
            *range = if ones { zeros + start..zeros + end } else { range.start - start..range.end - end };
        }
    }

    /// How many numbers in the ranges have a 0 at a level.
    #[inline]
    fn zeros(&self, level: usize, ranges: &Ranges) -> usize {
        let bits = &self.levels[level];
        let zeros = |range: &Range<usize>| range.len() + bits.count_before(range.start) - bits.count_before(range.end);
        ranges.iter().filter(|range| !range.is_empty()).map(zeros).sum()
    }

    /// The number in ranges that so many others of them are below; there are more than so many. `numbers`: how many there
    /// are in all.
    pub(super) fn nth(&self, mut ranges: Ranges, mut before: usize, numbers: usize) -> usize {
        let mut number = 0;
        for level in 0..self.levels.len() {
            let zeros = self.zeros(level, &ranges);
            let ones = before >= zeros;
            if ones {
                before -= zeros;
                number |= 1 << self.bit(level);
            }
            self.descend(level, &mut ranges, ones, numbers);
        }
        number
    }

    /// How many numbers in ranges are below a bound.
    pub(super) fn below(&self, mut ranges: Ranges, bound: usize, numbers: usize) -> usize {
        if bound >> self.levels.len() > 0 {
            return ranges.iter().map(Range::len).sum();
        }
        let mut below = 0;
        for level in 0..self.levels.len() {
            let ones = bound >> self.bit(level) & 1 != 0;
            if ones {
                below += self.zeros(level, &ranges);
            }
            self.descend(level, &mut ranges, ones, numbers);
        }
        below
    }
}

/// A wavelet matrix and where its numbers come from.
pub(super) struct Filling<'a, F>(pub(super) &'a Wavelet, pub(super) &'a F);

impl<F: Filled> Built for Filling<'_, F> {
    /// The numbers first, then for each level its bits, what is counted of them, and the order of the next one.
    fn phases(&self) -> usize {
        1 + 3 * self.0.levels.len()
    }

    fn pieces(&self, phase: usize) -> usize {
        match phase {
            0 => self.0.rows.div_ceil(PIECE),
            _ if phase % 3 == 2 => 1,
            _ => self.1.numbers().div_ceil(PIECE),
        }
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        let Self(wavelet, source) = self;
        wavelet.cancel.check()?;
        let Some(step) = phase.checked_sub(1) else {
            source.fill(piece, |at, number| wavelet.buffers[0].set(at, number));
            return Ok(());
        };
        let (level, numbers) = (step / 3, source.numbers());
        let (bits, bit) = (&wavelet.levels[level], wavelet.bit(level));
        let (from, to) = (&wavelet.buffers[level % 2], &wavelet.buffers[(level + 1) % 2]);
        let piece = piece * PIECE..numbers.min((piece + 1) * PIECE);
        match step % 3 {
            0 => bits.fill(piece, |at| from.get(at) >> bit & 1 != 0),
            1 => bits.finish(),
            _ => {
                let mut ones = bits.count_before(piece.start);
                let zeros = numbers - bits.len();
                for at in piece {
                    if bits.contains(at) {
                        to.set(zeros + ones, from.get(at));
                        ones += 1;
                    } else {
                        to.set(at - ones, from.get(at));
                    }
                }
            }
        }
        Ok(())
    }
}
