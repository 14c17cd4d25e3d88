//! Many elements of lists read at once, where all take as many bytes.

use base::simd::vectorised;

use super::{NULL, VALUE, stride_of};
use crate::Physical;

/// Whether [`gather`] and [`decode`] read elements of this layout.
pub const fn is_read_as_words(element: Physical) -> bool {
    matches!(element, Physical::I32 | Physical::I64 | Physical::F32 | Physical::F64)
}

/// The bytes of elements as they lie, which [`decode`] makes values of: many lists are gathered before that, so that it has many
/// to decode at once.
#[derive(Debug)]
pub struct Raw<'a> {
    /// The bytes of an element, the first one lowest, or the last eight of them.
    pub words: &'a mut [u64],
    /// Those before these, likewise.
    pub heads: &'a mut [u16],
}

/// Gathers the elements of a list from number `from` on, counted from 0; NULL where there is none.
///
/// # Panics
/// If elements of the layout are not read so, or there are fewer heads than words.
#[inline]
pub fn gather(list: &[u8], from: usize, element: Physical, raw: Raw<'_>) {
    match element {
        Physical::I32 | Physical::F32 => gathered_integers(list, from, raw.words),
        Physical::I64 | Physical::F64 => gathered(list, from, raw),
        _ => unreachable!("elements that are not read as words"),
    }
}

/// The element of a number of a list, counted from 1; none if it is NULL or there is none.
///
/// # Panics
/// If elements of the layout are not read so.
pub fn element_word(list: &[u8], at: i64, element: Physical) -> Option<i64> {
    let place = usize::try_from(at.checked_sub(1)?).ok().filter(|place| *place < list.len())?;
    let (mut words, mut heads, mut nulls) = ([0], [0], [0]);
    gather(list, place, element, Raw { words: &mut words, heads: &mut heads });
    decode(element, Raw { words: &mut words, heads: &mut heads }, &mut nulls);
    (nulls == [0]).then_some(words[0] as i64)
}

/// Five bytes each, but for the last one read with what follows.
#[inline(always)]
fn gathered_integers(list: &[u8], from: usize, words: &mut [u64]) {
    const BYTES: usize = 5;
    let there = (list.len() / BYTES).saturating_sub(from).min(words.len());
    let (words, missing) = words.split_at_mut(there);
    if let Some((last, words)) = words.split_last_mut() {
        // SAFETY: the list has as many elements from there on as there are words, and of all but the last one the next five bytes, too.
        unsafe {
            let mut at = list.as_ptr().add(from * BYTES);
            for word in words {
                *word = u64::from_le_bytes(at.cast::<[u8; 8]>().read());
                at = at.add(BYTES);
            }
            let [a, b, c, d, e] = at.cast::<[u8; BYTES]>().read();
            *last = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
        }
    }
    if !missing.is_empty() {
        missing.fill(NULL.into());
    }
}

/// Ten bytes each.
#[inline(always)]
fn gathered(list: &[u8], from: usize, raw: Raw<'_>) {
    let (elements, _) = list.as_chunks::<10>();
    let count = raw.words.len();
    let there = elements.get(from..).unwrap_or_default();
    let there = &there[..there.len().min(count)];
    let places = raw.words.iter_mut().zip(&mut raw.heads[..count]);
    for (&[first, second, a, b, c, d, e, f, g, h], (word, head)) in there.iter().zip(places) {
        *word = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        *head = u16::from_le_bytes([first, second]);
    }
    if there.len() < count {
        raw.words[there.len()..].fill(0);
        raw.heads[there.len()..count].fill(NULL.into());
    }
}

/// What was gathered becomes values as words, integers extended, floats as the bits of doubles, and 0 for NULL; `nulls` says 1
/// there.
///
/// # Panics
/// As [`gather`].
pub fn decode(element: Physical, raw: Raw<'_>, nulls: &mut [u8]) {
    let Raw { words, heads } = raw;
    let (heads, nulls) = (&heads[..words.len()], &mut nulls[..words.len()]);
    let head = |head: &u16| u64::from(*head);
    vectorised(
        #[inline(always)]
        || match element {
            Physical::I32 => {
                for (word, null) in words.iter_mut().zip(nulls) {
                    (*word, *null) = decoded(*word & 0xff, integer(*word));
                }
            }
            Physical::F32 => {
                for (word, null) in words.iter_mut().zip(nulls) {
                    (*word, *null) = decoded(*word & 0xff, float(*word));
                }
            }
            Physical::I64 => {
                for ((word, null), head) in words.iter_mut().zip(nulls).zip(heads.iter().map(head)) {
                    (*word, *null) = decoded(head, long(*word, head) ^ 1 << 63);
                }
            }
            Physical::F64 => {
                for ((word, null), head) in words.iter_mut().zip(nulls).zip(heads.iter().map(head)) {
                    (*word, *null) = decoded(head, double(*word, head));
                }
            }
            _ => unreachable!("elements that are not read as words"),
        },
    );
}

/// The words of elements, and whether they are NULL, one by one: of few, where what is written to memory to be read by vectors
/// would have to be waited for.
///
/// # Panics
/// As [`gather`].
#[inline(always)]
pub(super) fn each_word(list: &[u8], element: Physical, mut with: impl FnMut(u64, bool)) {
    match element {
        Physical::I32 | Physical::F32 => {
            for &[a, b, c, d, e] in list.as_chunks().0 {
                let word = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
                let value = if element == Physical::I32 { integer(word) } else { float(word) };
                let (word, null) = decoded(a.into(), value);
                with(word, null != 0);
            }
        }
        Physical::I64 | Physical::F64 => {
            for &[first, second, a, b, c, d, e, f, g, h] in list.as_chunks().0 {
                let (word, head) = (u64::from_le_bytes([a, b, c, d, e, f, g, h]), u16::from_le_bytes([first, second]));
                let value = match element {
                    Physical::I64 => long(word, head.into()) ^ 1 << 63,
                    _ => double(word, head.into()),
                };
                let (word, null) = decoded(head.into(), value);
                with(word, null != 0);
            }
        }
        _ => unreachable!("elements that are not read as words"),
    }
}

/// The value, unless the first byte marks NULL.
#[inline(always)]
fn decoded(first: u64, value: u64) -> (u64, u8) {
    let is_null = first & u64::from(NULL) != 0;
    (if is_null { 0 } else { value }, is_null.into())
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

/// Four bytes as they are ordered.
#[inline(always)]
fn short(word: u64) -> u64 {
    (word & FIRST) << 28 | sevens(u64::from(((word >> 8) as u32).swap_bytes()))
}

#[inline(always)]
fn integer(word: u64) -> u64 {
    (short(word) ^ 1 << 31) as i32 as u64
}

/// The double that a float is; negative ones are ordered the other way round.
#[inline(always)]
fn float(word: u64) -> u64 {
    let bits = short(word) as u32;
    let bits = if bits >> 31 == 1 { bits ^ 1 << 31 } else { !bits };
    f64::from(f32::from_bits(bits)).to_bits()
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
