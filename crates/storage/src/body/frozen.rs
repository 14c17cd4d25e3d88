//! Frozen columns: compressed, each value at its own place, so that any row is read without those before it.
//!
//! How a column is written is chosen by its values ([`Frozen::of`]): integers as the distance from the least of them in the
//! fewest bytes ([`numbers`]), values of which few are distinct as places in an ordered dictionary ([`dictionary`]), other
//! texts as bytes behind one another ([`text`]), later by symbols ([`symbols`]). All of it lies in one buffer without pointers ([`layout`]). Predicates are
//! translated into ones on codes once a chunk ([`predicate`]); whoever needs values has a window decoded at a time.
//!
//! After Lang et al., *Data Blocks: Hybrid OLTP and OLAP on Compressed Storage*, SIGMOD 2016, section 3.

mod dictionary;
mod encoder;
mod fetch;
mod gather;
mod layout;
mod length;
mod matching;
mod numbers;
mod predicate;
mod symbols;
#[cfg(test)]
mod tests;
mod text;

use std::ops::Range;
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::Arc;

use base::Result;
use base::simd::vectorised;
use types::{Buffer, Column, Physical, SqlType, Str, Value};

pub(crate) use layout::Scheme;
pub(crate) use predicate::Translated;
pub(crate) use symbols::{Packing, Symbols};

use super::{Cell, Texts};
use crate::ColumnRef;
use crate::scan::lane::Cells;
use crate::statistics::Bounds;
use crate::values::Values;
use layout::{CODES, ENTRIES, Header, OFFSETS, PAYLOAD, corrupt};
use numbers::{Code, with_code};
use symbols::Reads;

/// A frozen column.
#[derive(Debug)]
pub(crate) struct Frozen {
    header: Header,
    bytes: Buffer,
    /// The entries of a dictionary of texts, as headers into `bytes`.
    texts: Box<[Str]>,
    /// Of a column by symbols, if that is to end when it is read often.
    reads: Option<Reads>,
}

impl Frozen {
    /// The values in fewer bytes, where there is a way; `bounds` are theirs.
    pub(crate) fn of(values: Values<'_>, bounds: &Bounds) -> Option<Self> {
        if values.rows() == 0 {
            return None;
        }
        match values.physical() {
            Physical::Bool => None,
            Physical::Str => dictionary::freeze(values, bounds).or_else(|| text::freeze(values, bounds)),
            Physical::I16 => numbers::freeze(values, bounds),
            _ => {
                let codes = numbers::freeze(values, bounds);
                match &codes {
                    Some(codes) if codes.header.width <= 2 => {}
                    _ => return dictionary::freeze(values, bounds).or(codes),
                }
                codes
            }
        }
    }

    /// The values as a dictionary, where they are codes already and that takes next to nothing.
    pub(crate) fn of_codes(values: Values<'_>) -> Option<Self> {
        dictionary::of_codes(values)
    }

    fn new(header: Header, bytes: Buffer) -> Self {
        // Filled once the bytes lie where they stay.
        let mut frozen = Self { header, bytes, texts: Box::default(), reads: None };
        if header.scheme == Scheme::Dictionary && header.physical == Physical::Str {
            // SAFETY: the entries were written or checked, and the buffer lives, and does not move, as long as the headers.
            let text = |number| unsafe { text::text(&header, frozen.bytes.as_ptr(), number) };
            frozen.texts = (0..header.entries).map(text).collect();
        }
        frozen
    }

    /// The column whose bytes these are, wherever they come from.
    ///
    /// # Errors
    /// XX001 if they are no column's.
    #[cfg_attr(not(test), expect(dead_code, reason = "for what will be read back from files"))]
    pub(crate) fn read(bytes: Buffer) -> Result<Self> {
        let header = Header::read(bytes.as_slice())?;
        let part = |part: usize, size: usize| &bytes.as_slice()[header.parts[part]..][..size];
        if header.scheme == Scheme::Dictionary {
            let codes = part(CODES, header.rows * header.width);
            let code = |code: &[u8]| code.iter().rev().fold(0, |all, &byte| all << 8 | usize::from(byte));
            if codes.chunks_exact(header.width).any(|c| code(c) >= header.entries) {
                return Err(corrupt("code"));
            }
        }
        if header.scheme == Scheme::Symbols {
            let frozen = Self::new(header, bytes);
            return if frozen.can_be_expanded() { Ok(frozen) } else { Err(corrupt("text")) };
        }
        if header.physical == Physical::Str {
            let count = if header.scheme == Scheme::Text { header.rows } else { header.entries };
            let offset = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("4 bytes")) as usize;
            let offsets: Vec<usize> = part(OFFSETS, (count + 1) * 4).chunks_exact(4).map(offset).collect();
            let payload = &bytes.as_slice()[header.parts[PAYLOAD]..header.len];
            let is_text = |ends: &[usize]| payload.get(ends[0]..ends[1]).is_some_and(|b| str::from_utf8(b).is_ok());
            let is_ascii = !header.is_ascii || payload.is_ascii();
            if offsets[0] != 0 || !is_ascii || !offsets.windows(2).all(is_text) {
                return Err(corrupt("text"));
            }
        }
        Ok(Self::new(header, bytes))
    }

    pub(crate) fn physical(&self) -> Physical {
        self.header.physical
    }
    pub(crate) fn scheme(&self) -> Scheme {
        self.header.scheme
    }
    /// Bytes a code: 0 for texts without codes.
    pub(crate) fn width(&self) -> usize {
        self.header.width
    }
    /// Where they begin.
    pub(crate) fn address(&self) -> *const u8 {
        self.bytes.as_slice().as_ptr()
    }
    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.capacity() + self.texts.len() * size_of::<Str>() + size_of::<Self>()
    }

    /// The codes of all rows, of that many bytes each.
    fn codes<C: Code>(&self) -> &[C] {
        assert_eq!(size_of::<C>(), self.header.width);
        // SAFETY: a code of each row lies there, aligned to 64.
        unsafe { from_raw_parts(self.part(CODES).cast::<C>(), self.header.rows) }
    }

    fn part(&self, part: usize) -> *const u8 {
        self.bytes.as_slice()[self.header.parts[part]..].as_ptr()
    }

    /// The type of the codes, for kernels; none for texts and for codes of 8 bytes.
    pub(crate) fn code_cells(&self) -> Option<Cells> {
        match (self.header.scheme, self.header.width) {
            (Scheme::Text | Scheme::Symbols, _) => None,
            (_, 1) => Some(Cells::Of(Physical::Bool)),
            (_, 2) => Some(Cells::U16),
            (_, 4) => Some(Cells::U32),
            _ => None,
        }
    }

    /// How many codes there may be, if they are few.
    pub(crate) fn places(&self) -> Option<usize> {
        match (self.header.scheme, self.header.width) {
            (Scheme::Dictionary, _) => Some(self.header.entries),
            (Scheme::Numbers, 1) => Some(1 << 8),
            _ => None,
        }
    }

    /// Whether each code stands for what it stands for in the other column.
    pub(crate) fn has_codes_of(&self, other: &Self) -> bool {
        let code = |of: &Self| {
            let Header { scheme, physical, width, has_null, entries, base, divisor, .. } = of.header;
            (scheme, physical, width, has_null, entries, base, divisor)
        };
        if code(self) != code(other) || matches!(self.header.scheme, Scheme::Text | Scheme::Symbols) {
            return false;
        }
        if self.header.scheme != Scheme::Dictionary {
            return true;
        }
        if self.header.physical == Physical::Str {
            // SAFETY: both own the payload of their texts.
            return self.texts.iter().zip(&other.texts).all(|(a, b)| unsafe { a.bytes() == b.bytes() });
        }
        let bytes = self.header.entries * self.header.physical.size();
        // SAFETY: so many entries lie there.
        unsafe { from_raw_parts(self.part(ENTRIES), bytes) == from_raw_parts(other.part(ENTRIES), bytes) }
    }

    /// Of each row: its place so far times the number of places of this column, plus its place in this column.
    pub(crate) fn number_rows(&self, rows: Range<usize>, places: &mut [u32]) {
        let count = self.places().map_or(1, |count| count as u32);
        let (codes, all) = (self.part(CODES), self.header.rows);
        // SAFETY: a code of each row lies there, aligned to 64; few codes have one byte or two.
        unsafe {
            match self.header.width {
                1 => number(&from_raw_parts(codes, all)[rows], count, places),
                _ => number(&from_raw_parts(codes.cast::<u16>(), all)[rows], count, places),
            }
        }
    }

    /// Where the codes lie.
    pub(crate) fn code_address(&self) -> ColumnRef {
        ColumnRef { data: self.part(CODES), nulls: std::ptr::null() }
    }

    /// The entries of a dictionary as values, with the one for NULL if there is one.
    fn entries(&self) -> Values<'_> {
        self.entries_from(0)
    }

    fn entries_from(&self, first: usize) -> Values<'_> {
        let Header { physical, entries, .. } = self.header;
        let data = if physical == Physical::Str { self.texts.as_ptr().cast() } else { self.part(ENTRIES) };
        assert!(first <= entries);
        // SAFETY: so many entries lie there, aligned, and `self` owns them and their payload.
        unsafe {
            let address = ColumnRef { data: data.add(first * physical.size()), nulls: std::ptr::null() };
            Values::new(physical, address, entries - first)
        }
    }

    /// The distinct values other than NULL, where they are known: a dictionary's.
    pub(crate) fn distinct(&self) -> Option<Values<'_>> {
        (self.scheme() == Scheme::Dictionary).then(|| self.entries_from(usize::from(self.header.has_null)))
    }

    /// The distinct values of all rows as a column, NULL among them, where they are known.
    pub(crate) fn distinct_rows(self: &Arc<Self>, sql_type: SqlType) -> Option<Column> {
        dictionary::entries(self, sql_type)
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.header.rows
    }

    /// Whether any row is NULL.
    pub(crate) fn has_null(&self) -> bool {
        self.header.has_null
    }

    /// How many rows are decoded one after the other in the time of one by itself.
    pub(crate) fn rows_at_once(&self) -> usize {
        // Vectors make numbers of codes; entries are fetched, and texts looked at, one by one.
        match self.scheme() {
            Scheme::Numbers => 12,
            Scheme::Dictionary => 2,
            Scheme::Text | Scheme::Symbols => 1,
        }
    }

    /// Writes the values of `rows` to `to`, and whether they are NULL to `nulls`, if any row of the column is: those of all
    /// rows, or those at `some` places counted from the first row, each at its own place.
    ///
    /// # Safety
    /// `to` has room for values of all the rows, aligned for them. Texts may point into `texts`.
    pub(crate) unsafe fn decode(
        &self,
        rows: Range<usize>,
        some: Option<&[u32]>,
        to: *mut u8,
        nulls: &mut [u8],
        texts: &mut Texts,
    ) {
        let (header, size) = (&self.header, self.header.physical.size());
        assert!(rows.start <= rows.end && rows.end <= header.rows);
        if let Some(some) = some {
            assert!(some.iter().all(|&place| (place as usize) < rows.len()));
        }
        if header.scheme == Scheme::Symbols {
            self.note(some.map_or(rows.len(), <[u32]>::len));
            let write = |place: usize, text: &mut *mut u8| {
                // SAFETY: a row of the column, with room for its text.
                unsafe { to.cast::<Str>().add(place).write(self.expanded(rows.start + place, text)) }
            };
            match some {
                None => {
                    texts.fill(self.room(rows.clone()), |text| (0..rows.len()).for_each(|place| write(place, text)))
                }
                Some(some) => some.iter().map(|&place| place as usize).for_each(|place| {
                    let row = rows.start + place;
                    texts.fill(self.room(row..row + 1), |text| write(place, text));
                }),
            }
        } else if header.scheme == Scheme::Text {
            let bytes = self.bytes.as_ptr();
            let write = |place: usize| {
                // SAFETY: a row of the column; the buffer has more than 12 bytes behind its end, and `self` owns it.
                unsafe { to.cast::<Str>().add(place).write(text::text(header, bytes, rows.start + place)) }
            };
            match some {
                None => (0..rows.len()).for_each(write),
                Some(some) => some.iter().for_each(|&place| write(place as usize)),
            }
        } else {
            with_code!(header.width, C => {
                let codes = &self.codes::<C>()[rows.clone()];
                // SAFETY: as the caller promises; places were looked at above, and codes are of entries.
                unsafe {
                    match (header.scheme, some) {
                        (Scheme::Numbers, None) => numbers::decode(header, codes, to),
                        (Scheme::Numbers, Some(some)) => numbers::decode_some(header, codes, some, to),
                        (_, None) => dictionary::decode(self.entries().address().data, size, codes, to),
                        (_, Some(some)) => {
                            dictionary::decode_some(self.entries().address().data, size, codes, some, to);
                        }
                    }
                }
            });
        }
        if header.has_null {
            // SAFETY: as the caller promises.
            unsafe { self.decode_nulls(rows, to, nulls) };
        }
    }

    /// The value of a row, written to the cell.
    pub(crate) fn cell<'a>(&'a self, row: usize, cell: &'a mut Cell) -> Values<'a> {
        let to: *mut u8 = cell.words.as_mut_ptr().cast();
        let Header { scheme, width, physical, has_null, .. } = self.header;
        match scheme {
            // SAFETY: the words have room for one value of any type.
            Scheme::Text | Scheme::Symbols => unsafe {
                self.decode(row..row + 1, None, to, &mut cell.null, &mut cell.texts);
            },
            Scheme::Numbers | Scheme::Dictionary => with_code!(width, C => {
                let code = self.codes::<C>()[row];
                cell.null = [u8::from(has_null && code.code() == 0)];
                match scheme {
                    _ if cell.null != [0] => cell.words = [0; 2],
                    // SAFETY: as above, and the code is of an entry.
                    Scheme::Numbers => unsafe { numbers::decode_some(&self.header, &[code], &[0], to) },
                    // SAFETY: as above.
                    _ => unsafe {
                        dictionary::decode_some(self.entries().address().data, physical.size(), &[code], &[0], to);
                    },
                }
            }),
        }
        let nulls = if self.has_null() { cell.null.as_ptr() } else { std::ptr::null() };
        let address = ColumnRef { data: cell.words.as_ptr().cast(), nulls };
        // SAFETY: one value lies there, whose payload is in `self` or the cell; both are borrowed as long as it is used.
        unsafe { Values::new(self.header.physical, address, 1) }
    }

    /// The value of a row, if it is not NULL and the column has numbers of at most 64 bits.
    #[inline]
    pub(crate) fn number(&self, row: usize) -> Option<i64> {
        let Header { scheme, width, base, divisor, has_null, .. } = self.header;
        assert!(row < self.header.rows);
        if scheme != Scheme::Numbers {
            return None;
        }
        let code = if width == 0 { 1 } else { with_code!(width, C => self.codes::<C>()[row].code()) };
        let place = code.checked_sub(u64::from(has_null))?;
        i64::try_from(base.wrapping_add(i128::from(place) * i128::from(divisor))).ok()
    }

    /// The value of a row, of a column of that type.
    pub(crate) fn value(&self, row: usize, sql_type: SqlType) -> Value {
        let Header { scheme, width, base, divisor, has_null, .. } = self.header;
        assert!(row < self.header.rows);
        let code = if width == 0 { 1 } else { with_code!(width, C => self.codes::<C>()[row].code()) };
        if has_null && code == 0 {
            return Value::Null;
        }
        match scheme {
            Scheme::Numbers => {
                let number = base.wrapping_add(i128::from(code - u64::from(has_null)) * i128::from(divisor));
                Value::of_integer(sql_type, number).unwrap_or(Value::Null)
            }
            Scheme::Dictionary => super::value(self.entries(), code as usize, sql_type),
            Scheme::Symbols => self.text_value(row),
            Scheme::Text => {
                // SAFETY: a row of the column, whose text is in the buffer.
                let text = unsafe { text::text(&self.header, self.bytes.as_ptr(), row) };
                // SAFETY: likewise; only UTF-8 is admitted to columns.
                Value::str(unsafe { text.as_str() })
            }
        }
    }

    /// Writes which rows are NULL; their values become zeros, as in all columns.
    ///
    /// # Safety
    /// As for [`decode`](Self::decode), where values have been written before, at some places or all of them.
    unsafe fn decode_nulls(&self, rows: Range<usize>, to: *mut u8, nulls: &mut [u8]) {
        let nulls = &mut nulls[..rows.len()];
        with_code!(self.header.width, C => {
            let codes = &self.codes::<C>()[rows];
            // SAFETY: as the caller promises, there is room for so many values; it was zeroed when it was made.
            unsafe {
                match self.header.physical.size() {
                    1 => zero_nulls(codes, from_raw_parts_mut(to, nulls.len()), nulls),
                    2 => zero_nulls(codes, from_raw_parts_mut(to.cast::<u16>(), nulls.len()), nulls),
                    4 => zero_nulls(codes, from_raw_parts_mut(to.cast::<u32>(), nulls.len()), nulls),
                    8 => zero_nulls(codes, from_raw_parts_mut(to.cast::<u64>(), nulls.len()), nulls),
                    _ => zero_nulls(codes, from_raw_parts_mut(to.cast::<[u64; 2]>(), nulls.len()), nulls),
                }
            }
        });
    }
}

/// The places of rows, which were others' places so far, among `count` times as many.
fn number<C: Copy + Into<u32>>(codes: &[C], count: u32, places: &mut [u32]) {
    places.iter_mut().zip(codes).for_each(|(place, &code)| *place = *place * count + code.into());
}

/// Code 0 is NULL. Without a branch, whatever the share of NULLs is.
fn zero_nulls<C: Copy + Default + PartialEq, T: Copy + Default>(codes: &[C], values: &mut [T], nulls: &mut [u8]) {
    vectorised(
        #[inline(always)]
        || {
            for ((value, null), code) in values.iter_mut().zip(nulls).zip(codes) {
                let is_null = *code == C::default();
                *null = u8::from(is_null);
                *value = if is_null { T::default() } else { *value };
            }
        },
    );
}
