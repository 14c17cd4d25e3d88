//! Fetching what a row's values are made of into the cache, of many columns at once: whoever reads a row waits for each column
//! otherwise, one after the other.

use base::prefetch::prefetch;

use super::Frozen;
use super::layout::{CODES, OFFSETS, PAYLOAD, Scheme};

impl Frozen {
    /// Fetches the code of a row, or where its text begins.
    pub(crate) fn fetch(&self, row: usize) {
        let (header, bytes) = (&self.header, self.bytes.as_ptr());
        if header.width > 0 {
            prefetch(bytes.wrapping_add(header.parts[CODES] + row * header.width));
        }
        match header.scheme {
            Scheme::Text => prefetch(bytes.wrapping_add(header.parts[OFFSETS] + row * size_of::<u32>())),
            Scheme::Symbols => prefetch(self.place_of(row)),
            Scheme::Numbers | Scheme::Dictionary => {}
        }
    }

    /// Fetches the text of a row of which [`fetch`](Self::fetch) has fetched where it begins.
    pub(crate) fn fetch_text(&self, row: usize) {
        assert!(row < self.header.rows);
        let begin = match self.header.scheme {
            // SAFETY: there is a place for each row, as it was written or checked.
            Scheme::Text => unsafe {
                *self.bytes.as_ptr().add(self.header.parts[OFFSETS]).cast::<u32>().add(row) as usize
            },
            Scheme::Symbols => self.begin_of(row),
            Scheme::Numbers | Scheme::Dictionary => return,
        };
        prefetch(self.bytes.as_ptr().wrapping_add(self.header.parts[PAYLOAD] + begin));
    }
}
