//! Row group statistics as values.

use std::sync::OnceLock;

use arrow_array::{Array, ArrayRef, UInt64Array};
use base::panics::catch;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use types::{SqlType, Value};

use crate::arrow_in::column_of;
use crate::source::ColumnStatistics;

/// Statistics of each column by row group, converted when first asked for.
pub struct Cache(Vec<OnceLock<Vec<ColumnStatistics>>>);

impl Cache {
    /// A cache for a file of `columns` columns.
    pub fn new(columns: usize) -> Self {
        Self((0..columns).map(|_| OnceLock::new()).collect())
    }

    /// Statistics of one column in one row group; empty where the file has none or they make no sense.
    pub fn get(&self, metadata: &ArrowReaderMetadata, column: usize, row_group: usize) -> ColumnStatistics {
        let all = self.0[column].get_or_init(|| catch(|| load(metadata, column)).ok().flatten().unwrap_or_default());
        all.get(row_group).cloned().unwrap_or_default()
    }
}

fn load(metadata: &ArrowReaderMetadata, column: usize) -> Option<Vec<ColumnStatistics>> {
    let schema = metadata.schema();
    let name = schema.field(column).name();
    // The converter looks up by name.
    if schema.fields().iter().filter(|f| f.name() == name).count() > 1 {
        return None;
    }
    let converter = StatisticsConverter::try_new(name, schema, metadata.parquet_schema()).ok()?;
    let converter = converter.with_missing_null_counts_as_zero(false);
    let row_groups = || metadata.metadata().row_groups().iter();
    let (min, max) = (converter.row_group_mins(row_groups()).ok()?, converter.row_group_maxes(row_groups()).ok()?);
    let nulls: UInt64Array = converter.row_group_null_counts(row_groups()).ok()?;
    let (min, max) = (values(&min)?, values(&max)?);
    let rows = metadata.metadata().num_row_groups();
    Some(
        (0..rows)
            .map(|g| ColumnStatistics {
                min: min.get(g).cloned().flatten(),
                max: max.get(g).cloned().flatten(),
                nulls: nulls.is_valid(g).then(|| nulls.value(g)),
            })
            .collect(),
    )
}

fn values(array: &ArrayRef) -> Option<Vec<Option<Value>>> {
    let column = column_of(array).ok()?;
    // Their order in files is another than SQL's, or undefined.
    if matches!(column.sql_type(), SqlType::Interval) {
        return None;
    }
    let known = |v: Value| match v {
        Value::Null => None,
        Value::Float(f) if f.is_nan() => None,
        v => Some(v),
    };
    Some((0..column.rows()).map(|row| known(column.value(row))).collect())
}
