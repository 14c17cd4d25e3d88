//! Comparing rows: a normalised 64-bit prefix of the key first, the rows themselves where prefixes are equal.

use std::cmp::Ordering;

use pipeline::ir::{SortField, Ty};
use types::value::compare_floats;
use types::{Interval, Str};

/// A row to be sorted: if prefixes differ, their order is that of the rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) prefix: u64,
    pub(super) row: *mut u8,
}
// SAFETY: rows are only read while they are sorted.
unsafe impl Send for Item {}
// SAFETY: as above.
unsafe impl Sync for Item {}

/// An order of rows.
#[derive(Clone, Debug)]
pub struct Order {
    keys: Box<[SortField]>,
    /// How many leading keys the prefix holds part of.
    prefixed: usize,
    /// How many leading keys the prefix holds completely.
    complete: usize,
}

/// Bits that a key takes in a prefix, its NULL flag included, and whether they are all of it.
fn width(key: &SortField) -> (u32, bool) {
    let (bits, complete) = match key.ty {
        Ty::Bool => (1, true),
        Ty::I16 => (16, true),
        Ty::I32 | Ty::F32 => (32, true),
        Ty::I64 | Ty::F64 | Ty::Ptr => (64, true),
        Ty::I128 | Ty::Str | Ty::Interval => (64, false),
    };
    (bits + u32::from(key.null.is_some()), complete)
}

impl Order {
    /// The order by `keys`, most significant first.
    pub fn new(keys: &[SortField]) -> Self {
        let (mut prefixed, mut complete, mut used) = (0, 0, 0);
        for key in keys {
            if used >= 64 {
                break;
            }
            let (bits, whole) = width(key);
            used += bits;
            prefixed += 1;
            if !whole || used > 64 {
                break;
            }
            complete = prefixed;
        }
        Self { keys: keys.into(), prefixed, complete }
    }

    /// # Safety
    /// `row` must be a row of the layout that the keys were made for, with all strings alive.
    pub(super) unsafe fn prefix(&self, row: *const u8) -> u64 {
        let (mut prefix, mut left) = (0u64, 64);
        for key in &self.keys[..self.prefixed] {
            // SAFETY: as the caller promises.
            let null = unsafe { is_null(key, row) };
            if key.null.is_some() {
                left -= 1;
                prefix |= u64::from(null != key.nulls_first) << left;
            }
            if left == 0 {
                break;
            }
            let (bits, _) = width(key);
            let bits = bits - u32::from(key.null.is_some());
            let value = if null {
                0
            } else {
                // SAFETY: as the caller promises.
                let value = unsafe { normalised(key, row) };
                let mask = u64::MAX >> (64 - bits);
                if key.descending { !value & mask } else { value }
            };
            let taken = bits.min(left);
            left -= taken;
            prefix |= (value >> (bits - taken)) << left;
            if left == 0 {
                break;
            }
        }
        prefix
    }

    /// Order of two rows; never equal for different rows.
    ///
    /// # Safety
    /// As [`prefix`](Self::prefix), for both.
    #[inline]
    pub(super) unsafe fn compare(&self, a: &Item, b: &Item) -> Ordering {
        // SAFETY: as the caller promises.
        a.prefix.cmp(&b.prefix).then_with(|| unsafe { self.compare_rest(a.row, b.row) })
    }

    unsafe fn compare_rest(&self, a: *const u8, b: *const u8) -> Ordering {
        for key in &self.keys[self.complete..] {
            // SAFETY: as the caller of `compare` promises.
            let order = unsafe { compare_key(key, a, b) };
            if order != Ordering::Equal {
                return order;
            }
        }
        a.cmp(&b)
    }

    /// Order of two rows by all of their keys.
    ///
    /// # Safety
    /// Both must be rows of the layout that the keys were made for, with all strings alive.
    pub unsafe fn compare_rows(&self, a: *const u8, b: *const u8) -> Ordering {
        let mut keys = self.keys.iter();
        // SAFETY: as the caller promises.
        keys.find_map(|key| Some(unsafe { compare_key(key, a, b) }).filter(|o| o.is_ne())).unwrap_or(Ordering::Equal)
    }

    /// Whether two rows agree in the first `keys` keys.
    ///
    /// # Safety
    /// As [`compare_rows`](Self::compare_rows).
    pub(super) unsafe fn agree(&self, keys: usize, a: *const u8, b: *const u8) -> bool {
        // SAFETY: as the caller promises.
        self.keys[..keys].iter().all(|key| unsafe { compare_key(key, a, b) }.is_eq())
    }

    /// Makes the prefixes and sorts.
    ///
    /// # Safety
    /// As [`prefix`](Self::prefix), for all.
    pub(super) unsafe fn sort(&self, items: &mut [Item]) {
        // SAFETY: as the caller promises.
        unsafe {
            items.iter_mut().for_each(|item| item.prefix = self.prefix(item.row));
            items.sort_unstable_by(|a, b| self.compare(a, b));
        }
    }
}

unsafe fn is_null(key: &SortField, row: *const u8) -> bool {
    // SAFETY: the flag lies in the row.
    key.null.is_some_and(|offset| unsafe { *row.add(offset as usize) } != 0)
}

/// Reads a value of a row; rows are aligned to 8 only.
unsafe fn read<T: Copy>(key: &SortField, row: *const u8) -> T {
    // SAFETY: the field lies in the row and holds a `T`.
    unsafe { row.add(key.offset as usize).cast::<T>().read_unaligned() }
}

/// The value as an unsigned integer of `width` bits (less the NULL flag) in the same order.
unsafe fn normalised(key: &SortField, row: *const u8) -> u64 {
    const TOP: u64 = 1 << 63;
    // SAFETY: the field holds a value of the type.
    unsafe {
        match key.ty {
            Ty::Bool => read::<u8>(key, row).into(),
            Ty::I16 => (read::<i16>(key, row) as u16 ^ (1 << 15)).into(),
            Ty::I32 => (read::<i32>(key, row) as u32 ^ (1 << 31)).into(),
            Ty::I64 => read::<i64>(key, row) as u64 ^ TOP,
            Ty::Ptr => read::<u64>(key, row),
            Ty::F32 => {
                let value = read::<f32>(key, row);
                let bits = if value.is_nan() { f32::NAN.to_bits() & !(1 << 31) } else { (value + 0.0).to_bits() };
                (if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }).into()
            }
            Ty::F64 => {
                let value = read::<f64>(key, row);
                let bits = if value.is_nan() { f64::NAN.to_bits() & !TOP } else { (value + 0.0).to_bits() };
                if bits & TOP != 0 { !bits } else { bits | TOP }
            }
            // Most 128-bit numbers fit 64 bits; the others are told apart by the rows.
            Ty::I128 => saturate(read(key, row)) as u64 ^ TOP,
            Ty::Interval => saturate(read::<Interval>(key, row).approximate_micros()) as u64 ^ TOP,
            Ty::Str => {
                let text: Str = read(key, row);
                let bytes = text.bytes();
                let mut first = [0; 8];
                let n = bytes.len().min(8);
                first[..n].copy_from_slice(&bytes[..n]);
                u64::from_be_bytes(first)
            }
        }
    }
}

fn saturate(value: i128) -> i64 {
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

unsafe fn compare_key(key: &SortField, a: *const u8, b: *const u8) -> Ordering {
    // SAFETY: as the caller of `compare` promises.
    unsafe {
        match (is_null(key, a), is_null(key, b)) {
            (false, false) => {}
            (an, bn) => return if key.nulls_first { bn.cmp(&an) } else { an.cmp(&bn) },
        }
        macro_rules! by {
            ($t:ty) => {
                read::<$t>(key, a).cmp(&read::<$t>(key, b))
            };
        }
        let order = match key.ty {
            Ty::Bool => by!(u8),
            Ty::I16 => by!(i16),
            Ty::I32 => by!(i32),
            Ty::I64 => by!(i64),
            Ty::Ptr => by!(u64),
            Ty::I128 => by!(i128),
            Ty::F32 => compare_floats(read::<f32>(key, a).into(), read::<f32>(key, b).into()),
            Ty::F64 => compare_floats(read(key, a), read(key, b)),
            Ty::Str => read::<Str>(key, a).compare(&read::<Str>(key, b)),
            Ty::Interval => {
                let length = |row| read::<Interval>(key, row).approximate_micros();
                length(a).cmp(&length(b))
            }
        };
        if key.descending { order.reverse() } else { order }
    }
}
