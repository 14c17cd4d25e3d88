//! Integers and floats: checked arithmetic and functions as in PostgreSQL's `int*.c` and `float.c`.

pub mod angle;
pub mod bucket;
mod elementary;
pub mod float;
pub mod integer;
pub mod many;
pub mod pattern;
mod text;

pub(crate) use text::trim;
pub use text::{format_f32, format_f64, parse_f32, parse_f64, parse_i16, parse_i32, parse_i64, write_f32, write_f64};
