//! What is wrong with a text, or with what is asked of it.

use base::{Error, SqlState};

/// How deep values nest at most: what reads them calls itself.
pub const MAX_DEPTH: usize = 1_000;

/// 22P02, with PostgreSQL's reason.
#[cold]
pub(super) fn invalid(detail: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_TEXT, "invalid input syntax for type json").detail(detail)
}

#[cold]
pub(super) fn too_deep() -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .detail(format!("JSON values nest at most {MAX_DEPTH} deep"))
}

/// 22023.
#[cold]
pub(super) fn misused(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
