//! The parser's errors as PostgreSQL words them, with hints for common slips.

use base::{Error, SqlState};
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{Location, TokenizerError};

use crate::position::Positions;

/// An error of the tokenizer: an unclosed quote, mostly.
pub(super) fn tokenizer(error: &TokenizerError, text: &str, positions: &Positions) -> Error {
    let position = positions.offset(error.location);
    let message = &error.message;
    let lower = message.to_ascii_lowercase();
    let (what, hint) = if lower.contains("unterminated string") {
        ("unterminated quoted string", "close the string with a single quote; write a quote inside of it twice")
    } else if lower.contains("expected close delimiter") {
        ("unterminated quoted identifier", "close the name with a double quote")
    } else if lower.contains("comment") {
        ("unterminated /* comment", "close the comment with */")
    } else if lower.contains("dollar") || lower.contains("$") {
        ("unterminated dollar-quoted string", "close the string with the tag that opened it")
    } else {
        return syntax_error(text, positions, position, Some(message));
    };
    let near = position.map_or("", |p| word_at(text, positions, p));
    let near = if near.is_empty() { String::new() } else { format!(" at or near \"{near}\"") };
    Error::new(SqlState::SYNTAX_ERROR, format!("{what}{near}")).hint(hint).at(position)
}

/// An error of the parser, whose message ends in the location.
pub(super) fn parser(error: &ParserError, text: &str, positions: &Positions) -> Error {
    match error {
        ParserError::RecursionLimitExceeded => super::too_deep(),
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
            let (message, location) = location(message);
            let position = location.and_then(|l| positions.offset(l));
            // Without a location the parser complains about the end, or about something that it has read.
            let found = message.rsplit_once("found: ").map_or("", |(_, found)| found);
            let position = match found {
                "EOF" => Some(positions.end()),
                found => position.map(|p| nearer(text, positions, p, found)),
            };
            syntax_error(text, positions, position, Some(message))
        }
    }
}

/// The parser sometimes points at the token after the one that it names: the position of the named one.
fn nearer(text: &str, positions: &Positions, position: u32, found: &str) -> u32 {
    let start = position.saturating_sub(positions.begin()) as usize;
    let (Some(before), Some(after)) = (text.get(..start), text.get(start..)) else { return position };
    let before = before.trim_end();
    if found.is_empty() || after.starts_with(found) || !before.ends_with(found) {
        return position;
    }
    positions.begin() + (before.len() - found.len()) as u32
}

/// Cuts ` at Line: 1, Column: 8` off.
fn location(message: &str) -> (&str, Option<Location>) {
    let parsed = message.rfind(" at Line: ").and_then(|at| {
        let (line, column) = message[at + " at Line: ".len()..].split_once(", Column: ")?;
        Some((&message[..at], Some(Location { line: line.parse().ok()?, column: column.parse().ok()? })))
    });
    parsed.unwrap_or((message, None))
}

fn syntax_error(text: &str, positions: &Positions, position: Option<u32>, message: Option<&str>) -> Error {
    let near = position.map_or("", |p| word_at(text, positions, p));
    let mut error = match (position, near) {
        (Some(_), "") => Error::new(SqlState::SYNTAX_ERROR, "syntax error at end of input"),
        (Some(_), near) => Error::new(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{near}\"")),
        (None, _) => Error::new(SqlState::SYNTAX_ERROR, format!("syntax error: {}", message.unwrap_or("unknown"))),
    };
    if let (Some(_), Some(message)) = (position, message) {
        let expected = message
            .strip_prefix("Expected")
            .map(|m| m.trim_start_matches(':').trim_start())
            .and_then(|m| m.rsplit_once(", found: "))
            .map(|(e, _)| e);
        error = error.detail(match expected {
            Some(expected) => format!("expected {}", expected.trim_start_matches("Expected: ")),
            None => message.to_owned(),
        });
    }
    if let Some(hint) = hint(text, positions, position, near) {
        error = error.hint(hint);
    }
    error.at(position)
}

/// The token at a position, as the user wrote it.
fn word_at<'a>(text: &'a str, positions: &Positions, position: u32) -> &'a str {
    let start = position.saturating_sub(positions.begin()) as usize;
    let Some(rest) = text.get(start..) else { return "" };
    let rest = rest.trim_start();
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let Some(first) = rest.chars().next() else { return "" };
    let end = if is_word(first) {
        rest.find(|c| !is_word(c)).unwrap_or(rest.len())
    } else if first == '\'' || first == '"' {
        rest[1..].find(first).map_or(rest.len(), |i| i + 2)
    } else {
        first.len_utf8()
    };
    // Long strings are cut: the position says where they are.
    let end = if end > 40 { (1..=40).rev().find(|&i| rest.is_char_boundary(i)).unwrap_or(0) } else { end };
    &rest[..end]
}

/// Advice for slips that people make often.
fn hint(text: &str, positions: &Positions, position: Option<u32>, near: &str) -> Option<&'static str> {
    let lower = near.to_ascii_lowercase();
    let first = text.split(|c: char| !c.is_alphabetic()).next().unwrap_or("").to_ascii_lowercase();
    let before =
        position.and_then(|p| text.get(..p.saturating_sub(positions.begin()) as usize)).map_or("", str::trim_end);
    let previous = before.rsplit(|c: char| c.is_whitespace()).next().unwrap_or("").to_ascii_lowercase();
    Some(match lower.as_str() {
        "from" | "where" | "group" | "order" | ")" | "," if before.ends_with(',') => {
            "there is a comma too many before it"
        }
        "`" => "quote names with double quotes",
        "[" => "names are quoted with double quotes",
        "=" if before.ends_with('=') => "equality is written with one =",
        "limit" | "order" | "where" | "having" | "group" if !before.is_empty() => {
            "clauses come in the order SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT"
        }
        _ if matches!(previous.as_str(), "group" | "order") => "write GROUP BY or ORDER BY",
        _ if ["selct", "slect", "seelct", "sellect", "selet", "selec"].contains(&first.as_str()) => {
            "did you mean SELECT?"
        }
        _ => return None,
    })
}
