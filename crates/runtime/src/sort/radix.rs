//! Sorting items by their words, most significant digit first.
//!
//! A digit is taken where the items' words begin to differ, so that digits that all of them share cost nothing. Few items
//! are sorted by comparison. Complexity: O(n) for each digit of eight bits that is needed, hence at most 8 passes a word.

use std::cmp::Ordering;

use super::item::Item;

/// Up to so many items are sorted by comparing them.
pub(super) const FEW: usize = 96;
const DIGITS: usize = 256;

/// Sorts by words, and by `ties` where all words are equal. `scratch` is made as long as the items if it is needed.
pub(super) fn sort<const W: usize>(
    items: &mut [Item<W>],
    scratch: &mut Vec<Item<W>>,
    ties: &impl Fn(*const u8, *const u8) -> Ordering,
) {
    if items.len() > FEW {
        scratch.resize(items.len(), items[0]);
    }
    sort_from(items, scratch, 0, ties);
}

/// As [`sort`], for items whose first `word` words are all equal.
fn sort_from<const W: usize>(
    items: &mut [Item<W>],
    scratch: &mut [Item<W>],
    mut word: usize,
    ties: &impl Fn(*const u8, *const u8) -> Ordering,
) {
    if items.len() <= FEW {
        return items.sort_unstable_by(|a, b| a.compare(b, ties));
    }
    let differing = loop {
        if word == W {
            return items.sort_unstable_by(|a, b| ties(a.row, b.row));
        }
        let first = items[0].words[word];
        let differing = items.iter().fold(0, |bits, item| bits | (item.words[word] ^ first));
        if differing != 0 {
            break differing;
        }
        word += 1;
    };
    let shift = (64 - differing.leading_zeros()).saturating_sub(DIGITS.trailing_zeros());
    let digit = |item: &Item<W>| (item.words[word] >> shift) as usize % DIGITS;
    let mut ends = [0u32; DIGITS];
    items.iter().for_each(|item| ends[digit(item)] += 1);
    let mut sum = 0;
    for end in &mut ends {
        (*end, sum) = (sum, sum + *end);
    }
    // Each place is now the start of a digit's items, and becomes their end.
    for item in items.iter() {
        let place = &mut ends[digit(item)];
        scratch[*place as usize] = *item;
        *place += 1;
    }
    items.copy_from_slice(scratch);
    let mut start = 0;
    for end in ends {
        let end = end as usize;
        if end - start > 1 {
            sort_from(&mut items[start..end], &mut scratch[start..end], word, ties);
        }
        start = end;
    }
}
