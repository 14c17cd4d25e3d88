//! The distinct values of a chunk in their order, and for each row the place of its own.
//!
//! A code is as good as the value for whatever is decided value by value: comparisons become ranges of codes. Zeros of both
//! signs, and NaNs of different bits, are values of their own beside each other.

use std::cmp::Ordering;
use std::ptr::NonNull;
use std::sync::Arc;

use base::prefetch::prefetch_behind;
use types::column::Plain;
use types::ops::hash::hash_inline;
use types::{Buffer, Column, Interval, Physical, SqlType, Str};

use super::Frozen;
use super::layout::{CODES, ENTRIES, Header, Scheme};
use super::numbers::{Code, width_of, with_code};
use super::text;
use crate::hash::hash_text;
use crate::scan::lane::Lane;
use crate::statistics::{Bounds, used_entries};
use crate::values::Values;

/// Rows of which a chunk's are judged.
const SAMPLE: usize = 512;
/// So many of them must have a value that another one of them has: at that many pairs, about a third of a full chunk's
/// values are distinct.
const REPEATED: usize = 4;
/// At most one distinct value in so many rows.
const ROWS_A_VALUE: usize = 3;
/// Where a file has found the distinct values: at that many, putting them in order takes no more time than writing the rows out.
const ROWS_A_CODE: usize = 64;
/// For numbers, which take little room by themselves.
const ROWS_A_NUMBER: usize = 16;

/// The bits of a value: two words.
type Bits = [u64; 2];
/// The bits of a value, and its first row.
type Found = (Bits, u32);

/// Slots that the table of distinct values begins with: few values, as most columns have that end up here, stay in the
/// nearest cache.
const FIRST_SLOTS: usize = 256;

/// The distinct values among some rows, in the order of their first rows.
struct Distinct {
    /// Numbers of values plus one, by their hashes; 0 where there is none. At most half are taken.
    slots: Vec<u32>,
    values: Vec<Found>,
    most: usize,
}

impl Distinct {
    fn new(most: usize) -> Self {
        Self { slots: vec![0; FIRST_SLOTS], values: Vec::new(), most }
    }

    /// The number of a row's value; none if there are too many.
    #[inline(always)]
    fn number(&mut self, row: usize, bits: Bits, of: impl Key) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = of.hash(bits) as usize & mask;
        loop {
            match self.slots[at] {
                0 => break,
                number if of.is_same(self.values[number as usize - 1].0, bits) => return Some(number - 1),
                _ => at = (at + 1) & mask,
            }
        }
        if self.values.len() == self.most {
            return None;
        }
        self.values.push((bits, row as u32));
        self.slots[at] = self.values.len() as u32;
        if self.values.len() * 2 > self.slots.len() {
            self.grow(of);
        }
        Some(self.values.len() as u32 - 1)
    }

    #[cold]
    fn grow(&mut self, of: impl Key) {
        let mut slots = vec![0; self.slots.len() * 4];
        let mask = slots.len() - 1;
        for (number, (bits, _)) in self.values.iter().enumerate() {
            let mut at = of.hash(*bits) as usize & mask;
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = number as u32 + 1;
        }
        self.slots = slots;
    }
}

/// How values of a type are told apart by their bits.
trait Key: Copy {
    fn hash(self, bits: Bits) -> u64;
    fn is_same(self, a: Bits, b: Bits) -> bool;
}

/// Of fixed width: the bits are the value.
#[derive(Clone, Copy)]
struct Fixed;

impl Key for Fixed {
    #[inline(always)]
    fn hash(self, bits: Bits) -> u64 {
        hash_inline(bits)
    }
    #[inline(always)]
    fn is_same(self, a: Bits, b: Bits) -> bool {
        a == b
    }
}

/// Headers of texts, whose payload is alive.
#[derive(Clone, Copy)]
struct Texts;

impl Key for Texts {
    #[inline(always)]
    fn hash(self, bits: Bits) -> u64 {
        // SAFETY: as the type says.
        unsafe { hash_text(Str::from_words(bits)) }
    }
    #[inline(always)]
    fn is_same(self, a: Bits, b: Bits) -> bool {
        // SAFETY: as the type says.
        a == b || (a[0] == b[0] && unsafe { Str::from_words(a).equals(&Str::from_words(b)) })
    }
}

/// The values as places in a dictionary, if few are distinct.
pub(super) fn freeze(values: Values<'_>, bounds: &Bounds) -> Option<Frozen> {
    let wide = |x: i128| [x as u64, (x >> 64) as u64];
    let interval = |i: Interval| [u64::from(i.months as u32) << 32 | u64::from(i.days as u32), i.micros as u64];
    match values.physical() {
        Physical::Str => freeze_texts(values, bounds),
        Physical::I128 => freeze_numbers(values, bounds, wide),
        Physical::Interval => freeze_numbers(values, bounds, interval),
        Physical::I64 => freeze_numbers(values, bounds, |x: i64| [x as u64, 0]),
        Physical::F64 => freeze_numbers(values, bounds, |x: f64| [x.to_bits(), 0]),
        Physical::F32 => freeze_numbers(values, bounds, |x: f32| [x.to_bits().into(), 0]),
        Physical::I32 => freeze_numbers(values, bounds, |x: i32| [x as u32 as u64, 0]),
        physical => unreachable!("no dictionary of {physical:?}"),
    }
}

fn freeze_texts(values: Values<'_>, bounds: &Bounds) -> Option<Frozen> {
    let (rows, has_null) = (values.rows(), bounds.nulls > 0);
    let (found, codes) = codes(values, rows / ROWS_A_VALUE, |text: Str| text.words(), Texts)?;
    let text = |bits: &Bits| Str::from_words(*bits);
    // SAFETY: whoever made the values keeps the payload alive.
    let (ranked, rank) = ranks(&found, |a, b| unsafe { text(&a.0).compare(&text(&b.0)) });
    write_texts(ranked.iter().map(|(bits, _)| text(bits)), &rank, codes.iter().copied(), has_null)
}

/// The entries of a dictionary as a column, with NULL if there is one: each is of some row.
pub(super) fn entries(of: &Arc<Frozen>, sql_type: SqlType) -> Option<Column> {
    if of.scheme() != Scheme::Dictionary {
        return None;
    }
    let entries = of.entries();
    let (rows, size) = (entries.rows(), entries.physical().size());
    let mut values = Buffer::with_capacity(rows * size);
    // SAFETY: so many bytes are the entries.
    values.extend(unsafe { std::slice::from_raw_parts(entries.address().data, rows * size) });
    let nulls = of.has_null().then(|| Arc::new((0..rows).map(|entry| u8::from(entry == 0)).collect::<Buffer>()));
    let start = NonNull::new(of.bytes.as_ptr().cast_mut()).expect("a buffer's");
    // SAFETY: the column that owns the bytes is kept, and nobody writes to them.
    let payload = Arc::new(unsafe { Buffer::foreign(start, of.bytes.len(), of.clone()) });
    // SAFETY: texts of the column, which lie there.
    Some(unsafe { Column::new(sql_type, rows, Arc::new(values), nulls, vec![payload]) })
}

/// Texts that are codes already, if they are of few entries, but not of one: that is a constant.
pub(super) fn of_codes(values: Values<'_>) -> Option<Frozen> {
    let (entries, codes) = values.codes().filter(|_| values.physical() == Physical::Str)?;
    let rows = values.rows();
    let nulls = values.nulls(0..rows).filter(|nulls| nulls.iter().any(|null| *null != 0));
    let texts = entries.values::<Str>();
    let is_used = used_entries(texts.len(), codes, nulls);
    let mut numbers: Vec<u16> = (0..=u16::MAX).zip(&is_used).filter(|(_, used)| **used).map(|(n, _)| n).collect();
    if numbers.len() < 2 || numbers.len() > rows / ROWS_A_CODE {
        return None;
    }
    let text = |number: u16| texts[usize::from(number)];
    // SAFETY: the column keeps the payload alive.
    let compare = |a: u16, b: u16| unsafe { text(a).compare(&text(b)) };
    numbers.sort_unstable_by(|&a, &b| compare(a, b));
    // Writers need not have looked for texts that they have already.
    let (mut rank, mut ranked) = (vec![0; texts.len()], Vec::<u16>::with_capacity(numbers.len()));
    for number in numbers {
        if ranked.last().is_none_or(|&last| compare(last, number).is_ne()) {
            ranked.push(number);
        }
        rank[usize::from(number)] = ranked.len() as u32 - 1;
    }
    let ranked = ranked.into_iter().map(text);
    match nulls {
        None => write_texts(ranked, &rank, codes.iter().map(|&code| code.into()), false),
        Some(nulls) => {
            let code = |(&code, &null): (&u16, &u8)| if null == 0 { code.into() } else { u32::MAX };
            write_texts(ranked, &rank, codes.iter().zip(nulls).map(code), true)
        }
    }
}

/// A dictionary of texts in their order, of which the codes have these ranks.
fn write_texts(
    ranked: impl Iterator<Item = Str>,
    rank: &[u32],
    codes: impl ExactSizeIterator<Item = u32>,
    has_null: bool,
) -> Option<Frozen> {
    let entries: Vec<Str> = has_null.then_some(Str::EMPTY).into_iter().chain(ranked).collect();
    let header = Header::new(Scheme::Dictionary, Physical::Str, codes.len());
    let header = Header { width: width_of(entries.len() as u64 - 1), has_null, entries: entries.len(), ..header };
    let payload = text::payload_of(&entries);
    let (mut header, mut bytes) = header.allocate(payload)?;
    text::write(&mut header, &entries, &mut bytes);
    write_codes(&header, codes, rank, &mut bytes);
    Some(Frozen::new(header, bytes))
}

fn freeze_numbers<T: Lane>(values: Values<'_>, bounds: &Bounds, bits: impl Fn(T) -> Bits) -> Option<Frozen> {
    let (rows, has_null) = (values.rows(), bounds.nulls > 0);
    let (found, codes) = codes(values, rows / ROWS_A_NUMBER, bits, Fixed)?;
    let of = values.slice::<T>(0..rows);
    let (ranked, rank) = ranks(&found, |a, b| {
        let key = |row: u32| of[row as usize].key();
        key(a.1).cmp(&key(b.1)).then_with(|| a.0.cmp(&b.0))
    });
    let (size, first) = (size_of::<T>(), usize::from(has_null));
    let entries = ranked.len() + first;
    let header = Header::new(Scheme::Dictionary, values.physical(), rows);
    let header = Header { width: width_of(entries as u64 - 1), has_null, entries, ..header };
    if rows * header.width + entries * size >= rows * size {
        return None;
    }
    let (header, mut bytes) = header.allocate(0)?;
    let to = &mut bytes.as_mut_slice()[header.parts[ENTRIES]..][first * size..];
    for (to, &(_, row)) in to.chunks_exact_mut(size).zip(&ranked) {
        // SAFETY: a row of the values, each of which has `size` bytes without padding.
        to.copy_from_slice(unsafe { std::slice::from_raw_parts((&raw const of[row as usize]).cast(), size) });
    }
    write_codes(&header, codes.iter().copied(), &rank, &mut bytes);
    Some(Frozen::new(header, bytes))
}

/// The distinct values with their first rows, and for each row the number of its value (for NULL the greatest number there
/// is); none if there are more than `most`, which a few rows tell of most columns.
fn codes<T: Plain>(
    values: Values<'_>,
    most: usize,
    bits: impl Fn(T) -> Bits,
    key: impl Key,
) -> Option<(Vec<Found>, Vec<u32>)> {
    let rows = values.rows();
    let (nulls, of) = (values.nulls(0..rows), values.slice::<T>(0..rows));
    let is_null = |row: usize| nulls.is_some_and(|n| n[row] != 0);
    let step = (rows / SAMPLE).max(1);
    let mut sample = Distinct::new(SAMPLE);
    let mut sampled = 0;
    for row in (0..rows).step_by(step).take(SAMPLE).filter(|row| !is_null(*row)) {
        sampled += 1;
        sample.number(row, bits(of[row]), key);
    }
    if sample.values.len() + REPEATED.min(sampled / 2) > sampled {
        return None;
    }
    let mut distinct = Distinct::new(most.clamp(1, usize::from(u16::MAX)));
    let mut codes = Vec::with_capacity(rows);
    for (row, value) in of.iter().enumerate() {
        codes.push(match is_null(row) {
            true => u32::MAX,
            false => distinct.number(row, bits(*value), key)?,
        });
    }
    Some((distinct.values, codes))
}

/// The values in their order, and the place of each in it.
fn ranks(found: &[Found], order: impl Fn(&Found, &Found) -> Ordering) -> (Vec<Found>, Vec<u32>) {
    let mut numbers: Vec<u32> = (0..found.len() as u32).collect();
    numbers.sort_unstable_by(|&a, &b| order(&found[a as usize], &found[b as usize]));
    let mut rank = vec![0; found.len()];
    numbers.iter().enumerate().for_each(|(place, &number)| rank[number as usize] = place as u32);
    (numbers.iter().map(|&number| found[number as usize]).collect(), rank)
}

fn write_codes(header: &Header, codes: impl ExactSizeIterator<Item = u32>, rank: &[u32], bytes: &mut Buffer) {
    let first = u32::from(header.has_null);
    with_code!(header.width, C => {
        let to = &mut bytes.as_mut_slice()[header.parts[CODES]..][..codes.len() * header.width];
        // SAFETY: aligned to 64, and of that many bytes.
        let to = unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast::<C>(), codes.len()) };
        for (to, code) in to.iter_mut().zip(codes) {
            *to = C::of_number(rank.get(code as usize).map_or(0, |rank| u64::from(rank + first)));
        }
    });
}

/// The entries of the codes, into memory for values of the physical type.
///
/// # Safety
/// The codes are numbers of entries, which are `size` bytes each; `to` has room for as many.
pub(super) unsafe fn decode<C: Code>(entries: *const u8, size: usize, codes: &[C], to: *mut u8) {
    prefetch_behind(codes);
    macro_rules! copy {
        ($t:ty) => {
            for (row, code) in codes.iter().enumerate() {
                // SAFETY: as the caller promises.
                unsafe { to.cast::<$t>().add(row).write(*entries.cast::<$t>().add(code.code() as usize)) }
            }
        };
    }
    match size {
        4 => copy!(u32),
        8 => copy!(u64),
        _ => copy!([u64; 2]),
    }
}

/// As [`decode`], for some of the codes: the entry of each goes to its own place.
///
/// # Safety
/// As for [`decode`]; the places are numbers of codes.
pub(super) unsafe fn decode_some<C: Code>(entries: *const u8, size: usize, codes: &[C], places: &[u32], to: *mut u8) {
    macro_rules! copy {
        ($t:ty) => {
            for &place in places {
                let place = place as usize;
                // SAFETY: as the caller promises.
                unsafe {
                    let code = codes.get_unchecked(place).code() as usize;
                    to.cast::<$t>().add(place).write(*entries.cast::<$t>().add(code));
                }
            }
        };
    }
    match size {
        4 => copy!(u32),
        8 => copy!(u64),
        _ => copy!([u64; 2]),
    }
}
