//! Lists in: arrays, whose elements are converted as a column of their own first.

use std::ops::Range;

use arrow_array::{Array, FixedSizeListArray, GenericListArray, OffsetSizeTrait};
use base::{Error, Result};
use types::ops::array;
use types::{Column, ColumnBuilder, SqlType, Value};

use super::column_of;

/// Lists by offsets into one array of elements.
pub(super) fn from_offsets<O: OffsetSizeTrait>(lists: &GenericListArray<O>, sql_type: SqlType) -> Result<Column> {
    // The elements of a slice of an array, and no others.
    let offsets = lists.value_offsets();
    let (first, last) = (offsets[0].as_usize(), offsets[lists.len()].as_usize());
    let elements = lists.values().slice(first, last - first);
    let range = |row: usize| offsets[row].as_usize() - first..offsets[row + 1].as_usize() - first;
    build(lists, &*elements, range, sql_type)
}

/// Lists of one length.
pub(super) fn of_fixed_size(lists: &FixedSizeListArray, sql_type: SqlType) -> Result<Column> {
    let length = usize::try_from(lists.value_length()).unwrap_or(0);
    build(lists, &**lists.values(), |row| row * length..(row + 1) * length, sql_type)
}

fn build(
    lists: &dyn Array,
    elements: &dyn Array,
    range: impl Fn(usize) -> Range<usize>,
    sql_type: SqlType,
) -> Result<Column> {
    let element = sql_type.element().ok_or_else(|| Error::internal("a list is no array"))?;
    let elements = column_of(elements)?;
    let mut out = ColumnBuilder::new(sql_type, lists.len());
    for row in 0..lists.len() {
        if lists.is_null(row) {
            out.push_null();
            continue;
        }
        let values: Vec<Value> = range(row).map(|at| elements.value(at)).collect();
        out.push_value(&array::encode(&values, element)?);
    }
    Ok(out.finish())
}
