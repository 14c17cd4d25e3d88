//! Sorting items by their words, most significant digit first.
//!
//! Bits that all items share cost nothing. Where a word's other bits are few digits, it is sorted by these, the least
//! significant first, which goes over all items for each but never over small buckets; else by the most significant eight
//! bits that differ, and on in each bucket. Few items are sorted by comparison. Complexity: O(n) for each digit that is
//! needed, hence at most 8 passes a word.

use std::cmp::Ordering;
use std::ops::Range;

use super::item::Item;
use super::tail::Tail;

/// Up to so many items are sorted by comparing them.
pub(super) const FEW: usize = 96;
const DIGITS: usize = 256;
/// Bits of a digit, and most digits of a word, that are sorted from the least significant one.
const WIDE: u32 = 11;
const MOST_WIDE: u32 = 4;
/// Fewer items than these are not worth so many counts.
const MANY: usize = 1 << WIDE;

/// Sorts by words, and by `ties` where all words are equal. `scratch` is made as long as the items if it is needed.
pub(super) fn sort<const W: usize, T: Tail>(
    items: &mut [Item<W, T>],
    scratch: &mut Vec<Item<W, T>>,
    ties: &impl Fn(T, T) -> Ordering,
) {
    if items.len() > FEW {
        scratch.resize(items.len(), items[0]);
    }
    sort_from(items, scratch, 0, ties);
}

/// As [`sort`], for items whose first `word` words are all equal.
fn sort_from<const W: usize, T: Tail>(
    items: &mut [Item<W, T>],
    scratch: &mut [Item<W, T>],
    mut word: usize,
    ties: &impl Fn(T, T) -> Ordering,
) {
    if items.len() <= FEW {
        return items.sort_unstable_by(|a, b| a.compare(b, ties));
    }
    let differing = loop {
        if word == W {
            return items.sort_unstable_by(|a, b| ties(a.tail, b.tail));
        }
        let first = items[0].words[word];
        let differing = items.iter().fold(0, |bits, item| bits | (item.words[word] ^ first));
        if differing != 0 {
            break differing;
        }
        word += 1;
    };
    let (low, high) = (differing.trailing_zeros(), 64 - differing.leading_zeros());
    if items.len() >= MANY && high - low <= WIDE * MOST_WIDE {
        by_least_significant(items, scratch, word, low..high);
        return sort_alike(items, scratch, word, ties);
    }
    let shift = high.saturating_sub(DIGITS.trailing_zeros());
    let digit = |item: &Item<W, T>| (item.words[word] >> shift) as usize % DIGITS;
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

/// Sorts items that differ in these bits of a word, counted from the least significant, by that word.
fn by_least_significant<const W: usize, T: Tail>(
    items: &mut [Item<W, T>],
    scratch: &mut [Item<W, T>],
    word: usize,
    bits: Range<u32>,
) {
    let digits = bits.len().div_ceil(WIDE as usize) as u32;
    let width = (bits.len() as u32).div_ceil(digits);
    let (mut from, mut to) = (&mut *items, &mut *scratch);
    for digit in 0..digits {
        let shift = bits.start + digit * width;
        let digit = |item: &Item<W, T>| (item.words[word] >> shift) as usize & ((1 << width) - 1);
        let mut places = [0u32; 1 << WIDE];
        from.iter().for_each(|item| places[digit(item)] += 1);
        let mut sum = 0;
        for place in &mut places[..1 << width] {
            (*place, sum) = (sum, sum + *place);
        }
        for item in from.iter() {
            let place = &mut places[digit(item)];
            to[*place as usize] = *item;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    if !digits.is_multiple_of(2) {
        to.copy_from_slice(from);
    }
}

/// Sorts runs of items that agree in a word, and in those before it, by what comes behind.
fn sort_alike<const W: usize, T: Tail>(
    items: &mut [Item<W, T>],
    scratch: &mut [Item<W, T>],
    word: usize,
    ties: &impl Fn(T, T) -> Ordering,
) {
    let mut start = 0;
    for end in 1..=items.len() {
        if items.get(end).is_some_and(|item| item.words[word] == items[start].words[word]) {
            continue;
        }
        if end - start > 1 {
            sort_from(&mut items[start..end], &mut scratch[start..end], word + 1, ties);
        }
        start = end;
    }
}
