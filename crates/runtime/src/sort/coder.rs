//! From fields to words: what a row's leading fields hold, packed by their ranges into a string of bits that compares as
//! they do.
//!
//! A field takes as many bits as the distance of its bounds needs, and NULL one of the values before or behind. Text
//! loses the prefix that all texts share and goes in parts of up to 15 bytes. So two keys of 20 bits share one word, and a
//! key of 64 random bits takes one. Back from words to fields goes [`restore`](Coder::restore), where no text is longer than
//! what a row holds itself.

use pipeline::ir::Ty;
use types::Str;

use super::bounds::{Bounds, Values};
use super::item::Item;
use super::numbers::{self, LENGTH_BITS, Number, TEXT_BYTES, Visit, visit};
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
    text: Option<Bytes>,
    /// Whether some are NULL.
    nullable: bool,
    /// Whether a code stands for one value only.
    tells: bool,
}

/// The bytes of a text that a part holds.
#[derive(Clone, Copy, Debug)]
struct Bytes {
    /// How many are left out before, and how many are taken.
    skip: usize,
    taken: usize,
    /// A text of which the bytes before are those of all.
    like: Str,
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
        // What SQL takes for equal is, so that the key says it all.
        if matches!(field.ty, Ty::F32 | Ty::F64)
            && field.by_bits
            && !bounds.odd
            && let Some(key) = self.parts.iter_mut().find(|part| part.field.offset == field.offset)
        {
            key.tells = true;
            return true;
        }
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
                let bytes = |skip, taken| Some(Bytes { skip, taken, like: low });
                let mut whole = self.part(field, bounds.null, first, last - first, bytes(shared, taken));
                let mut skip = shared + taken;
                while skip < longest && whole && (self.bits as usize) < 64 * MOST_WORDS {
                    let taken = TEXT_BYTES.min(longest - skip);
                    let span = (1 << (8 * taken as u32 + LENGTH_BITS)) - 1;
                    whole = self.part(field, false, 0, span, bytes(skip, taken));
                    skip += taken;
                }
                whole && skip >= longest
            }
        }
    }

    /// Whether all of the values get codes of their own.
    fn part(&mut self, field: Field, null: bool, low: u128, span: u128, text: Option<Bytes>) -> bool {
        let (nullable, first) = (null, u128::from(null && field.nulls_first));
        let Some(last) = span.checked_add(null.into()) else { return false };
        let width = 128 - last.leading_zeros();
        if width > 0 {
            let null = if field.nulls_first { 0 } else { last };
            let tells = field.is_told_by_number();
            self.parts.push(Part { field, at: self.bits, width, low, span, first, null, nullable, tells, text });
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

    /// Whether rows can be restored from their words: these hold all fields, and rows hold all of their texts.
    pub(super) fn is_reversible(&self, fields: &[Field]) -> bool {
        let is_short = |bytes: &Bytes| bytes.skip + bytes.taken <= Str::INLINE;
        self.complete.len() == fields.len()
            && self.bits as usize <= 64 * MOST_WORDS
            && self.parts.iter().all(|part| part.text.as_ref().is_none_or(is_short))
    }

    /// Fills the words of the items of some rows, which are zero.
    ///
    /// # Safety
    /// The rows must be among those that the bounds were made of, with all strings alive.
    pub(super) unsafe fn encode<const W: usize, T>(&self, rows: &[*mut u8], items: &mut [Item<W, T>]) {
        for part in self.parts.iter().filter(|part| (part.at as usize) < 64 * W) {
            if let Some(Bytes { skip, taken, .. }) = part.text {
                // SAFETY: as the caller promises.
                part.put(rows, items, |row| unsafe { numbers::text(&part.field.read::<Str>(row), skip, taken) });
            } else {
                // SAFETY: no text, and rows of the layout.
                unsafe { visit(&part.field, Put { part, rows, items }) };
            }
        }
    }

    /// Writes the fields of rows that words hold. What is the same in all rows stays as it is: the rows are some of those
    /// that the bounds were made of.
    ///
    /// # Safety
    /// The words must be those that this coder has made of such rows, and it must be [reversible](Self::is_reversible).
    /// Nobody else may read or write the rows.
    pub(super) unsafe fn restore<const W: usize, T>(&self, items: &[Item<W, T>], rows: &[*mut u8]) {
        for part in self.parts.iter().filter(|part| part.tells) {
            if let Some(Bytes { skip, taken, like }) = part.text {
                // SAFETY: no longer than what is inline.
                let first = unsafe { &like.bytes()[..skip] };
                let write = |row, number| {
                    // SAFETY: as the caller promises.
                    unsafe { part.field.write(row, numbers::text_of(first, number, taken)) };
                };
                part.get(items, rows, write);
            } else {
                // SAFETY: no text, and rows of the layout, which are the caller's.
                unsafe { visit(&part.field, Get { part, items, rows }) };
            }
        }
    }
}

struct Put<'a, const W: usize, T> {
    part: &'a Part,
    rows: &'a [*mut u8],
    items: &'a mut [Item<W, T>],
}

impl<const W: usize, T> Visit for Put<'_, W, T> {
    type Out = ();
    fn numbers<N: Number>(self, read: impl Fn(*const u8) -> N, _: impl Fn(*mut u8, N)) {
        if self.part.width <= N::BITS {
            self.part.put(self.rows, self.items, read);
        } else {
            self.part.put(self.rows, self.items, |row| read(row).into());
        }
    }
}

struct Get<'a, const W: usize, T> {
    part: &'a Part,
    items: &'a [Item<W, T>],
    rows: &'a [*mut u8],
}

impl<const W: usize, T> Visit for Get<'_, W, T> {
    type Out = ();
    fn numbers<N: Number>(self, _: impl Fn(*const u8) -> N, write: impl Fn(*mut u8, N)) {
        if self.part.width <= N::BITS {
            self.part.get(self.items, self.rows, write);
        } else {
            self.part.get(self.items, self.rows, |row, number: u128| write(row, N::of(number)));
        }
    }
}

impl Part {
    /// Writes the codes of rows, given how to read their numbers, which together with NULL must be in `N`.
    #[inline(always)]
    fn put<const W: usize, T, N: Number>(
        &self,
        rows: &[*mut u8],
        items: &mut [Item<W, T>],
        number: impl Fn(*const u8) -> N,
    ) {
        let &Self { at, width, field, nullable, .. } = self;
        let [first, last, low, null] = [self.first, self.first + self.span, self.low, self.null].map(N::of);
        let code = |row| {
            // SAFETY: the caller of `encode` vouches for the rows.
            if nullable && unsafe { field.is_null(row) } {
                null
            } else if field.descending {
                last.minus(number(row).minus(low))
            } else {
                first.plus(number(row).minus(low))
            }
        };
        for (item, &row) in items.iter_mut().zip(rows) {
            code(row).put(&mut item.words, at, width);
        }
    }

    /// Reads the codes of rows and writes what they stand for.
    #[inline(always)]
    fn get<const W: usize, T, N: Number>(&self, items: &[Item<W, T>], rows: &[*mut u8], write: impl Fn(*mut u8, N)) {
        let &Self { at, width, field, nullable, .. } = self;
        let [first, last, low, null] = [self.first, self.first + self.span, self.low, self.null].map(N::of);
        let flag = field.null.filter(|_| nullable);
        for (item, &row) in items.iter().zip(rows) {
            let code = N::get(&item.words, at, width);
            let is_null = nullable && code == null;
            if let Some(flag) = flag {
                // SAFETY: the flag lies in the row, which is the caller's.
                unsafe { *row.add(flag as usize) = u8::from(is_null) };
            }
            let distance = if field.descending { last.minus(code) } else { code.minus(first) };
            write(row, if is_null { low } else { low.plus(distance) });
        }
    }
}

#[cfg(test)]
mod tests {
    use base::Random;
    use types::Interval;

    use super::super::tail::Nothing;
    use super::*;
    use pipeline::ir::Ty;

    /// A row of one field and its NULL flag.
    type Row = [u8; 32];

    fn round_trip(field: Field, values: &[Option<Vec<u8>>]) {
        let row = |value: &Option<Vec<u8>>| {
            let mut row: Row = [0; 32];
            let bytes = value.as_deref().unwrap_or_default();
            row[..bytes.len()].copy_from_slice(bytes);
            row[16] = value.is_none().into();
            row
        };
        let mut rows: Vec<Row> = values.iter().map(row).collect();
        let before = rows.clone();
        let addresses: Vec<*mut u8> = rows.iter_mut().map(|row| row.as_mut_ptr()).collect();
        // SAFETY: rows as the field says.
        let bounds = unsafe { Bounds::of(&field, &addresses) };
        let coder = Coder::new(&[field], &[bounds]);
        assert!(coder.is_reversible(&[field]), "{field:?}");
        let mut items = vec![Item::<4, Nothing>::new(std::ptr::null_mut()); rows.len()];
        // SAFETY: the rows that the bounds are of; the values are overwritten with others of them.
        unsafe {
            coder.encode(&addresses, &mut items);
            rows.rotate_left(1);
            coder.restore(&items, &addresses);
        }
        for (found, expected) in rows.iter().zip(&before) {
            assert_eq!(found[16], expected[16], "{field:?}");
            assert!(expected[16] == 1 || found == expected, "{field:?}: {found:?}, {expected:?}");
        }
    }

    #[test]
    fn values_are_restored_from_words() {
        let mut random = Random(8);
        let types = [Ty::Bool, Ty::I16, Ty::I32, Ty::I64, Ty::Ptr, Ty::I128, Ty::F32, Ty::F64, Ty::Str, Ty::Interval];
        for ty in types {
            for case in 0..64 {
                let wide = random.below(2) == 0;
                let mut bits = || if wide { random.bits() } else { random.below(5) };
                let mut value = || match ty {
                    Ty::Bool => vec![(bits() % 2) as u8],
                    Ty::I16 => (bits() as i16).to_ne_bytes().into(),
                    Ty::I32 => (bits() as i32).wrapping_neg().to_ne_bytes().into(),
                    Ty::I64 | Ty::Ptr => (bits() as i64).wrapping_neg().to_ne_bytes().into(),
                    Ty::I128 => (i128::from(bits() as i64) * i128::from(bits())).to_ne_bytes().into(),
                    Ty::F32 => f32::from_bits((bits() as u32).rotate_right(1)).to_ne_bytes().into(),
                    Ty::F64 => f64::from_bits(bits().rotate_right(1)).to_ne_bytes().into(),
                    Ty::Str => {
                        let text = format!("{}{}", ["", "shared "][case % 2], bits() % 100_000);
                        Str::new(text.as_bytes()).words().map(u64::to_ne_bytes).concat()
                    }
                    Ty::Interval => {
                        let interval =
                            Interval { months: bits() as i32, days: -(bits() as i16 as i32), micros: bits() as i64 };
                        [
                            &interval.months.to_ne_bytes()[..],
                            &interval.days.to_ne_bytes(),
                            &interval.micros.to_ne_bytes(),
                        ]
                        .concat()
                    }
                };
                let values: Vec<Vec<u8>> = (0..100).map(|_| value()).collect();
                let nulls = random.below(3);
                let null = |value| if random.below(4) < nulls { None } else { Some(value) };
                let values: Vec<Option<Vec<u8>>> = values.into_iter().map(null).collect();
                let field = Field {
                    offset: 0,
                    ty,
                    null: Some(16),
                    descending: random.below(2) == 0,
                    nulls_first: random.below(2) == 0,
                    by_bits: true,
                };
                round_trip(field, &values);
            }
        }
    }
}
