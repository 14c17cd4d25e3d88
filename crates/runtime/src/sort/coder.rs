//! From fields to words: what a row's leading fields hold, packed by their ranges into a string of bits that compares as
//! they do.
//!
//! A field takes as many bits as the distance of its bounds needs, and NULL one of the values before or behind. Text
//! loses the prefix that all texts share and goes in parts of up to 15 bytes. So two keys of 20 bits share one word, and a
//! key of 64 random bits takes one.

use types::Str;

use super::bounds::{Bounds, Values};
use super::item::Item;
use super::numbers::{self, LENGTH_BITS, TEXT_BYTES, Visit, visit};
use super::order::Field;

/// Most words that items are made with: what differs only behind them is compared in the rows.
pub(super) const MOST_WORDS: usize = 4;

/// How fields become words.
#[derive(Clone, Debug, Default)]
pub(super) struct Coder {
    parts: Vec<Part>,
    /// Bits of all parts.
    bits: u32,
    /// For the leading fields that the parts hold completely: how many bits hold all up to this one.
    complete: Vec<u32>,
}

/// A field, or some bytes of one that is text.
#[derive(Clone, Debug)]
struct Part {
    field: Field,
    /// First bit and number of bits.
    at: u32,
    width: u32,
    /// The number of the first value in order, and the distance to the last one.
    low: u128,
    span: u128,
    /// What the first value in order becomes, and NULL.
    first: u128,
    null: u128,
    /// For text, the bytes left out before, and how many are taken.
    text: Option<(usize, usize)>,
}

impl Coder {
    /// The coder for the leading fields of an order, as many as there are bounds.
    pub(super) fn new(fields: &[Field], bounds: &[Bounds]) -> Self {
        let mut coder = Self::default();
        for (field, bounds) in fields.iter().zip(bounds) {
            if coder.bits as usize >= 64 * MOST_WORDS || !coder.add(*field, bounds) {
                break;
            }
            coder.complete.push(coder.bits);
        }
        coder
    }

    /// Whether words can hold all of the field.
    fn add(&mut self, field: Field, bounds: &Bounds) -> bool {
        match bounds.values {
            // All are NULL, which says nothing.
            Values::None => true,
            Values::Numbers(low, high) => self.part(field, bounds.null, low, high - low, None),
            Values::Text(low, high, longest) => {
                // SAFETY: the rows of the bounds are alive as long as they are sorted.
                let shared = unsafe { low.bytes().iter().zip(high.bytes()).take_while(|(a, b)| a == b).count() };
                let taken = TEXT_BYTES.min(longest - shared);
                // SAFETY: likewise.
                let number = |text: &Str| unsafe { numbers::text(text, shared, taken) };
                let (first, last) = (number(&low), number(&high));
                let mut whole = self.part(field, bounds.null, first, last - first, Some((shared, taken)));
                let mut skip = shared + taken;
                while skip < longest && whole && (self.bits as usize) < 64 * MOST_WORDS {
                    let taken = TEXT_BYTES.min(longest - skip);
                    let span = (1 << (8 * taken as u32 + LENGTH_BITS)) - 1;
                    whole = self.part(field, false, 0, span, Some((skip, taken)));
                    skip += taken;
                }
                whole && skip >= longest
            }
        }
    }

    /// Whether all of the values get codes of their own.
    fn part(&mut self, field: Field, null: bool, low: u128, span: u128, text: Option<(usize, usize)>) -> bool {
        let first = u128::from(null && field.nulls_first);
        let Some(last) = span.checked_add(null.into()) else { return false };
        let width = 128 - last.leading_zeros();
        if width > 0 {
            let null = if field.nulls_first { 0 } else { last };
            self.parts.push(Part { field, at: self.bits, width, low, span, first, null, text });
            self.bits += width;
        }
        true
    }

    /// Words that hold all bits.
    pub(super) fn words(&self) -> usize {
        (self.bits as usize).div_ceil(64).clamp(1, MOST_WORDS)
    }

    /// How many leading fields are equal if so many words are.
    pub(super) fn fields_in(&self, words: usize) -> usize {
        self.complete.partition_point(|&bits| bits as usize <= 64 * words)
    }

    /// The leading bits that hold the first `fields` fields, and nothing else; none if some are not held completely.
    pub(super) fn bits_of(&self, fields: usize) -> Option<u32> {
        fields.checked_sub(1).map_or(Some(0), |last| self.complete.get(last).copied())
    }

    /// Fills the words of items, which are zero.
    ///
    /// # Safety
    /// The items' rows must be among those that the bounds were made of, with all strings alive.
    pub(super) unsafe fn encode<const W: usize>(&self, items: &mut [Item<W>]) {
        for part in self.parts.iter().filter(|part| (part.at as usize) < 64 * W) {
            if let Some((skip, taken)) = part.text {
                // SAFETY: as the caller promises.
                part.put_all(items, |row| unsafe { numbers::text(&part.field.read::<Str>(row), skip, taken) });
            } else {
                // SAFETY: no text, and rows of the layout.
                unsafe { visit(&part.field, Put { part, items }) };
            }
        }
    }
}

struct Put<'a, const W: usize> {
    part: &'a Part,
    items: &'a mut [Item<W>],
}

impl<const W: usize> Visit for Put<'_, W> {
    type Out = ();
    fn numbers(self, read: impl Fn(*const u8) -> u128) {
        self.part.put_all(self.items, read);
    }
}

impl Part {
    #[inline(always)]
    fn put_all<const W: usize>(&self, items: &mut [Item<W>], number: impl Fn(*const u8) -> u128) {
        let &Self { at, width, low, span, first, null, field, .. } = self;
        for item in items {
            // SAFETY: the caller of `encode` vouches for the rows.
            let code = if unsafe { field.is_null(item.row) } {
                null
            } else {
                let distance = number(item.row) - low;
                first + if field.descending { span - distance } else { distance }
            };
            item.put(at, code << (128 - width));
        }
    }
}
