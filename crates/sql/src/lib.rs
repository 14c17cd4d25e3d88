//! From SQL text to logical plans: parse, bind names, check types.
//!
//! ```text
//! text ──split──▶ statements ──parse──▶ syntax tree ──bind (names, types, casts)──▶ Statement with plan::Plan
//! ```
//! - [`split`] cuts scripts; [`parse`] wraps the parser library, with limits on size and depth, and words its errors as
//!   PostgreSQL does;
//! - [`bind`] asks a [`Resolver`] for tables, views and files, and turns the syntax tree into a [`Statement`] whose plans
//!   have every implicit cast written out.
//!
//! Architecture invariant: no text whatsoever makes this crate panic, and the work and the depth of recursion are bounded
//! by limits that are errors (54001), not crashes.

mod bind;
mod dialect;
mod literals;
mod parse;
mod position;
mod resolver;
mod split;
mod statement;

pub use bind::{ArgumentSource, ArgumentUse, ArgumentValue, bind, bind_open, prepare};
pub use literals::{Literal, Template};
pub use parse::{Parsed, parse, parse_depth, parse_script};
pub use resolver::{Resolved, Resolver, Series, SeriesBounds, Table};
pub use split::{Piece, next_piece, split};
pub use statement::{
    AlterTable, Change, ChangeKind, ColumnDefinition, Copy, CopyTarget, CreateIndex, CreateTable, CreateView,
    ExplainStage, IndexShape, Insert, Isolation, ObjectKind, ObjectName, Prepare, SequenceChange, Statement,
    TransactionKind, TransactionModes, change_action,
};
