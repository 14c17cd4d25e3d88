//! Where a row belongs among separators: a table over the leading bits of the first word leaves few of them to compare,
//! however many there are.

use super::item::Item;
use super::tail::Tail;

/// Buckets of the table for each separator, about.
const BUCKETS: usize = 16;

/// Items in order, which cut all others into ranges.
#[derive(Debug)]
pub(super) struct Separators<const W: usize, T> {
    items: Vec<Item<W, T>>,
    /// The least first word, the distance to the greatest, by how far distances are shifted, and for each bucket how many
    /// separators lie before it.
    low: u64,
    span: u64,
    shift: u32,
    before: Box<[u16]>,
    /// Whether some are equal, by their words.
    alike: bool,
}

impl<const W: usize, T: Tail> Separators<W, T> {
    /// Of items in order, at most 65,535.
    pub(super) fn new(items: Vec<Item<W, T>>) -> Self {
        let first = |item: Option<&Item<W, T>>| item.map_or(0, |item| item.words[0]);
        let (low, high) = (first(items.first()), first(items.last()));
        let most = (items.len().max(1) * BUCKETS).next_power_of_two();
        let shift = (64 - (high - low).leading_zeros()).saturating_sub(most.trailing_zeros());
        let buckets = ((high - low) >> shift) + 1;
        let before = |bucket: u64| items.partition_point(|s| (s.words[0] - low) >> shift < bucket) as u16;
        let before = (0..=buckets).map(before).collect();
        let alike = items.windows(2).any(|pair| pair[0].words == pair[1].words);
        Self { items, low, span: high - low, shift, before, alike }
    }

    /// How many are less, by their words.
    #[inline]
    pub(super) fn less_than(&self, words: &[u64; W]) -> usize {
        let Some(distance) = words[0].checked_sub(self.low) else { return 0 };
        if distance > self.span {
            return self.items.len();
        }
        let bucket = (distance >> self.shift) as usize;
        let (from, to) = (self.before[bucket] as usize, self.before[bucket + 1] as usize);
        if from == to {
            return from;
        }
        from + self.items[from..to].partition_point(|s| s.words < *words)
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
}
