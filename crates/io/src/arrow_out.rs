//! Columns out to Arrow arrays: what results, Parquet files and data frames are made of.

mod lists;
mod maps;
mod structs;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, LargeStringBuilder, StringBuilder};
use arrow_array::types::{Int32Type, IntervalMonthDayNano};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, NullArray, PrimitiveArray,
    RecordBatch, RecordBatchOptions, StringArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, IntervalUnit, Schema, SchemaRef, TimeUnit};
use base::{Error, Result, SqlState};
use types::ops::cast::{format_value, pad_char};
use types::ops::{bytes, uuid};
use types::{Chunk, Column, EnumType, Interval, Physical, SqlType};

use crate::source::Field;

/// The Arrow type of an SQL type.
pub fn data_type_of(sql_type: SqlType) -> DataType {
    match sql_type {
        SqlType::Null => DataType::Null,
        SqlType::Bool => DataType::Boolean,
        SqlType::SmallInt => DataType::Int16,
        SqlType::Integer => DataType::Int32,
        SqlType::BigInt => DataType::Int64,
        SqlType::Decimal { precision, scale } => DataType::Decimal128(precision, scale as i8),
        SqlType::Real => DataType::Float32,
        SqlType::Double => DataType::Float64,
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Json | SqlType::Jsonb => DataType::Utf8,
        // Arrow's decimals have one scale, and no NaN.
        SqlType::Numeric { .. } | SqlType::Range(_) | SqlType::Timetz => DataType::Utf8,
        SqlType::Bytea => DataType::Binary,
        // As columns of few texts are in data frames: codes and a dictionary.
        SqlType::Enum(_) => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        SqlType::Date => DataType::Date32,
        SqlType::Time => DataType::Time64(TimeUnit::Microsecond),
        SqlType::Timestamptz => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        SqlType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        SqlType::Uuid => DataType::FixedSizeBinary(16),
        SqlType::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
        SqlType::Array(&element) => DataType::List(lists::item(element)),
        SqlType::Struct(of) => DataType::Struct(structs::fields(of)),
        SqlType::Map(of) => DataType::Map(maps::entries(of), false),
    }
}

/// The key under which Arrow's fields name their extension type, and those of UUIDs and JSON.
pub(crate) const EXTENSION: &str = "ARROW:extension:name";
pub(crate) const UUID: &str = "arrow.uuid";
pub(crate) const JSON: &str = "arrow.json";
/// What marks texts that are numbers of any length.
const NUMERIC: &str = "morseldb.numeric";
/// What marks texts that are times with offsets.
const TIMETZ: &str = "morseldb.timetz";
/// What marks texts that are ranges.
const RANGE: &str = "morseldb.range";
/// What marks JSON whose texts are those of `jsonb`.
pub(crate) const NORMAL: &str = "morseldb.jsonb";

/// The Arrow schema of fields.
pub fn schema_of(fields: &[Field]) -> SchemaRef {
    let field = |f: &Field| {
        let field = arrow_schema::Field::new(&f.name, data_type_of(f.sql_type), f.nullable);
        // Other bytes of that length are no UUIDs, and other texts no JSON.
        let named = |name: &str| (EXTENSION.to_owned(), name.to_owned());
        field.with_metadata(match f.sql_type {
            SqlType::Uuid => HashMap::from([named(UUID)]),
            SqlType::Json => HashMap::from([named(JSON)]),
            SqlType::Numeric { .. } => HashMap::from([named(NUMERIC)]),
            SqlType::Range(_) => HashMap::from([named(RANGE)]),
            SqlType::Timetz => HashMap::from([named(TIMETZ)]),
            SqlType::Jsonb => HashMap::from([named(JSON), (NORMAL.to_owned(), String::new())]),
            _ => HashMap::new(),
        })
    };
    Arc::new(Schema::new(fields.iter().map(field).collect::<Vec<_>>()))
}

fn nulls_of(column: &Column) -> Option<NullBuffer> {
    let nulls = column.nulls()?;
    Some(NullBuffer::new(BooleanBuffer::collect_bool(nulls.len(), |row| nulls[row] == 0)))
}

fn scalars<T: types::column::Plain + arrow_buffer::ArrowNativeType>(column: &Column) -> ScalarBuffer<T> {
    ScalarBuffer::from(column.values::<T>().to_vec())
}

/// Converts a column. Text is Arrow's `Utf8`, or `LargeUtf8` if `large`.
pub fn array_of(column: &Column, large: bool) -> Result<ArrayRef> {
    let nulls = nulls_of(column);
    Ok(match column.sql_type() {
        SqlType::Null => Arc::new(NullArray::new(column.rows())),
        SqlType::Bool => {
            let values = column.values::<u8>();
            Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(values.len(), |row| values[row] != 0), nulls))
        }
        SqlType::SmallInt => Arc::new(Int16Array::new(scalars(column), nulls)),
        SqlType::Integer => Arc::new(Int32Array::new(scalars(column), nulls)),
        SqlType::BigInt => Arc::new(Int64Array::new(scalars(column), nulls)),
        SqlType::Decimal { precision, scale } => {
            let values: Vec<i128> = match column.physical() {
                Physical::I64 => column.values::<i64>().iter().map(|&v| v.into()).collect(),
                _ => column.values::<i128>().to_vec(),
            };
            let array = Decimal128Array::new(values.into(), nulls);
            Arc::new(
                array.with_precision_and_scale(precision, scale as i8).map_err(|e| Error::internal(e.to_string()))?,
            )
        }
        SqlType::Real => Arc::new(Float32Array::new(scalars(column), nulls)),
        SqlType::Double => Arc::new(Float64Array::new(scalars(column), nulls)),
        SqlType::Enum(of) => Arc::new(dictionary(column, of, nulls)?),
        SqlType::Date => Arc::new(Date32Array::new(scalars(column), nulls)),
        SqlType::Time => Arc::new(Time64MicrosecondArray::new(scalars(column), nulls)),
        SqlType::Timestamptz => Arc::new(TimestampMicrosecondArray::new(scalars(column), nulls).with_timezone("UTC")),
        SqlType::Timestamp => Arc::new(TimestampMicrosecondArray::new(scalars(column), nulls)),
        SqlType::Uuid => {
            let bytes = column.values::<i128>().iter().flat_map(|&u| uuid::of_stored(u).to_be_bytes());
            let values = arrow_buffer::Buffer::from(bytes.collect::<Vec<u8>>());
            let array = FixedSizeBinaryArray::try_new(16, values, nulls);
            Arc::new(array.map_err(|e| Error::internal(e.to_string()))?)
        }
        SqlType::Interval => {
            let values = column.values::<Interval>().iter().map(|v| {
                let nanoseconds = v.micros.checked_mul(1000).ok_or_else(|| {
                    Error::new(SqlState::DATETIME_OVERFLOW, "interval out of range for Arrow's nanoseconds")
                })?;
                Ok(IntervalMonthDayNano { months: v.months, days: v.days, nanoseconds })
            });
            Arc::new(IntervalMonthDayNanoArray::new(values.collect::<Result<Vec<_>>>()?.into(), nulls))
        }
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => strings(column, large),
        SqlType::Json | SqlType::Jsonb => strings(column, large),
        SqlType::Numeric { .. } | SqlType::Range(_) | SqlType::Timetz => printed(column, 0, column.rows()),
        SqlType::Bytea => {
            let mut out = BinaryBuilder::with_capacity(column.rows(), text_bytes(column, 0, column.rows()));
            (0..column.rows())
                .for_each(|row| out.append_option((!column.is_null(row)).then(|| bytes::bytes(column.str(row)))));
            Arc::new(out.finish())
        }
        SqlType::Array(&element) => lists::array_of(column, element, nulls)?,
        SqlType::Struct(of) => structs::array_of(column, of, nulls)?,
        SqlType::Map(of) => maps::array_of(column, of, nulls)?,
    })
}

/// The labels of an enum in their order, and which of them each row has.
fn dictionary(column: &Column, of: &EnumType, nulls: Option<NullBuffer>) -> Result<DictionaryArray<Int32Type>> {
    let codes: Vec<i32> = of.labels().iter().map(|(code, _)| code).collect();
    let labels = StringArray::from_iter_values(of.labels().iter().map(|(_, label)| label));
    let place = |code: &i32| codes.binary_search(code).map_or(0, |place| place as i32);
    // What stands where there is NULL is no code.
    let places: ScalarBuffer<i32> = match codes.is_empty() {
        true => vec![0; column.rows()].into(),
        false => column.values::<i32>().iter().map(place).collect(),
    };
    DictionaryArray::try_new(PrimitiveArray::new(places, nulls), Arc::new(labels))
        .map_err(|e| Error::internal(e.to_string()))
}

fn strings(column: &Column, large: bool) -> ArrayRef {
    macro_rules! build {
        ($builder:ident) => {{
            let mut out = $builder::with_capacity(column.rows(), text_bytes(column, 0, column.rows()));
            for row in 0..column.rows() {
                match column.sql_type() {
                    _ if column.is_null(row) => out.append_null(),
                    SqlType::Char(limit) => out.append_value(pad_char(column.str(row), limit)),
                    _ => out.append_value(column.str(row)),
                }
            }
            Arc::new(out.finish()) as ArrayRef
        }};
    }
    if large { build!(LargeStringBuilder) } else { build!(StringBuilder) }
}

/// Values of types that Arrow does not have, as texts.
fn printed(column: &Column, from: usize, rows: usize) -> ArrayRef {
    let text = |row| (!column.is_null(row)).then(|| format_value(&column.value(row), column.sql_type()));
    Arc::new((from..from + rows).map(text).collect::<StringArray>())
}

/// Bytes of text in rows `from..to`, at most.
fn text_bytes(column: &Column, from: usize, to: usize) -> usize {
    let padded = if let SqlType::Char(limit) = column.sql_type() { limit as usize } else { 0 };
    column.values::<types::Str>()[from..to].iter().map(|s| s.len() + padded).sum()
}

/// Converts a chunk to batches: one, unless a text column holds more than Arrow's offsets of 32 bits can address, when
/// the rows are cut in halves.
pub fn batches_of(chunk: &Chunk, schema: &SchemaRef) -> Result<Vec<RecordBatch>> {
    assert_eq!(chunk.columns().len(), schema.fields().len());
    let too_long = |c: &Column| c.physical() == Physical::Str && text_bytes(c, 0, c.rows()) > i32::MAX as usize;
    if chunk.columns().iter().any(too_long) {
        return halves(chunk, schema);
    }
    Ok(vec![batch(chunk.columns().iter().map(|c| array_of(c, false)).collect::<Result<_>>()?, chunk.rows(), schema)?])
}

fn batch(arrays: Vec<ArrayRef>, rows: usize, schema: &SchemaRef) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(|e| Error::internal(e.to_string()))
}

/// Builds large arrays once and cuts them by rows into pieces that fit.
fn halves(chunk: &Chunk, schema: &SchemaRef) -> Result<Vec<RecordBatch>> {
    let strings = || chunk.columns().iter().filter(|c| c.physical() == Physical::Str);
    let (mut from, mut out) = (0, Vec::new());
    while from < chunk.rows() {
        let mut rows = chunk.rows() - from;
        while rows > 1 && strings().any(|c| text_bytes(c, from, from + rows) > i32::MAX as usize) {
            rows = rows.div_ceil(2);
        }
        if strings().any(|c| text_bytes(c, from, from + rows) > i32::MAX as usize) {
            return Err(Error::new(SqlState::PROGRAM_LIMIT, "a text is too long for Arrow: 2 GiB at most"));
        }
        let arrays = chunk.columns().iter().map(|column| {
            if column.sql_type() == SqlType::Bytea {
                let mut piece = BinaryBuilder::new();
                let value = |row| (!column.is_null(row)).then(|| bytes::bytes(column.str(row)));
                (from..from + rows).for_each(|row| piece.append_option(value(row)));
                return Ok(Arc::new(piece.finish()) as ArrayRef);
            }
            if matches!(column.sql_type(), SqlType::Numeric { .. } | SqlType::Range(_)) {
                return Ok(printed(column, from, rows));
            }
            if !column.sql_type().is_string() && !column.sql_type().is_json() {
                return Ok(array_of(column, false)?.slice(from, rows));
            }
            let mut piece = StringBuilder::new();
            (from..from + rows).for_each(|r| piece.append_option((!column.is_null(r)).then(|| column.str(r))));
            Ok(Arc::new(piece.finish()) as ArrayRef)
        });
        out.push(batch(arrays.collect::<Result<_>>()?, rows, schema)?);
        from += rows;
    }
    Ok(out)
}
