//! Columns and chunks: what readers produce, relations store, scans read and results are made of.

mod buffer;
mod builder;
mod coded;
mod datum;

pub use buffer::Buffer;
pub use builder::ColumnBuilder;
use coded::Coded;
pub use datum::Datum;

use std::sync::Arc;

use crate::{Interval, Physical, SqlType, Str, Value};

/// Rows of one column, immutable: an array of values, a byte array of NULL flags (absent if no row is NULL), and the
/// bytes that long strings point to. A NULL row's value is all zero.
#[derive(Clone, Debug)]
pub struct Column {
    sql_type: SqlType,
    rows: usize,
    values: Values,
    nulls: Option<Arc<Buffer>>,
    /// Owners of the string payload: buffers that never move.
    heaps: Vec<Arc<Buffer>>,
}

/// Where the values are.
#[derive(Clone, Debug)]
enum Values {
    Array(Arc<Buffer>),
    Coded(Arc<Coded>),
}

impl Column {
    /// Assembles a column. `values` holds `rows` values of the type's physical layout; `nulls`, if present, one byte a
    /// row (1: NULL).
    ///
    /// # Safety
    /// Every header in the `values` of a string column is one of UTF-8 text, whose bytes, if they are not in the header,
    /// lie in one of `heaps` and never change.
    pub unsafe fn new(
        sql_type: SqlType,
        rows: usize,
        values: Arc<Buffer>,
        nulls: Option<Arc<Buffer>>,
        heaps: Vec<Arc<Buffer>>,
    ) -> Self {
        assert!(values.len() >= rows * sql_type.physical().size());
        assert!(nulls.as_ref().is_none_or(|n| n.len() >= rows));
        Self { sql_type, rows, values: Values::Array(values), nulls, heaps }
    }

    /// A column of these entries, of which each row has the one that its code says, or is NULL. The array of values is made
    /// when it is first asked for.
    ///
    /// # Panics
    /// If a code is of no entry, or an entry NULL.
    pub fn coded(entries: Self, codes: Vec<u16>, nulls: Option<Arc<Buffer>>) -> Self {
        assert!(nulls.as_ref().is_none_or(|n| n.len() >= codes.len()));
        let (sql_type, rows, heaps) = (entries.sql_type, codes.len(), entries.heaps.clone());
        Self {
            sql_type,
            rows,
            nulls: nulls.clone(),
            heaps,
            values: Values::Coded(Arc::new(Coded::new(entries, codes, nulls))),
        }
    }

    /// The entries and codes of a column that was made of them.
    pub fn codes(&self) -> Option<(&Self, &[u16])> {
        match &self.values {
            Values::Array(_) => None,
            Values::Coded(coded) => Some((&coded.entries, &coded.codes)),
        }
    }

    /// The SQL type.
    pub fn sql_type(&self) -> SqlType {
        self.sql_type
    }
    /// The physical layout.
    pub fn physical(&self) -> Physical {
        self.sql_type.physical()
    }
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// The same data under another type with the same physical layout (`text` as `varchar(10)`).
    pub fn with_type(mut self, sql_type: SqlType) -> Self {
        assert_eq!(self.physical(), sql_type.physical());
        self.sql_type = sql_type;
        self
    }

    /// First byte of the values, aligned to 64, or of a row or two to 16.
    pub fn data(&self) -> *const u8 {
        match &self.values {
            Values::Array(values) => values.as_ptr(),
            Values::Coded(coded) => coded.values().as_ptr(),
        }
    }
    /// The NULL flags, one byte a row, or none if no row is NULL.
    pub fn nulls(&self) -> Option<&[u8]> {
        self.nulls.as_deref().map(|n| &n.as_slice()[..self.rows])
    }
    /// Whether the row is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls().is_some_and(|n| n[row] != 0)
    }

    /// The values as a slice. `T` must have the physical size and be plain data of that layout.
    pub fn values<T: Plain>(&self) -> &[T] {
        assert_eq!(std::mem::size_of::<T>(), self.physical().size());
        // SAFETY: the buffer is aligned to 64 and holds `rows` values of this size; `Plain` types admit any bits that
        // builders write.
        unsafe { std::slice::from_raw_parts(self.data().cast::<T>(), self.rows) }
    }

    /// The text of a row of a string column (empty if NULL).
    pub fn str(&self, row: usize) -> &str {
        assert_eq!(self.physical(), Physical::Str);
        // SAFETY: the heaps that long strings point to are owned by `self`; readers admit only UTF-8.
        unsafe { self.values::<Str>()[row].as_str() }
    }

    /// One value.
    pub fn value(&self, row: usize) -> Value {
        if self.is_null(row) {
            return Value::Null;
        }
        let stored: i128 = match self.physical() {
            Physical::Bool => self.values::<u8>()[row].into(),
            Physical::I16 => self.values::<i16>()[row].into(),
            Physical::I32 => self.values::<i32>()[row].into(),
            Physical::I64 => self.values::<i64>()[row].into(),
            Physical::I128 => self.values::<i128>()[row],
            Physical::F32 => return Value::Float(self.values::<f32>()[row].into()),
            Physical::F64 => return Value::Float(self.values::<f64>()[row]),
            Physical::Str => return Value::str(self.str(row)),
            Physical::Interval => return Value::Interval(self.values::<Interval>()[row]),
        };
        // A bare NULL has no other value.
        Value::of_integer(self.sql_type, stored).unwrap_or(Value::Null)
    }

    /// The buffers that long strings point into.
    pub fn heaps(&self) -> &[Arc<Buffer>] {
        &self.heaps
    }

    /// The same values, of a fixed width, in memory that is for them alone and [lasts](Buffer::lasting).
    pub fn to_lasting(&self) -> Option<Self> {
        if self.physical() == Physical::Str {
            return None;
        }
        let lasting = |bytes: &[u8]| {
            let mut copy = Buffer::lasting(bytes.len());
            copy.extend(bytes);
            Arc::new(copy)
        };
        // SAFETY: so many bytes are the values.
        let values = unsafe { std::slice::from_raw_parts(self.data(), self.rows * self.physical().size()) };
        let (values, nulls) = (Values::Array(lasting(values)), self.nulls().map(lasting));
        Some(Self { sql_type: self.sql_type, rows: self.rows, values, nulls, heaps: Vec::new() })
    }

    /// Bytes of memory held (buffers shared with other columns count in full), but for payload whose owner accounts for it.
    pub fn bytes(&self) -> usize {
        let values = match &self.values {
            Values::Array(values) => values.capacity(),
            Values::Coded(coded) => coded.bytes(),
        };
        values
            + self.nulls.as_ref().map_or(0, |n| n.capacity())
            + self.heaps.iter().map(|h| h.own_bytes()).sum::<usize>()
    }
}

/// Plain data that columns hold: any bits that a builder writes are valid.
///
/// # Safety
/// The type must have no padding and no invalid bit patterns.
pub unsafe trait Plain: Copy + 'static {}
macro_rules! plain {
    ($($t:ty),*) => { $(
        // SAFETY: integers, floats and headers of integers admit all bits and have no padding.
        unsafe impl Plain for $t {}
    )* };
}
plain!(u8, u16, u32, i16, i32, i64, i128, f32, f64, Str, Interval);

/// Where a writer puts the values of rows that nobody sees yet.
#[derive(Debug)]
pub struct FreeRows {
    /// How many rows there is room for.
    pub rows: usize,
    /// By column, the address of the first of them.
    pub columns: Box<[*mut u8]>,
}

// SAFETY: addresses of memory that belongs to one writer, which may move to another thread with them.
unsafe impl Send for FreeRows {}

/// Columns of equally many rows.
#[derive(Clone, Debug)]
pub struct Chunk {
    rows: usize,
    columns: Vec<Column>,
}

impl Chunk {
    /// A chunk of `rows` rows; there may be no column at all (`select from t`).
    pub fn new(rows: usize, columns: Vec<Column>) -> Self {
        assert!(columns.iter().all(|c| c.rows() == rows));
        Self { rows, columns }
    }
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
    /// One column.
    pub fn column(&self, index: usize) -> &Column {
        &self.columns[index]
    }
    /// The columns, without the chunk.
    pub fn into_columns(self) -> Vec<Column> {
        self.columns
    }
    /// One row.
    pub fn row(&self, row: usize) -> Vec<Value> {
        self.columns.iter().map(|c| c.value(row)).collect()
    }
    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum()
    }
}
