//! Tokens of the text form.

use base::{Error, Result, SqlState};

/// A token of one line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A bare word: keyword, function, type or name.
    Word(String),
    /// A quoted name.
    Quoted(String),
    /// A number with its sign.
    Number(String),
    /// A string without its quotes.
    Text(String),
    /// Punctuation and operators.
    Sign(&'static str),
}

const SIGNS: &[&str] = &[
    "::", "<=", ">=", "<>", "||", "(", ")", "[", "]", ",", "=", "<", ">", "+", "-", "*", "/", "%", "#", ":", "?", "$",
];

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
        // A minus belongs to the number unless something that it could be subtracted from precedes it.
        let operand = matches!(
            out.last(),
            Some(Token::Word(_) | Token::Quoted(_) | Token::Number(_) | Token::Text(_) | Token::Sign(")" | "]" | "?"))
        );
        let negative = first == '-' && !operand && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if first.is_ascii_digit() || negative {
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
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            out.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if first == '\'' || first == '"' {
            let (text, after) = quoted(rest, first)?;
            out.push(if first == '"' { Token::Quoted(text) } else { Token::Text(text) });
            rest = after;
        } else {
            let sign = SIGNS.iter().find(|s| rest.starts_with(**s)).ok_or_else(|| error(format!("at {rest:?}")))?;
            out.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        }
        rest = rest.trim_start();
    }
    Ok(out)
}

/// The text in quotes at the start of `rest` (doubled quotes count as one), and what follows.
fn quoted(rest: &str, quote: char) -> Result<(String, &str)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != quote {
            text.push(c);
        } else if chars.peek().is_some_and(|&(_, next)| next == quote) {
            chars.next();
            text.push(quote);
        } else {
            return Ok((text, &rest[at + 1..]));
        }
    }
    Err(error("an unterminated quote"))
}
