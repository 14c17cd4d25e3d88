//! Structs in: fields are converted as columns of their own first.

use arrow_array::{Array, StructArray};
use base::{Error, Result};
use types::ops::structure;
use types::{Column, ColumnBuilder, SqlType, Value};

use super::column_of;

/// Structs by columns of fields.
pub(super) fn of_fields(structs: &StructArray, sql_type: SqlType) -> Result<Column> {
    let of = sql_type.structure().ok_or_else(|| Error::internal("a struct without fields"))?;
    let columns = structs.columns().iter().map(|column| column_of(&**column)).collect::<Result<Vec<_>>>()?;
    let mut out = ColumnBuilder::new(sql_type, structs.len());
    for row in 0..structs.len() {
        if structs.is_null(row) {
            out.push_null();
            continue;
        }
        let values: Vec<Value> = columns.iter().map(|column| column.value(row)).collect();
        out.push_value(&structure::encode(&values, of)?);
    }
    Ok(out.finish())
}
