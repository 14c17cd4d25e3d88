//! Random schemas, data and queries for differential tests: the same seed gives the same text everywhere.
//!
//! Queries are well typed by construction and deterministic: no LIMIT without a total order, no division that could
//! fail unless it is guarded. What can still fail (overflow) must fail on all
//! sides alike.

mod data;
mod expression;
pub mod forms;
mod query;
mod subquery;
pub mod windows;

pub use data::{Column, Kind, Table, schema};
pub use query::query;
