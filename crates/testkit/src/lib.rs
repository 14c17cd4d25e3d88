//! What tests and benchmarks share.
//!
//! - [`random`] and [`differential`]: random queries, run in every way that there is; [`peer`]: beside PostgreSQL;
//! - [`logic`]: random queries whose answers must fit each other;
//! - [`history`]: random transactions at once, and whether their isolation level allows what they saw;
//! - [`slt`]: sqllogictest files; [`postgres`]: the server to compare them with;
//! - [`workload`]: transactions that run one after the other: TPC-C, CH-benCHmark, YCSB, SmallBank;
//! - [`fuzz`]: mutated SQL text and files.

pub mod differential;
pub mod fuzz;
pub mod history;
pub mod http_server;
pub mod logic;
pub mod peer;
pub mod postgres;
pub mod random;
pub mod slt;
pub mod workload;
