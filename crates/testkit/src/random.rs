//! Random schemas, data and queries for differential tests: the same seed gives the same text everywhere.
//!
//! Queries are well typed by construction and deterministic: no LIMIT without a total order, no division that could
//! fail unless it is guarded. What can still fail (overflow) must fail on all
//! sides alike.

mod data;
mod expression;
pub mod forms;
mod query;
mod rarer;
mod subquery;
pub mod windows;

pub(crate) use data::Visible;
pub use data::{Column, ENUM, KINDS, Kind, MORE_KINDS, Table, schema};
pub(crate) use query::Generator;
pub use query::query;
