//! Every scalar operation once: generated code, constant folding and the oracle call these.
//!
//! The functions are plain Rust over plain values: integers, scaled `i128` decimals, floats, `&str`, days since
//! 1970-01-01, microseconds since 1970-01-01 00:00, and [`Interval`](crate::Interval)s. What can fail returns
//! [`base::Error`] with PostgreSQL's SQLSTATE and wording; callers add positions. SQL NULL never reaches them.
//!
//! Text readers come in two layers: [`parse`](cast::parse) functions over bytes that fail with the small [`Bad`] (what
//! bulk loading calls), and functions that turn it into an error with the text.

pub mod array;
pub mod bytes;
pub mod cast;
pub mod date;
pub mod decimal;
pub mod error;
pub mod hash;
pub mod hyperloglog;
pub mod json;
pub mod like;
pub mod map;
pub mod number;
pub mod numeric;
pub mod range;
pub mod regex;
pub mod rows;
pub mod search;
pub mod string;
pub mod structure;
pub mod sum;
pub mod typed_json;
pub mod uuid;

pub use error::Bad;
