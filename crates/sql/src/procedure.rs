//! The procedural language, after PostgreSQL's PL/pgSQL: from a body's text to a typed tree.
//!
//! ```text
//! body ──lexer──▶ words and signs ──parser──▶ Block, whose expressions and statements of SQL are still text
//! ```
//!
//! Expressions and statements stay text until they run for the first time: what their names mean follows from the tables
//! and variables that there are then, as in PostgreSQL. Nothing here knows a table.

mod block;
mod conditions;
mod control;
mod cursor;
mod declare;
mod lexer;
mod parser;
mod raise;
mod simple;
mod tree;

pub use conditions::{state_of, static_state};
pub use cursor::cursor_call;
pub use parser::{parse_body, variable_conflict};
pub use tree::*;
