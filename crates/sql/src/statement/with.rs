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
    pub then: Statement,
}

/// A query or change of WITH.
#[derive(Clone, Debug)]
pub struct WithPart {
    /// Its name.
    pub name: String,
    /// What it does.
    pub statement: Statement,
    /// The columns of its rows; none of a change without RETURNING.
    pub fields: Vec<Field>,
    /// Whether another one reads its rows. If none does it runs last.
    pub is_read: bool,
}
