//! Strings as 16-byte headers: length, 4-byte prefix, and either 8 more inline bytes or a pointer.

use std::cmp::Ordering;

/// A string header. Up to 12 bytes are inline, zero-padded; longer strings keep their first 4 bytes here and point to
/// all of their bytes, which someone else owns (a column's heap, a worker's area).
///
/// Layout, little-endian: bytes 0..4 length, 4..8 prefix, 8..16 rest or pointer. Inline strings are equal exactly if
/// their headers are equal.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct Str {
    length: u32,
    prefix: [u8; 4],
    rest: [u8; 8],
}

/// The header alone: whether the payload is alive, nobody here knows.
impl std::fmt::Debug for Str {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Str({} bytes)", self.length)
    }
}

// SAFETY: a header is plain data; whoever dereferences it vouches for the payload.
unsafe impl Send for Str {}
// SAFETY: as above.
unsafe impl Sync for Str {}

impl Str {
    /// Most bytes that a header holds inline.
    pub const INLINE: usize = 12;
    /// The empty string.
    pub const EMPTY: Self = Self { length: 0, prefix: [0; 4], rest: [0; 8] };

    /// A header for `bytes`, which must outlive it unless they are at most 12. Panics past 4 GiB.
    #[inline]
    pub fn new(bytes: &[u8]) -> Self {
        let mut s = Self { length: u32::try_from(bytes.len()).expect("strings under 4 GiB"), ..Self::EMPTY };
        if bytes.len() <= Self::INLINE {
            let inline = inline(bytes).to_le_bytes();
            s.prefix.copy_from_slice(&inline[..4]);
            s.rest.copy_from_slice(&inline[4..12]);
        } else {
            s.prefix.copy_from_slice(&bytes[..4]);
            s.rest = (bytes.as_ptr() as u64).to_le_bytes();
        }
        s
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.length as usize
    }
    /// Whether the string is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
    /// Whether the bytes are in the header itself.
    #[inline]
    pub fn is_inline(&self) -> bool {
        self.len() <= Self::INLINE
    }

    /// Whether the bytes are in the header, and each of them is a character: as its words say, which are not written for it.
    #[inline]
    pub fn is_inline_ascii(&self) -> bool {
        const HIGH: u64 = 0x8080_8080_8080_8080;
        let [first, rest] = self.words();
        self.is_inline() && ((first >> u32::BITS << u32::BITS) | rest) & HIGH == 0
    }

    /// The bytes in the header, zeros behind the end, if they are there.
    #[inline]
    pub fn inline_bytes(&self) -> Option<[u8; Self::INLINE]> {
        let [first, rest] = self.words();
        let bytes = (u128::from(first) | u128::from(rest) << 64) >> u32::BITS;
        self.is_inline().then(|| std::array::from_fn(|at| bytes.to_le_bytes()[at]))
    }

    /// The bytes as a number, the first one lowest, zeros behind the end, if there are at most eight.
    #[inline]
    pub fn first_word(&self) -> Option<u64> {
        let [first, rest] = self.words();
        (self.len() <= size_of::<u64>()).then_some(first >> u32::BITS | rest << u32::BITS)
    }

    /// The bytes.
    ///
    /// # Safety
    /// The payload of a string over 12 bytes must be alive.
    #[inline]
    pub unsafe fn bytes(&self) -> &[u8] {
        if self.is_inline() {
            // SAFETY: prefix and rest are adjacent (`repr(C)`), 12 bytes in all, and the pointer is to all of the header.
            unsafe {
                let start = std::ptr::from_ref(self).cast::<u8>().add(std::mem::offset_of!(Self, prefix));
                std::slice::from_raw_parts(start, self.len())
            }
        } else {
            // SAFETY: the caller vouches for the payload.
            unsafe { std::slice::from_raw_parts(u64::from_le_bytes(self.rest) as *const u8, self.len()) }
        }
    }

    /// The text. Every reader validates UTF-8 before it makes a header.
    ///
    /// # Safety
    /// As [`bytes`](Self::bytes).
    #[inline]
    pub unsafe fn as_str(&self) -> &str {
        // SAFETY: the caller vouches for the payload; readers admit only UTF-8.
        unsafe { std::str::from_utf8_unchecked(self.bytes()) }
    }

    /// The header as two words, as generated code passes it.
    #[inline]
    pub fn words(self) -> [u64; 2] {
        // SAFETY: both are 16 bytes of plain data.
        unsafe { std::mem::transmute(self) }
    }

    /// The reverse of [`words`](Self::words).
    #[inline]
    pub fn from_words(words: [u64; 2]) -> Self {
        // SAFETY: both are 16 bytes of plain data.
        unsafe { std::mem::transmute(words) }
    }

    /// Byte-wise equality.
    ///
    /// # Safety
    /// Both payloads must be alive.
    #[inline]
    pub unsafe fn equals(&self, other: &Self) -> bool {
        let (a, b) = (self.words(), other.words());
        // SAFETY: the caller vouches for the payloads.
        a[0] == b[0] && (a[1] == b[1] || (!self.is_inline() && unsafe { self.bytes() == other.bytes() }))
    }

    /// Byte-wise order (the C collation).
    ///
    /// # Safety
    /// Both payloads must be alive.
    #[inline]
    pub unsafe fn compare(&self, other: &Self) -> Ordering {
        let (a, b) = (u32::from_be_bytes(self.prefix), u32::from_be_bytes(other.prefix));
        if a != b {
            return a.cmp(&b);
        }
        if self.is_inline() && other.is_inline() {
            // What is behind the end of a text is 0, so of two that begin alike the longer one is behind the other.
            let rest = |s: &Self| (u64::from_be_bytes(s.rest), s.length);
            return rest(self).cmp(&rest(other));
        }
        // SAFETY: the caller vouches for the payloads.
        unsafe { compare_behind(self.bytes(), other.bytes(), size_of_val(&self.prefix)) }
    }
}

/// The order of bytes of which the first ones are the same: a few words without a call.
#[inline]
fn compare_behind(a: &[u8], b: &[u8], same: usize) -> Ordering {
    let word = |of: &[u8], at: usize| of[at..].first_chunk().map(|word| u64::from_be_bytes(*word));
    let mut at = same.min(a.len()).min(b.len());
    for _ in 0..4 {
        match (word(a, at), word(b, at)) {
            (Some(x), Some(y)) if x == y => at += size_of::<u64>(),
            (Some(x), Some(y)) => return x.cmp(&y),
            _ => break,
        }
    }
    a[at..].cmp(&b[at..])
}

/// At most 12 bytes, zero-padded, by words that overlap: no call, and nothing that goes through memory.
#[inline]
fn inline(bytes: &[u8]) -> u128 {
    let at = |value: u128, place: usize| value << (8 * place);
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        u128::from(u64::from_le_bytes(*first)) | at(u64::from_le_bytes(*last).into(), bytes.len() - 8)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        u128::from(u32::from_le_bytes(*first)) | at(u32::from_le_bytes(*last).into(), bytes.len() - 4)
    } else if let [first, .., last] = bytes {
        let middle = bytes.len() / 2;
        u128::from(*first) | at(bytes[middle].into(), middle) | at((*last).into(), bytes.len() - 1)
    } else {
        bytes.first().map_or(0, |byte| u128::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_compare_like_their_bytes() {
        let texts =
            ["", "a", "ab", "abc", "abc\0", "abcd", "abcde", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghijkl"];
        let long = "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz";
        let long = (13..long.len()).flat_map(|n| [long[..n].to_owned(), format!("{}!", &long[..n])]);
        let others =
            ["abcdefghijklm", "abcdefghijkln", "b", "é", "abcd\0", "abcdefgh\0\0", "abcd\u{1}"].map(str::to_owned);
        let texts = texts.into_iter().map(str::to_owned).chain(others).chain(long).collect::<Vec<_>>();
        for x in &texts {
            for y in &texts {
                let (a, b) = (Str::new(x.as_bytes()), Str::new(y.as_bytes()));
                // SAFETY: the literals live forever.
                unsafe {
                    assert_eq!(a.as_str(), x);
                    assert_eq!(a.compare(&b), x.as_bytes().cmp(y.as_bytes()), "{x} {y}");
                    assert_eq!(a.equals(&b), x == y);
                    assert_eq!(Str::from_words(a.words()).as_str(), x);
                }
            }
        }
    }
}
