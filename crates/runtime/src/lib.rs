//! What queries do to data, as plain Rust: hash joins, aggregation, sorting, set operations, results. Testable without
//! SQL and without the code generator; [`abi`] is all that generated code may see and call.
//!
//! A [`QueryContext`] holds one query's states; pipelines fill them through one
//! [`Worker`](abi::Worker) per thread, [`finalize_phase`](query::QueryContext::finalize_phase) turns what the workers
//! gathered into something that can be read, and a [`RowSource`](source::RowSource) reads it.
//!
//! | module | operator | source |
//! |---|---|---|
//! | [`join`] | hash join with a lock-free tagged table | thesis 4.5.1, 4.5.2 |
//! | [`group`] | local pre-aggregation, partition-wise combination | thesis 4.5.4 |
//! | [`sort`] | keys as words, separators, ranges without synchronisation; top-k | thesis 4.5.6, decision 10 |
//! | [`result`] | batches to the consumer, with back-pressure | |
//!
//! Architecture invariants: nothing here knows SQL text, plans of operators or machine code; no operator blocks a
//! worker; every finalisation is morsels.

pub mod abi;
pub mod group;
pub mod join;
pub mod limit;
pub mod query;
pub mod result;
mod rows;
pub mod sort;
pub mod source;
pub mod sum;
#[cfg(test)]
mod testing;

pub use query::{Pair, PairFns, QueryContext};
