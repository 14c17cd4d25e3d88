//! Where a row belongs among separators: a table over the leading bits of the first word leaves few of them to compare,
//! however many there are.

use std::ops::Range;

use super::item::Item;
use super::tail::Tail;

/// Buckets of the table for each separator, about.
const BUCKETS: usize = 16;

/// Up to so many separators of a bucket are searched; those of others get a table of their own, as doubles have most of theirs
/// in few of the buckets between the least and the greatest.
const SEARCHED: usize = 3;

/// Items in order, which cut all others into ranges.
#[derive(Debug)]
pub(super) struct Separators<const W: usize, T> {
    items: Vec<Item<W, T>>,
    /// Of all of them, and of those of some buckets.
    all: Table,
    tables: Vec<Table>,
    buckets: Vec<Bucket>,
    /// Whether some are equal, by their words.
    alike: bool,
}

/// Which separators are to be looked at for a first word, by the distance to the least of them.
#[derive(Clone, Copy, Debug)]
struct Table {
    /// Those that it is of, and their least first word and the distance to the greatest.
    from: u16,
    to: u16,
    low: u64,
    span: u64,
    /// By how far a distance is shifted to be the number of its bucket among the table's, and which is the first of these.
    shift: u32,
    buckets: u32,
}

/// The separators of a bucket, and the number of their table, if they have one, counted from 1.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    from: u16,
    to: u16,
    table: u32,
}

/// The separators before and behind some ranges, if there are such: what is less than the one, or greater than the other, is in none
/// of these.
pub(super) struct Beyond<const W: usize> {
    first: Option<[u64; W]>,
    last: Option<[u64; W]>,
}

/// Where words lie, beside some ranges.
pub(super) enum Side {
    Before,
    Behind,
    /// In one of them, perhaps.
    Perhaps,
}

impl<const W: usize> Beyond<W> {
    #[inline(always)]
    pub(super) fn side(&self, words: &[u64; W]) -> Side {
        if self.first.as_ref().is_some_and(|first| is_less(words, first)) {
            Side::Before
        } else if self.last.as_ref().is_some_and(|last| is_less(last, words)) {
            Side::Behind
        } else {
            Side::Perhaps
        }
    }
}

impl<const W: usize, T: Tail> Separators<W, T> {
    /// Of items in order, at most 65,535.
    pub(super) fn new(items: Vec<Item<W, T>>) -> Self {
        let alike = items.windows(2).any(|pair| pair[0].words == pair[1].words);
        let mut buckets = Vec::new();
        let all = table(&items, 0..items.len(), &mut buckets);
        let mut separators = Self { items, all, tables: Vec::new(), buckets, alike };
        let mut next = 0;
        while next < separators.buckets.len() {
            let Bucket { from, to, .. } = separators.buckets[next];
            let of = usize::from(from)..usize::from(to);
            let first = |at: usize| separators.items[at].words[0];
            if of.len() > SEARCHED && first(of.start) != first(of.end - 1) {
                let table = table(&separators.items, of, &mut separators.buckets);
                separators.tables.push(table);
                separators.buckets[next].table = separators.tables.len() as u32;
            }
            next += 1;
        }
        separators
    }

    /// How many are less, by their words.
    #[inline]
    pub(super) fn less_than(&self, words: &[u64; W]) -> usize {
        let mut table = &self.all;
        loop {
            let Some(distance) = words[0].checked_sub(table.low) else { return table.from.into() };
            if distance > table.span {
                return table.to.into();
            }
            let bucket = self.buckets[table.buckets as usize + (distance >> table.shift) as usize];
            if bucket.table == 0 {
                let (from, to) = (usize::from(bucket.from), usize::from(bucket.to));
                if from == to {
                    return from;
                }
                return from + self.items[from..to].partition_point(|s| is_less(&s.words, words));
            }
            table = &self.tables[bucket.table as usize - 1];
        }
    }

    /// What lies before and behind some ranges between them.
    pub(super) fn beyond(&self, ranges: &Range<usize>) -> Beyond<W> {
        let words = |at: usize| self.items.get(at).map(|item| item.words);
        // As many separators are less as ranges lie before.
        Beyond { first: ranges.start.checked_sub(1).and_then(words), last: ranges.end.checked_sub(1).and_then(words) }
    }

    /// Whether some are equal, by their words.
    pub(super) fn are_alike(&self) -> bool {
        self.alike
    }

    /// All of them.
    pub(super) fn as_slice(&self) -> &[Item<W, T>] {
        &self.items
    }
}

/// The table of some separators, whose buckets come behind those that there are.
fn table<const W: usize, T>(items: &[Item<W, T>], of: Range<usize>, buckets: &mut Vec<Bucket>) -> Table {
    let items = &items[of.clone()];
    let first = |item: Option<&Item<W, T>>| item.map_or(0, |item| item.words[0]);
    let (low, span) = (first(items.first()), first(items.last()) - first(items.first()));
    let most = (items.len().max(1) * BUCKETS).next_power_of_two();
    let shift = (64 - span.leading_zeros()).saturating_sub(most.trailing_zeros());
    let edge = |bucket: u64| (of.start + items.partition_point(|s| (s.words[0] - low) >> shift < bucket)) as u16;
    let table = Table { from: of.start as u16, to: of.end as u16, low, span, shift, buckets: buckets.len() as u32 };
    buckets.extend((0..=span >> shift).map(|n| Bucket { from: edge(n), to: edge(n + 1), table: 0 }));
    table
}

/// The order of words; the first ones decide, nearly always.
#[inline(always)]
fn is_less<const W: usize>(words: &[u64; W], than: &[u64; W]) -> bool {
    words[0] < than[0] || words[0] == than[0] && words[1..] < than[1..]
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::super::tail::Nothing;
    use super::*;

    #[test]
    fn the_table_finds_what_a_search_finds() {
        let mut random = Random(3);
        for count in [0, 1, 2, 7, 300, 1023] {
            for bits in [0, 3, 17, 64] {
                let word =
                    |random: &mut Random| random.bits().checked_shr(64 - bits).unwrap_or(0) + u64::from(bits == 17);
                let item = |random: &mut Random| Item { words: [word(random), random.below(3)], tail: Nothing };
                let mut items: Vec<Item<2, Nothing>> = (0..count).map(|_| item(&mut random)).collect();
                items.sort_by_key(|item| item.words);
                let separators = Separators::new(items.clone());
                let edges = [[0, 0], [u64::MAX; 2]].into_iter();
                for words in (0..500).map(|_| item(&mut random).words).chain(edges) {
                    assert_eq!(separators.less_than(&words), items.partition_point(|s| s.words < words));
                }
            }
        }
    }

    #[test]
    fn separators_that_lie_close_together_are_told_apart() {
        let mut random = Random(5);
        // Doubles of all sizes, and words in clusters within clusters.
        let double = |random: &mut Random| (random.below(2000) as f64 - 1000.0).exp2().to_bits();
        let cluster = |random: &mut Random| random.below(2) << 63 | random.below(3) << 30 | random.below(5);
        for word in [&double as &dyn Fn(&mut Random) -> u64, &cluster] {
            let mut words: Vec<u64> = (0..1023).map(|_| word(&mut random)).collect();
            words.sort_unstable();
            let separators = Separators::new(words.iter().map(|&w| Item { words: [w], tail: Nothing }).collect());
            for w in (0..2000).map(|_| word(&mut random)) {
                for w in [w, w.wrapping_add(1), w.wrapping_sub(1)] {
                    assert_eq!(separators.less_than(&[w]), words.partition_point(|&s| s < w));
                }
            }
        }
    }
}
