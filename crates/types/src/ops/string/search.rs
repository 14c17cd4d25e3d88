//! Where a text occurs in another one. Short texts, as most are, are searched for the first two bytes of the needle, sixteen places
//! at once, without a call.

use memchr::memmem;

/// Texts of so many bytes are searched without preparing the search, which would take longer.
const SHORT: usize = 64;

/// Bytes that are compared at once.
const BLOCK: usize = 16;

/// Bytes in which a pair may begin at sixteen places.
const WINDOW: usize = 17;

/// Where a needle first occurs in bytes.
#[inline]
pub(super) fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    if bytes.len() > SHORT { memmem::find(bytes, needle) } else { find_from(bytes, needle, 0) }
}

/// Where a needle occurs, from left to right, without overlaps.
pub(super) fn occurrences<'a>(text: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let prepared = (text.len() > SHORT).then(|| memmem::Finder::new(needle));
    let mut behind = 0;
    std::iter::from_fn(move || {
        let at = match &prepared {
            Some(prepared) => behind + prepared.find(&text[behind..])?,
            None => find_from(text, needle, behind)?,
        };
        behind = at + needle.len();
        Some(at)
    })
}

/// Most bytes whose places are bits.
pub(super) const MOST_PLACES: usize = 64;

/// A bit for each place of at most [`MOST_PLACES`] bytes where a byte lies.
#[inline]
pub(super) fn places(bytes: &[u8], byte: u8) -> u64 {
    debug_assert!(bytes.len() <= MOST_PLACES);
    let Some(last) = bytes.len().checked_sub(BLOCK) else {
        return (0..bytes.len()).map(|at| u64::from(bytes[at] == byte) << at).sum();
    };
    // The last block overlaps the one before.
    (0..last).step_by(BLOCK).chain([last]).fold(0, |found, at| {
        let block = bytes[at..].first_chunk().expect("it ends within the bytes");
        found | u64::from(equal(block, byte)) << at
    })
}

/// Where a needle first occurs in short bytes, at a place or behind it.
#[inline]
fn find_from(bytes: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let last = bytes.len().checked_sub(needle.len()).filter(|last| from <= *last)?;
    let (&[first, second, ..], true) = (needle, bytes.len() >= WINDOW) else {
        return find_by_byte(&bytes[from..], needle).map(|at| from + at);
    };
    let mut at = from.min(bytes.len() - WINDOW);
    loop {
        let window = bytes[at..].first_chunk().expect("it ends within the bytes");
        // The last window overlaps what has been seen.
        let mut found = pairs(window, first, second) & u32::MAX << from.saturating_sub(at);
        while found != 0 {
            let place = at + found.trailing_zeros() as usize;
            if place > last {
                return None;
            }
            if same(&bytes[place..place + needle.len()], needle) {
                return Some(place);
            }
            found &= found - 1;
        }
        if at + WINDOW == bytes.len() {
            return None;
        }
        at = (at + WINDOW - 1).min(bytes.len() - WINDOW);
    }
}

fn find_by_byte(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    let Some((&first, rest)) = needle.split_first() else { return Some(0) };
    let last = bytes.len().checked_sub(rest.len())?;
    memchr::memchr_iter(first, &bytes[..last]).find(|at| bytes[at + 1..].starts_with(rest))
}

/// A bit for each of sixteen places, set where a byte lies.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn equal(block: &[u8; BLOCK], byte: u8) -> u16 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: every processor of this kind has the instructions; the block has 16 bytes.
    unsafe {
        _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(block.as_ptr().cast()), _mm_set1_epi8(byte as i8))) as u16
    }
}

/// As above.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn equal(block: &[u8; BLOCK], byte: u8) -> u16 {
    block.iter().enumerate().map(|(place, found)| u16::from(*found == byte) << place).sum()
}

/// A bit for each of sixteen places, set where two bytes lie.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn pairs(window: &[u8; WINDOW], first: u8, second: u8) -> u32 {
    use std::arch::x86_64::{
        _mm_and_si128 as and, _mm_cmpeq_epi8 as equal, _mm_loadu_si128 as load, _mm_movemask_epi8 as mask,
        _mm_set1_epi8 as each,
    };
    // SAFETY: every processor of this kind has the instructions; 16 bytes are read from the first byte on, and from the second.
    unsafe {
        let (here, behind) = (load(window.as_ptr().cast()), load(window.as_ptr().add(1).cast()));
        mask(and(equal(here, each(first as i8)), equal(behind, each(second as i8)))) as u32
    }
}

/// As above.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn pairs(window: &[u8; WINDOW], first: u8, second: u8) -> u32 {
    let lies = |place: usize| window[place] == first && window[place + 1] == second;
    (0..WINDOW - 1).map(|place| u32::from(lies(place)) << place).sum()
}

/// The first and the last bytes, which overlap if there are fewer than twice as many.
#[inline(always)]
fn ends<const N: usize>(bytes: &[u8]) -> Option<([u8; N], [u8; N])> {
    Some((*bytes.first_chunk()?, *bytes.last_chunk()?))
}

/// Whether as many bytes are the same: short ones without a call.
#[inline(always)]
fn same(a: &[u8], b: &[u8]) -> bool {
    match b.len() {
        4..8 => ends::<4>(a) == ends::<4>(b),
        8..=16 => ends::<8>(a) == ends::<8>(b),
        _ => a == b,
    }
}

/// Copies as many bytes, short ones without a call.
#[inline(always)]
pub(super) fn copy(from: &[u8], to: &mut [u8]) {
    fn by_ends<const N: usize>(from: &[u8], to: &mut [u8]) -> Option<()> {
        let (first, last) = ends::<N>(from)?;
        *to.first_chunk_mut()? = first;
        *to.last_chunk_mut()? = last;
        Some(())
    }
    let copied = match from.len() {
        4..8 => by_ends::<4>(from, to),
        8..=16 => by_ends::<8>(from, to),
        _ => None,
    };
    if copied.is_none() {
        to.copy_from_slice(from);
    }
}
