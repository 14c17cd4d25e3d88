//! Row group statistics as values.
//!
//! Old files have bounds in fields that are deprecated since Parquet 2.4: their writers compared bytes as signed ones, in
//! whatever way they liked for decimals, and unsigned numbers as signed. Of those, only the bounds of columns whose
//! numbers every writer compared alike are believed; of columns in an order that is unknown here, none.

use std::sync::OnceLock;

use arrow_array::{Array, ArrayRef, UInt64Array};
use base::panics::catch;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::{ColumnOrder, SortOrder, Type as PhysicalType};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
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
    let leaf = converter.parquet_column_index()?;
    let order = metadata.metadata().file_metadata().column_order(leaf);
    let pieces = metadata.metadata().row_groups().iter().enumerate().map(|(g, row_group)| {
        let believed = order != ColumnOrder::UNKNOWN && are_ordered(row_group.column(leaf));
        let bound = |bounds: &[Option<Value>]| bounds.get(g).filter(|_| believed).cloned().flatten();
        let (min, max) = (bound(&min), bound(&max));
        // Of what NaN is among, and which zero, the bounds of floats tell nothing.
        let is_float = matches!(min, Some(Value::Float(_)));
        let of_rows = |s: &Statistics| s.min_is_exact() && s.max_is_exact();
        let are_exact = !is_float && row_group.column(leaf).statistics().is_some_and(of_rows);
        ColumnStatistics { min, max, are_exact, nulls: nulls.is_valid(g).then(|| nulls.value(g)) }
    });
    Some(pieces.collect())
}

/// Whether the bounds of a column chunk are in the order of its values.
fn are_ordered(chunk: &ColumnChunkMetaData) -> bool {
    let deprecated = chunk.statistics().is_some_and(|s| s.is_min_max_deprecated());
    let number = matches!(
        chunk.column_type(),
        PhysicalType::BOOLEAN | PhysicalType::INT32 | PhysicalType::INT64 | PhysicalType::FLOAT | PhysicalType::DOUBLE
    );
    let signed = matches!(chunk.column_descr().sort_order(), SortOrder::SIGNED | SortOrder::TOTAL_ORDER);
    !deprecated || (number && signed)
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
