//! Predicates on texts that lie behind one another, asked of the bytes where they are: no header is made. A literal that
//! every match contains is searched for in the bytes of many rows at once.

use std::ops::Range;

use memchr::memmem::Finder;
use types::ops::like::{Kind, LikePattern};

use super::Frozen;
use super::layout::{CODES, OFFSETS, PAYLOAD, Scheme};
use crate::WINDOW;
use crate::scan::{ScanPredicate, Test, TextTest, keep};

/// At least one in so many rows is asked where all of their bytes are searched.
const SEARCHED_ABOVE: usize = 4;

impl Frozen {
    /// Keeps of the places, counted from the first of `rows`, those of rows for which a predicate holds, and returns how
    /// many they are. None if it is to be asked of values. At most [`WINDOW`] rows.
    pub(crate) fn refine_texts(
        &self,
        predicate: &ScanPredicate,
        rows: Range<usize>,
        places: &mut [u32],
    ) -> Option<usize> {
        let Test::Text(test) = &predicate.test else { return None };
        if self.scheme() != Scheme::Text {
            return None;
        }
        assert!(rows.start <= rows.end && rows.end <= self.header.rows && rows.len() <= WINDOW);
        // SAFETY: there are offsets of so many rows and one more, aligned to 64.
        let offsets = unsafe { std::slice::from_raw_parts(self.part(OFFSETS).cast::<u32>(), self.header.rows + 1) };
        let texts = Texts {
            offsets: &offsets[rows.start..rows.end + 1],
            payload: &self.bytes.as_slice()[self.header.parts[PAYLOAD]..],
        };
        let mut count = places.len();
        if self.header.has_null {
            let codes = &self.bytes.as_slice()[self.header.parts[CODES]..][rows];
            count = keep(places, |i| codes[i] != 0);
        }
        let places = &mut places[..count];
        Some(match test {
            TextTest::Prefix(prefix) => keep(places, |i| texts.has(i, prefix, |begin, _| begin)),
            TextTest::Like { pattern, negated } => texts.like(pattern, *negated, places),
            _ => keep(places, |i| test.holds(texts.text(i))),
        })
    }
}

/// The texts of some rows.
struct Texts<'a> {
    /// Where each begins, and where the last one ends.
    offsets: &'a [u32],
    payload: &'a [u8],
}

impl Texts<'_> {
    fn range(&self, row: usize) -> Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    fn text(&self, row: usize) -> &str {
        // SAFETY: a text of the column, as it was written or checked.
        unsafe { str::from_utf8_unchecked(&self.payload[self.range(row)]) }
    }

    /// Whether a text has a literal at the place that `place` makes of its begin, and of its end without the literal.
    #[inline(always)]
    fn has(&self, row: usize, literal: &[u8], place: impl Fn(usize, usize) -> usize) -> bool {
        let Range { start, end } = self.range(row);
        end - start >= literal.len() && lies_at(&self.payload[place(start, end - literal.len())..end], literal)
    }

    fn like(&self, pattern: &LikePattern, negated: bool, places: &mut [u32]) -> usize {
        // It never fails.
        let matches = |i: usize| pattern.matches(self.text(i)).unwrap_or(false);
        match (pattern.kind(), pattern.needle()) {
            (Kind::Prefix(literal), _) => {
                keep(places, |i| self.has(i, literal.as_bytes(), |begin, _| begin) != negated)
            }
            (Kind::Suffix(literal), _) => keep(places, |i| self.has(i, literal.as_bytes(), |_, end| end) != negated),
            (kind, Some(needle)) if places.len() * SEARCHED_ABOVE >= self.offsets.len() => {
                let found = self.containing(needle);
                let is_enough = matches!(kind, Kind::Contains(_));
                keep(places, |i| (found[i / 64] >> (i % 64) & 1 == 1 && (is_enough || matches(i))) != negated)
            }
            _ => keep(places, |i| matches(i) != negated),
        }
    }

    /// A bit for each row, set if its text contains the literal, which is not empty.
    fn containing(&self, needle: &Finder<'_>) -> [u64; WINDOW / 64] {
        let mut found = [0; WINDOW / 64];
        let (mut row, mut at) = (0, self.offsets[0] as usize);
        let end = self.offsets[self.offsets.len() - 1] as usize;
        while let Some(distance) = needle.find(&self.payload[at..end]) {
            at += distance;
            row += self.offsets[row + 1..].iter().take_while(|&&end| end as usize <= at).count();
            if at + needle.needle().len() <= self.range(row).end {
                found[row / 64] |= 1 << (row % 64);
                at = self.range(row).end;
            } else {
                // Across the border of two texts.
                at += 1;
            }
        }
        found
    }
}

/// Whether bytes begin with a literal, of which there are as many: by two words that overlap, where it is short.
#[inline(always)]
fn lies_at(bytes: &[u8], literal: &[u8]) -> bool {
    fn ends<const N: usize>(of: &[u8]) -> Option<(&[u8; N], &[u8; N])> {
        Some((of.first_chunk()?, of.last_chunk()?))
    }
    let bytes = &bytes[..literal.len()];
    match literal.len() {
        4..8 => ends::<4>(bytes) == ends::<4>(literal),
        8..=16 => ends::<8>(bytes) == ends::<8>(literal),
        _ => bytes == literal,
    }
}
