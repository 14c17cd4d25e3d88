//! CSV, JSON, Parquet and Arrow in and out, and tables for people.
//!
//! - [`FileSource`] is what the engine scans: a schema and a fixed number of morsels (row groups of Parquet, byte
//!   ranges of CSV and JSON), each read by any worker at any time, step by step, needed columns only.
//! - [`open()`], [`csv::open_csv`], [`json::open_json`] and [`parquet_in::open_parquet`] make one from paths and glob patterns.
//! - [`csv::CsvWriter`], [`json::JsonWriter`] and [`parquet_out::ParquetWriter`] write chunks.
//! - [`pretty`] shows chunks to people.
//! - [`arrow_in`], [`arrow_out`] and [`ffi`] convert between chunks and Arrow arrays, also across the C interface.
//!
//! Architecture invariants: nothing here knows a query or a table; whatever bytes a file holds, reading it ends in
//! chunks or in a typed error, never in a panic, and never in a row that is silently lost.

mod across;
mod arriving;
pub mod arrow_file;
pub mod arrow_in;
pub mod arrow_out;
mod context;
mod copy_options;
mod create;
pub mod csv;
mod encoding;
pub mod ffi;
mod format;
mod functions;
mod grown_file;
mod identity;
mod input;
pub mod json;
mod lines;
mod new_file;
mod open;
mod option;
pub mod parquet_in;
pub mod parquet_out;
mod partitioned;
mod paths;
mod planned;
pub mod pretty;
pub mod source;

pub use context::OpenContext;
pub use copy_options::format as copy_format;
pub use create::create;
pub use format::{Format, format_of};
pub use grown_file::open_grown;
pub use identity::{Identity, Known};
pub use open::{FUNCTIONS, open, open_for_copy, open_given_for_copy};
pub use paths::expand_paths;
pub use planned::ChunkWriter;
pub use remote::{Access, Client, S3, UrlStyle, Wanted};
pub use source::{
    CHUNK_ROWS, ColumnStatistics, CompareOp, FIRST_ROWS, Field, FileSource, MemorySource, NoRows, Once, PieceReader,
    PrunePredicate, Step,
};

#[cfg(test)]
mod tests;
