//! Many elements of lists read at once, where all take as many bytes.

use base::simd::vectorised;

use super::{NULL, VALUE, stride_of};
use crate::Physical;

/// Whether [`gather`] and [`decode`] read elements of this layout.
pub const fn is_read_as_words(element: Physical) -> bool {
    matches!(element, Physical::I32 | Physical::I64 | Physical::F64)
}

/// The bytes of elements as they lie, which [`decode`] makes values of: many lists are gathered before that, so that it has many
/// to decode at once.
#[derive(Debug)]
pub struct Raw<'a> {
    /// The last eight bytes, or all behind the first one.
    pub words: &'a mut [u64],
    /// What is before them, the first byte lowest.
    pub heads: &'a mut [u16],
}

/// Gathers the elements of a list from number `from` on, counted from 0; NULL where there is none.
///
/// # Panics
/// If elements of the layout are not read so, or there are fewer heads than words.
#[inline]
pub fn gather(list: &[u8], from: usize, element: Physical, raw: Raw<'_>) {
    match element {
        Physical::I32 => {
            gathered(list, from, raw, |&[first, a, b, c, d]: &[u8; 5]| {
                (u32::from_le_bytes([a, b, c, d]).into(), first.into())
            });
        }
        Physical::I64 | Physical::F64 => {
            gathered(list, from, raw, |&[first, second, a, b, c, d, e, f, g, h]: &[u8; 10]| {
                (u64::from_le_bytes([a, b, c, d, e, f, g, h]), u16::from_le_bytes([first, second]))
            });
        }
        _ => unreachable!("elements that are not read as words"),
    }
}

#[inline(always)]
fn gathered<const BYTES: usize>(list: &[u8], from: usize, raw: Raw<'_>, parts: impl Fn(&[u8; BYTES]) -> (u64, u16)) {
    let (elements, _) = list.as_chunks::<BYTES>();
    let count = raw.words.len();
    let there = elements.get(from..).unwrap_or_default();
    let there = &there[..there.len().min(count)];
    let places = raw.words.iter_mut().zip(&mut raw.heads[..count]);
    for (bytes, (word, head)) in there.iter().zip(places) {
        (*word, *head) = parts(bytes);
    }
    if there.len() < count {
        raw.words[there.len()..].fill(0);
        raw.heads[there.len()..count].fill(NULL.into());
    }
}

/// What was gathered becomes values as words, integers extended, doubles as their bits, and 0 for NULL; `nulls` says 1 there.
///
/// # Panics
/// As [`gather`].
pub fn decode(element: Physical, raw: Raw<'_>, nulls: &mut [u8]) {
    let Raw { words, heads } = raw;
    let (heads, nulls) = (&heads[..words.len()], &mut nulls[..words.len()]);
    vectorised(
        #[inline(always)]
        || match element {
            Physical::I32 => decoded(words, heads, nulls, integer),
            Physical::I64 => decoded(words, heads, nulls, |word, head| long(word, head) ^ 1 << 63),
            Physical::F64 => decoded(words, heads, nulls, double),
            _ => unreachable!("elements that are not read as words"),
        },
    );
}

#[inline(always)]
fn decoded(words: &mut [u64], heads: &[u16], nulls: &mut [u8], value: impl Fn(u64, u64) -> u64) {
    for ((word, head), null) in words.iter_mut().zip(heads).zip(nulls) {
        let is_null = head & u16::from(NULL) != 0;
        *null = is_null.into();
        *word = if is_null { 0 } else { value(*word, (*head).into()) };
    }
}

/// The bits of eight bytes that have seven each, the highest first: by halves, quarters and eighths.
#[inline(always)]
fn sevens(bytes: u64) -> u64 {
    let bits = (bytes & 0x007f_007f_007f_007f) | (bytes & 0x7f00_7f00_7f00_7f00) >> 1;
    let bits = (bits & 0x0000_3fff_0000_3fff) | (bits & 0x3fff_0000_3fff_0000) >> 2;
    (bits & 0x0fff_ffff) | (bits & 0x0fff_ffff_0000_0000) >> 4
}

/// The bits of the first byte that are the value's.
const FIRST: u64 = VALUE as u64 - 1;

#[inline(always)]
fn integer(word: u64, head: u64) -> u64 {
    let bits = (head & FIRST) << 28 | sevens(u64::from((word as u32).swap_bytes()));
    (bits ^ 1 << 31) as i32 as u64
}

/// As they are ordered.
#[inline(always)]
fn long(word: u64, head: u64) -> u64 {
    (head & FIRST) << 63 | (head >> 8) << 56 | sevens(word.swap_bytes())
}

/// Negative doubles are ordered the other way round.
#[inline(always)]
fn double(word: u64, head: u64) -> u64 {
    let bits = long(word, head);
    if bits >> 63 == 1 { bits ^ 1 << 63 } else { !bits }
}

const _: () = assert!(matches!(stride_of(Physical::I32), Some(5)) && matches!(stride_of(Physical::F64), Some(10)));
