//! What every other crate stands on: errors with SQLSTATE, typed ids, and memory that is accounted for.
//!
//! Architecture invariant: `base` knows no SQL and depends on no other crate of the workspace.

pub mod error;
pub mod ids;
pub mod memory;
pub mod panics;
pub mod stack;

pub use error::{Error, Result, SqlState};
pub use ids::IdMap;
pub use memory::{Area, Budget};
