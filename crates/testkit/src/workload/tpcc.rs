//! TPC-C: tables, the five transactions as procedures, and the conditions that hold between the tables whatever was run (*TPC
//! Benchmark C, Standard Specification*, revision 5.11).
//!
//! Data are drawn by multiplication instead of at random, so that two loads are the same. Terminals neither type nor think: each
//! session runs one transaction after the other.

mod conditions;
mod driver;
mod load;
mod procedures;

pub use conditions::violations;
pub use driver::{MIX, Terminal};
pub use load::{Scale, load};
pub use procedures::PROCEDURES;
