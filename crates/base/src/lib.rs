//! What every other crate stands on: errors with SQLSTATE, typed ids, memory that is accounted for, the
//! flag that stops a statement, and loops for the vectors of this processor.
//!
//! Architecture invariant: `base` knows no SQL and depends on no other crate of the workspace.

pub mod cancel;
pub mod error;
pub mod helpers;
pub mod ids;
pub mod latch;
pub mod memory;
pub mod panics;
pub mod prefetch;
pub mod random;
pub mod simd;
pub mod stack;
pub mod statement;
pub mod traffic;

pub use cancel::CancelToken;
pub use error::{ABOUT, Error, Result, SqlState, about_as_text, about_in_text};
pub use ids::IdMap;
pub use latch::{Latch, LatchGuard};
pub use memory::{Area, Budget};
pub use random::Random;
