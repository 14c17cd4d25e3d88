//! Intervals in Parquet are twelve bytes: months, days and milliseconds. Arrow's writer knows no such type of its own that has all
//! three, so columns go to it as bytes, with a schema that says what they are.

use std::sync::Arc;

use arrow_array::types::IntervalMonthDayNanoType;
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, PrimitiveArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, IntervalUnit, Schema, SchemaRef};
use base::{Error, Result, SqlState};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::{SchemaDescriptor, Type};
use types::SqlType;

const BYTES: i32 = 12;
const NANOS_PER_MILLI: i64 = 1_000_000;

/// Whether a type is made of intervals, among other things.
pub fn are_within(of: SqlType) -> bool {
    match of {
        SqlType::Interval => true,
        SqlType::Array(&element) => are_within(element),
        SqlType::Struct(of) => of.fields.iter().any(|field| are_within(field.sql_type)),
        SqlType::Map(of) => are_within(of.key) || are_within(of.value),
        _ => false,
    }
}

/// The schema with bytes for intervals.
pub fn as_bytes(schema: &SchemaRef) -> SchemaRef {
    let field = |field: &arrow_schema::FieldRef| match field.data_type() {
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            Arc::new(field.as_ref().clone().with_data_type(DataType::FixedSizeBinary(BYTES)))
        }
        _ => field.clone(),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// How rows of `schema` are written, which [`as_bytes`] has made of `of`.
pub fn options(
    of: &SchemaRef,
    schema: &SchemaRef,
    mut properties: WriterProperties,
) -> std::result::Result<ArrowWriterOptions, ParquetError> {
    if of == schema {
        return Ok(ArrowWriterOptions::new().with_properties(properties));
    }
    let plain = ArrowSchemaConverter::new().convert(schema)?;
    let field = |(at, field): (usize, &Arc<Type>)| {
        if !matches!(of.field(at).data_type(), DataType::Interval(_)) {
            return Ok(field.clone());
        }
        let repetition = if of.field(at).is_nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let made = Type::primitive_type_builder(field.name(), PhysicalType::FIXED_LEN_BYTE_ARRAY)
            .with_length(BYTES)
            .with_converted_type(ConvertedType::INTERVAL)
            .with_repetition(repetition);
        made.build().map(Arc::new)
    };
    let fields = plain.root_schema().get_fields().iter().enumerate().map(field);
    let fields = fields.collect::<std::result::Result<_, ParquetError>>()?;
    let root = Type::group_type_builder(plain.root_schema().name()).with_fields(fields).build()?;
    // Of these bytes, Arrow's own schema would say that they are such. Its readers know but one kind of interval.
    let told = |field: &arrow_schema::FieldRef| match field.data_type() {
        DataType::Interval(_) => {
            Arc::new(field.as_ref().clone().with_data_type(DataType::Interval(IntervalUnit::DayTime)))
        }
        _ => field.clone(),
    };
    let told = Schema::new(of.fields().iter().map(told).collect::<Vec<_>>());
    add_encoded_arrow_schema_to_metadata(&told, &mut properties);
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true).with_properties(properties);
    Ok(options.with_parquet_schema(SchemaDescriptor::new(Arc::new(root))))
}

/// Rows with bytes for intervals.
pub fn batch(rows: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if rows.schema_ref() == schema {
        return Ok(rows);
    }
    let arrays = rows.columns().iter().map(array).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(|e| Error::internal(e.to_string()))
}

fn array(array: &ArrayRef) -> Result<ArrayRef> {
    let Some(intervals) = array.as_any().downcast_ref::<PrimitiveArray<IntervalMonthDayNanoType>>() else {
        return Ok(array.clone());
    };
    let mut bytes = Vec::with_capacity(intervals.len() * BYTES as usize);
    for (row, of) in intervals.values().iter().enumerate() {
        let millis = i32::try_from(of.nanoseconds / NANOS_PER_MILLI).ok();
        let millis = match millis.filter(|_| of.nanoseconds % NANOS_PER_MILLI == 0) {
            Some(millis) => millis,
            None if intervals.is_null(row) => 0,
            None => {
                let message = "an interval in a Parquet file has whole milliseconds, at most 24 days of them";
                return Err(Error::new(SqlState::DATETIME_OVERFLOW, message).hint("cast the column to text"));
            }
        };
        [of.months, of.days, millis].iter().for_each(|part| bytes.extend(part.to_le_bytes()));
    }
    let array = FixedSizeBinaryArray::try_new(BYTES, bytes.into(), intervals.nulls().cloned());
    Ok(Arc::new(array.map_err(|e| Error::internal(e.to_string()))?))
}
