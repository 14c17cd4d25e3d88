//! One value in the form that columns have.

use std::marker::PhantomData;

use crate::ops::uuid;
use crate::{Physical, SqlType, Str, Value};

/// A value as it lies in a column: as many bytes as its layout has, all zero if it is NULL. The bytes of a long string are the
/// value's own.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct Datum<'v> {
    bytes: [u8; 16],
    null: [u8; 1],
    physical: Physical,
    _of: PhantomData<&'v Value>,
}

impl<'v> Datum<'v> {
    /// A value of a type; panics if it is of another kind.
    #[inline]
    pub fn new(value: &'v Value, sql_type: SqlType) -> Self {
        let physical = sql_type.physical();
        let mut datum = Self { bytes: [0; 16], null: [0], physical, _of: PhantomData };
        match (value, physical) {
            (Value::Null, _) => datum.null = [1],
            (Value::Bool(b), Physical::Bool) => datum.put([u8::from(*b)]),
            (Value::Int(i), Physical::I16) => datum.put(narrow::<i16>(*i).to_ne_bytes()),
            (Value::Int(i), Physical::I32) => datum.put(narrow::<i32>(*i).to_ne_bytes()),
            (Value::Int(i) | Value::Time(i) | Value::Timetz(i) | Value::Timestamp(i), Physical::I64) => {
                datum.put(i.to_ne_bytes());
            }
            (Value::Decimal(d), Physical::I64) => datum.put(narrow::<i64>(*d).to_ne_bytes()),
            (Value::Decimal(d), Physical::I128) => datum.put(d.to_ne_bytes()),
            (Value::Uuid(u), Physical::I128) => datum.put(uuid::stored(*u).to_ne_bytes()),
            (Value::Float(f), Physical::F32) => datum.put((*f as f32).to_ne_bytes()),
            (Value::Float(f), Physical::F64) => datum.put(f.to_ne_bytes()),
            (Value::Date(d) | Value::Enum(d), Physical::I32) => datum.put(d.to_ne_bytes()),
            (Value::Str(s), Physical::Str) => {
                let [low, high] = Str::new(s.as_bytes()).words();
                datum.put(low.to_ne_bytes());
                datum.bytes[8..].copy_from_slice(&high.to_ne_bytes());
            }
            (Value::Interval(i), Physical::Interval) => {
                datum.put(i.months.to_ne_bytes());
                datum.bytes[4..8].copy_from_slice(&i.days.to_ne_bytes());
                datum.bytes[8..].copy_from_slice(&i.micros.to_ne_bytes());
            }
            (value, _) => panic!("{value:?} is not a value of type {sql_type}"),
        }
        datum
    }

    fn put<const SIZE: usize>(&mut self, bytes: [u8; SIZE]) {
        self.bytes[..SIZE].copy_from_slice(&bytes);
    }

    /// Its layout.
    #[inline]
    pub fn physical(&self) -> Physical {
        self.physical
    }
    /// As it lies in a column, aligned.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.physical.size()]
    }
    /// Its NULL flag, if it is NULL.
    #[inline]
    pub fn nulls(&self) -> Option<&[u8]> {
        self.is_null().then_some(&self.null)
    }
    /// Whether it is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.null[0] != 0
    }
}

fn narrow<T>(value: impl TryInto<T>) -> T {
    value.try_into().ok().expect("value of the column's type")
}
