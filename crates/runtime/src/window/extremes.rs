//! Which row of any range is the best one, in O(log_64 n) and without comparing more than a few rows: for blocks of 64
//! rows, and above them for blocks of 64 blocks, and so on, a word for each entry that says which entries of the block up
//! to it are still the best of all that follow (the stack of Fischer and Heun 2006, as bits: Alstrup et al. 2002). Of a
//! range inside of a block the best is then the first of those bits, at the range's last entry, that lies in the range; any
//! other range is the end of a block, the begin of one, and between them whole blocks, for which the level above is asked.
//!
//! Levels are built one after the other, each in independent pieces, in O(n) comparisons; 8 bytes a row, and a 32nd of it.
//! Rows that do not count are never among the best.

use std::ops::Range;

use base::memory::{Buffer, Reservation};
use base::{Budget, Result};

use super::{OPERATOR, PIECE};

/// Entries of a block: bits of a word.
const BLOCK: usize = 64;

/// No row.
const NONE: usize = usize::MAX;

/// The best rows of ranges.
#[derive(Debug)]
pub(super) struct Extremes {
    levels: Box<[Level]>,
    _charged: Reservation,
}

/// Rows, or blocks of the level below.
#[derive(Debug)]
struct Level {
    entries: usize,
    /// The best row of each block of the level below, or [`NONE`]; nothing at the level of rows.
    rows: Buffer<usize>,
    /// Of the entries of a block, for each of them: which up to it are better than all behind them up to it.
    masks: Buffer<u64>,
}

/// The values of rows.
pub(super) trait Ranked {
    type Value: Copy;
    /// Whether all rows count.
    const ALL: bool;
    /// Whether the row counts, if not all do.
    fn counts(&self, row: usize) -> bool;
    /// The row's value.
    fn value(&self, row: usize) -> Self::Value;
    /// Whether a value is as good as another one, or better.
    fn holds_against(&self, value: Self::Value, other: Self::Value) -> bool;
}

impl Extremes {
    /// Room for the best of so many rows.
    pub(super) fn new(rows: usize, budget: &Budget) -> Result<Self> {
        let mut sizes = vec![rows];
        while let Some(&below) = sizes.last().filter(|&&entries| entries > BLOCK) {
            sizes.push(below.div_ceil(BLOCK));
        }
        let words = sizes.iter().sum::<usize>() + sizes[1..].iter().sum::<usize>();
        let charged = budget.reserve(words * size_of::<u64>(), OPERATOR)?;
        let level = |(level, entries)| {
            // SAFETY: any bits are an integer.
            let (rows, masks) =
                unsafe { (Buffer::recycled(if level == 0 { 0 } else { entries }), Buffer::recycled(entries)) };
            Level { entries, rows, masks }
        };
        Ok(Self { levels: sizes.into_iter().enumerate().map(level).collect(), _charged: charged })
    }

    /// How many levels there are: each is a phase of building.
    pub(super) fn levels(&self) -> usize {
        self.levels.len()
    }

    /// How many pieces a level has, the lowest first.
    pub(super) fn pieces(&self, level: usize) -> usize {
        self.levels[level].entries.div_ceil(PIECE)
    }

    /// Builds a piece of a level; each piece once, and when all levels below are built.
    pub(super) fn build<R: Ranked>(&self, level: usize, piece: usize, ranked: &R) {
        let Level { entries, .. } = self.levels[level];
        let range = piece * PIECE..entries.min((piece + 1) * PIECE);
        // SAFETY: pieces do not overlap, and nobody reads this level before all of them are built.
        let masks = unsafe { self.levels[level].masks.places(range.clone()) };
        if level == 0 {
            for (masks, first) in masks.chunks_mut(BLOCK).zip(range.step_by(BLOCK)) {
                fill(masks, ranked, |at| ranked.value(first + at), |at| R::ALL || ranked.counts(first + at));
            }
            return;
        }
        // SAFETY: as above.
        let best = unsafe { self.levels[level].rows.places(range.clone()) };
        let below = &self.levels[level - 1];
        for (best, block) in best.iter_mut().zip(range) {
            let (first, last) = (block * BLOCK, below.entries.min((block + 1) * BLOCK) - 1);
            let entry = first_of(R::ALL, &below.masks, first, last);
            *best = entry.map_or(NONE, |entry| if level == 1 { entry } else { below.rows[entry] });
        }
        for (masks, best) in masks.chunks_mut(BLOCK).zip(best.chunks(BLOCK)) {
            fill(masks, ranked, |at| ranked.value(best[at]), |at| R::ALL || best[at] != NONE);
        }
    }

    /// What finds the best values of ranges.
    pub(super) fn finder<R: Ranked>(&self, ranked: R) -> Finder<'_, R> {
        let [lowest, above @ ..] = &*self.levels else { unreachable!("there is a level of rows") };
        Finder { ranked, masks: &lowest.masks, levels: above, blocks: (0, 0), above: None }
    }
}

/// Finds the best values of ranges.
#[derive(Debug)]
pub(super) struct Finder<'a, R: Ranked> {
    ranked: R,
    masks: &'a [u64],
    levels: &'a [Level],
    /// The blocks of rows that whole blocks lay between last, and what is best of those: the next range often has the same.
    blocks: (usize, usize),
    above: Option<R::Value>,
}

impl<R: Ranked> Finder<'_, R> {
    /// The best value of ranges that follow each other; of equal ones that of the first row.
    #[inline]
    pub(super) fn best(&mut self, ranges: &[Range<usize>]) -> Option<R::Value> {
        let mut best = None;
        for range in ranges.iter().filter(|range| !range.is_empty()) {
            let found = self.best_of_range(range.start, range.end - 1);
            best = self.better(best, found);
        }
        best
    }

    #[inline]
    fn best_of_range(&mut self, first: usize, last: usize) -> Option<R::Value> {
        let value = |row| self.ranked.value(row);
        let (block, end) = (first / BLOCK, last / BLOCK);
        if block == end {
            return first_of(R::ALL, self.masks, first, last).map(value);
        }
        let before = first_of(R::ALL, self.masks, first, first | (BLOCK - 1)).map(value);
        let behind = first_of(R::ALL, self.masks, end * BLOCK, last).map(value);
        if block + 1 == end {
            return self.better(before, behind);
        }
        if self.blocks != (block, end) {
            (self.blocks, self.above) = ((block, end), self.best_of_blocks(block + 1, end - 1));
        }
        self.better(self.better(before, self.above), behind)
    }

    /// The best value of the blocks of rows from one to another.
    #[inline(never)]
    fn best_of_blocks(&self, mut first: usize, mut last: usize) -> Option<R::Value> {
        let (mut before, mut behind) = (None, None);
        for Level { masks, rows, .. } in self.levels {
            let value = |entry: usize| self.ranked.value(rows[entry]);
            let (block, end) = (first / BLOCK, last / BLOCK);
            if block == end {
                behind = self.better(first_of(R::ALL, masks, first, last).map(value), behind);
                break;
            }
            before = self.better(before, first_of(R::ALL, masks, first, first | (BLOCK - 1)).map(value));
            behind = self.better(first_of(R::ALL, masks, end * BLOCK, last).map(value), behind);
            if block + 1 == end {
                break;
            }
            (first, last) = (block + 1, end - 1);
        }
        self.better(before, behind)
    }

    /// The better one of two values; the first one, if they are equal.
    #[inline]
    fn better(&self, value: Option<R::Value>, other: Option<R::Value>) -> Option<R::Value> {
        match (value, other) {
            (Some(value), Some(other)) => Some(if self.ranked.holds_against(value, other) { value } else { other }),
            _ => value.or(other),
        }
    }
}

/// The first of the best entries from one to another of the same block; none if none counts, unless `all` do.
#[inline]
fn first_of(all: bool, masks: &[u64], first: usize, last: usize) -> Option<usize> {
    let best = masks[last] & (u64::MAX << (first % BLOCK));
    (all || best != 0).then(|| last / BLOCK * BLOCK + best.trailing_zeros() as usize)
}

/// The words of a block's entries: those that an entry is better than are not among the best any more.
#[inline]
fn fill<R: Ranked>(masks: &mut [u64], ranked: &R, value: impl Fn(usize) -> R::Value, counts: impl Fn(usize) -> bool) {
    let mut best = 0u64;
    for (at, mask) in masks.iter_mut().enumerate() {
        if counts(at) {
            let new = value(at);
            while best != 0 {
                let last = 63 - best.leading_zeros();
                if ranked.holds_against(value(last as usize), new) {
                    break;
                }
                best ^= 1 << last;
            }
            best |= 1 << at;
        }
        *mask = best;
    }
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::*;

    /// Small is good; some do not count. Equal ones are told apart by where they are.
    struct Lowest<'a>(&'a [Option<u64>]);

    impl Ranked for Lowest<'_> {
        type Value = (u64, usize);
        const ALL: bool = false;

        fn counts(&self, row: usize) -> bool {
            self.0[row].is_some()
        }
        fn value(&self, row: usize) -> (u64, usize) {
            (self.0[row].unwrap(), row)
        }
        fn holds_against(&self, value: (u64, usize), other: (u64, usize)) -> bool {
            value.0 <= other.0
        }
    }

    #[test]
    fn the_best_of_any_range_is_found() {
        let mut random = Random(1);
        for rows in [0, 1, 63, 64, 65, 4095, 4096, 4097, 70_000, 300_000] {
            for (values, rare) in [(2, 2), (1000, 100), (1_000_000, 1_000_000)] {
                let value = |random: &mut Random| (!random.one_in(rare)).then(|| random.below(values));
                let all: Vec<Option<u64>> = (0..rows).map(|_| value(&mut random)).collect();
                let extremes = Extremes::new(rows, &Budget::new(usize::MAX)).unwrap();
                for level in 0..extremes.levels() {
                    (0..extremes.pieces(level)).rev().for_each(|piece| extremes.build(level, piece, &Lowest(&all)));
                }
                let mut finder = extremes.finder(Lowest(&all));
                for turn in 0..300 {
                    let far = if turn % 2 == 0 { rows } else { rows.min(200) };
                    let mut bounds = [0; 4].map(|_| random.index(far + 1));
                    bounds.sort_unstable();
                    let first = random.index(rows - far + 1);
                    let [a, b, c, d] = bounds.map(|bound| first + bound);
                    let counted = (a..b).chain(c..d).filter_map(|row| Some((all[row]?, row)));
                    assert_eq!(finder.best(&[a..b, c..d]), counted.min());
                }
            }
        }
    }

    #[test]
    fn memory_is_charged() {
        let error = Extremes::new(1 << 20, &Budget::new(1 << 20)).unwrap_err();
        assert_eq!(error.message(), "out of memory in window");
    }
}
