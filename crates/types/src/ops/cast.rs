//! Casts between all types, and text readers and printers: what `CAST`, COPY, CSV and the shell use.
//!
//! Explicit casts and assignments differ in one point only: a string too long for its `varchar(n)` or `char(n)` is cut
//! by a cast and refused by an assignment (unless only blanks go).

mod convert;
pub mod parse;
mod short;
mod text;

pub use convert::{
    assign_value, assign_value_in, can_cast, cast_value, cast_value_in, depends_on_zone, float_to_i64, float_to_real,
    try_cast_value,
};
pub use short::{NOT_PLAIN, ShortForm, plain_integer, plain_integer_of};
pub use text::{format_value, format_value_in, pad_char, write_value, write_value_in};

use base::{Error, Result, SqlState};

/// How a text that is too long for `varchar(n)` or `char(n)` is treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooLong {
    /// Cut, as explicit casts do.
    Cut,
    /// 22001 unless only blanks go, as assignments do.
    Refuse,
}

/// The text as `varchar(limit)`.
#[inline]
pub fn to_varchar(text: &str, limit: u32, too_long: TooLong) -> Result<&str> {
    // Bytes bound characters.
    if text.len() <= limit as usize {
        return Ok(text);
    }
    limited(text, limit, too_long, "character varying")
}

/// The text as `char(limit)`, without its trailing blanks (see [`SqlType::Char`](crate::SqlType::Char)).
#[inline]
pub fn to_char_n(text: &str, limit: u32, too_long: TooLong) -> Result<&str> {
    let text = text.trim_end_matches(' ');
    if text.len() <= limit as usize {
        return Ok(text);
    }
    limited(text, limit, too_long, "character").map(|t| t.trim_end_matches(' '))
}

fn limited<'a>(text: &'a str, limit: u32, too_long: TooLong, kind: &str) -> Result<&'a str> {
    let Some((end, _)) = text.char_indices().nth(limit as usize) else { return Ok(text) };
    if too_long == TooLong::Refuse && text[end..].bytes().any(|b| b != b' ') {
        let message = format!("value too long for type {kind}({limit})");
        return Err(Error::new(SqlState::STRING_TOO_LONG, message));
    }
    Ok(&text[..end])
}

#[cfg(test)]
mod tests;
