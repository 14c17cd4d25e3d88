//! Maps in: keys and values are converted as columns of their own first.

use arrow_array::{Array, MapArray};
use base::{Error, Result};
use types::ops::map;
use types::{Column, ColumnBuilder, SqlType};

use super::column_of;

/// Maps by offsets into entries.
pub(super) fn of_entries(maps: &MapArray, sql_type: SqlType) -> Result<Column> {
    let of = sql_type.map().ok_or_else(|| Error::internal("a map without keys"))?;
    let (keys, values) = (column_of(&**maps.keys())?, column_of(&**maps.values())?);
    let offsets = maps.value_offsets();
    let mut out = ColumnBuilder::new(sql_type, maps.len());
    for row in 0..maps.len() {
        if maps.is_null(row) {
            out.push_null();
            continue;
        }
        let range = offsets[row] as usize..offsets[row + 1] as usize;
        let entries: Vec<_> = range.map(|at| (keys.value(at), values.value(at))).collect();
        out.push_value(&map::encode(&entries, of)?);
    }
    Ok(out.finish())
}
