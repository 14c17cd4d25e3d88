//! Ranges as PostgreSQL writes and reads them: `[1,10)`, `(,"2024-01-01 00:00:00"]`, `empty`.

use base::{Error, Result, SqlState};

use super::{Bound, Range, decode, encode, of_bounds};
use crate::ops::cast::{cast_value, write_value};
use crate::{SqlType, Value};

/// Appends a range in its form.
pub fn write(out: &mut String, form: &str, element: SqlType) {
    let Range::Held(lower, upper) = decode(form, element) else {
        out.push_str("empty");
        return;
    };
    out.push(if lower.inclusive { '[' } else { '(' });
    write_bound(out, &lower, element);
    out.push(',');
    write_bound(out, &upper, element);
    out.push(if upper.inclusive { ']' } else { ')' });
}

fn write_bound(out: &mut String, bound: &Bound, element: SqlType) {
    let Some(value) = &bound.value else { return };
    let start = out.len();
    write_value(out, value, element);
    let is_special = |c: char| matches!(c, '"' | '\\' | '(' | ')' | '[' | ']' | ',') || c.is_whitespace();
    if out.len() == start || out[start..].contains(is_special) {
        let quoted = out.split_off(start).replace('\\', "\\\\").replace('"', "\"\"");
        out.push('"');
        out.push_str(&quoted);
        out.push('"');
    }
}

/// Reads a range: its form.
pub fn parse(text: &str, element: SqlType) -> Result<Value> {
    encode(&read(text, element)?, element)
}

fn read(text: &str, element: SqlType) -> Result<Range> {
    let malformed = |detail: &str| {
        Error::new(SqlState::INVALID_TEXT, format!("malformed range literal: \"{text}\"")).detail(detail)
    };
    let trimmed = text.trim();
    if trimmed.eq_ignore_ascii_case("empty") {
        return Ok(Range::Empty);
    }
    let mut rest = trimmed.chars();
    let lower_inclusive = match rest.next() {
        Some('[') => true,
        Some('(') => false,
        _ => return Err(malformed("Missing left parenthesis or bracket.")),
    };
    let (lower, end) = read_bound(&mut rest).ok_or_else(|| malformed("Unexpected end of input."))?;
    if end != ',' {
        return Err(malformed("Missing comma after lower bound."));
    }
    let (upper, end) = read_bound(&mut rest).ok_or_else(|| malformed("Unexpected end of input."))?;
    let upper_inclusive = match end {
        ']' => true,
        ')' => false,
        _ => return Err(malformed("Too many commas.")),
    };
    if rest.next().is_some() {
        return Err(malformed("Junk after right parenthesis or bracket."));
    }
    let bound = |text: Option<String>, inclusive| -> Result<Bound> {
        let value = text.map(|text| cast_value(&Value::str(text), SqlType::Text, element)).transpose()?;
        Ok(Bound { inclusive: inclusive && value.is_some(), value })
    };
    of_bounds(bound(lower, lower_inclusive)?, bound(upper, upper_inclusive)?, element)
}

/// The text of a bound, none if there is none, and what ended it; none at the end of the text.
fn read_bound(rest: &mut std::str::Chars<'_>) -> Option<(Option<String>, char)> {
    let (mut text, mut is_quoted, mut in_quotes) = (String::new(), false, false);
    loop {
        match rest.next()? {
            '\\' => text.push(rest.next()?),
            '"' if in_quotes && rest.as_str().starts_with('"') => {
                rest.next();
                text.push('"');
            }
            '"' => (is_quoted, in_quotes) = (true, !in_quotes),
            end @ (',' | ')' | ']' | '(' | '[') if !in_quotes => {
                return Some(((is_quoted || !text.is_empty()).then_some(text), end));
            }
            other => text.push(other),
        }
    }
}
