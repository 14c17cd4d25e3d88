//! Results as text, field by field, as the shell and CSV files show them.

use crate::QueryResult;
use base::Result;
use types::ops::cast::format_value_in;
use types::ops::date::Zone;
use types::{Chunk, SqlType, Value};

/// How NULL is written, here and in the expected answers of sqllogictest files.
pub const NULL: &str = "NULL";

/// All rows of a result as text.
pub fn text_rows(result: QueryResult) -> Result<Vec<Vec<String>>> {
    let types: Vec<SqlType> = result.columns().iter().map(|c| c.sql_type).collect();
    let zone = result.zone().clone();
    Ok(result.collect()?.iter().flat_map(|chunk| chunk_rows(chunk, &types, &zone)).collect())
}

/// The rows of a chunk as text, moments as the zone has them.
pub fn chunk_rows(chunk: &Chunk, types: &[SqlType], zone: &Zone) -> Vec<Vec<String>> {
    let text = |value: &Value, sql_type: SqlType| match value {
        Value::Null => NULL.to_string(),
        value => format_value_in(value, sql_type, zone),
    };
    let row = |row| chunk.row(row).iter().zip(types).map(|(value, sql_type)| text(value, *sql_type)).collect();
    (0..chunk.rows()).map(row).collect()
}
