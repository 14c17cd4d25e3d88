//! JSON files, in and out.
//!
//! A file has an object in each line, one array of objects, or objects one behind the other; which it is, and which types the
//! members have, is found by looking ([`open`], [`shape`]). Lines are cut into ranges that any worker reads; of other files, one
//! worker reads all. Records are found ([`records`]), checked to be JSON, and the members that a query needs are converted
//! ([`source`], [`convert`]).

mod convert;
mod open;
mod options;
mod records;
mod shape;
mod source;
mod writer;

pub use open::{open_json, open_json_bytes};
pub use options::JsonOptions;
pub use records::Layout;
pub use writer::{JsonTarget, JsonWriter};

#[cfg(test)]
mod tests;
