//! How the values of a flat column lie in plain pages, and what becomes of them.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::make_array;
use arrow_data::ArrayData;
use arrow_schema::{DataType, TimeUnit};
use base::{Error, Result, SqlState};
use bytes::Bytes;
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;
use types::{Buffer, Column, SqlType, Str};

use super::super::room::Room;
use super::Failure;
use crate::arrow_in;

/// What the values of a column are.
pub enum Kind {
    /// Of so many bytes each, which are the column's own.
    Same(usize),
    /// Of so many bytes each, to be converted as values of this type.
    Converted(usize, DataType),
    /// Months, days and milliseconds, of four bytes each.
    Interval,
    /// Lengths and bytes of texts.
    Text,
}

impl Kind {
    /// That of a column which is read as `data_type`; none if it is not read here.
    pub fn of(column: &ColumnDescriptor, data_type: &DataType) -> Option<Self> {
        use DataType::*;
        Some(match (column.physical_type(), data_type) {
            (PhysicalType::INT32, Int32 | Date32) | (PhysicalType::FLOAT, Float32) => Self::Same(4),
            (PhysicalType::INT64, Int64 | Timestamp(TimeUnit::Microsecond, _)) | (PhysicalType::DOUBLE, Float64) => {
                Self::Same(8)
            }
            (PhysicalType::INT32, UInt32 | Decimal32(..)) => Self::Converted(4, data_type.clone()),
            (PhysicalType::INT64, UInt64 | Decimal64(..) | Timestamp(..)) => Self::Converted(8, data_type.clone()),
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, Decimal128(..)) => {
                let bytes = usize::try_from(column.type_length()).ok().filter(|bytes| (1..=16).contains(bytes))?;
                Self::Converted(bytes, data_type.clone())
            }
            // Arrow's reader makes days and milliseconds of it, without months.
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, Interval(_)) if column.type_length() == 12 => Self::Interval,
            (PhysicalType::BYTE_ARRAY, Utf8View) => Self::Text,
            _ => return None,
        })
    }

    /// Appends the first `count` values of a page to those of a column, and takes them off the page. Says whether some of them
    /// point into it.
    pub fn append(&self, page: &mut Bytes, count: usize, to: &mut Buffer) -> std::result::Result<bool, Failure> {
        match self {
            Self::Same(size) => to.extend(&take(page, count, *size)?),
            Self::Converted(size, data_type) => {
                let column = converted(&take(page, count, *size)?, count, *size, data_type)?;
                // SAFETY: so many bytes are the column's values.
                let bytes =
                    unsafe { std::slice::from_raw_parts(column.data(), count * column.sql_type().physical().size()) };
                to.extend(bytes);
            }
            Self::Interval => {
                for parts in take(page, count, 12)?.as_chunks::<4>().0.chunks_exact(3) {
                    let [months, days, millis] = [0, 1, 2].map(|part| i32::from_le_bytes(parts[part]));
                    to.push(types::Interval { months, days, micros: i64::from(millis) * 1000 });
                }
            }
            Self::Text => return Ok(texts(page, count, to)?),
        }
        Ok(false)
    }

    /// The `count` values of a dictionary, whose page has room.
    pub fn entries(
        &self,
        mut page: Bytes,
        count: usize,
        sql_type: SqlType,
        room: Option<Room>,
    ) -> std::result::Result<Column, Failure> {
        let bytes = count.min(page.len()) * sql_type.physical().size();
        let room = settled(room, page.len(), bytes)?;
        let mut values = Buffer::with_capacity(bytes);
        let heap = matches!(self, Self::Text).then(|| heap(&page, room)).flatten();
        let heap = if self.append(&mut page, count, &mut values)? { heap } else { None };
        // SAFETY: headers of texts that are UTF-8 and lie in the page.
        Ok(unsafe { Column::new(sql_type, count, Arc::new(values), None, heap.into_iter().collect()) })
    }
}

/// Bytes of an integer, if values are such.
pub fn integer(of: PhysicalType) -> Option<usize> {
    match of {
        PhysicalType::INT32 => Some(4),
        PhysicalType::INT64 => Some(8),
        _ => None,
    }
}

/// The room of a page, once that is decompressed and so many other bytes are to come with it.
pub fn settled(room: Option<Room>, page: usize, others: usize) -> Result<Option<Arc<Room>>> {
    let settle = |mut room: Room| room.settle(page, others).map(|()| Arc::new(room));
    room.map(settle).transpose()
}

/// A page as an owner of texts, and of its room.
pub fn heap(page: &Bytes, room: Option<Arc<Room>>) -> Option<Arc<Buffer>> {
    let start = NonNull::new(page.as_ptr().cast_mut()).filter(|_| !page.is_empty())?;
    let (length, is_charged) = (page.len(), room.is_some());
    let owner = Arc::new((page.clone(), room));
    // SAFETY: the bytes are immutable, and the owner has a reference to them.
    Some(Arc::new(unsafe {
        if is_charged { Buffer::foreign_charged(start, length, owner) } else { Buffer::foreign(start, length, owner) }
    }))
}

fn take(page: &mut Bytes, count: usize, size: usize) -> parquet::errors::Result<Bytes> {
    match count.checked_mul(size).filter(|&bytes| bytes <= page.len()) {
        Some(bytes) => Ok(page.split_to(bytes)),
        None => Err(too_few()),
    }
}

#[cold]
fn too_few() -> ParquetError {
    ParquetError::EOF("a page has too few values".into())
}

/// Values as columns have them, by way of Arrow, as everywhere.
fn converted(bytes: &[u8], count: usize, size: usize, data_type: &DataType) -> Result<Column> {
    let values = match data_type {
        // The other way round, in as many bytes as they need.
        DataType::Decimal128(..) => {
            let wide = |value: &[u8]| {
                let sign = if value[0] >= 0x80 { -1 } else { 0 };
                value.iter().fold(sign, |all: i128, &byte| all << 8 | i128::from(byte))
            };
            bytes.chunks_exact(size).map(wide).collect()
        }
        _ => arrow_buffer::Buffer::from(bytes),
    };
    let array = ArrayData::builder(data_type.clone()).len(count).add_buffer(values).build();
    let array = array.map_err(|e| Error::new(SqlState::DATA_CORRUPTED, e.to_string()))?;
    arrow_in::column_of(&*make_array(array))
}

/// Appends the headers of texts, each behind its length, and takes them off the page. Says whether some of them
/// point into it.
fn texts(page: &mut Bytes, count: usize, to: &mut Buffer) -> parquet::errors::Result<bool> {
    let (mut at, mut is_text, mut long) = (0, true, false);
    let bytes = &page[..];
    // In ASCII all of it is, lengths under 128 among them, where any is.
    let is_ascii = bytes.is_ascii();
    to.reserve(count.min(bytes.len()) * size_of::<Str>());
    for _ in 0..count {
        let length = bytes[at..].first_chunk().map(|length| u32::from_le_bytes(*length) as usize);
        let Some(text) = length.and_then(|length| bytes[at + 4..].get(..length)) else { return Err(too_few()) };
        is_text &= is_ascii || std::str::from_utf8(text).is_ok();
        long |= text.len() > Str::INLINE;
        to.push(Str::new(text));
        at += 4 + text.len();
    }
    if !is_text {
        return Err(ParquetError::General("a text is not UTF-8".into()));
    }
    bytes::Buf::advance(page, at);
    Ok(long)
}
