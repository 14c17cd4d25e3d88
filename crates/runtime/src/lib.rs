//! What queries do to data, as plain Rust: hash joins, aggregation, sorting, set operations, results. Testable without
//! SQL and without the code generator; [`abi`] is all that generated code may see and call.

pub mod abi;
