//! Plans become pipelines: the pipeline IR, and the lowering of logical operators into it.
//!
//! A pipeline is *source, body, breakers*: tuples come from a source (table, file, materialised rows), flow through a
//! straight-line body, and end in states (hash table, groups, sort) that later pipelines read, in a result or in a table.

pub mod ir;

mod lower;

pub use lower::{Target, lower, lower_to, source_column};
