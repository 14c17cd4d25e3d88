//! Hashes of columns: the one hash of `types::ops`, so that partitions, keys, sketches and the tables of joins agree.

use types::ops::hash::{combine, hash_bytes, hash_f64, hash_i64, hash_i128, hash_inline, hash_interval};
use types::value::Interval;
use types::{Physical, Str};

use crate::values::Values;

/// Partitions of a key's hash: the same for placing rows and for dividing work.
pub const PARTITIONS: usize = 64;

/// The partition of a hash: its top bits, as its others choose places within one.
pub fn partition_of(hash: u64) -> usize {
    (hash >> (u64::BITS - PARTITIONS.ilog2())) as usize
}

/// Calls `f` with every row of `from..to` and the hash of its value; NULLs hash as zero values do.
#[inline(always)]
pub(crate) fn each_hash(values: Values<'_>, from: usize, to: usize, mut f: impl FnMut(usize, u64)) {
    macro_rules! run {
        ($t:ty, $hash:expr) => {{
            let hash = $hash;
            for (i, &v) in values.slice::<$t>(from..to).iter().enumerate() {
                f(from + i, hash(v));
            }
        }};
    }
    match values.physical() {
        Physical::Bool => run!(u8, |v: u8| hash_i64(v.into())),
        Physical::I16 => run!(i16, |v: i16| hash_i64(v.into())),
        Physical::I32 => run!(i32, |v: i32| hash_i64(v.into())),
        Physical::I64 => run!(i64, hash_i64),
        Physical::I128 => run!(i128, hash_i128),
        Physical::F32 => run!(f32, |v: f32| hash_f64(v.into())),
        Physical::F64 => run!(f64, hash_f64),
        Physical::Interval => run!(Interval, hash_interval),
        // SAFETY: whoever made the values keeps the payload alive.
        Physical::Str => run!(Str, |v: Str| unsafe { hash_text(v) }),
    }
}

/// The hash of one value, as [`each_hash`] has it.
#[inline]
pub(crate) fn hash_one(values: Values<'_>, row: usize) -> u64 {
    let mut hash = 0;
    each_hash(values, row, row + 1, |_, found| hash = found);
    hash
}

/// Hashes of the key values of the rows `from..to` into `out`, as joins hash several keys.
pub(crate) fn hash_keys(columns: &[Values<'_>], from: usize, to: usize, out: &mut Vec<u64>) {
    out.clear();
    out.resize(to - from, 0);
    for (k, &column) in columns.iter().enumerate() {
        if k == 0 {
            each_hash(column, from, to, |row, h| out[row - from] = h);
        } else {
            each_hash(column, from, to, |row, h| out[row - from] = combine(out[row - from], h));
        }
    }
}

/// The hash of a text.
///
/// # Safety
/// The payload must be alive.
#[inline(always)]
pub(crate) unsafe fn hash_text(text: Str) -> u64 {
    // SAFETY: the caller vouches for the payload.
    if text.is_inline() { hash_inline(text.words()) } else { hash_bytes(unsafe { text.bytes() }) }
}

/// A string's hash for estimates: of a long one, only the length and the first and last 16 bytes count.
///
/// # Safety
/// The payload must be alive.
#[inline(always)]
pub(crate) unsafe fn hash_ends(s: Str) -> u64 {
    const END: usize = 16;
    if s.is_inline() {
        return hash_inline(s.words());
    }
    // SAFETY: the caller vouches for the payload.
    let bytes = unsafe { s.bytes() };
    if bytes.len() <= 2 * END {
        return hash_bytes(bytes);
    }
    let mut ends = [0; 2 * END];
    ends[..END].copy_from_slice(&bytes[..END]);
    ends[END..].copy_from_slice(&bytes[bytes.len() - END..]);
    combine(bytes.len() as u64, hash_bytes(&ends))
}

/// Whether two values of one type are equal (neither is NULL).
pub(crate) fn equal_values(a: Values<'_>, i: usize, b: Values<'_>, j: usize) -> bool {
    macro_rules! same {
        ($t:ty) => {
            a.get::<$t>(i) == b.get::<$t>(j)
        };
    }
    match a.physical() {
        Physical::Bool => same!(u8),
        Physical::I16 => same!(i16),
        Physical::I32 => same!(i32),
        Physical::I64 => same!(i64),
        Physical::I128 => same!(i128),
        Physical::F32 => hash_f64(a.get::<f32>(i).into()) == hash_f64(b.get::<f32>(j).into()),
        Physical::F64 => hash_f64(a.get::<f64>(i)) == hash_f64(b.get::<f64>(j)),
        Physical::Interval => a.get::<Interval>(i).approximate_micros() == b.get::<Interval>(j).approximate_micros(),
        // SAFETY: whoever made the values keeps their payload alive.
        Physical::Str => unsafe { a.get::<Str>(i).equals(&b.get::<Str>(j)) },
    }
}
