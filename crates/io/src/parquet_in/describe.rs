//! What footers say, as tables: `parquet_schema`, `parquet_metadata`, `parquet_file_metadata`, `parquet_kv_metadata`, with DuckDB's columns as far as files
//! have them.

use std::path::PathBuf;
use std::sync::Arc;

use base::Result;
use parquet::basic::ConvertedType;
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue};
use parquet::schema::types::Type;
use types::ops::bytes;
use types::ops::cast::format_value;
use types::{SqlType, Value};

use super::origin::Origin;
use super::{ParquetFile, guarded};
use crate::context::OpenContext;
use crate::functions::table;
use crate::input::{Compression, Input};
use crate::source::FileSource;

const INT: SqlType = SqlType::BigInt;
const TEXT: SqlType = SqlType::Text;

const SCHEMA: [(&str, SqlType); 12] = [
    ("file_name", TEXT),
    ("name", TEXT),
    ("type", TEXT),
    ("type_length", INT),
    ("repetition_type", TEXT),
    ("num_children", INT),
    ("converted_type", TEXT),
    ("scale", INT),
    ("precision", INT),
    ("field_id", INT),
    ("logical_type", TEXT),
    ("column_id", INT),
];

const METADATA: [(&str, SqlType); 19] = [
    ("file_name", TEXT),
    ("row_group_id", INT),
    ("row_group_num_rows", INT),
    ("row_group_num_columns", INT),
    ("row_group_bytes", INT),
    ("column_id", INT),
    ("num_values", INT),
    ("path_in_schema", TEXT),
    ("type", TEXT),
    ("stats_min_value", TEXT),
    ("stats_max_value", TEXT),
    ("stats_null_count", INT),
    ("compression", TEXT),
    ("encodings", TEXT),
    ("index_page_offset", INT),
    ("dictionary_page_offset", INT),
    ("data_page_offset", INT),
    ("total_compressed_size", INT),
    ("total_uncompressed_size", INT),
];

const FILE: [(&str, SqlType); 6] = [
    ("file_name", TEXT),
    ("created_by", TEXT),
    ("num_rows", INT),
    ("num_row_groups", INT),
    ("format_version", INT),
    ("file_size_bytes", INT),
];

const KEYS: [(&str, SqlType); 3] = [("file_name", TEXT), ("key", SqlType::Bytea), ("value", SqlType::Bytea)];

fn int(value: impl TryInto<i64>) -> Value {
    value.try_into().map_or(Value::Null, Value::Int)
}

fn text(value: impl std::fmt::Display) -> Value {
    Value::str(value.to_string())
}

/// The rows of one of these functions, for each file.
pub fn describe(function: &str, files: &[PathBuf], context: &OpenContext) -> Result<Arc<dyn FileSource>> {
    let mut rows = Vec::new();
    for path in files {
        context.cancel.check()?;
        let input = Input::open(path, Compression::None, context.means())?;
        let size = input.len();
        let file = ParquetFile::open(path.display().to_string(), Origin::new(input))?;
        let name = file.name.clone();
        // Footers that are damaged make the library panic where it looks at them.
        rows.extend(guarded(&name, || {
            Ok(match function {
                "parquet_schema" => {
                    let mut rows = Vec::new();
                    schema(&file, file.footer.metadata.metadata().file_metadata().schema(), &mut rows);
                    rows
                }
                "parquet_metadata" => metadata(&file),
                "parquet_kv_metadata" => {
                    let bytes = |text: &str| Value::str(bytes::form(text.as_bytes()));
                    let pair = |of: &KeyValue| {
                        let value = of.value.as_deref().map_or(Value::Null, bytes);
                        vec![text(&file.name), bytes(&of.key), value]
                    };
                    let pairs = file.footer.metadata.metadata().file_metadata().key_value_metadata();
                    pairs.into_iter().flatten().map(pair).collect()
                }
                _ => {
                    let of = file.footer.metadata.metadata().file_metadata();
                    let by = of.created_by().map_or(Value::Null, text);
                    let groups = int(file.row_groups());
                    vec![vec![text(&file.name), by, int(of.num_rows()), groups, int(of.version()), int(size)]]
                }
            })
        })?);
    }
    Ok(match function {
        "parquet_schema" => table(&SCHEMA, &rows),
        "parquet_metadata" => table(&METADATA, &rows),
        "parquet_kv_metadata" => table(&KEYS, &rows),
        _ => table(&FILE, &rows),
    })
}

/// A column and what it is made of, each before its parts.
fn schema(file: &ParquetFile, of: &Type, rows: &mut Vec<Vec<Value>>) {
    let about = of.get_basic_info();
    let (mut physical, mut length, mut scale, mut precision) = (Value::Null, Value::Null, Value::Null, Value::Null);
    if let Type::PrimitiveType { physical_type, type_length, scale: s, precision: p, .. } = of {
        physical = text(physical_type);
        length = if *type_length > 0 { int(*type_length) } else { Value::Null };
        if *p > 0 {
            (scale, precision) = (int(*s), int(*p));
        }
    }
    rows.push(vec![
        text(&file.name),
        text(of.name()),
        physical,
        length,
        if about.has_repetition() { text(about.repetition()) } else { Value::Null },
        if of.is_group() { int(of.get_fields().len()) } else { Value::Null },
        if about.converted_type() == ConvertedType::NONE { Value::Null } else { text(about.converted_type()) },
        scale,
        precision,
        if about.has_id() { int(about.id()) } else { Value::Null },
        about.logical_type_ref().map_or(Value::Null, |logical| text(format!("{logical:?}"))),
        int(rows.len()),
    ]);
    if of.is_group() {
        of.get_fields().iter().for_each(|part| schema(file, part, rows));
    }
}

/// A row for each column of each row group.
fn metadata(file: &ParquetFile) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for (number, group) in file.footer.metadata.metadata().row_groups().iter().enumerate() {
        for (column, chunk) in group.columns().iter().enumerate() {
            let (min, max) = bounds(file, number, chunk);
            let path = chunk.column_path().parts().join(", ");
            let encodings: Vec<String> = chunk.encodings().map(|encoding| encoding.to_string()).collect();
            let nulls = chunk.statistics().and_then(|known| known.null_count_opt());
            rows.push(vec![
                text(&file.name),
                int(number),
                int(group.num_rows()),
                int(group.num_columns()),
                int(group.total_byte_size()),
                int(column),
                int(chunk.num_values()),
                text(path),
                text(chunk.column_type()),
                min,
                max,
                nulls.map_or(Value::Null, int),
                text(chunk.compression()),
                text(encodings.join(", ")),
                chunk.index_page_offset().map_or(Value::Null, int),
                chunk.dictionary_page_offset().map_or(Value::Null, int),
                int(chunk.data_page_offset()),
                int(chunk.compressed_size()),
                int(chunk.uncompressed_size()),
            ]);
        }
    }
    rows
}

/// The least and the greatest value of a column that is no part of another, as far as they are believed.
fn bounds(file: &ParquetFile, row_group: usize, chunk: &ColumnChunkMetaData) -> (Value, Value) {
    let parts = chunk.column_path().parts();
    let column = file.footer.fields.iter().position(|field| parts.len() == 1 && field.name == parts[0]);
    let Some(column) = column else { return (Value::Null, Value::Null) };
    let known = file.footer.statistics(column, row_group);
    let shown = |value: Option<Value>| match value {
        None | Some(Value::Null) => Value::Null,
        Some(value) => text(format_value(&value, file.footer.fields[column].sql_type)),
    };
    (shown(known.min), shown(known.max))
}
