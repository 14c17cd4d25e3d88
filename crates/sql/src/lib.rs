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
mod calls;
mod dialect;
mod literals;
mod parse;
mod position;
pub mod procedure;
mod resolver;
mod retell;
mod split;
mod statement;
mod walk;

pub use bind::{
    ArgumentRole, ArgumentSource, ArgumentUse, ArgumentValue, CallWithin, Open, Simple, ViewOf, Within, bind,
    bind_open, call_within, column_type, domains_of_fields, names_domain, prepare, prepare_within, row_type,
    simple_within, type_named,
};
pub use calls::calls_function;
pub use literals::{Literal, Template};
pub use parse::{Parsed, parameter_names, parse, parse_depth, parse_script};
pub use resolver::{ComputedColumn, DomainColumn, Kin, Registered, Resolved, Resolver, Series, SeriesBounds, Table};
pub use retell::with_table_renamed;
pub use split::{Piece, bytes_of_statements, given_data, next_piece, reads_stdin, split};
pub use statement::{
    AlterTable, Change, ChangeKind, ColumnDefinition, Copy, CopyTarget, CreateIndex, CreateTable, CreateView,
    CursorStatement, Direction, DomainStatement, ExplainStage, Fires, IndexShape, Insert, Instead, Isolation,
    LockStrength, LockWait, LockedTable, Locking, Maintenance, ObjectKind, ObjectName, Outcome, Prepare, ReindexKind,
    Relate, RoutineChange, SequenceChange, SetConfig, Statement, TransactionKind, TransactionModes, TriggerChange,
    TriggerStatement, Truncate, TypeStatement, UniqueKey, With, WithPart, change_action,
};
