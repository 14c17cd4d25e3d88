//! The payload of a patch's long texts: blocks, of which what was replaced goes when it is as much as what is needed.

use types::{Physical, Str};

use super::Patch;
use crate::bits::Bits;

/// Bytes of texts that are worth a look at which of them are needed.
pub(super) const MUCH_TEXT: usize = 4 << 10;

impl Patch {
    /// The headers of texts at the places.
    fn headers(&mut self) -> &mut [Str] {
        assert!(self.physical() == Physical::Str);
        // SAFETY: a value for each flag, zeros where nothing was written; aligned to 64.
        unsafe { std::slice::from_raw_parts_mut(self.values.as_mut_ptr().cast::<Str>(), self.nulls.len()) }
    }

    /// Has the payload of the rows' texts, which lies elsewhere.
    pub(super) fn keep_texts(&mut self, rows: &Bits) {
        if rows == self.rows() {
            self.texts.clear();
            (self.payload, self.much) = (0, MUCH_TEXT);
        }
        let mut places = Vec::with_capacity(rows.count());
        self.each_place(rows, |_, place| places.push(place));
        self.take_texts(&places);
        self.spare_texts();
    }

    /// The same of the text at a place.
    pub(super) fn keep_text(&mut self, place: usize) {
        if !self.headers()[place].is_inline() {
            self.take_texts(&[place]);
            self.spare_texts();
        }
    }

    /// If there is much payload, what was replaced goes.
    fn spare_texts(&mut self) {
        if self.payload < self.much {
            return;
        }
        let mut all = Vec::with_capacity(self.rows.count());
        self.each_place(self.rows(), |_, place| all.push(place));
        let before = std::mem::take(&mut self.texts);
        self.payload = 0;
        self.take_texts(&all);
        drop(before);
        self.much = (2 * self.payload).max(MUCH_TEXT);
    }

    /// Copies the payload of the texts at places behind what is there.
    fn take_texts(&mut self, places: &[usize]) {
        let headers = self.headers();
        let long = |text: &Str| if text.is_inline() { 0 } else { text.len() };
        let needed: usize = places.iter().map(|&place| long(&headers[place])).sum();
        if needed == 0 {
            return;
        }
        let mut payload = Vec::with_capacity(needed);
        for &place in places {
            if headers[place].is_inline() {
                continue;
            }
            let from = payload.len();
            // SAFETY: whoever made the values keeps their payload alive.
            payload.extend_from_slice(unsafe { headers[place].bytes() });
            // There is room, so that it stays where it is.
            headers[place] = Str::new(&payload[from..]);
        }
        self.payload += needed;
        self.texts.push(payload.into_boxed_slice());
    }
}
