//! What tests and benchmarks share.
//!
//! - [`tpch`]: data, queries and answers of TPC-H;
//! - [`random`] and [`differential`]: random queries, run in every way that there is;
//! - [`slt`]: sqllogictest files;
//! - [`fuzz`]: mutated SQL text and files.

pub mod differential;
pub mod fuzz;
pub mod random;
pub mod rows;
pub mod slt;
pub mod tpch;
