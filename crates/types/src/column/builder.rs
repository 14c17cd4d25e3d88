//! Building columns row by row or run by run.

use std::sync::Arc;

use super::{Buffer, Column, Datum, Plain};
use crate::{Physical, SqlType, Str, Value};

const HEAP_BLOCK: usize = 64 << 10;

/// Builds a [`Column`]. String payload goes to heap blocks that never move, so headers stay valid while it grows.
#[derive(Debug)]
pub struct ColumnBuilder {
    sql_type: SqlType,
    rows: usize,
    values: Buffer,
    nulls: Option<Buffer>,
    heaps: Vec<Arc<Buffer>>,
    heap: Buffer,
}

impl ColumnBuilder {
    /// A builder with room for `rows` rows.
    pub fn new(sql_type: SqlType, rows: usize) -> Self {
        Self {
            sql_type,
            rows: 0,
            values: Buffer::with_capacity(rows * sql_type.physical().size()),
            nulls: None,
            heaps: Vec::new(),
            heap: Buffer::with_capacity(0),
        }
    }

    /// The type of the column.
    pub fn sql_type(&self) -> SqlType {
        self.sql_type
    }
    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.values.capacity()
            + self.nulls.as_ref().map_or(0, Buffer::capacity)
            + self.heap.capacity()
            + self.heaps.iter().map(|h| h.capacity()).sum::<usize>()
    }

    /// Appends a value of the physical layout. Strings go through [`push_str`](Self::push_str).
    #[inline]
    pub fn push<T: Plain>(&mut self, value: T) {
        // A header that is not made here may point anywhere.
        assert!(self.sql_type.physical() != Physical::Str, "strings are pushed as strings");
        self.append(value);
    }

    #[inline]
    fn append<T: Plain>(&mut self, value: T) {
        debug_assert_eq!(size_of::<T>(), self.sql_type.physical().size());
        self.values.push(value);
        self.rows += 1;
        if let Some(nulls) = &mut self.nulls {
            nulls.push(0u8);
        }
    }

    /// Appends values of the physical layout, one behind the other as their bytes. There are no strings among them.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        let size = self.sql_type.physical().size();
        assert!(
            self.sql_type.physical() != Physical::Str && bytes.len().is_multiple_of(size),
            "whole values of a fixed size"
        );
        self.values.extend(bytes);
        let rows = bytes.len() / size;
        self.rows += rows;
        if let Some(nulls) = &mut self.nulls {
            (0..rows).for_each(|_| nulls.push(0u8));
        }
    }

    /// Appends a NULL.
    pub fn push_null(&mut self) {
        let size = self.sql_type.physical().size();
        self.values.extend(&[0u8; 16][..size]);
        let nulls = self.nulls.get_or_insert_with(|| {
            let mut nulls = Buffer::zeroed(self.rows);
            nulls.reserve(self.values.capacity() / size - self.rows);
            nulls
        });
        nulls.push(1u8);
        self.rows += 1;
    }

    /// Appends a string, which is copied.
    #[inline]
    pub fn push_str(&mut self, text: &str) {
        assert!(self.sql_type.physical() == Physical::Str, "only string columns hold strings");
        let header =
            if text.len() <= Str::INLINE { Str::new(text.as_bytes()) } else { self.copy_to_heap(text.as_bytes()) };
        self.append(header);
    }

    fn copy_to_heap(&mut self, bytes: &[u8]) -> Str {
        if self.heap.capacity() - self.heap.len() < bytes.len() {
            // Of one row there is one text.
            let least = if self.values.capacity() > size_of::<Str>() { 1 << 10 } else { 0 };
            let size = (self.heap.capacity() * 2).clamp(least, HEAP_BLOCK).max(bytes.len());
            let full = std::mem::replace(&mut self.heap, Buffer::with_capacity(size));
            if !full.is_empty() {
                self.heaps.push(Arc::new(full));
            }
        }
        let at = self.heap.len();
        // There is room, so the buffer does not move and earlier headers stay valid.
        self.heap.extend(bytes);
        Str::new(&self.heap.as_slice()[at..])
    }

    /// Appends a value of the column's type; panics if it is of another kind.
    pub fn push_value(&mut self, value: &Value) {
        match value {
            Value::Null => self.push_null(),
            Value::Str(text) => self.push_str(text),
            _ => {
                self.values.extend(Datum::new(value, self.sql_type).bytes());
                self.rows += 1;
                if let Some(nulls) = &mut self.nulls {
                    nulls.push(0u8);
                }
            }
        }
    }

    /// The finished column.
    pub fn finish(mut self) -> Column {
        self.values.shrink();
        if !self.heap.is_empty() {
            // Not shrunk: that could move bytes that headers point to.
            self.heaps.push(Arc::new(self.heap));
        }
        // SAFETY: headers come from `push_str` alone: of a `str`'s bytes, in themselves or in blocks of the heap, which
        // are all among `heaps` and are not written to again.
        unsafe { Column::new(self.sql_type, self.rows, Arc::new(self.values), self.nulls.map(Arc::new), self.heaps) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "strings are pushed as strings")]
    fn no_header_is_taken_from_outside() {
        ColumnBuilder::new(SqlType::Text, 1).push(Str::from_words([100, 8]));
    }

    #[test]
    fn what_goes_in_comes_out() {
        let long = "x".repeat(1000);
        let mut b = ColumnBuilder::new(SqlType::Text, 0);
        let texts: Vec<Value> = (0..1000)
            .map(|i| match i % 3 {
                0 => Value::Null,
                1 => Value::str(format!("{i}")),
                _ => Value::str(format!("{long}{i}")),
            })
            .collect();
        texts.iter().for_each(|t| b.push_value(t));
        let column = b.finish();
        assert_eq!((0..1000).map(|i| column.value(i)).collect::<Vec<_>>(), texts);
        let mut b = ColumnBuilder::new(SqlType::decimal(20, 2), 1);
        b.push_value(&Value::Decimal(-7));
        b.push_null();
        let column = b.finish();
        assert_eq!(column.value(0), Value::Decimal(-7));
        assert!(column.value(1).is_null() && column.nulls() == Some(&[0, 1]));
    }
}
