//! String predicates by mask: the headers decide for nearly all rows, and only the rest are followed to their payload.

use std::cmp::Ordering;

use types::Str;

use super::super::predicate::{FEW, TextTest};
use super::{WORDS, each_word};

/// The first four bytes as a number that orders like them.
#[inline(always)]
fn prefix_key(s: &Str) -> u32 {
    ((s.words()[0] >> 32) as u32).swap_bytes()
}

/// ANDs to each word the outcome of the test for its 64 rows.
///
/// # Safety
/// `rows` headers from `data` on are readable, their payloads alive.
#[inline(always)]
pub(super) unsafe fn and_words(
    words: &mut [u64],
    test: &TextTest,
    data: *const Str,
    rows: usize,
    pack: impl Fn(&[u8; 64]) -> u64 + Copy,
) {
    // SAFETY (all blocks here): the caller vouches for the rows and their payload.
    match test {
        TextTest::Equal { text, negate } => {
            let constants = [Str::new(text)];
            // SAFETY: as above.
            unsafe { one_of(words, data, rows, pack, &constants, *negate) };
        }
        TextTest::In(texts) => {
            let mut constants = [Str::new(&texts[0]); FEW];
            for (c, text) in constants.iter_mut().zip(texts) {
                *c = Str::new(text);
            }
            // SAFETY: as above.
            unsafe {
                if texts.len() <= 2 {
                    one_of(words, data, rows, pack, constants.first_chunk::<2>().expect("more"), false);
                } else {
                    one_of(words, data, rows, pack, &constants, false);
                }
            }
        }
        TextTest::Range { low, high } => {
            if let Some((text, inclusive)) = low {
                let equal = if *inclusive { Ordering::Equal } else { Ordering::Greater };
                // SAFETY: as above.
                unsafe { one_sided(words, data, rows, pack, Str::new(text), Ordering::Greater, equal) };
            }
            if let Some((text, inclusive)) = high {
                let equal = if *inclusive { Ordering::Equal } else { Ordering::Less };
                // SAFETY: as above.
                unsafe { one_sided(words, data, rows, pack, Str::new(text), Ordering::Less, equal) };
            }
        }
        TextTest::Like { .. } | TextTest::Computed(_) => unreachable!("asked of one row after the other"),
        TextTest::Prefix(prefix) => {
            let mut bytes = [0u8; 8];
            let mut mask = [0u8; 8];
            for (i, &byte) in prefix.iter().take(4).enumerate() {
                (bytes[4 + i], mask[4 + i]) = (byte, 0xff);
            }
            let (word, mask, length) = (u64::from_le_bytes(bytes), u64::from_le_bytes(mask), prefix.len() as u32);
            let mut found = [u64::MAX; WORDS];
            let found = &mut found[..words.len()];
            // SAFETY: as above.
            unsafe {
                each_word(found, data, rows, pack, |s: &Str| {
                    (s.words()[0] & mask == word) & (s.words()[0] as u32 >= length)
                });
                if prefix.len() > 4 {
                    resolve(found, words, data, |s| s.bytes().starts_with(prefix));
                }
            }
            words.iter_mut().zip(found).for_each(|(w, f)| *w &= *f);
        }
    }
}

/// Keeps of the candidates those that are wanted (`words`) and pass.
///
/// # Safety
/// The candidates are rows of `data`.
#[inline(always)]
unsafe fn resolve(candidates: &mut [u64], words: &[u64], data: *const Str, test: impl Fn(Str) -> bool) {
    for (w, (candidates, wanted)) in candidates.iter_mut().zip(words).enumerate() {
        let mut left = *candidates & *wanted;
        *candidates = left;
        while left != 0 {
            let bit = left.trailing_zeros() as usize;
            left &= left - 1;
            // SAFETY: the caller vouches for the rows.
            if !test(unsafe { *data.add(w * 64 + bit) }) {
                *candidates &= !(1 << bit);
            }
        }
    }
}

/// Equality with one of a few strings. Short ones are equal exactly if their headers are; of long ones, only those of
/// equal length and prefix are followed.
///
/// # Safety
/// As [`and_words`].
#[inline(always)]
unsafe fn one_of<const N: usize>(
    words: &mut [u64],
    data: *const Str,
    rows: usize,
    pack: impl Fn(&[u8; 64]) -> u64 + Copy,
    constants: &[Str; N],
    negate: bool,
) {
    let heads: [[u64; 2]; N] = constants.map(Str::words);
    // All ones where the second word counts.
    let masks: [u64; N] = constants.map(|c| if c.is_inline() { u64::MAX } else { 0 });
    let mut found = [u64::MAX; WORDS];
    let found = &mut found[..words.len()];
    // SAFETY: the caller vouches for the rows and their payload.
    unsafe {
        each_word(found, data, rows, pack, |s: &Str| {
            let [a, b] = s.words();
            let mut any = false;
            for i in 0..N {
                any |= ((a ^ heads[i][0]) | ((b ^ heads[i][1]) & masks[i])) == 0;
            }
            any
        });
        if constants.iter().any(|c| !c.is_inline()) {
            resolve(found, words, data, |s| constants.iter().any(|c| s.equals(c)));
        }
    }
    for (word, found) in words.iter_mut().zip(found) {
        *word &= if negate { !*found } else { *found };
    }
}

/// One bound: rows that compare with `constant` as `wanted` or `or` says. Four bytes decide for most.
///
/// # Safety
/// As [`and_words`].
#[inline(always)]
unsafe fn one_sided(
    words: &mut [u64],
    data: *const Str,
    rows: usize,
    pack: impl Fn(&[u8; 64]) -> u64 + Copy,
    constant: Str,
    wanted: Ordering,
    or: Ordering,
) {
    let key = prefix_key(&constant);
    let (mut sure, mut tied) = ([u64::MAX; WORDS], [u64::MAX; WORDS]);
    let (sure, tied) = (&mut sure[..words.len()], &mut tied[..words.len()]);
    // SAFETY: the caller vouches for the rows and their payload.
    unsafe {
        if wanted == Ordering::Greater {
            each_word(sure, data, rows, pack, |s: &Str| prefix_key(s) > key);
        } else {
            each_word(sure, data, rows, pack, |s: &Str| prefix_key(s) < key);
        }
        each_word(tied, data, rows, pack, |s: &Str| prefix_key(s) == key);
        resolve(tied, words, data, |s| {
            let order = s.compare(&constant);
            order == wanted || order == or
        });
    }
    for ((word, sure), tied) in words.iter_mut().zip(sure).zip(tied) {
        *word &= *sure | *tied;
    }
}
