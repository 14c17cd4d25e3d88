//! The distinct values of a chunk in their order, and for each row the place of its own.
//!
//! A code is as good as the value for whatever is decided value by value: comparisons become ranges of codes. Zeros of both
//! signs, and NaNs of different bits, are values of their own beside each other.

use types::{Buffer, Interval, Physical, Str};

use super::Frozen;
use super::layout::{CODES, ENTRIES, Header, Scheme};
use super::numbers::{Code, width_of, with_code};
use super::text;
use crate::scan::lane::{Lane, with_lane};
use crate::statistics::Bounds;
use crate::values::Values;

/// Rows of which a chunk's are judged.
const SAMPLE: usize = 512;
/// So many of them must have a value that another one of them has: at that many pairs, about a third of a full chunk's
/// values are distinct.
const REPEATED: usize = 4;
/// At most one distinct value in so many rows.
const ROWS_A_VALUE: usize = 3;
/// For numbers, which take little room by themselves.
const ROWS_A_NUMBER: usize = 16;

/// The bits of a value: two words.
type Bits = [u64; 2];

/// The distinct values among some rows, in the order of their first rows.
struct Distinct {
    /// Numbers of values plus one, by their hashes; 0 where there is none.
    slots: Vec<u32>,
    /// The first row of each.
    firsts: Vec<u32>,
    most: usize,
}

impl Distinct {
    fn new(most: usize) -> Self {
        Self { slots: vec![0; (most * 2).next_power_of_two()], firsts: Vec::new(), most }
    }

    /// The number of a row's value; none if there are too many.
    #[inline(always)]
    fn number(&mut self, row: usize, hash: u64, is_same: impl Fn(usize) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                0 if self.firsts.len() == self.most => return None,
                0 => {
                    self.firsts.push(row as u32);
                    self.slots[at] = self.firsts.len() as u32;
                    return Some(self.firsts.len() as u32 - 1);
                }
                number if is_same(self.firsts[number as usize - 1] as usize) => return Some(number - 1),
                _ => at = (at + 1) & mask,
            }
        }
    }
}

/// Spreads the bits of a value over the low ones.
#[inline(always)]
fn spread([a, b]: Bits) -> u64 {
    const ODD: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];
    let mixed = (a ^ b.rotate_left(29).wrapping_mul(ODD[1])).wrapping_mul(ODD[0]);
    mixed ^ mixed >> 32
}

/// The hash of a text, and whether two are the same; their payload is alive.
#[inline(always)]
fn hash_text(text: &Str) -> u64 {
    // SAFETY: whoever made the values keeps the payload alive.
    if text.is_inline() { spread(text.words()) } else { types::ops::hash::hash_bytes(unsafe { text.bytes() }) }
}

/// The bits of fixed-width values.
fn bits_of(values: Values<'_>) -> Vec<Bits> {
    let rows = 0..values.rows();
    let wide = |x: i128| [x as u64, (x >> 64) as u64];
    match values.physical() {
        Physical::I128 => values.slice::<i128>(rows).iter().map(|x| wide(*x)).collect(),
        Physical::Interval => {
            let bits = |i: &Interval| [u64::from(i.months as u32) << 32 | u64::from(i.days as u32), i.micros as u64];
            values.slice::<Interval>(rows).iter().map(bits).collect()
        }
        Physical::I64 => values.slice::<i64>(rows).iter().map(|x| [*x as u64, 0]).collect(),
        Physical::F64 => values.slice::<f64>(rows).iter().map(|x| [x.to_bits(), 0]).collect(),
        Physical::F32 => values.slice::<f32>(rows).iter().map(|x| [x.to_bits().into(), 0]).collect(),
        Physical::I32 => values.slice::<i32>(rows).iter().map(|x| [*x as u32 as u64, 0]).collect(),
        physical => unreachable!("no dictionary of {physical:?}"),
    }
}

/// The values as places in a dictionary, if few are distinct.
pub(super) fn freeze(values: Values<'_>, bounds: &Bounds) -> Option<Frozen> {
    let (rows, has_null) = (values.rows(), bounds.nulls > 0);
    if values.physical() == Physical::Str {
        let texts = values.slice::<Str>(0..rows);
        // SAFETY: whoever made the values keeps the payload alive.
        let same = |a: usize, b: usize| unsafe { texts[a].equals(&texts[b]) };
        let (firsts, codes) = codes(values, rows / ROWS_A_VALUE, |row| hash_text(&texts[row]), same)?;
        let order = |a: &u32, b: &u32| {
            // SAFETY: as above.
            unsafe { texts[*a as usize].compare(&texts[*b as usize]) }
        };
        let (ranked, rank) = ranks(&firsts, order);
        let entries = ranked.iter().map(|&row| texts[row as usize]);
        let entries: Vec<Str> = has_null.then_some(Str::EMPTY).into_iter().chain(entries).collect();
        let header = Header::new(Scheme::Dictionary, Physical::Str, rows);
        let header = Header { width: width_of(entries.len() as u64 - 1), has_null, entries: entries.len(), ..header };
        let payload = text::payload_of(&entries);
        let (header, mut bytes) = header.allocate(payload)?;
        text::write(&header, &entries, &mut bytes);
        write_codes(&header, &codes, &rank, &mut bytes);
        return Some(Frozen::new(header, bytes));
    }
    let bits = bits_of(values);
    let (firsts, codes) = codes(values, rows / ROWS_A_NUMBER, |row| spread(bits[row]), |a, b| bits[a] == bits[b])?;
    let (ranked, rank) = with_lane!(values.physical(), T => {
        let of = values.slice::<T>(0..rows);
        ranks(&firsts, |&a, &b| {
            let (a, b) = (a as usize, b as usize);
            of[a].key().cmp(&of[b].key()).then_with(|| bits[a].cmp(&bits[b]))
        })
    }, unreachable!("texts are done above"));
    let (size, first) = (values.physical().size(), usize::from(has_null));
    let entries = ranked.len() + first;
    let header = Header::new(Scheme::Dictionary, values.physical(), rows);
    let header = Header { width: width_of(entries as u64 - 1), has_null, entries, ..header };
    if rows * header.width + entries * size >= rows * size {
        return None;
    }
    let (header, mut bytes) = header.allocate(0)?;
    let to = &mut bytes.as_mut_slice()[header.parts[ENTRIES]..][first * size..];
    for (to, &row) in to.chunks_exact_mut(size).zip(&ranked) {
        // SAFETY: a row of the values, each of which has `size` bytes without padding.
        to.copy_from_slice(unsafe { std::slice::from_raw_parts(values.address().data.add(row as usize * size), size) });
    }
    write_codes(&header, &codes, &rank, &mut bytes);
    Some(Frozen::new(header, bytes))
}

/// The first rows of the distinct values, and for each row the number of its value (for NULL the greatest number there is).
fn codes(
    values: Values<'_>,
    most: usize,
    hash: impl Fn(usize) -> u64,
    is_same: impl Fn(usize, usize) -> bool,
) -> Option<(Vec<u32>, Vec<u32>)> {
    let rows = values.rows();
    let nulls = values.nulls(0..rows);
    let is_null = |row: usize| nulls.is_some_and(|n| n[row] != 0);
    let step = (rows / SAMPLE).max(1);
    let mut sample = Distinct::new(SAMPLE.max(rows));
    let mut sampled = 0;
    for row in (0..rows).step_by(step).take(SAMPLE).filter(|row| !is_null(*row)) {
        sampled += 1;
        sample.number(row, hash(row), |other| is_same(row, other));
    }
    if sample.firsts.len() + REPEATED.min(sampled / 2) > sampled {
        return None;
    }
    let mut distinct = Distinct::new(most.clamp(1, usize::from(u16::MAX)));
    let mut codes = Vec::with_capacity(rows);
    for row in 0..rows {
        codes.push(match is_null(row) {
            true => u32::MAX,
            false => distinct.number(row, hash(row), |other| is_same(row, other))?,
        });
    }
    Some((distinct.firsts, codes))
}

/// The values' first rows in the order of the values, and the place of each in it.
fn ranks(firsts: &[u32], order: impl Fn(&u32, &u32) -> std::cmp::Ordering) -> (Vec<u32>, Vec<u32>) {
    let mut numbers: Vec<u32> = (0..firsts.len() as u32).collect();
    numbers.sort_unstable_by(|&a, &b| order(&firsts[a as usize], &firsts[b as usize]));
    let mut rank = vec![0; firsts.len()];
    numbers.iter().enumerate().for_each(|(place, &number)| rank[number as usize] = place as u32);
    (numbers.iter().map(|&number| firsts[number as usize]).collect(), rank)
}

fn write_codes(header: &Header, codes: &[u32], rank: &[u32], bytes: &mut Buffer) {
    let first = u32::from(header.has_null);
    with_code!(header.width, C => {
        let to = &mut bytes.as_mut_slice()[header.parts[CODES]..][..codes.len() * header.width];
        // SAFETY: aligned to 64, and of that many bytes.
        let to = unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast::<C>(), codes.len()) };
        for (to, &code) in to.iter_mut().zip(codes) {
            *to = C::of_number(rank.get(code as usize).map_or(0, |rank| u64::from(rank + first)));
        }
    });
}

/// The entries of the codes, into memory for values of the physical type.
///
/// # Safety
/// The codes are numbers of entries, which are `size` bytes each; `to` has room for as many.
pub(super) unsafe fn decode<C: Code>(entries: *const u8, size: usize, codes: &[C], to: *mut u8) {
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
