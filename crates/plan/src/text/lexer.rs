//! Tokens of the text form.

use base::{Error, Result, SqlState};

/// A token of one line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A bare word: keyword, function, type or name.
    Word(String),
    /// A quoted name.
    Quoted(String),
    /// A number without its sign.
    Number(String),
    /// A string without its quotes.
    Text(String),
    /// Punctuation and operators.
    Sign(&'static str),
}

const SIGNS: &[&str] = &[
    "::", "<=", ">=", "<>", "||", "(", ")", "[", "]", ",", "=", "<", ">", "+", "-", "*", "/", "%", "#", ":", "?", "$",
    "@",
];

/// What stands behind the type of an array's elements.
pub(super) const ARRAY: &str = "[]";

pub(super) fn error(what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, format!("plan text: {what}"))
}

/// The tokens of a line; `--` starts a comment.
pub(super) fn tokens(line: &str) -> Result<Vec<Token>> {
    let mut out: Vec<Token> = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("--") {
            break;
        }
        let escaped = rest.starts_with("E'") || rest.starts_with("E\"");
        if first.is_ascii_digit() {
            let mut end = 1;
            let bytes = rest.as_bytes();
            while end < bytes.len()
                && (bytes[end].is_ascii_digit()
                    || bytes[end] == b'.'
                    || bytes[end] == b'e'
                    || (matches!(bytes[end], b'-' | b'+') && bytes[end - 1] == b'e'))
            {
                end += 1;
            }
            out.push(Token::Number(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if escaped || first == '\'' || first == '"' {
            let start = &rest[usize::from(escaped)..];
            let (text, after) = quoted(start, escaped)?;
            out.push(if start.starts_with('"') { Token::Quoted(text) } else { Token::Text(text) });
            rest = after;
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            out.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        } else {
            let sign = SIGNS.iter().find(|s| rest.starts_with(**s)).ok_or_else(|| error(format!("at {rest:?}")))?;
            out.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        }
        // Right behind a type it makes that an array's; behind a blank it is an empty list.
        while let (Some(after), Some(Token::Word(_) | Token::Sign(")" | ARRAY))) =
            (rest.strip_prefix(ARRAY), out.last())
        {
            out.push(Token::Sign(ARRAY));
            rest = after;
        }
        rest = rest.trim_start();
    }
    Ok(out)
}

/// A text in such quotes, on one line: quotes are doubled; a text with control characters gets an `E` before it, and
/// backslashes, as in PostgreSQL.
pub(super) fn quote(text: &str, quote: char) -> String {
    let escaped = text.contains(|c: char| c.is_control());
    let mut out = if escaped { format!("E{quote}") } else { quote.to_string() };
    for c in text.chars() {
        match c {
            _ if c == quote => out.extend([quote, quote]),
            '\\' if escaped => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            _ if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// What stands in the quotes at the start of `rest`, as [`quote`] writes it, and what follows.
fn quoted(rest: &str, escaped: bool) -> Result<(String, &str)> {
    let unterminated = || error("an unterminated quote");
    let quote = rest.chars().next().ok_or_else(unterminated)?;
    let mut text = String::new();
    let mut chars = rest[1..].chars();
    while let Some(c) = chars.next() {
        if c == quote {
            if !chars.as_str().starts_with(quote) {
                return Ok((text, chars.as_str()));
            }
            chars.next();
            text.push(quote);
        } else if c == '\\' && escaped {
            text.push(match chars.next() {
                Some('n') => '\n',
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                    code.ok_or_else(|| error(format!("no character \\u{digits}")))?
                }
                Some(c) => c,
                None => break,
            });
        } else {
            text.push(c);
        }
    }
    Err(unterminated())
}
