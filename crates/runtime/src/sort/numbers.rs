//! Values as unsigned integers in the same order.

use pipeline::ir::Ty;
use types::{Interval, Str};

use super::order::{Field, interval_bits};

/// What is done with the numbers of a field.
pub(super) trait Visit {
    /// What comes out.
    type Out;
    /// `read` makes the number of a row's value, which must not be NULL.
    fn numbers(self, read: impl Fn(*const u8) -> u128) -> Self::Out;
}

/// Calls the visitor with the function that fits the field's type: one loop a type instead of one look a value.
///
/// # Safety
/// The field must not be text; the visitor must call the function with rows of the field's layout only.
pub(super) unsafe fn visit<V: Visit>(field: &Field, visitor: V) -> V::Out {
    const TOP: u64 = 1 << 63;
    // SAFETY: as the caller promises, the field lies in the rows and holds values of its type.
    unsafe {
        match field.ty {
            Ty::Bool => visitor.numbers(|row| field.read::<u8>(row).into()),
            Ty::I16 => visitor.numbers(|row| (i64::from(field.read::<i16>(row)) as u64 ^ TOP).into()),
            Ty::I32 => visitor.numbers(|row| (i64::from(field.read::<i32>(row)) as u64 ^ TOP).into()),
            Ty::I64 => visitor.numbers(|row| (field.read::<i64>(row) as u64 ^ TOP).into()),
            Ty::Ptr => visitor.numbers(|row| field.read::<u64>(row).into()),
            Ty::I128 => visitor.numbers(|row| signed(field.read::<i128>(row))),
            Ty::F32 => visitor.numbers(|row| real(field.read::<f32>(row), field.by_bits).into()),
            Ty::F64 => visitor.numbers(|row| double(field.read::<f64>(row), field.by_bits).into()),
            Ty::Interval if field.by_bits => visitor.numbers(|row| interval_bits(field.read(row))),
            Ty::Interval => visitor.numbers(|row| signed(field.read::<Interval>(row).approximate_micros())),
            Ty::Str => unreachable!("text is no number"),
        }
    }
}

fn signed(value: i128) -> u128 {
    value as u128 ^ (1 << 127)
}

/// Without `by_bits`, -0 is 0 and all NaNs are one, the greatest.
fn double(value: f64, by_bits: bool) -> u64 {
    const SIGN: u64 = 1 << 63;
    let bits = match by_bits {
        true => value.to_bits(),
        false if value.is_nan() => f64::NAN.to_bits() & !SIGN,
        false => (value + 0.0).to_bits(),
    };
    if bits & SIGN != 0 { !bits } else { bits | SIGN }
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
