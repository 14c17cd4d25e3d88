//! Single rows: each value is written where it stays, and compared with what is known of its column, in one step.

use std::borrow::Borrow;
use std::sync::Arc;

use base::Result;
use types::{Buffer, Datum, Physical, Str, Value};

use super::{OpenChunk, OpenColumn};
use crate::statistics::{Bounds, Known};

/// Which columns of a row that was appended change what is known of them, or may: their values are NULL, or perhaps outside of the
/// bounds. A bit for each; the last one for all that have none of their own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Appended(u64);

impl Appended {
    const LAST: usize = u64::BITS as usize - 1;

    fn mark(&mut self, column: usize) {
        self.0 |= 1 << column.min(Self::LAST);
    }

    /// These of so many columns.
    pub(crate) fn columns(self, columns: usize) -> impl Iterator<Item = usize> {
        let mut left = self.0 & !(1 << Self::LAST);
        let own = std::iter::from_fn(move || {
            let column = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(column)
        });
        own.chain((Self::LAST..columns).take_while(move |_| self.0 >> Self::LAST != 0))
    }

    /// Whether there is none.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl OpenChunk {
    /// Appends one row of values of the columns' types, for which there [`is room`](Self::make_room).
    pub(crate) fn append_row(&mut self, row: &[impl Borrow<Value>]) -> Result<Appended> {
        assert!(self.rows < self.capacity && row.len() == self.columns.len());
        let (mut done, mut has_grown) = (Appended::default(), false);
        for (number, (column, value)) in self.columns.iter_mut().zip(row).enumerate() {
            let value = value.borrow();
            let is_null = value.is_null();
            if !column.append_value(self.rows, value) {
                done.mark(number);
            }
            if is_null || column.nulls.is_some() {
                has_grown |= column.flag(self.rows, self.capacity, is_null);
            }
            has_grown |= std::mem::take(&mut column.has_new_block);
        }
        self.rows += 1;
        if has_grown {
            self.take_memory()?;
        }
        Ok(done)
    }

    /// From now on [`append_row`](Self::append_row) knows these bounds of a column, which only widen.
    pub(crate) fn know(&mut self, column: usize, bounds: &Bounds) {
        let column = &mut self.columns[column];
        column.known = Known::of(bounds, column.physical);
    }
}

impl OpenColumn {
    /// Writes the value of the row `at`, for which there is room. Whether it is within what is known of the column.
    #[inline]
    fn append_value(&mut self, at: usize, value: &Value) -> bool {
        match (value, self.physical) {
            (Value::Int(number), Physical::I32) if let Ok(value) = i32::try_from(*number) => {
                self.write(at, value.to_ne_bytes());
                self.known.has_number(*number)
            }
            (Value::Date(number) | Value::Enum(number), Physical::I32) => {
                self.write(at, number.to_ne_bytes());
                self.known.has_number((*number).into())
            }
            (Value::Int(number) | Value::Timestamp(number), Physical::I64) => {
                self.write(at, number.to_ne_bytes());
                self.known.has_number(*number)
            }
            (Value::Decimal(number), Physical::I64) if let Ok(number) = i64::try_from(*number) => {
                self.write(at, number.to_ne_bytes());
                self.known.has_number(number)
            }
            (Value::Str(text), Physical::Str) => {
                let header = match text.len() {
                    ..=Str::INLINE => Str::new(text.as_bytes()),
                    _ => self.copy_payload(text.as_bytes()),
                };
                let [low, high] = header.words().map(u64::to_ne_bytes);
                self.write(at, std::array::from_fn::<u8, 16, _>(|i| if i < 8 { low[i] } else { high[i - 8] }));
                self.known.has_text(text.as_bytes())
            }
            _ => self.append_any(at, value),
        }
    }

    /// As [`append_value`](Self::append_value), of values that are seldom in rows that come one by one, NULL among them.
    fn append_any(&mut self, at: usize, value: &Value) -> bool {
        let datum = Datum::new(value, self.sql_type);
        let bytes = datum.bytes();
        let size = self.physical.size();
        assert!(self.physical != Physical::Str || datum.is_null());
        assert!((at + 1) * size <= self.values.capacity() && bytes.len() == size);
        // SAFETY: in bounds, as asserted, and behind every view, as in `append`.
        unsafe {
            self.values.as_ptr().cast_mut().add(at * size).copy_from_nonoverlapping(bytes.as_ptr(), size);
        }
        false
    }

    #[inline]
    fn write<const SIZE: usize>(&mut self, at: usize, bytes: [u8; SIZE]) {
        assert!((at + 1) * SIZE <= self.values.capacity());
        debug_assert_eq!(SIZE, self.physical.size());
        // SAFETY: in bounds, as asserted, and behind every view, as in `append`.
        unsafe { self.values.as_ptr().cast_mut().add(at * SIZE).cast::<[u8; SIZE]>().write(bytes) };
    }

    /// Says whether the row `at` is NULL. Whether that has taken memory.
    fn flag(&mut self, at: usize, capacity: usize, is_null: bool) -> bool {
        let is_new = self.nulls.is_none();
        let flags = self.nulls.get_or_insert_with(|| Arc::new(Buffer::zeroed(capacity)));
        assert!(at < flags.capacity());
        // SAFETY: in bounds, and behind every view.
        unsafe { flags.as_ptr().cast_mut().add(at).write(is_null.into()) };
        is_new
    }
}
