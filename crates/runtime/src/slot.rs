//! Values of any type as generated code passes them to Rust.

use std::sync::Arc;

use base::{Error, Result};
use types::ops::uuid;
use types::{Interval, Physical, SqlType, Str, Value};

/// One value of any type as it is passed to and from Rust: integers and booleans zero- or sign-extended to at least 8
/// bytes, floats by their bits, strings and intervals by their 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Slot(pub [u64; 2]);

const fn extended(value: i128) -> Slot {
    Slot([value as u64, (value >> 64) as u64])
}

/// The slot of a value of `sql_type`; NULL is all zero. Strings are made by `text`.
pub fn slot_of(value: &Value, sql_type: SqlType, mut text: impl FnMut(&Arc<str>) -> Result<Str>) -> Result<Slot> {
    Ok(match value {
        Value::Null => Slot::default(),
        Value::Bool(b) => extended(i128::from(*b)),
        Value::Int(i) | Value::Time(i) | Value::Timetz(i) | Value::Timestamp(i) => extended(i128::from(*i)),
        Value::Decimal(d) => extended(*d),
        Value::Date(d) | Value::Enum(d) => extended(i128::from(*d)),
        Value::Float(f) if sql_type == SqlType::Real => Slot([u64::from((*f as f32).to_bits()), 0]),
        Value::Float(f) => Slot([f.to_bits(), 0]),
        Value::Str(s) => Slot(text(s)?.words()),
        Value::Interval(i) => Slot(interval_words(*i)),
        Value::Uuid(u) => extended(uuid::stored(*u)),
    })
}

/// The value in a slot.
///
/// # Safety
/// The slot must hold a value of the type; a string's payload must be alive.
pub unsafe fn value_of(slot: Slot, sql_type: SqlType) -> Value {
    let Slot([lo, hi]) = slot;
    let stored: i128 = match sql_type.physical() {
        Physical::Bool => (lo as u8).into(),
        Physical::I16 => (lo as i16).into(),
        Physical::I32 => (lo as i32).into(),
        Physical::I64 => (lo as i64).into(),
        Physical::I128 => wide(lo, hi),
        Physical::F32 => return Value::Float(f32::from_bits(lo as u32).into()),
        Physical::F64 => return Value::Float(f64::from_bits(lo)),
        Physical::Str => {
            let text = slot.as_str();
            // SAFETY: the caller vouches for the payload.
            return Value::str(unsafe { text.as_str() });
        }
        Physical::Interval => return Value::Interval(interval(lo, hi)),
    };
    // A bare NULL has no other value.
    Value::of_integer(sql_type, stored).unwrap_or(Value::Null)
}

/// The 128-bit integer of two words.
#[inline]
pub(crate) fn wide(lo: u64, hi: u64) -> i128 {
    (i128::from(hi as i64) << 64) | i128::from(lo)
}

/// The interval in two words.
#[inline]
pub(crate) fn interval(lo: u64, hi: u64) -> Interval {
    Interval { months: lo as i32, days: (lo >> 32) as i32, micros: hi as i64 }
}

/// The words of an interval.
#[inline]
pub(crate) fn interval_words(i: Interval) -> [u64; 2] {
    [u64::from(i.months as u32) | (u64::from(i.days as u32) << 32), i.micros as u64]
}

impl Slot {
    /// The slot of an integer, sign-extended.
    #[inline]
    pub fn integer(value: i128) -> Self {
        extended(value)
    }
    /// The slot of a boolean.
    #[inline]
    pub fn bool(value: bool) -> Self {
        Self([value.into(), 0])
    }
    /// The slot of a double.
    #[inline]
    pub fn f64(value: f64) -> Self {
        Self([value.to_bits(), 0])
    }
    /// The slot of a string header.
    #[inline]
    pub fn str(value: Str) -> Self {
        Self(value.words())
    }
    /// The 64-bit integer.
    #[inline]
    pub fn as_i64(self) -> i64 {
        self.0[0] as i64
    }
    /// The 128-bit integer.
    #[inline]
    pub fn as_i128(self) -> i128 {
        wide(self.0[0], self.0[1])
    }
    /// The double.
    #[inline]
    pub fn as_f64(self) -> f64 {
        f64::from_bits(self.0[0])
    }
    /// The string header.
    #[inline]
    pub fn as_str(self) -> Str {
        Str::from_words(self.0)
    }
    /// The interval.
    #[inline]
    pub fn as_interval(self) -> Interval {
        interval(self.0[0], self.0[1])
    }
}

/// For values that cannot be of the type that the program says: a bug.
#[cold]
pub(crate) fn mismatch(value: &Value, sql_type: SqlType) -> Error {
    Error::internal(format!("{value:?} is not a value of type {sql_type}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_slots() {
        let interval = Interval { months: -1, days: 2, micros: -3 };
        let cases = [
            (Value::Bool(true), SqlType::Bool),
            (Value::Int(-5), SqlType::SmallInt),
            (Value::Int(-5), SqlType::Integer),
            (Value::Int(i64::MIN), SqlType::BigInt),
            (Value::Decimal(-12), SqlType::decimal(10, 2)),
            (Value::Decimal(i128::MIN + 5), SqlType::decimal(38, 2)),
            (Value::Float(1.5), SqlType::Real),
            (Value::Float(-0.1), SqlType::Double),
            (Value::str("a text of more than twelve bytes"), SqlType::Text),
            (Value::Date(-1), SqlType::Date),
            (Value::Timestamp(-1), SqlType::Timestamp),
            (Value::Timestamp(-1), SqlType::Timestamptz),
            (Value::Time(1), SqlType::Time),
            (Value::Uuid(7), SqlType::Uuid),
            (Value::Uuid(u128::MAX), SqlType::Uuid),
            (Value::Interval(interval), SqlType::Interval),
        ];
        for (value, sql_type) in cases {
            let slot = slot_of(&value, sql_type, |s| Ok(Str::new(s.as_bytes()))).unwrap();
            // SAFETY: the slot was made of a value of the type, which is alive.
            assert_eq!(unsafe { value_of(slot, sql_type) }, value);
        }
    }
}
