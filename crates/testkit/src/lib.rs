//! What tests and benchmarks share.
//!
//! - [`tpch`]: data, queries and answers of TPC-H;
//! - [`random`] and [`differential`]: random queries, run in every way that there is;
//! - [`slt`]: sqllogictest files; [`postgres`]: the server to compare them with;
//! - [`fuzz`]: mutated SQL text and files.

pub mod differential;
pub mod fuzz;
pub mod postgres;
pub mod random;
pub mod rows;
pub mod slt;
pub mod tpch;
