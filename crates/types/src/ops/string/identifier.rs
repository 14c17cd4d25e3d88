//! Names in texts, as SQL writes them: `schema."Table"`.

use base::{Error, Result, SqlState};

/// The parts of a qualified name; what is not in quotes in lower case. With `strict`, nothing may stand behind.
pub fn parse_identifier(text: &str, strict: bool) -> Result<Vec<String>> {
    let invalid = |detail: &str| {
        let error =
            Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("string is not a valid identifier: \"{text}\""));
        if detail.is_empty() { error } else { error.hint(detail.to_owned()) }
    };
    let blank = |c: char| c.is_ascii_whitespace();
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(blank);
    let mut behind_dot = false;
    loop {
        if let Some(mut quoted) = rest.strip_prefix('"') {
            let mut part = String::new();
            loop {
                let end = quoted.find('"').ok_or_else(|| invalid("String has unclosed double quotes."))?;
                part.push_str(&quoted[..end]);
                quoted = &quoted[end + 1..];
                match quoted.strip_prefix('"') {
                    Some(more) => {
                        part.push('"');
                        quoted = more;
                    }
                    None => break,
                }
            }
            if part.is_empty() {
                return Err(invalid("Quoted identifier must not be empty."));
            }
            parts.push(part);
            rest = quoted;
        } else {
            let starts = |c: char| c == '_' || c.is_ascii_alphabetic() || !c.is_ascii();
            let goes_on = |c: char| starts(c) || c.is_ascii_digit() || c == '$';
            if !rest.starts_with(starts) {
                return Err(invalid(match rest.chars().next() {
                    Some('.') => "No valid identifier before \".\".",
                    _ if behind_dot => "No valid identifier after \".\".",
                    _ => "",
                }));
            }
            let end = rest.find(|c| !goes_on(c)).unwrap_or(rest.len());
            parts.push(rest[..end].to_lowercase());
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches(blank);
        match rest.strip_prefix('.') {
            Some(next) => {
                behind_dot = true;
                rest = next.trim_start_matches(blank);
            }
            None if rest.is_empty() || !strict => return Ok(parts),
            None => return Err(invalid("")),
        }
    }
}
