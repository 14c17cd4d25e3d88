//! Numbers as codes: (value - base) / divisor in the fewest bytes, with 0 for NULL where there are NULLs.
//!
//! Frame of reference with the common divisor removed (Lang et al., *Data Blocks*, SIGMOD 2016, 3.1; the divisor is what
//! decimals of whole numbers have in common).

use base::prefetch::prefetch_behind;
use base::simd::vectorised;
use types::Physical;
use types::column::Plain;

use super::Frozen;
use super::layout::{CODES, Header, Scheme};
use crate::statistics::{Bounds, ValueRange};
use crate::values::Values;

/// Integers of the physical types, with the arithmetic of their width.
pub(super) trait Number: Plain {
    /// The low bits of a number.
    fn of(number: i128) -> Self;
    /// The low bits of a code times a divisor below 2^32.
    fn times(code: u64, divisor: u32) -> Self;
    fn plus(self, other: Self) -> Self;
    /// The distance from `base`, which is not greater: below 2^64.
    fn above(self, base: Self) -> u64;
}

macro_rules! number {
    ($($t:ty),*) => { $(
        impl Number for $t {
            #[inline(always)]
            fn of(number: i128) -> Self { number as $t }
            #[inline(always)]
            fn times(code: u64, divisor: u32) -> Self { (code as $t).wrapping_mul(divisor as $t) }
            #[inline(always)]
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn above(self, base: Self) -> u64 { (self as i128).wrapping_sub(base as i128) as u64 }
        }
    )* };
}
number!(i16, i32, i64, i128);

/// Codes.
pub(super) trait Code: Plain {
    fn of_number(code: u64) -> Self;
    fn code(self) -> u64;
}

macro_rules! code {
    ($($t:ty),*) => { $(
        impl Code for $t {
            #[inline(always)]
            fn of_number(code: u64) -> Self { code as $t }
            #[inline(always)]
            fn code(self) -> u64 { self as u64 }
        }
    )* };
}
// Codes of 8 bytes are stored as the type of that size that columns have.
code!(u8, u16, u32, i64);

/// Runs `$body` with `$t` as the type of codes of so many bytes.
macro_rules! with_code {
    ($width:expr, $t:ident => $body:expr) => {
        match $width {
            1 => {
                type $t = u8;
                $body
            }
            2 => {
                type $t = u16;
                $body
            }
            4 => {
                type $t = u32;
                $body
            }
            _ => {
                type $t = i64;
                $body
            }
        }
    };
}
pub(super) use with_code;

/// Runs `$body` with `$t` as the type of a physical type of integers.
macro_rules! with_number {
    ($physical:expr, $t:ident => $body:expr) => {
        match $physical {
            Physical::I16 => {
                type $t = i16;
                $body
            }
            Physical::I32 => {
                type $t = i32;
                $body
            }
            Physical::I64 => {
                type $t = i64;
                $body
            }
            _ => {
                type $t = i128;
                $body
            }
        }
    };
}

/// Bytes that codes up to this one take.
pub(super) fn width_of(greatest: u64) -> usize {
    match greatest {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

/// The values as codes, if these are narrower; `bounds` are theirs.
pub(super) fn freeze(values: Values<'_>, bounds: &Bounds) -> Option<Frozen> {
    let physical = values.physical();
    let ValueRange::Keys { min, max } = bounds.range else { return None };
    if !matches!(physical, Physical::I16 | Physical::I32 | Physical::I64 | Physical::I128) {
        return None;
    }
    let span = u64::try_from(max.checked_sub(min)?).ok()?;
    let has_null = bounds.nulls > 0;
    let width = |divisor: u64| (span / divisor).checked_add(has_null.into()).map(width_of);
    let divisor = match width(1)? {
        1 => 1,
        // What codes of fewer bytes would need.
        _ => with_number!(physical, T => divisor::<T>(values, T::of(min))),
    };
    // Codes that need 8 bytes are not multiplied by their vectors.
    let divisor = if width(divisor)? == width(1)? || width(divisor)? == 8 { 1 } else { divisor };
    let width = width(divisor)?;
    if width >= physical.size() {
        return None;
    }
    let header = Header::new(Scheme::Numbers, physical, values.rows());
    let header = Header { width, has_null, base: min, divisor, ..header };
    let (header, mut bytes) = header.allocate(0)?;
    let to = &mut bytes.as_mut_slice()[header.parts[CODES]..][..values.rows() * width];
    with_code!(width, C => with_number!(physical, T => encode::<C, T>(values, &header, to)));
    Some(Frozen::new(header, bytes))
}

/// The greatest common divisor of the values' distances from the least of them, if it is below 2^32; else 1.
fn divisor<T: Number>(values: Values<'_>, base: T) -> u64 {
    let nulls = values.nulls(0..values.rows());
    let mut common = 0u64;
    for (row, value) in values.slice::<T>(0..values.rows()).iter().enumerate() {
        if nulls.is_some_and(|n| n[row] != 0) {
            continue;
        }
        let distance = value.above(base);
        let rest = match (u32::try_from(distance), u32::try_from(common)) {
            // Dividing 32 bits takes a fraction of the time.
            (Ok(distance), Ok(common)) if common > 0 => u64::from(distance % common),
            _ if common > 0 => distance % common,
            _ => distance,
        };
        if rest > 0 {
            common = gcd(common, rest);
            if common == 1 {
                return 1;
            }
        }
    }
    if common == 0 || common > u64::from(u32::MAX) { 1 } else { common }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The number that an odd one is multiplied with to give 1 modulo 2^64, by Newton's iteration.
fn inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))))
}

fn encode<C: Code, T: Number>(values: Values<'_>, header: &Header, to: &mut [u8]) {
    let (base, shift) = (T::of(header.base), header.divisor.trailing_zeros());
    // Divisions that leave no rest are multiplications.
    let factor = inverse(header.divisor >> shift);
    let (rows, first) = (values.rows(), u64::from(header.has_null));
    let values_of = values.slice::<T>(0..rows);
    // SAFETY: `to` lies aligned to 64 in zeroed bytes, and has room for a code of each row.
    let to = unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast::<C>(), rows) };
    vectorised(|| {
        for (to, value) in to.iter_mut().zip(values_of) {
            *to = C::of_number((value.above(base) >> shift).wrapping_mul(factor).wrapping_add(first));
        }
    });
    if let Some(nulls) = values.nulls(0..rows) {
        to.iter_mut().zip(nulls).filter(|(_, n)| **n != 0).for_each(|(to, _)| *to = C::of_number(0));
    }
}

/// Codes that are decoded between two fetches of what lies behind.
const AT_ONCE: usize = 256;

/// The values of codes, into memory for values of the physical type. With NULLs, the value of code 0 is arbitrary.
///
/// # Safety
/// `to` has room for as many values, aligned for them.
pub(super) unsafe fn decode<C: Code>(header: &Header, codes: &[C], to: *mut u8) {
    let base = header.base.wrapping_sub(i128::from(header.has_null) * i128::from(header.divisor));
    let divisor = header.divisor as u32;
    with_number!(header.physical, T => {
        // SAFETY: as the caller promises.
        let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<T>(), codes.len()) };
        let base = T::of(base);
        let pieces = to.chunks_mut(AT_ONCE).zip(codes.chunks(AT_ONCE));
        vectorised(|| {
            for (to, codes) in pieces {
                prefetch_behind(codes);
                match divisor {
                    1 => to.iter_mut().zip(codes).for_each(|(to, code)| *to = T::of(code.code().into()).plus(base)),
                    _ => to.iter_mut().zip(codes).for_each(|(to, code)| *to = T::times(code.code(), divisor).plus(base)),
                }
            }
        });
    });
}

/// As [`decode`], for some of the codes: the value of each goes to its own place.
///
/// # Safety
/// `to` has room for a value of each code, and the places are numbers of codes.
pub(super) unsafe fn decode_some<C: Code>(header: &Header, codes: &[C], places: &[u32], to: *mut u8) {
    let base = header.base.wrapping_sub(i128::from(header.has_null) * i128::from(header.divisor));
    with_number!(header.physical, T => {
        let base = T::of(base);
        for &place in places {
            let place = place as usize;
            debug_assert!(place < codes.len());
            // SAFETY: as the caller promises.
            unsafe {
                let code = codes.get_unchecked(place).code();
                to.cast::<T>().add(place).write(of_code::<T>(header, code, base));
            }
        }
    });
}

#[inline(always)]
fn of_code<T: Number>(header: &Header, code: u64, base: T) -> T {
    match header.divisor {
        1 => T::of(code.into()).plus(base),
        divisor => T::times(code, divisor as u32).plus(base),
    }
}
