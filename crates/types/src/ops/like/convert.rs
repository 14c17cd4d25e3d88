//! Patterns of LIKE with another escape character.

use base::Result;

use super::escape::escape_character;
use crate::ops::string::check_length;

/// The pattern with a backslash as its escape character, which is what a pattern without ESCAPE has.
///
/// ```
/// use types::ops::like::with_backslash;
/// assert_eq!(with_backslash("a#%##\\", "#"), Ok("a\\%\\#\\\\".into()));
/// ```
pub fn with_backslash(pattern: &str, escape: &str) -> Result<String> {
    let escape = escape_character(escape)?;
    if escape == Some('\\') {
        return Ok(pattern.to_owned());
    }
    let mut out = String::with_capacity(pattern.len());
    let mut is_escaped = false;
    for character in pattern.chars() {
        if Some(character) == escape && !is_escaped {
            out.push('\\');
            is_escaped = true;
            continue;
        }
        if character == '\\' && !is_escaped {
            out.push('\\');
        }
        out.push(character);
        is_escaped = false;
    }
    check_length(out.len())?;
    Ok(out)
}
