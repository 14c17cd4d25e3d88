//! What queries do to data, as plain Rust: hash joins, aggregation, sorting, set operations, results. Testable without
//! SQL and without the code generator; [`abi`] is all that generated code may see and call.
//!
//! A [`QueryContext`] holds one query's states; pipelines fill them through one
//! [`Worker`](abi::Worker) per thread, [`finalize_phase`](query::QueryContext::finalize_phase) turns what the workers
//! gathered into something that can be read, and a [`RowSource`](source::RowSource) reads it. Each operator implements
//! the contract of `state`, beside the layouts that generated code sees of it; modules use those above them only:
//!
//! `slot`, `bits`, `rows`' memory, `worker` - `state`, `source` - the operators - `query` - `abi`.
//!
//! | module | operator | source |
//! |---|---|---|
//! | [`join`] | hash join with a lock-free tagged table | thesis 4.5.1, 4.5.2 |
//! | [`generator`] | what makes many tuples of one, and can stop in between | decision 20 |
//! | `fold` | aggregates without keys, column by column | |
//! | [`vectors`] | filters and columns that scans compute | decision 35 |
//! | [`group`] | local pre-aggregation, partition-wise combination | thesis 4.5.4 |
//! | [`sort`] | keys as words, separators, ranges without synchronisation; top-k | thesis 4.5.6, decision 10 |
//! | [`window`] | functions over partitions and frames | thesis chapter 5, decisions 22 and 23 |
//! | `recursion`, `renewed` | rows that are added in rounds, and what begins anew in each | decision 41 |
//! | [`rows`] | rows that own their strings, partitions that come and go | thesis 4.3, decision 11 |
//! | [`result`] | batches to the consumer, with back-pressure | |
//!
//! Architecture invariants: nothing here knows SQL text, plans of operators or machine code; no operator blocks a
//! worker; every finalisation is morsels.

pub mod abi;
mod again;
mod bits;
pub mod build_keys;
mod distinct;
mod fold;
pub mod generator;
pub mod group;
pub mod join;
mod keys;
mod limit;
mod lists;
mod moments;
mod pairs;
mod params;
pub mod query;
mod recursion;
mod remembered;
mod renewed;
pub mod result;
pub mod rows;
mod selection;
mod settings;
mod sites;
mod slot;
pub mod sort;
pub mod source;
mod state;
pub mod sum;
#[cfg(test)]
mod testing;
pub mod threshold;
mod values;
pub mod vectors;
pub mod window;
mod worker;

pub use query::{Pair, PairFns, QueryContext};
pub use settings::Settings;
