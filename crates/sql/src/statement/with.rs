//! WITH that changes data.

use catalog::Field;

use super::Statement;

/// A statement with the parts of its WITH. What a part has given is a table for those that come later
/// ([`Resolver::rows_of_part`](crate::Resolver::rows_of_part)).
#[derive(Clone, Debug)]
pub struct With {
    /// In the order in which they run.
    pub parts: Vec<WithPart>,
    /// What the statement gives.
    pub then: Outcome,
}

/// What a statement of parts gives.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// What another statement gives, which runs behind those whose rows are read.
    Of(Box<Statement>),
    /// How many rows these parts have changed, by their numbers; what the statement is called.
    Counted(&'static str, Vec<usize>),
}

/// A query or change of WITH.
#[derive(Clone, Debug)]
pub struct WithPart {
    /// Its name.
    pub name: String,
    /// By which others read its rows; no other part of the statement has it, be it a part of a part.
    pub number: usize,
    /// What it does.
    pub statement: Statement,
    /// The columns of its rows; none of a change without RETURNING.
    pub fields: Vec<Field>,
    /// Whether another one reads its rows. If none does it runs last.
    pub is_read: bool,
}
