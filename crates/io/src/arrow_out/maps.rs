//! Maps out: Arrow's maps.

use std::sync::Arc;

use arrow_array::{ArrayRef, MapArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use base::{Error, Result};
use types::ops::map;
use types::{Column, ColumnBuilder, MapType};

/// The fields of an entry, under the names that Parquet gives them.
fn fields(of: &MapType) -> Fields {
    let field = |name, sql_type, nullable| Field::new(name, super::data_type_of(sql_type), nullable);
    [field("key", of.key, false), field("value", of.value, true)].into_iter().collect()
}

/// The field of entries.
pub(super) fn entries(of: &MapType) -> FieldRef {
    Arc::new(Field::new("key_value", DataType::Struct(fields(of)), false))
}

/// The entries of all rows are one column of keys and one of values.
pub(super) fn array_of(column: &Column, of: &MapType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let (mut keys, mut values) = (ColumnBuilder::new(of.key, 0), ColumnBuilder::new(of.value, 0));
    let mut lengths = Vec::with_capacity(column.rows());
    for row in 0..column.rows() {
        let all = if column.is_null(row) { Vec::new() } else { map::decoded(column.str(row), of) };
        lengths.push(all.len());
        for (key, value) in &all {
            keys.push_value(key);
            values.push_value(value);
        }
    }
    let arrays = vec![super::array_of(&keys.finish(), false)?, super::array_of(&values.finish(), false)?];
    let wrong = |e: arrow_schema::ArrowError| Error::internal(e.to_string());
    let structs = StructArray::try_new(fields(of), arrays, None).map_err(wrong)?;
    let made = MapArray::try_new(entries(of), OffsetBuffer::from_lengths(lengths), structs, nulls, false);
    Ok(Arc::new(made.map_err(wrong)?))
}
