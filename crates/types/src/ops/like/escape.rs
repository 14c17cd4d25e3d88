//! Escape characters.

use base::{Error, Result, SqlState};

/// The escape character of LIKE without an ESCAPE clause.
pub const DEFAULT_ESCAPE: Option<char> = Some('\\');

/// The character of an ESCAPE clause: none if it is empty, 22025 if it is longer than one character.
pub fn escape_character(text: &str) -> Result<Option<char>> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (first, None) => Ok(first),
        _ => Err(Error::new(SqlState::INVALID_ESCAPE, "invalid escape string")
            .hint("Escape string must be empty or one character.")),
    }
}
