//! Formats of files, and what a name says of them.

use std::path::Path;

use remote::name_of;

/// File formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// CSV, TSV and the like.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// JSON: objects in lines, or an array of objects.
    Json,
    /// Arrow's IPC files, also called Feather.
    Arrow,
}

/// The format that a file's name says: `.csv`, `.tsv`, `.tbl`, `.txt`, `.json`, `.jsonl`, `.ndjson`, each perhaps
/// with `.gz` or `.zst`, or `.parquet`, `.arrow`
/// and `.feather`.
pub fn format_of(path: &str) -> Option<Format> {
    let lower = name_of(path).to_ascii_lowercase();
    let stem = [".gz", ".gzip", ".zst", ".zstd"].iter().find_map(|s| lower.strip_suffix(s)).unwrap_or(&lower);
    match Path::new(stem).extension()?.to_str()? {
        "csv" | "tsv" | "tbl" | "txt" | "dat" | "psv" => Some(Format::Csv),
        "parquet" | "parq" | "pq" => Some(Format::Parquet),
        "json" | "jsonl" | "ndjson" => Some(Format::Json),
        "arrow" | "feather" => Some(Format::Arrow),
        _ => None,
    }
}
