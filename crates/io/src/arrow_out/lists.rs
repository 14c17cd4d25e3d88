//! Arrays out: Arrow's lists.

use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::FieldRef;
use base::{Error, Result, SqlState};
use types::ops::array::Elements;
use types::{Column, ColumnBuilder, SqlType};

/// The field of a list's elements, under the name that Parquet gives it.
pub(super) fn item(element: SqlType) -> FieldRef {
    Arc::new(arrow_schema::Field::new("element", super::data_type_of(element), true))
}

/// A list a row: the elements of all rows are one column.
pub(super) fn array_of(column: &Column, element: SqlType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let rows = || (0..column.rows()).map(|row| Elements::new(column.str(row), element));
    let lengths: Vec<usize> = rows().map(|row| row.remaining()).collect();
    let total: usize = lengths.iter().sum();
    if i32::try_from(total).is_err() {
        return Err(Error::new(SqlState::PROGRAM_LIMIT, "arrays are too long for Arrow: 2^31 elements at most"));
    }
    let mut elements = ColumnBuilder::new(element, total);
    rows().flatten().for_each(|value| elements.push_value(&value));
    let elements = super::array_of(&elements.finish(), false)?;
    let list = ListArray::try_new(item(element), OffsetBuffer::from_lengths(lengths), elements, nulls);
    Ok(Arc::new(list.map_err(|e| Error::internal(e.to_string()))?))
}
