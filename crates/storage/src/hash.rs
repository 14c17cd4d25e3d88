//! Hashes with fixed seeds, the same on every machine: of key values for the key index, and of columns for sketches.

use types::value::Interval;
use types::{Column, Physical, Str};

const K0: u64 = 0x9e37_79b9_7f4a_7c15;
const K1: u64 = 0xd6e8_feb8_6659_fd93;

/// A folded 128-bit product: every bit of the input reaches every bit of the output.
#[inline(always)]
pub(crate) fn mix(value: u64) -> u64 {
    let product = u128::from(value ^ K0) * u128::from(K1);
    let h = (product as u64) ^ ((product >> 64) as u64);
    (h ^ (h >> 29)).wrapping_mul(K0)
}

/// Both words into one.
#[inline(always)]
pub(crate) fn combine(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ K0) * u128::from(b ^ K1);
    (product as u64) ^ ((product >> 64) as u64)
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// All bytes of a string of at least eight, eight at a time; the last eight may overlap those before.
fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut h = bytes.len() as u64;
    for word in bytes.as_chunks::<8>().0 {
        h = combine(h.rotate_left(23), u64::from_le_bytes(*word));
    }
    mix(combine(h.rotate_left(23), word(bytes, bytes.len() - 8)))
}

/// The length and the first and last 16 bytes of a string of at least eight; all of it up to 32.
#[inline(always)]
fn hash_ends(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    let (second, third) = if n < 16 { (0, 0) } else { (word(bytes, 8), word(bytes, n - 16)) };
    combine(combine(word(bytes, 0) ^ n as u64, second), combine(third, word(bytes, n - 8)).rotate_left(23))
}

/// The hash of an integer of any width.
#[inline(always)]
pub(crate) fn hash_int(value: i64) -> u64 {
    mix(value as u64)
}

#[inline(always)]
fn hash_f64(x: f64) -> u64 {
    // -0 equals 0 and all NaNs are equal.
    mix(if x.is_nan() { u64::MAX } else { (x + 0.0).to_bits() })
}

/// A string's hash. `ends_only` reads no more than the first and last 16 bytes of a long one: for estimates.
///
/// # Safety
/// The payload must be alive.
#[inline(always)]
pub(crate) unsafe fn hash_str(s: Str, ends_only: bool) -> u64 {
    let [a, b] = s.words();
    if s.is_inline() {
        return mix(combine(a, b));
    }
    // SAFETY: the caller vouches for the payload.
    let bytes = unsafe { s.bytes() };
    if ends_only { mix(hash_ends(bytes)) } else { hash_bytes(bytes) }
}

/// Calls `f` with every row of `from..to` and the hash of its value; NULLs hash as zero values do.
#[inline(always)]
pub(crate) fn each_hash(column: &Column, from: usize, to: usize, mut f: impl FnMut(usize, u64)) {
    macro_rules! run {
        ($t:ty, $hash:expr) => {{
            let hash = $hash;
            for (i, &v) in column.values::<$t>()[from..to].iter().enumerate() {
                f(from + i, hash(v));
            }
        }};
    }
    match column.physical() {
        Physical::Bool => run!(u8, |v: u8| mix(v.into())),
        Physical::I16 => run!(i16, |v: i16| hash_int(v.into())),
        Physical::I32 => run!(i32, |v: i32| hash_int(v.into())),
        Physical::I64 => run!(i64, hash_int),
        Physical::I128 => run!(i128, |v: i128| mix(combine(v as u64, (v >> 64) as u64))),
        Physical::F32 => run!(f32, |v: f32| hash_f64(v.into())),
        Physical::F64 => run!(f64, hash_f64),
        Physical::Interval => run!(Interval, |v: Interval| {
            let micros = v.approximate_micros();
            mix(combine(micros as u64, (micros >> 64) as u64))
        }),
        // SAFETY: the column owns its payload.
        Physical::Str => run!(Str, |v: Str| unsafe { hash_str(v, false) }),
    }
}

/// Hashes of the key values of the rows `from..to` into `out`.
pub(crate) fn hash_keys(columns: &[&Column], from: usize, to: usize, out: &mut Vec<u64>) {
    out.clear();
    out.resize(to - from, 0);
    for (k, column) in columns.iter().enumerate() {
        if k == 0 {
            each_hash(column, from, to, |row, h| out[row - from] = h);
        } else {
            each_hash(column, from, to, |row, h| out[row - from] = mix(combine(out[row - from], h)));
        }
    }
}

/// Whether two values of one type are equal (neither is NULL).
pub(crate) fn equal_values(a: &Column, i: usize, b: &Column, j: usize) -> bool {
    macro_rules! same {
        ($t:ty) => {
            a.values::<$t>()[i] == b.values::<$t>()[j]
        };
    }
    match a.physical() {
        Physical::Bool => same!(u8),
        Physical::I16 => same!(i16),
        Physical::I32 => same!(i32),
        Physical::I64 => same!(i64),
        Physical::I128 => same!(i128),
        // SAFETY: both columns own their payload.
        Physical::Str => unsafe { a.values::<Str>()[i].equals(&b.values::<Str>()[j]) },
        Physical::F32 | Physical::F64 | Physical::Interval => a.value(i) == b.value(j),
    }
}
