//! Texts for SQL: quoted literals and names, `format`, and escapes of characters, as in PostgreSQL.

use std::borrow::Cow;
use std::iter::repeat_n;

use base::{Error, Result, SqlState};

use super::{check_length, length};

/// PostgreSQL's keywords that no name can be without quotes, in order.
const RESERVED: &str = "all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both \
    case cast char character check coalesce collate collation column concurrently constraint create cross \
    current_catalog current_date current_role current_schema current_time current_timestamp current_user dec \
    decimal default deferrable desc distinct do else end except exists extract false fetch float for foreign \
    freeze from full grant greatest group grouping having ilike in initially inner inout int integer \
    intersect interval into is isnull join lateral leading least left like limit localtime localtimestamp \
    national natural nchar none normalize not notnull null nullif numeric offset on only or order out outer \
    overlaps overlay placing position precision primary real references returning right row select \
    session_user setof similar smallint some substring symmetric table tablesample then time timestamp to \
    trailing treat trim true union unique user using values varchar variadic verbose when where window with \
    xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize \
    xmltable";

/// `quote_literal(text)`
pub fn quote_literal(text: &str) -> Result<String> {
    check_length(2 * text.len() + 3)?;
    let quoted = text.replace('\'', "''");
    Ok(match text.contains('\\') {
        true => format!("E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    })
}

/// `quote_ident(text)`: in quotes where it must be.
pub fn quote_ident(text: &str) -> Result<Cow<'_, str>> {
    let is_start = |c: char| c.is_ascii_lowercase() || c == '_';
    let is_plain = text.starts_with(is_start) && text.chars().all(|c| is_start(c) || c.is_ascii_digit());
    if is_plain && !RESERVED.split(' ').any(|word| word == text) {
        return Ok(Cow::Borrowed(text));
    }
    check_length(2 * text.len() + 2)?;
    Ok(Cow::Owned(format!("\"{}\"", text.replace('"', "\"\""))))
}

/// `unistr(text)`: `\XXXX`, `\uXXXX`, `\+XXXXXX` and `\UXXXXXXXX` become the character with that number.
pub fn unistr(text: &str) -> Result<String> {
    check_length(text.len())?;
    let pair = || Error::new(SqlState::SYNTAX_ERROR, "invalid Unicode surrogate pair");
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut high) = (text, None);
    while let Some(at) = rest.find('\\') {
        let after = &rest[at + 1..];
        if high.is_some() && at > 0 {
            return Err(pair());
        }
        out.push_str(&rest[..at]);
        if let Some(behind) = after.strip_prefix('\\') {
            if high.is_some() {
                return Err(pair());
            }
            out.push('\\');
            rest = behind;
            continue;
        }
        let (code, behind) = escape(after)?;
        rest = behind;
        match (high.take(), code) {
            (None, 0xd800..=0xdbff) => high = Some(code),
            (Some(high), 0xdc00..=0xdfff) => {
                out.extend(char::from_u32(0x1_0000 + ((high & 0x3ff) << 10) + (code & 0x3ff)))
            }
            (Some(_), _) | (None, 0xdc00..=0xdfff) => return Err(pair()),
            (None, _) => match char::from_u32(code).filter(|c| *c != '\0') {
                Some(c) => out.push(c),
                None => {
                    return Err(Error::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!("invalid Unicode code point: {code:04X}"),
                    ));
                }
            },
        }
    }
    if high.is_some() {
        return Err(pair());
    }
    out.push_str(rest);
    Ok(out)
}

/// The number that an escape names, and what follows the escape.
fn escape(text: &str) -> Result<(u32, &str)> {
    let (digits, count) = match text.as_bytes().first() {
        Some(b'u') => (&text[1..], 4),
        Some(b'+') => (&text[1..], 6),
        Some(b'U') => (&text[1..], 8),
        _ => (text, 4),
    };
    let number = digits.get(..count).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
    match number.and_then(|d| u32::from_str_radix(d, 16).ok()) {
        Some(number) => Ok((number, &digits[count..])),
        None => Err(Error::new(SqlState::SYNTAX_ERROR, "invalid Unicode escape")
            .hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")),
    }
}

/// A place of `format` for an argument: `%[position$][-][width]type`.
#[derive(Default)]
struct Place {
    argument: Option<usize>,
    left: bool,
    width: i32,
    /// The width is an argument: of that number, or the next one (0).
    width_argument: Option<usize>,
}

/// `format(text, ...)`: `%s`, `%I` and `%L` stand for arguments, which may be NULL, and `%%` for `%`.
pub fn format(pattern: &str, arguments: &[Option<&str>]) -> Result<String> {
    let mut out = String::new();
    let (mut rest, mut next) = (pattern, 1);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            out.push('%');
            rest = behind;
            continue;
        }
        let place = place(&mut rest)?;
        let kind = rest.chars().next().ok_or_else(unterminated)?;
        rest = &rest[kind.len_utf8()..];
        if !matches!(kind, 's' | 'I' | 'L') {
            let message = format!("unrecognized format() type specifier \"{kind}\"");
            return Err(bad(message).hint("For a single \"%\" use \"%%\"."));
        }
        let mut argument = |number: Option<usize>| {
            let number = number.filter(|n| *n > 0).unwrap_or(next);
            next = number + 1;
            arguments.get(number - 1).copied().ok_or_else(|| bad("too few arguments for format()"))
        };
        let width = match place.width_argument {
            None => place.width,
            Some(number) => match argument(Some(number))? {
                None => 0,
                Some(text) => text.parse().map_err(|_| crate::ops::error::invalid_text("integer", text))?,
            },
        };
        let value: Cow<'_, str> = match (kind, argument(place.argument)?) {
            ('s', value) => value.unwrap_or_default().into(),
            ('L', value) => value.map_or(Ok("NULL".into()), quote_literal)?.into(),
            (_, Some(value)) => quote_ident(value)?,
            (_, None) => {
                return Err(Error::new(SqlState("22004"), "null values cannot be formatted as an SQL identifier"));
            }
        };
        append(&mut out, &value, width, place.left)?;
    }
    out.push_str(rest);
    check_length(out.len())?;
    Ok(out)
}

fn append(out: &mut String, value: &str, width: i32, left: bool) -> Result<()> {
    let padding = (width.unsigned_abs() as usize).saturating_sub(length(value) as usize);
    check_length(out.len() + value.len() + padding)?;
    if left || width < 0 {
        out.push_str(value);
        out.extend(repeat_n(' ', padding));
    } else {
        out.extend(repeat_n(' ', padding));
        out.push_str(value);
    }
    Ok(())
}

/// Reads a place up to its type.
fn place(rest: &mut &str) -> Result<Place> {
    let mut place = Place::default();
    if let Some(number) = digits(rest)? {
        let Some(behind) = rest.strip_prefix('$') else { return Ok(Place { width: number, ..place }) };
        *rest = behind;
        place.argument = Some(position(number)?);
    }
    while let Some(behind) = rest.strip_prefix('-') {
        (place.left, *rest) = (true, behind);
    }
    let Some(behind) = rest.strip_prefix('*') else {
        place.width = digits(rest)?.unwrap_or(0);
        return Ok(place);
    };
    *rest = behind;
    place.width_argument = match digits(rest)? {
        None => Some(0),
        Some(number) => {
            *rest = rest.strip_prefix('$').ok_or_else(|| bad("width argument position must be ended by \"$\""))?;
            Some(position(number)?)
        }
    };
    Ok(place)
}

fn position(number: i32) -> Result<usize> {
    match usize::try_from(number) {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(bad("format specifies argument 0, but arguments are numbered from 1")),
    }
}

/// The number that the text begins with; something must follow it.
fn digits(rest: &mut &str) -> Result<Option<i32>> {
    let count = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, behind) = rest.split_at(count);
    if behind.is_empty() {
        return Err(unterminated());
    }
    *rest = behind;
    match digits.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) if digits.is_empty() => Ok(None),
        Err(_) => Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "number is out of range")),
    }
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
fn unterminated() -> Error {
    bad("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".")
}
