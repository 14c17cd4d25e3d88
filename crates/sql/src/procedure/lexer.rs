//! Words and signs of a body, with their places. What is quoted is one token, and comments are none.

use std::ops::Range;

use base::{Error, Result, SqlState};

use crate::split::{comment_end, dollar_end, string_end};

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it stands in the body.
    pub range: Range<usize>,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word in lower case.
    Word(String),
    /// A name in quotes.
    Quoted(String),
    /// A string, as its value.
    Text(String),
    /// Digits.
    Number,
    /// `$1`
    Parameter,
    /// A sign, of which some have two characters.
    Sign(&'static str),
    /// The end of the body.
    End,
}

/// Signs that matter here; others are one character for themselves.
const SIGNS: [&str; 21] =
    [":=", "..", "<<", ">>", "::", "<=", ">=", "<>", "!=", "||", "(", ")", "[", "]", ",", ";", ".", "=", "%", "#", ":"];

/// Cuts a body.
pub(super) fn tokens(body: &str) -> Result<Vec<Token>> {
    let bytes = body.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let start = at;
        let open = |what: &str| wrong(format!("unterminated {what}"), start);
        let kind = match bytes[at] {
            b if b.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                at += bytes[at..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - at);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = comment_end(bytes, at).ok_or_else(|| open("/* comment"))?;
                continue;
            }
            b'\'' => {
                at = string_end(bytes, at, b'\'', false).ok_or_else(|| open("quoted string"))?;
                Kind::Text(body[start + 1..at - 1].replace("''", "'"))
            }
            b'e' | b'E' if bytes.get(at + 1) == Some(&b'\'') => {
                at = string_end(bytes, at + 1, b'\'', true).ok_or_else(|| open("quoted string"))?;
                Kind::Text(unescaped(&body[start + 2..at - 1]))
            }
            b'"' => {
                at = string_end(bytes, at, b'"', false).ok_or_else(|| open("quoted identifier"))?;
                Kind::Quoted(body[start + 1..at - 1].replace("\"\"", "\""))
            }
            b'$' => {
                let end = dollar_end(bytes, at).ok_or_else(|| open("dollar-quoted string"))?;
                if end > at + 1 {
                    let tag = 1 + bytes[at + 1..].iter().position(|&b| b == b'$').map_or(0, |i| i + 1);
                    at = end;
                    Kind::Text(body[start + tag..end - tag].to_owned())
                } else {
                    at += 1 + digits(&bytes[at + 1..]);
                    Kind::Parameter
                }
            }
            b'0'..=b'9' => {
                at = number_end(bytes, at);
                Kind::Number
            }
            b if is_word(b) => {
                at += bytes[at..].iter().take_while(|&&b| is_word(b) || b == b'$').count();
                Kind::Word(body[start..at].to_lowercase())
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| body[at..].starts_with(**sign)).copied().unwrap_or("");
                at += sign.len().max(body[at..].chars().next().map_or(1, char::len_utf8));
                Kind::Sign(sign)
            }
        };
        found.push(Token { kind, range: start..at });
    }
    found.push(Token { kind: Kind::End, range: bytes.len()..bytes.len() });
    Ok(found)
}

/// 42601 at a byte of the body.
#[cold]
pub(super) fn wrong(message: impl Into<String>, at: usize) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message).at(u32::try_from(at).ok())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// After a number at `at`: in `1..10` the first is 1.
fn number_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + digits(&bytes[at..]);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
        end += 1 + digits(&bytes[end + 1..]);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(&bytes[(end + 1 + sign).min(bytes.len())..]);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

/// A string with backslashes as its value.
fn unescaped(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('r') => value.push('\r'),
                Some('b') => value.push('\u{8}'),
                Some('f') => value.push('\u{c}'),
                Some(other) => value.push(other),
                None => {}
            },
            '\'' => {
                chars.next_if_eq(&'\'');
                value.push('\'');
            }
            c => value.push(c),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(body: &str) -> Vec<Kind> {
        tokens(body).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn words_signs_and_strings() {
        let word = |w: &str| Kind::Word(w.to_owned());
        let found = kinds("X := 1..10; -- no\n <<l>> \"Y\" 'it''s' E'a\\'b' $q$z$q$ $1 /* /* */ */ 1.5e3");
        let wanted = vec![
            word("x"),
            Kind::Sign(":="),
            Kind::Number,
            Kind::Sign(".."),
            Kind::Number,
            Kind::Sign(";"),
            Kind::Sign("<<"),
            word("l"),
            Kind::Sign(">>"),
            Kind::Quoted("Y".to_owned()),
            Kind::Text("it's".to_owned()),
            Kind::Text("a'b".to_owned()),
            Kind::Text("z".to_owned()),
            Kind::Parameter,
            Kind::Number,
            Kind::End,
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn any_text_ends() {
        for body in ["'", "\"", "$$", "/*", "E'\\", "1e", "$", "ä'", "é..", "\u{1}", "1.", "€ :="] {
            let _ = tokens(body);
        }
    }
}
