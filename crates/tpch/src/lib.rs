//! TPC-H: its data, its 22 queries with the validation parameters, and their answers at scale factor 1.

mod answers;
mod columns;
mod generate;
mod load;
mod queries;

pub use answers::compare_answers;
pub use generate::{Format, Step, generate};
pub use load::{Source, load};
pub use queries::{QUERIES, Query, SCHEMA};

/// The tables, in an order in which foreign keys point backwards.
pub const TABLES: &[&str] = &["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"];

/// Rows of a table at a scale factor; of lineitem about as many (each order has one to seven).
pub fn rows(table: &str, scale: f64) -> u64 {
    let base = match table {
        "region" => return 5,
        "nation" => return 25,
        "supplier" => 10_000.0,
        "customer" => 150_000.0,
        "part" => 200_000.0,
        "partsupp" => 800_000.0,
        "orders" => 1_500_000.0,
        "lineitem" => 6_001_215.0,
        other => panic!("TPC-H has no table {other}"),
    };
    (base * scale) as u64
}
