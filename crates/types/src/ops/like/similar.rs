//! SIMILAR TO: the standard's patterns, written as regular expressions the way PostgreSQL does.

use base::{Error, Result, SqlState};

use super::escape::escape_character;

/// The regular expression that matches what the pattern matches. Two separators (the escape character and a quotation mark)
/// make three parts of it, of which `substring` takes the second.
///
/// ```
/// assert_eq!(types::ops::like::similar("a%(b|c)_", "\\").as_deref(), Ok("^(?:a.*(?:b|c).)$"));
/// ```
pub fn similar(pattern: &str, escape: &str) -> Result<String> {
    let escape = escape_character(escape)?;
    let mut made = String::with_capacity(pattern.len() + 8);
    made.push_str("^(?:");
    let (mut escaped, mut in_class, mut separators) = (false, false, 0);
    for c in pattern.chars() {
        if escaped {
            escaped = false;
            if c != '"' || in_class {
                made.extend(['\\', c]);
                continue;
            }
            // The first part as short, the second as long as possible.
            made.push_str(match separators {
                0 => "){1,1}?(",
                1 => "){1,1}(?:",
                _ => return Err(too_many()),
            });
            separators += 1;
        } else if Some(c) == escape {
            escaped = true;
        } else if in_class {
            if c == '\\' {
                made.push('\\');
            }
            made.push(c);
            in_class = c != ']';
        } else {
            in_class = c == '[';
            match c {
                '%' => made.push_str(".*"),
                '_' => made.push('.'),
                '(' => made.push_str("(?:"),
                '\\' | '.' | '^' | '$' => made.extend(['\\', c]),
                _ => made.push(c),
            }
        }
    }
    made.push_str(")$");
    Ok(made)
}

#[cold]
fn too_many() -> Error {
    // SQLSTATE 2200C: invalid use of escape character.
    Error::new(SqlState("2200C"), "SQL regular expression may not contain more than two escape-double-quote separators")
}
