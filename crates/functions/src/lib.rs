//! Every SQL function, operator and aggregate, each once: a row says its names, its overloads, whether it is strict or
//! volatile, its documentation with an example, and how it is evaluated. Resolution, the text forms of plans and of the
//! IR, constant folding, boxed calls of generated code and the reference of tests all follow from the row.
//!
//! **To add a scalar function** write its row in one of the families: [`scalar`] lists them. That is all: it can be
//! called in SQL, printed, parsed back, folded and run, and its example is tested. Where code elsewhere names the function
//! (machine code of its own in the lowering, a rule of the optimizer), it gets a constant in `scalar/names.rs`.
//!
//! **To add an aggregate** write its row in [`aggregate`], and its accumulators in
//! `pipeline/src/lower/aggregate/accumulator.rs` and, over frames, in `runtime/src/window/aggregate.rs`, to which the
//! compiler leads.
//!
//! **To add a function that other functions make up** write its SQL in [`composed`].
//!
//! **Functions that take a lambda** are in [`lambda`].
//!
//! **To add a window function** write its row in [`window`], and its arm in `runtime/src/window/call.rs`.
//!
//! Operations are plain Rust in `types::ops`; a row unpacks values and calls them. Grammar's own forms (`coalesce`,
//! `extract(... from ...)`, `nullif`, ...) are the binder's.
//!
//! Architecture invariant: no row knows a plan, a column or a layout; values go in and a value comes out.

pub mod aggregate;
pub mod arithmetic;
mod common;
pub mod composed;
pub mod lambda;
pub mod resolve;
pub mod scalar;
pub mod sequence;
pub mod window;

pub use aggregate::{Aggregate, AggregateFunction};
pub use arithmetic::{ArithmeticTypes, arithmetic, negate};
pub use common::common_type;
pub use composed::Composed;
pub use lambda::{Lambda, LambdaKind};
pub use resolve::{Overload, Parameter, ResolvedCall, ResultType, SESSION_ZONE};
pub use scalar::{Call, FloatFunction, Scalar, ScalarFunction, Typed};
pub use sequence::{Sequence, SequenceSession};
pub use window::{Window, WindowFunction};
