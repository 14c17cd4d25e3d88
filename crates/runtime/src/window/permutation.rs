//! The rows in an order other than the sort's, partition by partition: a merge sort of row numbers. Runs are sorted in
//! pieces; two runs are merged in pieces, too, each of which finds by binary search where in both it begins (merge path:
//! Odeh et al., IPDPSW 2012). Ties go by row, so places are unique. O(n log n).
//!
//! Only the partition that lies across the end of a run has anything to merge with the next one.

use std::cmp::Ordering;
use std::ops::Range;

use base::{Budget, CancelToken, Result};

use super::column::{Cells, Element, Form, with_form};
use super::members::piece_of;
use super::numbers::Numbers;
use super::phases::Built;
use super::{BitSet, Key, PIECE, Positions};

/// Rows of partitions in an order of their own.
#[derive(Debug)]
pub(super) struct Permutation {
    keys: Vec<Key>,
    positions: Positions,
    /// From place to row, and the other way round; while runs are merged from one to the other, either.
    buffers: [Numbers; 2],
    /// Places that begin rows that are equal in the keys.
    ties: BitSet,
    cancel: CancelToken,
    run: usize,
}

/// Rows that take about a millisecond to sort: comparisons of texts, and of several keys, take several times as long as of a number.
fn sorted_at_once(keys: &[Key]) -> usize {
    match keys {
        [key] if Form::of(key.operand.sql_type) != Form::Str => PIECE,
        _ => PIECE / 4,
    }
}

/// The values of a key.
enum Compared<'a> {
    I64(Cells<'a, i64>),
    I128(Cells<'a, i128>),
    F64(Cells<'a, f64>),
    Str(Cells<'a, types::Str>),
    Interval(Cells<'a, types::Interval>),
}

fn compare<T: Element>(key: &Key, cells: &Cells<'_, T>, a: usize, b: usize) -> Ordering {
    match (cells.is_null(a), cells.is_null(b)) {
        (false, false) if key.descending => cells.value(b).order(&cells.value(a)),
        (false, false) => cells.value(a).order(&cells.value(b)),
        (a, b) if key.nulls_first => b.cmp(&a),
        (a, b) => a.cmp(&b),
    }
}

impl Permutation {
    /// The rows by keys, most significant first. Runs of `run` rows are sorted at once, or of as many as take about a millisecond.
    pub(super) fn new(
        keys: Vec<Key>,
        positions: Positions,
        run: Option<usize>,
        budget: &Budget,
        cancel: CancelToken,
    ) -> Result<Self> {
        let run = run.unwrap_or_else(|| sorted_at_once(&keys));
        let buffers = [Numbers::new(positions.rows, budget)?, Numbers::new(positions.rows, budget)?];
        let ties = BitSet::new(positions.rows, budget)?;
        Ok(Self { keys, positions, buffers, ties, cancel, run })
    }

    /// How often runs are merged.
    fn merges(&self) -> usize {
        self.positions.rows.div_ceil(self.run).next_power_of_two().trailing_zeros() as usize
    }

    /// The row at a place.
    #[inline]
    pub(super) fn row(&self, place: usize) -> usize {
        self.buffers[self.merges() % 2].get(place)
    }

    /// The place of a row.
    #[inline]
    pub(super) fn place(&self, row: usize) -> usize {
        self.buffers[(self.merges() + 1) % 2].get(row)
    }

    /// The places of the rows that are equal to the one at a place.
    #[inline]
    pub(super) fn tied(&self, place: usize) -> Range<usize> {
        self.ties.begin(place)..self.ties.end(place)
    }

    /// Calls `with` with the order of the rows by the keys.
    fn with_order<O>(&self, with: impl WithOrder<O>) -> O {
        if let [key] = &*self.keys {
            return with_form!(key.operand.sql_type, T => {
                let cells = key.operand.cells::<T>();
                with.call(|a, b| compare(key, &cells, a, b))
            });
        }
        let compared = self.keys.iter().map(|key| match Form::of(key.operand.sql_type) {
            Form::I64 => Compared::I64(key.operand.cells()),
            Form::I128 => Compared::I128(key.operand.cells()),
            Form::F64 => Compared::F64(key.operand.cells()),
            Form::Str => Compared::Str(key.operand.cells()),
            Form::Interval => Compared::Interval(key.operand.cells()),
        });
        let compared: Vec<(&Key, Compared<'_>)> = self.keys.iter().zip(compared).collect();
        with.call(|a, b| {
            let order = |(key, cells): &(&Key, Compared<'_>)| match cells {
                Compared::I64(cells) => compare(key, cells, a, b),
                Compared::I128(cells) => compare(key, cells, a, b),
                Compared::F64(cells) => compare(key, cells, a, b),
                Compared::Str(cells) => compare(key, cells, a, b),
                Compared::Interval(cells) => compare(key, cells, a, b),
            };
            compared.iter().map(order).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        })
    }
}

/// Code that is compiled for each kind of order.
trait WithOrder<O> {
    fn call(self, order: impl Fn(usize, usize) -> Ordering) -> O;
}

/// Sorts a run.
struct Sort<'a>(&'a Permutation, Range<usize>);

impl WithOrder<()> for Sort<'_> {
    fn call(self, order: impl Fn(usize, usize) -> Ordering) {
        let Self(all, run) = self;
        let mut rows: Vec<u32> = run.clone().map(|row| row as u32).collect();
        for (part, _) in all.positions.parts(run.clone()) {
            rows[part.start - run.start..part.end - run.start]
                .sort_unstable_by(|&a, &b| order(a as usize, b as usize).then(a.cmp(&b)));
        }
        run.zip(rows).for_each(|(place, row)| all.buffers[0].set(place, row as usize));
    }
}

/// Merges runs of so many rows, as far as the results lie in a piece.
struct Merge<'a> {
    all: &'a Permutation,
    phase: usize,
    piece: Range<usize>,
}

impl WithOrder<()> for Merge<'_> {
    fn call(self, order: impl Fn(usize, usize) -> Ordering) {
        let Self { all, phase, piece } = self;
        let (from, to) = (&all.buffers[(phase + 1) % 2], &all.buffers[phase % 2]);
        let width = all.run << (phase - 1);
        let begin = piece.start / (2 * width) * (2 * width);
        let (middle, end) = (begin + width, all.positions.rows.min(begin + 2 * width));
        let copy = |places: Range<usize>| places.for_each(|place| to.set(place, from.get(place)));
        if middle >= end {
            return copy(piece);
        }
        let partition = all.positions.partitions.begin(middle)..all.positions.partitions.end(middle);
        let (first, last) = (partition.start.max(begin), partition.end.min(end));
        let merged = piece.start.max(first)..piece.end.min(last);
        if merged.is_empty() || first == middle {
            return copy(piece);
        }
        copy(piece.start..merged.start);
        copy(merged.end..piece.end);
        let is_after = |left: usize, right: usize| order(from.get(left), from.get(right)).is_gt();
        // So many of the first places come from the left run: the least for which the next one there is behind what the
        // right run gives before it.
        let taken = merged.start - first;
        let (mut low, mut high) = (taken.saturating_sub(last - middle), taken.min(middle - first));
        while low < high {
            let of_left = low + (high - low) / 2;
            if is_after(first + of_left, middle + (taken - of_left) - 1) {
                high = of_left;
            } else {
                low = of_left + 1;
            }
        }
        let (mut left, mut right) = (first + low, middle + (taken - low));
        for place in merged {
            let from_left = left < middle && (right >= last || !is_after(left, right));
            let next = if from_left { &mut left } else { &mut right };
            to.set(place, from.get(*next));
            *next += 1;
        }
    }
}

/// Marks where ties begin.
struct Mark<'a>(&'a Permutation, Range<usize>);

impl WithOrder<()> for Mark<'_> {
    fn call(self, order: impl Fn(usize, usize) -> Ordering) {
        let Self(all, places) = self;
        all.ties.fill(places, |place| {
            // A partition has the same places as rows.
            all.positions.partitions.contains(place) || order(all.row(place - 1), all.row(place)).is_ne()
        });
    }
}

impl Built for Permutation {
    fn phases(&self) -> usize {
        self.merges() + 3
    }

    fn pieces(&self, phase: usize) -> usize {
        let rows = self.positions.rows;
        match phase {
            0 => rows.div_ceil(self.run),
            _ if phase == self.merges() + 2 => 1,
            _ if phase == self.merges() + 1 => rows.div_ceil(PIECE),
            _ => rows.div_ceil(self.run),
        }
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        self.cancel.check()?;
        let rows = self.positions.rows;
        let run = piece * self.run..rows.min((piece + 1) * self.run);
        if phase == 0 {
            self.with_order(Sort(self, run));
        } else if phase <= self.merges() {
            self.with_order(Merge { all: self, phase, piece: run });
        } else if phase == self.merges() + 1 {
            let places = piece_of(rows, piece);
            let rows = &self.buffers[phase % 2];
            places.clone().for_each(|place| rows.set(self.row(place), place));
            self.with_order(Mark(self, places));
        } else {
            self.ties.finish();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use base::Random;
    use types::{SqlType, Value};

    use super::*;
    use crate::window::testing::{Table, column, order, values};

    #[test]
    fn runs_are_merged_into_the_order_of_all_rows() {
        let mut random = Random(8);
        for turn in 0..200 {
            let (rows, run) = (random.pick(&[0, 1, 7, 64, 100, 500, 1500]), random.pick(&[1, 8, 64, 100, 5000]));
            let table = Table::random(&mut random, rows, SqlType::BigInt);
            let columns: Vec<(Vec<Value>, bool, bool)> = (0..1 + random.index(2))
                .map(|_| (values(&mut random, SqlType::Double, rows, 10), random.one_in(2), random.one_in(2)))
                .collect();
            let key = |(values, descending, nulls_first): &(Vec<Value>, bool, bool)| Key {
                operand: column(values, SqlType::Double),
                descending: *descending,
                nulls_first: *nulls_first,
            };
            let keys = columns.iter().map(key).collect();
            let (budget, cancel) = (Budget::new(usize::MAX), CancelToken::new());
            let permutation = Permutation::new(keys, table.positions(), Some(run), &budget, cancel).unwrap();
            for phase in 0..permutation.phases() {
                (0..permutation.pieces(phase)).rev().for_each(|piece| permutation.build(phase, piece).unwrap());
            }
            let by_keys = |a: usize, b: usize| {
                let order = |(values, descending, nulls_first): &(Vec<Value>, bool, bool)| {
                    order(&values[a], &values[b], *descending, *nulls_first)
                };
                columns.iter().map(order).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            };
            let mut expected: Vec<usize> = (0..rows).collect();
            expected.sort_by(|&a, &b| {
                table.partition[a].cmp(&table.partition[b]).then_with(|| by_keys(a, b)).then(a.cmp(&b))
            });
            for (place, &row) in expected.iter().enumerate() {
                assert_eq!((permutation.row(place), permutation.place(row)), (row, place), "turn {turn}, run {run}");
                let tied =
                    |&other: &usize| table.partition[other] == table.partition[row] && by_keys(other, row).is_eq();
                let first = expected.iter().position(tied).unwrap();
                let count = expected.iter().filter(|other| tied(other)).count();
                assert_eq!(permutation.tied(place), first..first + count);
            }
        }
    }
}
