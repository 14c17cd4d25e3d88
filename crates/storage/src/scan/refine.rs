//! Refining a selection vector: the surviving rows move forward without a branch.

use types::Str;

use super::lane::{Lane, with_cells};
use super::predicate::{ScanPredicate, Test, TextTest};
use crate::ColumnRef;

/// Keeps of the first `count` entries those for which the predicate holds. Returns how many.
///
/// # Safety
/// The entries, counted from `begin`, are rows of the column, which is alive and of the predicate's physical type.
pub(super) unsafe fn refine(
    predicate: &ScanPredicate,
    column: ColumnRef,
    begin: usize,
    out: &mut [u32],
    count: usize,
) -> usize {
    let mut count = count;
    let out = &mut out[..count];
    let nulls = column.nulls;
    if let Test::Null(want) = predicate.test {
        if nulls.is_null() {
            return if want { 0 } else { count };
        }
        // SAFETY: the caller vouches for the rows.
        return keep(out, |i| unsafe { *nulls.add(begin + i) != 0 } == want);
    }
    if !nulls.is_null() {
        // SAFETY: as above.
        count = keep(out, |i| unsafe { *nulls.add(begin + i) == 0 });
    }
    let out = &mut out[..count];
    match &predicate.test {
        Test::Never => 0,
        Test::Null(_) => unreachable!("done above"),
        Test::Text(test) => {
            // SAFETY: as above.
            unsafe { refine_text(test, column.data.cast::<Str>().add(begin), out) }
        }
        test => with_cells!(predicate.cells, T => {
            // SAFETY: as above.
            unsafe { refine_keys::<T>(test, column.data.cast::<T>().add(begin), out) }
        }, unreachable!("strings have no keys")),
    }
}

/// The entries that pass, moved to the front.
#[inline(always)]
pub(crate) fn keep(out: &mut [u32], test: impl Fn(usize) -> bool) -> usize {
    let mut kept = 0;
    for at in 0..out.len() {
        let row = out[at];
        debug_assert!(kept <= at);
        // SAFETY: `kept` grows by at most one a round, so it is at most `at`.
        unsafe { *out.get_unchecked_mut(kept) = row };
        kept += usize::from(test(row as usize));
    }
    kept
}

/// # Safety
/// The entries are rows of `data`.
unsafe fn refine_keys<T: Lane>(test: &Test, data: *const T, out: &mut [u32]) -> usize {
    // SAFETY: the caller vouches for the rows.
    let key = |i: usize| unsafe { *data.add(i) }.key();
    match test {
        Test::Range { low, high, negate } => {
            let (low, high, negate) = (T::narrow(*low), T::narrow(*high), *negate);
            keep(out, |i| ((key(i) >= low) & (key(i) <= high)) != negate)
        }
        Test::Few(keys) => {
            let keys: Vec<T::Key> = keys.iter().map(|&k| T::narrow(k)).collect();
            keep(out, |i| keys.iter().fold(false, |found, &k| found | (k == key(i))))
        }
        Test::Bitmap { base, bits } => {
            // Of keys up to 64 bits, all arithmetic may wrap around.
            let (base, last) = (*base, bits.len() as u64 * 64 - 1);
            let is_wide = size_of::<T>() > 8;
            keep(out, |i| {
                let key = T::widen(key(i));
                let at = (key as u64).wrapping_sub(base as u64);
                let found = bits[(at.min(last) / 64) as usize] >> (at % 64) & 1 == 1;
                found & (at <= last) & (!is_wide || (key >= base && key - base <= last as i128))
            })
        }
        Test::Sorted { keys, filter } => {
            let count = keep(out, |i| filter.may_contain(T::widen(key(i)) as u64));
            keep(&mut out[..count], |i| keys.binary_search(&T::widen(key(i))).is_ok())
        }
        Test::Never | Test::Null(_) | Test::Text(_) => unreachable!("not a test of keys"),
    }
}

/// # Safety
/// The entries are rows of `data`, with their payload alive.
unsafe fn refine_text(test: &TextTest, data: *const Str, out: &mut [u32]) -> usize {
    // SAFETY: the caller vouches for the rows, and below for their payload.
    let header = |i: usize| unsafe { *data.add(i) };
    match test {
        TextTest::Equal { text, negate } => {
            let (constant, negate) = (Str::new(text), *negate);
            // SAFETY: as above.
            keep(out, |i| unsafe { header(i).equals(&constant) } != negate)
        }
        TextTest::Range { low, high } => {
            let mut count = out.len();
            if let Some((text, inclusive)) = low {
                let (low, inclusive) = (Str::new(text), *inclusive);
                // SAFETY: as above.
                let order = |i| unsafe { header(i).compare(&low) };
                count = keep(out, |i| if inclusive { order(i).is_ge() } else { order(i).is_gt() });
            }
            if let Some((text, inclusive)) = high {
                let (high, inclusive) = (Str::new(text), *inclusive);
                // SAFETY: as above.
                let order = |i| unsafe { header(i).compare(&high) };
                count = keep(&mut out[..count], |i| if inclusive { order(i).is_le() } else { order(i).is_lt() });
            }
            count
        }
        TextTest::In(texts) => {
            // Length and prefix decide nearly always.
            let mut constants: Vec<Str> = texts.iter().map(|t| Str::new(t)).collect();
            constants.sort_by_key(|c| c.words()[0]);
            let firsts: Vec<u64> = constants.iter().map(|c| c.words()[0]).collect();
            keep(out, |i| {
                let header = header(i);
                let first = header.words()[0];
                let at = if firsts.len() <= 8 {
                    firsts.iter().fold(0, |n, &f| n + usize::from(f < first))
                } else {
                    firsts.partition_point(|&f| f < first)
                };
                firsts[at..]
                    .iter()
                    .zip(&constants[at..])
                    .take_while(|(f, _)| **f == first)
                    // SAFETY: as above.
                    .any(|(_, c)| unsafe { header.equals(c) })
            })
        }
        TextTest::Like { .. } | TextTest::Computed(_) => keep(out, |i| {
            let header = header(i);
            // SAFETY: as above.
            test.holds(unsafe { header.as_str() })
        }),
        TextTest::Prefix(prefix) => {
            let mut word = [0u8; 8];
            let mut mask = [0u8; 8];
            for (i, &byte) in prefix.iter().take(4).enumerate() {
                (word[4 + i], mask[4 + i]) = (byte, 0xff);
            }
            let (word, mask) = (u64::from_le_bytes(word), u64::from_le_bytes(mask));
            keep(out, |i| {
                let header = header(i);
                (header.words()[0] & mask == word)
                    && header.len() >= prefix.len()
                    // SAFETY: as above.
                    && (prefix.len() <= 4 || unsafe { header.bytes().starts_with(prefix) })
            })
        }
    }
}
