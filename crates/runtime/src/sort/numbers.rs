//! Values as unsigned integers in the same order.

use pipeline::ir::Ty;
use types::{Interval, Str};

use super::order::{Field, interval_bits, interval_of};

/// Unsigned integers that are wide enough for a type's values.
pub(super) trait Number: Copy + Ord + Into<u128> {
    /// Their bits.
    const BITS: u32;
    /// A number that is known to fit.
    fn of(number: u128) -> Self;
    /// Sum and difference, modulo their range.
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    /// Writes the number, of `width` bits, at bit `at` of words that are zero there, counted from the most significant; what
    /// lies behind the last word is left out.
    fn put<const W: usize>(self, words: &mut [u64; W], at: u32, width: u32);
    /// Reads what was written, of which nothing was left out.
    fn get<const W: usize>(words: &[u64; W], at: u32, width: u32) -> Self;
}

impl Number for u64 {
    const BITS: u32 = u64::BITS;
    #[inline(always)]
    fn of(number: u128) -> Self {
        number as u64
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    #[inline(always)]
    fn put<const W: usize>(self, words: &mut [u64; W], at: u32, width: u32) {
        let (word, end) = ((at / 64) as usize, at % 64 + width);
        if end <= 64 {
            words[word] |= self << (64 - end);
        } else {
            words[word] |= self >> (end - 64);
            if let Some(next) = words.get_mut(word + 1) {
                *next |= self << (128 - end);
            }
        }
    }
    #[inline(always)]
    fn get<const W: usize>(words: &[u64; W], at: u32, width: u32) -> Self {
        let (word, end) = ((at / 64) as usize, at % 64 + width);
        let bits = if end <= 64 {
            words[word] >> (64 - end)
        } else {
            words[word] << (end - 64) | words[word + 1] >> (128 - end)
        };
        bits & u64::MAX >> (64 - width)
    }
}

impl Number for u128 {
    const BITS: u32 = u128::BITS;
    #[inline(always)]
    fn of(number: u128) -> Self {
        number
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    #[inline(always)]
    fn put<const W: usize>(self, words: &mut [u64; W], at: u32, width: u32) {
        match width.checked_sub(64) {
            None | Some(0) => (self as u64).put(words, at, width),
            Some(high) => {
                ((self >> 64) as u64).put(words, at, high);
                if ((at + high) as usize) < 64 * W {
                    (self as u64).put(words, at + high, 64);
                }
            }
        }
    }
    #[inline(always)]
    fn get<const W: usize>(words: &[u64; W], at: u32, width: u32) -> Self {
        match width.checked_sub(64) {
            None | Some(0) => u64::get(words, at, width).into(),
            Some(high) => u128::from(u64::get(words, at, high)) << 64 | u128::from(u64::get(words, at + high, 64)),
        }
    }
}

/// What is done with the numbers of a field.
pub(super) trait Visit {
    /// What comes out.
    type Out;
    /// `read` makes the number of a row's value, which must not be NULL, and `write` the value of a number.
    fn numbers<N: Number>(self, read: impl Fn(*const u8) -> N, write: impl Fn(*mut u8, N)) -> Self::Out;
}

/// Calls the visitor with the functions that fit the field's type: one loop a type instead of one look a value.
///
/// # Safety
/// The field must not be text; the visitor must call the functions with rows of the field's layout only, and write only
/// values of fields [that can be told from their numbers](Field::is_told_by_number).
pub(super) unsafe fn visit<V: Visit>(field: &Field, visitor: V) -> V::Out {
    const TOP: u64 = 1 << 63;
    // SAFETY: as the caller promises, the field lies in the rows and holds values of its type.
    unsafe {
        match field.ty {
            Ty::Bool => {
                visitor.numbers(|row| u64::from(field.read::<u8>(row)), |row, number| field.write(row, number as u8))
            }
            Ty::I16 => visitor.numbers(
                |row| i64::from(field.read::<i16>(row)) as u64 ^ TOP,
                |row, number| field.write(row, (number ^ TOP) as i16),
            ),
            Ty::I32 => visitor.numbers(
                |row| i64::from(field.read::<i32>(row)) as u64 ^ TOP,
                |row, number| field.write(row, (number ^ TOP) as i32),
            ),
            Ty::I64 => {
                visitor.numbers(|row| field.read::<u64>(row) ^ TOP, |row, number| field.write(row, number ^ TOP))
            }
            Ty::Ptr => visitor.numbers(|row| field.read::<u64>(row), |row, number| field.write(row, number)),
            Ty::I128 => visitor
                .numbers(|row| signed(field.read::<i128>(row)), |row, number| field.write(row, signed(number as i128))),
            Ty::F32 => visitor.numbers(
                |row| u64::from(real(field.read::<f32>(row), field.by_bits)),
                |row, number| field.write(row, (unordered(number << 32) >> 32) as u32),
            ),
            Ty::F64 => visitor.numbers(
                |row| double(field.read::<f64>(row), field.by_bits),
                |row, number| field.write(row, unordered(number)),
            ),
            Ty::Interval if field.by_bits => visitor
                .numbers(|row| interval_bits(field.read(row)), |row, number| field.write(row, interval_of(number))),
            Ty::Interval => visitor.numbers(
                |row| signed(field.read::<Interval>(row).approximate_micros()),
                |_, _: u128| unreachable!("several intervals have one length"),
            ),
            Ty::Str => unreachable!("text is no number"),
        }
    }
}

fn signed(value: i128) -> u128 {
    value as u128 ^ (1 << 127)
}

/// Without `by_bits`, -0 is 0 and all NaNs are one, the greatest.
fn double(value: f64, by_bits: bool) -> u64 {
    let bits = match by_bits {
        true => value.to_bits(),
        false if value.is_nan() => f64::NAN.to_bits() & !SIGN,
        false => (value + 0.0).to_bits(),
    };
    if bits & SIGN != 0 { !bits } else { bits | SIGN }
}

const SIGN: u64 = 1 << 63;

/// The bits of a double whose number this is.
fn unordered(number: u64) -> u64 {
    if number & SIGN != 0 { number & !SIGN } else { !number }
}

/// Whether a float has other bits than those that its number without [`by_bits`](Field::by_bits) stands for.
///
/// # Safety
/// The row must be one of the field's layout.
#[inline(always)]
pub(super) unsafe fn is_odd(field: &Field, row: *const u8) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        match field.ty {
            Ty::F32 => real(field.read(row), false) != real(field.read(row), true),
            Ty::F64 => double(field.read(row), false) != double(field.read(row), true),
            _ => false,
        }
    }
}

fn real(value: f32, by_bits: bool) -> u32 {
    const SIGN: u32 = 1 << 31;
    let bits = match by_bits {
        true => value.to_bits(),
        false if value.is_nan() => f32::NAN.to_bits() & !SIGN,
        false => (value + 0.0).to_bits(),
    };
    if bits & SIGN != 0 { !bits } else { bits | SIGN }
}

/// Bytes of text that a number holds.
pub(super) const TEXT_BYTES: usize = 15;
/// Bits behind them that hold how many there are.
pub(super) const LENGTH_BITS: u32 = 5;

/// Up to `bytes` (at most [`TEXT_BYTES`]) of a text from byte `skip` on, and behind them how many those are, or one more
/// if there are more: texts that agree up to `skip` are ordered as their numbers, and if these are equal and say that
/// there is no more, the texts are.
///
/// # Safety
/// The text's payload must be alive.
#[inline(always)]
pub(super) unsafe fn text(text: &Str, skip: usize, bytes: usize) -> u128 {
    debug_assert!(bytes <= TEXT_BYTES);
    // SAFETY: as the caller promises.
    let all = unsafe { text.bytes() };
    let tail = &all[skip.min(all.len())..];
    let taken = tail.len().min(bytes);
    let mut first = [0; 16];
    first[..taken].copy_from_slice(&tail[..taken]);
    let number = u128::from_be_bytes(first).checked_shr(128 - 8 * bytes as u32).unwrap_or(0);
    number << LENGTH_BITS | tail.len().min(bytes + 1) as u128
}

/// The text of which the first bytes and the number of those behind them are known; at most [`Str::INLINE`] bytes in all.
#[inline(always)]
pub(super) fn text_of(first: &[u8], number: u128, bytes: usize) -> Str {
    let (taken, mut all) = ((number as usize) & ((1 << LENGTH_BITS) - 1), [0; Str::INLINE + 16]);
    all[..first.len()].copy_from_slice(first);
    let behind = (number >> LENGTH_BITS).checked_shl(128 - 8 * bytes as u32).unwrap_or(0).to_be_bytes();
    all[first.len()..first.len() + 16].copy_from_slice(&behind);
    Str::new(&all[..first.len() + taken])
}
