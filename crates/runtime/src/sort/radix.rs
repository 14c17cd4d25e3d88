//! Sorting items by their words, most significant digit first, in steps.
//!
//! Bits that all items share cost nothing. Where a word's other bits are few digits, it is sorted by these, the least
//! significant first, which goes over all items for each but never over small buckets; else by the most significant eight
//! bits that differ, and on in each bucket. Few items are sorted by comparison; those whose words are all equal are merged
//! by what the rows say. Complexity: O(n) for each digit that is needed, hence at most 8 passes a word.
//!
//! What is left to do is a list, not calls within calls, so that it can wait: one entry of it costs a pass over its items
//! at most, and merging stops behind any comparison.

use std::ops::Range;

use super::item::Item;
use super::merge::Merge;
use super::tail::Tail;
use super::ties::Ties;

/// Up to so many items are sorted by comparing them.
pub(super) const FEW: usize = 96;
const DIGITS: usize = 256;
/// Bits of a digit, and most digits of a word, that are sorted from the least significant one.
const WIDE: u32 = 11;
const MOST_WIDE: u32 = 4;
/// Fewer items than these are not worth so many counts.
const MANY: usize = 1 << WIDE;
/// Items that are looked at together for what is alike among them.
const STRETCH: usize = 512;

/// Items that are being sorted.
#[derive(Debug)]
pub(super) struct Sorter<const W: usize, T> {
    items: Vec<Item<W, T>>,
    scratch: Vec<Item<W, T>>,
    left: Vec<Task>,
}

/// Something to do for some of the items.
#[derive(Debug)]
enum Task {
    /// Sorts those whose words before this one are all equal.
    Words(Range<usize>, usize),
    /// Finds those that are alike in these words, in which they are in order, and sorts them by what comes behind.
    Alike(Range<usize>, Range<usize>),
    /// Sorts those whose words are all equal.
    Ties(Range<usize>, Merge),
}

impl<const W: usize, T: Tail> Sorter<W, T> {
    pub(super) fn new(items: Vec<Item<W, T>>) -> Self {
        Self { left: vec![Task::Words(0..items.len(), 0)], scratch: items.clone(), items }
    }

    /// Of items that hold all the same.
    pub(super) fn of_sorted(items: Vec<Item<W, T>>) -> Self {
        Self { items, scratch: Vec::new(), left: Vec::new() }
    }

    /// The items: in their order once all is done.
    pub(super) fn items(&self) -> &[Item<W, T>] {
        &self.items
    }

    /// Goes on until the items are sorted, which is told, or steps are used up: an item that is moved, or a comparison.
    pub(super) fn go_on(&mut self, ties: Ties<'_>, steps: &mut u64) -> bool {
        while let Some(task) = self.left.pop() {
            if *steps == 0 {
                self.left.push(task);
                return false;
            }
            match task {
                Task::Words(range, word) => self.words(range, word, steps),
                Task::Alike(range, words) => self.alike(range, words, steps),
                Task::Ties(range, mut merge) => {
                    let (items, scratch) = (&mut self.items[range.clone()], &mut self.scratch[range.clone()]);
                    if !merge.go_on(items, scratch, steps, |a, b, steps| ties.compare(a.tail, b.tail, steps)) {
                        self.left.push(Task::Ties(range, merge));
                    }
                }
            }
        }
        true
    }

    fn words(&mut self, range: Range<usize>, word: usize, steps: &mut u64) {
        let items = &mut self.items[range.clone()];
        *steps = steps.saturating_sub(items.len() as u64);
        if items.len() <= FEW {
            items.sort_unstable_by(|a, b| a.words[word..].cmp(&b.words[word..]));
            return self.alike(range, word..W, steps);
        }
        let differing = |word: usize| {
            let first = items[0].words[word];
            items.iter().fold(0, |bits, item| bits | (item.words[word] ^ first))
        };
        let Some((word, differing)) = (word..W).map(|word| (word, differing(word))).find(|&(_, bits)| bits != 0) else {
            return self.ties(range);
        };
        let (low, high) = (differing.trailing_zeros(), 64 - differing.leading_zeros());
        let scratch = &mut self.scratch[range.clone()];
        if items.len() >= MANY && high - low <= WIDE * MOST_WIDE {
            by_least_significant(items, scratch, word, low..high);
            self.left.push(Task::Alike(range, word..word + 1));
            return;
        }
        let ends = by_most_significant(items, scratch, word, high.saturating_sub(DIGITS.trailing_zeros()));
        let mut start = 0;
        for end in ends.map(|end| end as usize) {
            if end - start > 1 {
                self.left.push(Task::Words(range.start + start..range.start + end, word));
            }
            start = end;
        }
    }

    fn alike(&mut self, range: Range<usize>, words: Range<usize>, steps: &mut u64) {
        // What is found is done before the rest is looked at.
        let rest = self.left.len();
        self.left.push(Task::Alike(range.clone(), words.clone()));
        let (mut start, looked_at) = (range.start, range.end.min(range.start + STRETCH));
        while start < looked_at {
            let first = &self.items[start];
            let is_alike = |item: &&Item<W, T>| words.clone().all(|word| item.words[word] == first.words[word]);
            let end = start + 1 + self.items[start + 1..range.end].iter().take_while(is_alike).count();
            match end - start {
                1 => {}
                _ if words.end == W => self.ties(start..end),
                _ => self.left.push(Task::Words(start..end, words.end)),
            }
            start = end;
        }
        *steps = steps.saturating_sub((start - range.start) as u64);
        if start < range.end {
            self.left[rest] = Task::Alike(start..range.end, words);
        } else {
            self.left.swap_remove(rest);
        }
    }

    fn ties(&mut self, range: Range<usize>) {
        if !T::WORDS_ARE_ALL {
            self.left.push(Task::Ties(range, Merge::new()));
        }
    }
}

/// Sorts items by the digit of a word that begins at bit `shift`, counted from the least significant, and returns where
/// those of each digit end.
fn by_most_significant<const W: usize, T: Tail>(
    items: &mut [Item<W, T>],
    scratch: &mut [Item<W, T>],
    word: usize,
    shift: u32,
) -> [u32; DIGITS] {
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
    ends
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
