//! Between rows and columns: operands are gathered out of sorted rows, results put into them.
//!
//! Morsels fill disjoint ranges of memory that is allocated at once, and charged.

use std::ops::Range;

use base::memory::{Buffer, Reservation};
use base::{Budget, Result};
use pipeline::ir::WindowField;
use types::{Interval, Physical, SqlType, Str};

use super::OPERATOR;
use super::column::{Column, Form, Out, OutValues, Values};

/// Values of each form.
enum Forms {
    I64(Buffer<i64>),
    I128(Buffer<i128>),
    F64(Buffer<f64>),
    Str(Buffer<Str>),
    Interval(Buffer<Interval>),
}

/// A column that morsels fill.
pub(super) struct Filling {
    values: Forms,
    nulls: Option<Buffer<u8>>,
    charged: Reservation,
}

impl std::fmt::Debug for Filling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Filling")
    }
}

impl Filling {
    /// Room for `rows` values of a type, some of which may be NULL if it is `nullable`.
    pub(super) fn new(sql_type: SqlType, nullable: bool, rows: usize, budget: &Budget) -> Result<Self> {
        let form = Form::of(sql_type);
        let width = match form {
            Form::I64 | Form::F64 => 8,
            Form::I128 | Form::Str | Form::Interval => 16,
        };
        let charged = budget.reserve(rows * (width + usize::from(nullable)), OPERATOR)?;
        // SAFETY: any bits are a number, the header of a text (which nobody follows before it is written) and an interval.
        let (values, nulls) = unsafe {
            let values = match form {
                Form::I64 => Forms::I64(Buffer::recycled(rows)),
                Form::I128 => Forms::I128(Buffer::recycled(rows)),
                Form::F64 => Forms::F64(Buffer::recycled(rows)),
                Form::Str => Forms::Str(Buffer::recycled(rows)),
                Form::Interval => Forms::Interval(Buffer::recycled(rows)),
            };
            (values, nullable.then(|| Buffer::recycled(rows)))
        };
        Ok(Self { values, nulls, charged })
    }

    /// The column, once all is filled, and what it is charged with.
    pub(super) fn finish(self) -> (Column, Reservation) {
        let values = match self.values {
            Forms::I64(cells) => Values::I64(cells),
            Forms::I128(cells) => Values::I128(cells),
            Forms::F64(cells) => Values::F64(cells),
            Forms::Str(cells) => Values::Str(cells),
            Forms::Interval(cells) => Values::Interval(cells),
        };
        let nulls = self.nulls.filter(|nulls| nulls.contains(&1));
        (Column { values, nulls }, self.charged)
    }

    /// Takes the values of a field of sorted rows, of which the first is row number `at`.
    ///
    /// # Safety
    /// They must be rows of the field's layout, and nobody else may touch these places.
    pub(super) unsafe fn gather(&self, field: &WindowField, at: usize, rows: &[*mut u8]) {
        let range = at..at + rows.len();
        let WindowField { offset, null, sql_type } = *field;
        // SAFETY: the field lies in the rows and holds such a value; as the caller promises.
        unsafe {
            match &self.values {
                Forms::I64(cells) => {
                    let out = cells.places(range.clone());
                    match sql_type.physical() {
                        Physical::Bool => read(out, rows, offset, |x: u8| x.into()),
                        Physical::I16 => read(out, rows, offset, |x: i16| x.into()),
                        Physical::I32 => read(out, rows, offset, |x: i32| x.into()),
                        _ => read(out, rows, offset, |x: i64| x),
                    }
                }
                Forms::I128(cells) => read(cells.places(range.clone()), rows, offset, |x: i128| x),
                Forms::F64(cells) if sql_type.physical() == Physical::F32 => {
                    read(cells.places(range.clone()), rows, offset, |x: f32| x.into());
                }
                Forms::F64(cells) => read(cells.places(range.clone()), rows, offset, |x: f64| x),
                Forms::Str(cells) => read(cells.places(range.clone()), rows, offset, |x: Str| x),
                Forms::Interval(cells) => read(cells.places(range.clone()), rows, offset, |x: Interval| x),
            }
            if let (Some(nulls), Some(null)) = (&self.nulls, null) {
                read(nulls.places(range), rows, null, |x: u8| x);
            }
        }
    }

    /// The places of some rows, to be written.
    ///
    /// # Safety
    /// Nobody else may touch these places.
    pub(super) unsafe fn out(&self, rows: Range<usize>) -> Out<'_> {
        // SAFETY: as the caller promises.
        unsafe {
            let values = match &self.values {
                Forms::I64(cells) => OutValues::I64(cells.places(rows.clone())),
                Forms::I128(cells) => OutValues::I128(cells.places(rows.clone())),
                Forms::F64(cells) => OutValues::F64(cells.places(rows.clone())),
                Forms::Str(cells) => OutValues::Str(cells.places(rows.clone())),
                Forms::Interval(cells) => OutValues::Interval(cells.places(rows.clone())),
            };
            let nulls = self.nulls.as_ref().expect("results may be NULL");
            Out { values, nulls: nulls.places(rows) }
        }
    }
}

/// # Safety
/// The rows must hold a `T` at the offset.
#[inline(always)]
unsafe fn read<T: Copy, U>(out: &mut [U], rows: &[*mut u8], offset: u32, widen: impl Fn(T) -> U) {
    for (out, &row) in out.iter_mut().zip(rows) {
        // SAFETY: as the caller promises; rows are aligned to 8 only.
        *out = widen(unsafe { row.add(offset as usize).cast::<T>().read_unaligned() });
    }
}

/// Puts the results of rows from number `at` on into a field of theirs.
///
/// # Safety
/// They must be rows of the field's layout, which nobody else reads or writes.
pub(super) unsafe fn put(column: &Column, field: &WindowField, at: usize, rows: &[*mut u8]) {
    let range = at..at + rows.len();
    let WindowField { offset, null, sql_type } = *field;
    // SAFETY: the field lies in the rows; as the caller promises.
    unsafe {
        match &column.values {
            Values::I64(values) => {
                let values = &values[range.clone()];
                match sql_type.physical() {
                    Physical::Bool => write(values, rows, offset, |x| x as u8),
                    Physical::I16 => write(values, rows, offset, |x| x as i16),
                    Physical::I32 => write(values, rows, offset, |x| x as i32),
                    _ => write(values, rows, offset, |x| x),
                }
            }
            Values::I128(values) => write(&values[range.clone()], rows, offset, |x| x),
            Values::F64(values) if sql_type.physical() == Physical::F32 => {
                write(&values[range.clone()], rows, offset, |x| x as f32);
            }
            Values::F64(values) => write(&values[range.clone()], rows, offset, |x| x),
            Values::Str(values) => {
                // What stands beside a NULL flag is a text, too.
                for (at, &row) in range.clone().zip(rows) {
                    let is_null = column.nulls.as_ref().is_some_and(|nulls| nulls[at] != 0);
                    let text = if is_null { Str::EMPTY } else { values[at] };
                    row.add(offset as usize).cast::<Str>().write_unaligned(text);
                }
            }
            Values::Interval(values) => write(&values[range.clone()], rows, offset, |x| x),
        }
        match (&column.nulls, null) {
            (Some(nulls), Some(null)) => write(&nulls[range], rows, null, |x| x),
            (None, Some(null)) => rows.iter().for_each(|row| row.add(null as usize).write(0)),
            // A function that has no NULLs.
            (_, None) => debug_assert!(column.nulls.is_none()),
        }
    }
}

/// # Safety
/// The rows must have room for a `U` at the offset.
#[inline(always)]
unsafe fn write<T: Copy, U>(values: &[T], rows: &[*mut u8], offset: u32, narrow: impl Fn(T) -> U) {
    for (&value, &row) in values.iter().zip(rows) {
        // SAFETY: as the caller promises; rows are aligned to 8 only.
        unsafe { row.add(offset as usize).cast::<U>().write_unaligned(narrow(value)) };
    }
}
