//! Lengths of frozen texts: the distances of the places where they begin, while each character is a byte; by symbols, those of
//! the symbols.

use std::ops::Range;

use base::simd::vectorised;
use types::Str;
use types::ops::string;

use super::layout::{OFFSETS, PAYLOAD, Scheme};
use super::numbers::{Code, with_code};
use super::{Frozen, zero_nulls};
use crate::WINDOW;
use crate::body::lengths::{characters, each_place};

impl Frozen {
    /// Writes how many characters the texts of rows have, 0 for NULL, or of those at `some` places counted from the first row;
    /// and which are NULL, if any row of the column is. At most [`WINDOW`] rows.
    pub(crate) fn lengths(&self, rows: Range<usize>, some: Option<&[u32]>, to: &mut [u32], nulls: &mut [u8]) {
        assert!(rows.start <= rows.end && rows.end <= self.header.rows && rows.len() <= WINDOW);
        let (to, nulls) = (&mut to[..rows.len()], &mut nulls[..rows.len()]);
        match self.header.scheme {
            Scheme::Text => self.lengths_by_offsets(rows.clone(), some, to),
            Scheme::Symbols => self.lengths_by_symbols(rows.clone(), some, to),
            _ => self.lengths_by_codes(rows.clone(), some, to),
        }
        if self.header.has_null {
            with_code!(self.header.width, C => zero_nulls(&self.codes::<C>()[rows], to, nulls));
        }
    }

    fn lengths_by_offsets(&self, rows: Range<usize>, some: Option<&[u32]>, to: &mut [u32]) {
        // SAFETY: there are offsets of so many rows and one more, aligned to 64.
        let offsets = unsafe { std::slice::from_raw_parts(self.part(OFFSETS).cast::<u32>(), self.header.rows + 1) };
        let offsets = &offsets[rows.start..rows.end + 1];
        let payload = &self.bytes.as_slice()[self.header.parts[PAYLOAD]..];
        let text = |row: usize| &payload[offsets[row] as usize..offsets[row + 1] as usize];
        let all = || &payload[offsets[0] as usize..offsets[to.len()] as usize];
        // Few of the texts of others are not ASCII, mostly.
        if self.header.is_ascii || some.is_none() && all().is_ascii() {
            vectorised(
                #[inline(always)]
                || to.iter_mut().zip(offsets.windows(2)).for_each(|(to, ends)| *to = ends[1] - ends[0]),
            );
        } else {
            // SAFETY: texts of the column, as they were written or checked.
            let length = |row: usize| string::length(unsafe { str::from_utf8_unchecked(text(row)) });
            each_place(rows.len(), some, |place| to[place] = length(place) as u32);
        }
    }

    fn lengths_by_symbols(&self, rows: Range<usize>, some: Option<&[u32]>, to: &mut [u32]) {
        // Offsets are faster, so that this counts as expanding them does.
        self.note(some.map_or(rows.len(), <[u32]>::len));
        let of_symbols = self.characters_of_symbols();
        each_place(rows.len(), some, |place| to[place] = self.characters(rows.start + place, &of_symbols));
    }

    fn lengths_by_codes(&self, rows: Range<usize>, some: Option<&[u32]>, to: &mut [u32]) {
        let length = |entry: &Str| match self.header.is_ascii {
            true => entry.len() as u32,
            // SAFETY: `self` has the texts of its dictionary.
            false => unsafe { characters(entry) },
        };
        with_code!(self.header.width, C => {
            let codes = &self.codes::<C>()[rows.clone()];
            each_place(rows.len(), some, |place| to[place] = length(&self.texts[codes[place].code() as usize]));
        });
    }
}
