//! Structs out: Arrow's structs, a column for each field.

use std::sync::Arc;

use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::Fields;
use base::{Error, Result};
use types::ops::structure;
use types::{Column, ColumnBuilder, StructField, StructType};

/// The fields of a struct.
pub(super) fn fields(of: &StructType) -> Fields {
    let field = |field: &StructField| arrow_schema::Field::new(&field.name, super::data_type_of(field.sql_type), true);
    of.fields.iter().map(field).collect()
}

/// The values of each field are one column.
pub(super) fn array_of(column: &Column, of: &StructType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let mut builders: Vec<_> = of.fields.iter().map(|f| ColumnBuilder::new(f.sql_type, column.rows())).collect();
    for row in 0..column.rows() {
        match column.is_null(row) {
            true => builders.iter_mut().for_each(ColumnBuilder::push_null),
            false => {
                let values = structure::values(column.str(row), of);
                builders.iter_mut().zip(values).for_each(|(builder, value)| builder.push_value(&value));
            }
        }
    }
    let arrays = builders.into_iter().map(|b| super::array_of(&b.finish(), false)).collect::<Result<Vec<_>>>()?;
    let made = match arrays.is_empty() {
        true => StructArray::new_empty_fields(column.rows(), nulls),
        false => StructArray::try_new(fields(of), arrays, nulls).map_err(|e| Error::internal(e.to_string()))?,
    };
    Ok(Arc::new(made))
}
