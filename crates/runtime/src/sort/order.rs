//! The order of a sort's rows: by the keys as SQL compares them, then by everything else that the rows hold.
//!
//! The second part decides ties. Rows that are still equal then hold the same bytes, so it does not matter which comes
//! first: the order does not depend on addresses, hence neither on the schedule nor on the number of workers.

use std::cmp::Ordering;

use pipeline::ir::{RowLayout, SortField, Ty};
use types::value::compare_floats;
use types::{Interval, Str, Value};

/// A field of a row, and how its values are ordered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) offset: u32,
    pub(super) ty: Ty,
    /// Where its NULL flag is, if it can be NULL.
    pub(super) null: Option<u32>,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
    /// By all of the value's bits where SQL takes values for equal that differ: floats and intervals.
    pub(super) by_bits: bool,
}

/// A total order of rows.
#[derive(Clone, Debug)]
pub struct Order {
    /// The keys, most significant first, then what decides ties.
    pub(super) fields: Box<[Field]>,
    /// How many of them are keys.
    pub(super) keys: usize,
}

impl Order {
    /// The order by `keys`, most significant first, of rows of a layout.
    pub fn new(keys: &[SortField], layout: &RowLayout) -> Self {
        let mut fields: Vec<Field> = keys.iter().map(Field::key).collect();
        let is_flag = |offset: u32| layout.fields.iter().any(|f| f.null == Some(offset));
        let is_told_by_key = |offset| fields.iter().any(|k| k.offset == offset && !k.has_unequal_bits());
        let rest = layout.fields.iter().filter(|f| !is_flag(f.offset) && !is_told_by_key(f.offset));
        let mut rest: Vec<Field> = rest.map(|f| Field::rest(f.offset, f.ty, f.null)).collect();
        // Numbers tell rows apart in fewer bits than texts do.
        rest.sort_by_key(|field| field.ty == Ty::Str);
        fields.extend(rest);
        Self { fields: fields.into(), keys: keys.len() }
    }

    /// Order of two rows; equal only if they hold the same.
    ///
    /// # Safety
    /// Both must be rows of the layout that the order was made for, with all strings alive.
    pub unsafe fn compare(&self, a: *const u8, b: *const u8) -> Ordering {
        // SAFETY: as the caller promises.
        unsafe { compare(&self.fields, a, b) }
    }

    /// Whether two rows agree in the first `keys` keys.
    ///
    /// # Safety
    /// As [`compare`](Self::compare).
    pub(crate) unsafe fn agree(&self, keys: usize, a: *const u8, b: *const u8) -> bool {
        // SAFETY: as the caller promises.
        unsafe { compare(&self.fields[..keys], a, b) }.is_eq()
    }
}

/// Order of two rows by some fields.
///
/// # Safety
/// As [`Order::compare`].
pub(super) unsafe fn compare(fields: &[Field], a: *const u8, b: *const u8) -> Ordering {
    // SAFETY: as the caller promises.
    let order = |field: &Field| Some(unsafe { field.compare(a, b) }).filter(|order| order.is_ne());
    fields.iter().find_map(order).unwrap_or(Ordering::Equal)
}

impl Field {
    fn key(key: &SortField) -> Self {
        let &SortField { offset, ty, null, descending, nulls_first } = key;
        Self { offset, ty, null, descending, nulls_first, by_bits: false }
    }

    fn rest(offset: u32, ty: Ty, null: Option<u32>) -> Self {
        Self { offset, ty, null, descending: false, nulls_first: false, by_bits: true }
    }

    /// Whether SQL takes values for equal whose bits differ.
    fn has_unequal_bits(&self) -> bool {
        matches!(self.ty, Ty::F32 | Ty::F64 | Ty::Interval)
    }

    /// # Safety
    /// As [`Order::compare`].
    #[inline]
    pub(super) unsafe fn is_null(&self, row: *const u8) -> bool {
        // SAFETY: the flag lies in the row.
        self.null.is_some_and(|offset| unsafe { *row.add(offset as usize) } != 0)
    }

    /// Reads the value; rows are aligned to 8 only.
    ///
    /// # Safety
    /// As [`Order::compare`]; the field must hold a `T`.
    #[inline(always)]
    pub(super) unsafe fn read<T: Copy>(&self, row: *const u8) -> T {
        // SAFETY: the field lies in the row and holds a `T`.
        unsafe { row.add(self.offset as usize).cast::<T>().read_unaligned() }
    }

    /// How many bytes a text has; none if it is NULL.
    ///
    /// # Safety
    /// As [`Order::compare`], of a field that is text.
    pub(super) unsafe fn length(&self, row: *const u8) -> usize {
        // SAFETY: as the caller promises.
        unsafe { if self.is_null(row) { 0 } else { self.read::<Str>(row).len() } }
    }

    /// The value; whatever is stored as an integer by its number.
    ///
    /// # Safety
    /// As [`Order::compare`].
    pub(super) unsafe fn value(&self, row: *const u8) -> Value {
        // SAFETY: as the caller promises.
        unsafe {
            if self.is_null(row) {
                return Value::Null;
            }
            match self.ty {
                Ty::Bool => Value::Int(self.read::<u8>(row).into()),
                Ty::I16 => Value::Int(self.read::<i16>(row).into()),
                Ty::I32 => Value::Int(self.read::<i32>(row).into()),
                Ty::I64 | Ty::Ptr => Value::Int(self.read(row)),
                Ty::I128 => Value::Decimal(self.read(row)),
                Ty::F32 => Value::Float(self.read::<f32>(row).into()),
                Ty::F64 => Value::Float(self.read(row)),
                Ty::Str => Value::str(self.read::<Str>(row).as_str()),
                Ty::Interval => Value::Interval(self.read(row)),
            }
        }
    }

    /// Whether a value is told by its [number](super::numbers): not where several are equal.
    pub(super) fn is_told_by_number(&self) -> bool {
        self.by_bits || !self.has_unequal_bits()
    }

    /// Writes a value.
    ///
    /// # Safety
    /// As [`read`](Self::read), and nobody else may read or write the row.
    #[inline(always)]
    pub(super) unsafe fn write<T>(&self, row: *mut u8, value: T) {
        // SAFETY: the field lies in the row and holds a `T`.
        unsafe { row.add(self.offset as usize).cast::<T>().write_unaligned(value) };
    }

    unsafe fn compare(&self, a: *const u8, b: *const u8) -> Ordering {
        // SAFETY: as the caller of `Order::compare` promises.
        unsafe {
            match (self.is_null(a), self.is_null(b)) {
                (false, false) => {}
                (an, bn) => return if self.nulls_first { bn.cmp(&an) } else { an.cmp(&bn) },
            }
            let order = match self.ty {
                Ty::Bool => self.read::<u8>(a).cmp(&self.read(b)),
                Ty::I16 => self.read::<i16>(a).cmp(&self.read(b)),
                Ty::I32 => self.read::<i32>(a).cmp(&self.read(b)),
                Ty::I64 => self.read::<i64>(a).cmp(&self.read(b)),
                Ty::Ptr => self.read::<u64>(a).cmp(&self.read(b)),
                Ty::I128 => self.read::<i128>(a).cmp(&self.read(b)),
                Ty::F32 if self.by_bits => self.read::<f32>(a).total_cmp(&self.read(b)),
                Ty::F64 if self.by_bits => self.read::<f64>(a).total_cmp(&self.read(b)),
                Ty::F32 => compare_floats(self.read::<f32>(a).into(), self.read::<f32>(b).into()),
                Ty::F64 => compare_floats(self.read(a), self.read(b)),
                Ty::Str => self.read::<Str>(a).compare(&self.read(b)),
                Ty::Interval if self.by_bits => interval_bits(self.read(a)).cmp(&interval_bits(self.read(b))),
                Ty::Interval => {
                    let length = |row| self.read::<Interval>(row).approximate_micros();
                    length(a).cmp(&length(b))
                }
            };
            if self.descending { order.reverse() } else { order }
        }
    }
}

/// An interval by its parts.
pub(super) fn interval_bits(i: Interval) -> u128 {
    const SIGN: u32 = 1 << 31;
    let (months, days) = (i.months as u32 ^ SIGN, i.days as u32 ^ SIGN);
    u128::from(months) << 96 | u128::from(days) << 64 | u128::from(i.micros as u64 ^ (1 << 63))
}

/// The interval whose parts [`interval_bits`] gives.
pub(super) fn interval_of(bits: u128) -> Interval {
    const SIGN: u32 = 1 << 31;
    let (months, days) = ((bits >> 96) as u32 ^ SIGN, (bits >> 64) as u32 ^ SIGN);
    Interval { months: months as i32, days: days as i32, micros: (bits as u64 ^ (1 << 63)) as i64 }
}
