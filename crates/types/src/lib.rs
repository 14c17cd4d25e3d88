//! SQL types and values, the layout of columns and rows in memory, and the scalar operations on values.
//!
//! - [`SqlType`] is what a user sees; [`Physical`] is how a value lies in memory.
//! - [`Value`] is one value, boxed and slow: constants, samples, tests, results row by row.
//! - [`Column`] and [`Chunk`] are what readers produce, relations store, scans read and results are made of.
//! - [`ops`] holds every scalar operation once: generated code, constant folding and the oracle all call it.
//!
//! Architecture invariant: nothing here knows a query, a table or a thread.

pub mod collation;
pub mod column;
pub mod enumeration;
pub mod ops;
pub mod sql_type;
pub mod string;
pub mod structs;
pub mod value;

pub use collation::Collation;
pub use column::{Buffer, Chunk, Column, ColumnBuilder, Datum, FreeRows};
pub use enumeration::EnumType;
pub use sql_type::{Physical, SqlType};
pub use string::Str;
pub use structs::{MapType, StructField, StructType};
pub use value::{Interval, Value};
