//! The pipeline IR becomes machine code, or is interpreted.
//!
//! [`compile`] translates a program with Cranelift, each pipeline to a function that runs a batch of tuples stage by
//! stage (Leis 4.5, and `docs/decisions/0007-codegen.md`). [`interpret`] runs the same IR one tuple at a time, slow and
//! obviously right: the oracle of random tests, and what Miri can run. Both work on the states of `runtime` through the
//! layouts of `runtime::abi`; [`Executable`] hides which of them runs.

mod cache;
mod code;
mod compile;
mod execute;
mod function;
pub mod interpret;
mod messages;
mod translate;

pub use cache::{CodeCache, Fingerprint, fingerprint};
pub use code::{Code, CompiledPair, CompiledPipeline};
pub use compile::{Compiling, Listing, compile, list};
pub use execute::Executable;
pub use interpret::compute_row;
