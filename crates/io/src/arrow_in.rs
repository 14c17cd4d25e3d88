//! Arrow arrays in: schema mapping and conversion to columns.
//!
//! Fixed-width values are copied once into exactly sized buffers (kernels read them by whole vectors, which Arrow's
//! buffers do not allow); the payload of strings is not copied, the column keeps Arrow's buffers alive instead.

mod lists;
mod maps;
mod primitive;
mod schema;
mod strings;
mod structs;

pub use schema::{field_of, fields_of, sql_type_of};

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use base::{Error, Result, SqlState};
use types::ops::uuid;
use types::{Buffer, Chunk, Column, Interval, Physical, SqlType};

use crate::source::{CHUNK_ROWS, Field};

/// Converts an array to the SQL type that [`sql_type_of`] names for its type.
pub fn column_of(array: &dyn Array) -> Result<Column> {
    let data_type = array.data_type();
    let sql_type =
        sql_type_of(data_type).ok_or_else(|| Error::unsupported(format!("data of the Arrow type {data_type}")))?;
    use primitive::{convert, copy, try_convert};
    Ok(match data_type {
        DataType::Null => all_null(sql_type, array.len()),
        DataType::Boolean => {
            let bits = array.as_boolean().values();
            let bytes: Buffer = bits.iter().map(u8::from).collect();
            finish(sql_type, array.len(), bytes, array.nulls())
        }
        DataType::Int8 => convert::<Int8Type, i16>(array, sql_type, i16::from),
        DataType::UInt8 => convert::<UInt8Type, i16>(array, sql_type, i16::from),
        DataType::Int16 => copy::<Int16Type>(array, sql_type),
        DataType::UInt16 => convert::<UInt16Type, i32>(array, sql_type, i32::from),
        DataType::Int32 => copy::<Int32Type>(array, sql_type),
        DataType::UInt32 => convert::<UInt32Type, i64>(array, sql_type, i64::from),
        DataType::Int64 => copy::<Int64Type>(array, sql_type),
        DataType::UInt64 => convert::<UInt64Type, i128>(array, sql_type, i128::from),
        DataType::Float16 => convert::<Float16Type, f32>(array, sql_type, |v| v.to_f32()),
        DataType::Float32 => copy::<Float32Type>(array, sql_type),
        DataType::Float64 => copy::<Float64Type>(array, sql_type),
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            primitive::decimal(array, sql_type)?
        }
        DataType::Date32 => copy::<Date32Type>(array, sql_type),
        DataType::Date64 => try_convert::<Date64Type, i32>(array, sql_type, |ms| {
            i32::try_from(ms.div_euclid(86_400_000)).map_err(|_| out_of_range("date"))
        })?,
        DataType::Timestamp(TimeUnit::Second, _) => try_convert::<TimestampSecondType, i64>(array, sql_type, |s| {
            s.checked_mul(1_000_000).ok_or_else(|| out_of_range("timestamp"))
        })?,
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            try_convert::<TimestampMillisecondType, i64>(array, sql_type, |ms| {
                ms.checked_mul(1000).ok_or_else(|| out_of_range("timestamp"))
            })?
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => copy::<TimestampMicrosecondType>(array, sql_type),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            convert::<TimestampNanosecondType, i64>(array, sql_type, |ns| ns.div_euclid(1000))
        }
        DataType::Time32(TimeUnit::Second) => {
            convert::<Time32SecondType, i64>(array, sql_type, |s| i64::from(s) * 1_000_000)
        }
        DataType::Time32(_) => convert::<Time32MillisecondType, i64>(array, sql_type, |ms| i64::from(ms) * 1000),
        DataType::Time64(TimeUnit::Microsecond) => copy::<Time64MicrosecondType>(array, sql_type),
        DataType::Time64(_) => convert::<Time64NanosecondType, i64>(array, sql_type, |ns| ns.div_euclid(1000)),
        DataType::FixedSizeBinary(16) => {
            let array = array.as_fixed_size_binary();
            let uuid = |row| array.value(row).first_chunk::<16>().map_or(0, |bytes| u128::from_be_bytes(*bytes));
            let values: Buffer = (0..array.len()).map(|row| uuid::stored(uuid(row))).collect();
            finish(sql_type, array.len(), values, array.nulls())
        }
        DataType::Duration(unit) => duration(array, sql_type, *unit)?,
        DataType::Interval(IntervalUnit::YearMonth) => {
            convert::<IntervalYearMonthType, Interval>(array, sql_type, |m| Interval { months: m, days: 0, micros: 0 })
        }
        DataType::Interval(IntervalUnit::DayTime) => convert::<IntervalDayTimeType, Interval>(array, sql_type, |v| {
            Interval { months: 0, days: v.days, micros: i64::from(v.milliseconds) * 1000 }
        }),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            convert::<IntervalMonthDayNanoType, Interval>(array, sql_type, |v| Interval {
                months: v.months,
                days: v.days,
                micros: v.nanoseconds.div_euclid(1000),
            })
        }
        DataType::Binary => strings::of_bytes(array.as_binary::<i32>().iter(), sql_type),
        DataType::LargeBinary => strings::of_bytes(array.as_binary::<i64>().iter(), sql_type),
        DataType::BinaryView => strings::of_bytes(array.as_binary_view().iter(), sql_type),
        DataType::FixedSizeBinary(_) => strings::of_bytes(array.as_fixed_size_binary().iter(), sql_type),
        DataType::Utf8 => strings::from_offsets(array.as_string::<i32>(), sql_type)?,
        DataType::LargeUtf8 => strings::from_offsets(array.as_string::<i64>(), sql_type)?,
        DataType::Utf8View => strings::from_views(array.as_string_view(), sql_type),
        DataType::Dictionary(..) => strings::from_dictionary(array, sql_type)?,
        DataType::List(_) => lists::from_offsets(array.as_list::<i32>(), sql_type)?,
        DataType::LargeList(_) => lists::from_offsets(array.as_list::<i64>(), sql_type)?,
        DataType::FixedSizeList(..) => lists::of_fixed_size(array.as_fixed_size_list(), sql_type)?,
        DataType::Map(..) => maps::of_entries(array.as_map(), sql_type)?,
        DataType::Struct(_) => structs::of_fields(array.as_struct(), sql_type)?,
        _ => return Err(Error::unsupported(format!("data of the Arrow type {data_type}"))),
    })
}

fn duration(array: &dyn Array, sql_type: SqlType, unit: TimeUnit) -> Result<Column> {
    let interval = |micros| Interval { months: 0, days: 0, micros };
    let scaled = |v: i64, by: i64| v.checked_mul(by).map(interval).ok_or_else(|| out_of_range("interval"));
    match unit {
        TimeUnit::Second => primitive::try_convert::<DurationSecondType, _>(array, sql_type, |v| scaled(v, 1_000_000)),
        TimeUnit::Millisecond => {
            primitive::try_convert::<DurationMillisecondType, _>(array, sql_type, |v| scaled(v, 1000))
        }
        TimeUnit::Microsecond => {
            primitive::try_convert::<DurationMicrosecondType, _>(array, sql_type, |v| scaled(v, 1))
        }
        TimeUnit::Nanosecond => {
            Ok(primitive::convert::<DurationNanosecondType, _>(array, sql_type, |v| interval(v.div_euclid(1000))))
        }
    }
}

#[cold]
fn out_of_range(what: &str) -> Error {
    let state = if what == "decimal" { SqlState::NUMERIC_OUT_OF_RANGE } else { SqlState::DATETIME_OVERFLOW };
    Error::new(state, format!("{what} out of range"))
}

/// A column of `rows` NULLs.
pub fn all_null(sql_type: SqlType, rows: usize) -> Column {
    let mut nulls = Buffer::zeroed(rows);
    nulls.as_mut_slice().fill(1);
    let values = Buffer::zeroed(rows * sql_type.physical().size());
    // SAFETY: headers of zeros are those of empty texts.
    unsafe { Column::new(sql_type, rows, Arc::new(values), (rows > 0).then(|| Arc::new(nulls)), Vec::new()) }
}

/// One byte a row from one bit a row; none if no row is NULL.
fn null_bytes(nulls: Option<&NullBuffer>) -> Option<Buffer> {
    let nulls = nulls.filter(|n| n.null_count() > 0)?;
    Some(nulls.inner().iter().map(|valid| u8::from(!valid)).collect())
}

/// The column of `values`, with NULL rows zeroed as the layout demands.
fn finish(sql_type: SqlType, rows: usize, mut values: Buffer, nulls: Option<&NullBuffer>) -> Column {
    let nulls = null_bytes(nulls);
    if let Some(nulls) = &nulls {
        let size = sql_type.physical().size();
        for (value, null) in values.as_mut_slice().chunks_exact_mut(size).zip(nulls.as_slice()) {
            if *null != 0 {
                value.fill(0);
            }
        }
    }
    assert!(sql_type.physical() != Physical::Str);
    // SAFETY: the column has no headers.
    unsafe { Column::new(sql_type, rows, Arc::new(values), nulls.map(Arc::new), Vec::new()) }
}

/// Converts a batch to chunks of at most [`CHUNK_ROWS`] rows whose columns have the types of `fields`.
pub fn chunks_of(batch: &RecordBatch, fields: &[Field]) -> Result<Vec<Chunk>> {
    assert_eq!(batch.num_columns(), fields.len());
    let mut chunks = Vec::new();
    let mut from = 0;
    while from < batch.num_rows() {
        let rows = (batch.num_rows() - from).min(CHUNK_ROWS);
        let columns = batch.columns().iter().zip(fields).map(|(array, field)| {
            if field.unsupported.is_some() {
                return Ok(all_null(field.sql_type, rows));
            }
            let column = column_of(&*array.slice(from, rows))?;
            assert_eq!(column.sql_type(), field.sql_type);
            Ok(column)
        });
        chunks.push(Chunk::new(rows, columns.collect::<Result<_>>()?));
        from += rows;
    }
    Ok(chunks)
}
