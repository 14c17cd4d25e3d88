//! A set of rows: where partitions and peers begin, which rows have a value. A bit a row, and above it levels whose bits
//! say which words below have any, so that the next or last member is found in O(log_64 n) however far it is; numbers of
//! members before each word answer how many come before a row, in O(1), and which is the k-th, in O(log n).
//!
//! Filled in pieces by several threads (words are atomics that nobody writes twice, so a piece is whole words), then
//! finished by one of them; read only after that. What orders the two is whoever runs the phases.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use base::memory::Reservation;
use base::{Budget, Result};

/// What the budget calls this: windows are who asks for sets.
const OPERATOR: &str = "window";

/// A set of rows.
#[derive(Debug)]
pub(crate) struct BitSet {
    rows: usize,
    /// The rows' bits, then the levels above.
    levels: Box<[Box<[AtomicU64]>]>,
    /// Members before each word, and all of them at the end.
    counts: Box<[AtomicU64]>,
    _charged: Reservation,
}

fn zeros(words: usize) -> Box<[AtomicU64]> {
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

impl BitSet {
    /// An empty set of `rows` rows.
    pub(crate) fn new(rows: usize, budget: &Budget) -> Result<Self> {
        let mut sizes = vec![rows.div_ceil(64).max(1)];
        while let Some(&below) = sizes.last().filter(|&&words| words > 1) {
            sizes.push(below.div_ceil(64));
        }
        let counts = sizes[0] + 1;
        let charged = budget.reserve((sizes.iter().sum::<usize>() + counts) * size_of::<u64>(), OPERATOR)?;
        let levels = sizes.into_iter().map(zeros).collect();
        Ok(Self { rows, levels, counts: zeros(counts), _charged: charged })
    }

    /// Sets the bits of `rows`, which begin with a multiple of 64, and end with one unless nothing follows them.
    pub(crate) fn fill(&self, rows: Range<usize>, mut is_member: impl FnMut(usize) -> bool) {
        debug_assert!(rows.start.is_multiple_of(64));
        for first in rows.clone().step_by(64) {
            let last = rows.end.min(first + 64);
            let word = (first..last).fold(0, |word, row| word | u64::from(is_member(row)) << (row - first));
            self.levels[0][first / 64].store(word, Relaxed);
        }
    }

    /// As [`fill`](Self::fill) for any rows, also beside others that share words with them; adds members only.
    pub(crate) fn add(&self, rows: Range<usize>, mut is_member: impl FnMut(usize) -> bool) {
        let mut from = rows.start;
        while from < rows.end {
            let to = rows.end.min((from / 64 + 1) * 64);
            let word = (from..to).fold(0, |word, row| word | u64::from(is_member(row)) << (row % 64));
            self.levels[0][from / 64].fetch_or(word, Relaxed);
            from = to;
        }
    }

    /// As [`add`](Self::add) of rows in an order: of whole words of them there are members only if `differ` says that
    /// the last row differs from the one before the first.
    pub(crate) fn add_runs(
        &self,
        rows: Range<usize>,
        differ: impl Fn(usize, usize) -> bool,
        mut is_member: impl FnMut(usize) -> bool,
    ) {
        let mut from = rows.start;
        while from < rows.end {
            let to = rows.end.min((from / 64 + 1) * 64);
            if differ(from - 1, to - 1) {
                self.add(from..to, &mut is_member);
            }
            from = to;
        }
    }

    /// Completes the set once all rows are filled.
    pub(crate) fn finish(&self) {
        for pair in self.levels.windows(2) {
            for (word, below) in pair[1].iter().zip(pair[0].chunks(64)) {
                let any = |(at, word): (usize, &AtomicU64)| u64::from(word.load(Relaxed) != 0) << at;
                word.store(below.iter().enumerate().map(any).sum(), Relaxed);
            }
        }
        let mut before = 0;
        for (count, word) in self.counts.iter().zip(&self.levels[0]) {
            count.store(before, Relaxed);
            before += u64::from(word.load(Relaxed).count_ones());
        }
        self.counts[self.counts.len() - 1].store(before, Relaxed);
    }

    /// Whether the row is a member.
    #[inline]
    pub(crate) fn contains(&self, row: usize) -> bool {
        self.word(row / 64) >> (row % 64) & 1 != 0
    }

    #[inline]
    fn word(&self, at: usize) -> u64 {
        self.levels[0][at].load(Relaxed)
    }

    /// The last member at or before a row.
    #[inline]
    pub(crate) fn last_through(&self, row: usize) -> Option<usize> {
        let mut at = row;
        for (level, words) in self.levels.iter().enumerate() {
            let word = words[at / 64].load(Relaxed) & (u64::MAX >> (63 - at % 64));
            if word != 0 {
                let top = at / 64 * 64 + 63 - word.leading_zeros() as usize;
                let down = |at: usize, level: usize| {
                    at * 64 + 63 - self.levels[level][at].load(Relaxed).leading_zeros() as usize
                };
                return Some((0..level).rev().fold(top, down));
            }
            at = (at / 64).checked_sub(1)?;
        }
        None
    }

    /// The first member at or after a row; the number of rows if there is none.
    #[inline]
    pub(crate) fn next_from(&self, row: usize) -> usize {
        let mut at = row;
        for (level, words) in self.levels.iter().enumerate() {
            let Some(word) = words.get(at / 64) else { break };
            let word = word.load(Relaxed) & (u64::MAX << (at % 64));
            if word != 0 {
                let top = at / 64 * 64 + word.trailing_zeros() as usize;
                let down =
                    |at: usize, level: usize| at * 64 + self.levels[level][at].load(Relaxed).trailing_zeros() as usize;
                return (0..level).rev().fold(top, down);
            }
            at = at / 64 + 1;
        }
        self.rows
    }

    /// Of a set of first rows: the first row of the part that holds `row`.
    #[inline]
    pub(crate) fn begin(&self, row: usize) -> usize {
        self.last_through(row).unwrap_or(0)
    }

    /// Of a set of first rows: where the part that holds `row` ends.
    #[inline]
    pub(crate) fn end(&self, row: usize) -> usize {
        self.next_from(row + 1)
    }

    /// How many members there are before a row; of all, if it is the number of rows.
    #[inline]
    pub(crate) fn count_before(&self, row: usize) -> usize {
        let before = self.counts[row / 64].load(Relaxed) as usize;
        let rest = if row.is_multiple_of(64) { 0 } else { (self.word(row / 64) << (64 - row % 64)).count_ones() };
        before + rest as usize
    }

    /// How many members there are.
    pub(crate) fn len(&self) -> usize {
        self.counts[self.counts.len() - 1].load(Relaxed) as usize
    }

    /// The member that `index` members come before; the number of rows if there are too few.
    pub(crate) fn select(&self, index: usize) -> usize {
        if index >= self.len() {
            return self.rows;
        }
        let at = self.counts.partition_point(|count| count.load(Relaxed) as usize <= index) - 1;
        let mut word = self.word(at);
        (self.counts[at].load(Relaxed) as usize..index).for_each(|_| word &= word - 1);
        at * 64 + word.trailing_zeros() as usize
    }
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::*;

    #[test]
    fn members_are_found_and_counted() {
        let mut random = Random(1);
        for rows in [0, 1, 63, 64, 65, 511, 512, 513, 4096, 5000, 300_000] {
            for rare in [1, 2, 70, 5000, 1_000_000] {
                let members: Vec<bool> = (0..rows).map(|_| random.one_in(rare)).collect();
                let set = BitSet::new(rows, &Budget::new(usize::MAX)).unwrap();
                for first in (0..rows).step_by(4096) {
                    set.fill(first..rows.min(first + 4096), |row| members[row]);
                }
                set.finish();
                let places: Vec<usize> = (0..rows).filter(|&row| members[row]).collect();
                assert_eq!(set.len(), places.len());
                for row in (0..=rows).filter(|_| rows < 6000 || random.one_in(100)) {
                    let before = places.partition_point(|&place| place < row);
                    assert_eq!(set.count_before(row), before, "{row} of {rows}");
                    assert_eq!(set.next_from(row), places.get(before).copied().unwrap_or(rows));
                    if row < rows {
                        let through = places.partition_point(|&place| place <= row);
                        assert_eq!(set.last_through(row), through.checked_sub(1).map(|at| places[at]));
                        assert_eq!(set.contains(row), members[row]);
                    }
                }
                for (index, &place) in places.iter().enumerate().filter(|_| rows < 6000 || random.one_in(100)) {
                    assert_eq!(set.select(index), place);
                }
                assert_eq!(set.select(places.len()), rows);
            }
        }
    }

    #[test]
    fn a_set_is_charged() {
        let error = BitSet::new(1 << 20, &Budget::new(1000)).unwrap_err();
        assert_eq!((error.state(), error.message()), (base::SqlState::OUT_OF_MEMORY, "out of memory in window"));
    }
}
