//! Functions of strings. Positions and lengths count characters, from 1, as in SQL; ASCII texts take fast paths.
//!
//! What is a part of its argument is returned as a slice of it; what makes a new text returns a `String`, or a [`Cow`]
//! if the argument often is the result. No result is longer than [`MAX_LENGTH`].

mod distance;
mod encode;
mod hashtext;
mod identifier;
mod md5;
mod printf;
mod quote;
mod search;
mod sha;
mod sha1;
mod size;
mod unicode;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use base::{Error, Result, SqlState, statement};
pub use distance::{damerau_levenshtein, hamming, jaccard, jaro, jaro_winkler, levenshtein};
pub use encode::{
    bytes_of_binary, bytes_of_formatted, file_name, first_code_point, first_folder, folder, format_bytes,
    format_decimal_bytes, parts_of_path, regexp_escape, to_base, to_binary, to_upper_hex, url_decode, url_encode,
};
pub use hashtext::hashtext;
pub use identifier::parse_identifier;
pub use md5::{md5, md5_to};
pub use printf::{Formatted, printf};
pub use quote::{format, quote_ident, quote_literal, unistr};
use search::{MOST_PLACES, copy, find, occurrences, places};
pub use sha::{sha224, sha256, sha384, sha512};
pub use sha1::sha1;
pub use size::{bytes_of_size, pretty_size};
pub use unicode::{
    is_normal, left_of_graphemes, length_of_graphemes, normalise, right_of_graphemes, strip_accents,
    substring_of_graphemes,
};

use crate::Str;

/// Most bytes of a string that a function makes: 1 GiB, as in PostgreSQL.
pub const MAX_LENGTH: usize = 1 << 30;

/// Texts of more bytes are accounted for before they are made.
const LONG: usize = 64 << 10;

#[cold]
fn too_long() -> Error {
    Error::new(SqlState::PROGRAM_LIMIT, "requested length too large")
}

/// The length if a result may have it, and if there is room for it where it is long.
#[inline]
fn checked(length: Option<usize>) -> Result<usize> {
    let length = length.filter(|l| *l < MAX_LENGTH).ok_or_else(too_long)?;
    if length > LONG {
        make_room(length)?;
    }
    Ok(length)
}

/// Fails if a text that is being made has become longer than any may be, or than there is room for.
pub(in crate::ops) fn check_length(length: usize) -> Result<()> {
    checked(Some(length)).map(drop)
}

/// Asks for the memory of a long text: the text as it is made, and as a value.
#[cold]
fn make_room(length: usize) -> Result<()> {
    statement::make_room(2 * length, "string functions")
}

/// Asks at every so many steps whether the statement goes on.
#[inline]
fn ask_at(step: usize) -> Result<()> {
    if (step + 1).is_multiple_of(1 << 16) { statement::check() } else { Ok(()) }
}

/// Whether there are only bytes of ASCII: of most texts four words that overlap tell.
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    let word = |at: usize| bytes.get(at..at + 8).map_or(0, |w| u64::from_le_bytes(w.try_into().expect("8 bytes")));
    match bytes.len() {
        len @ 8..=16 => (word(0) | word(len - 8)) & NOT_ASCII == 0,
        len @ 17..=32 => (word(0) | word(8) | word(len - 16) | word(len - 8)) & NOT_ASCII == 0,
        _ => bytes.is_ascii(),
    }
}

/// The highest bit of each byte.
const NOT_ASCII: u64 = 0x8080_8080_8080_8080;

/// Byte offset of the character with number `index` (from 0), or the length in bytes if there is none.
#[inline]
fn offset(text: &str, index: usize) -> usize {
    // A text has at least a quarter as many characters as bytes.
    if index >= text.len() {
        return text.len();
    }
    let head = &text.as_bytes()[..index];
    if is_ascii(head) {
        return index;
    }
    text.char_indices().nth(index).map_or(text.len(), |(at, _)| at)
}

/// `char_length(text)`
#[inline]
pub fn length(text: &str) -> i64 {
    if is_ascii(text.as_bytes()) { text.len() as i64 } else { text.chars().count() as i64 }
}
/// `octet_length(text)`
#[inline]
pub fn octet_length(text: &str) -> i64 {
    text.len() as i64
}
/// `bit_length(text)`
#[inline]
pub fn bit_length(text: &str) -> i64 {
    text.len() as i64 * 8
}

/// The capital of a character; itself where its capital is several characters (`ß`), as in PostgreSQL.
fn upper_case(c: char) -> char {
    let mut capital = c.to_uppercase();
    if capital.len() == 1 { capital.next().unwrap_or(c) } else { c }
}
/// As [`upper_case`], the other way.
fn lower_case(c: char) -> char {
    let mut small = c.to_lowercase();
    if small.len() == 1 { small.next().unwrap_or(c) } else { c }
}

/// A text as a function writes it, or itself where the function says that nothing changes.
fn written<'a>(text: &'a str, write: impl FnOnce(&mut String) -> Result<bool>) -> Result<Cow<'a, str>> {
    let mut to = String::new();
    Ok(if write(&mut to)? { Cow::Owned(to) } else { Cow::Borrowed(text) })
}

/// `lower(text)`
pub fn lower(text: &str) -> Result<Cow<'_, str>> {
    written(text, |to| lower_to(text, to))
}
/// [`lower`], written behind what is in the string; false, and nothing is written, if that is the text itself.
pub fn lower_to(text: &str, to: &mut String) -> Result<bool> {
    in_case(text, to, u8::is_ascii_uppercase, str::make_ascii_lowercase, lower_case)
}
/// `upper(text)`
pub fn upper(text: &str) -> Result<Cow<'_, str>> {
    written(text, |to| upper_to(text, to))
}
/// As [`lower_to`], in capitals.
pub fn upper_to(text: &str, to: &mut String) -> Result<bool> {
    in_case(text, to, u8::is_ascii_lowercase, str::make_ascii_uppercase, upper_case)
}

/// [`lower`] of a short text of ASCII, in registers; none of others.
#[inline]
pub fn lower_short(text: Str) -> Option<Str> {
    short_in_case(text, b'A'..=b'Z')
}
/// [`upper`], likewise.
#[inline]
pub fn upper_short(text: Str) -> Option<Str> {
    short_in_case(text, b'a'..=b'z')
}

/// The letters of a range in the other case: eight bytes at once, of which the sum with what is left to 128 tells by its
/// highest bit whether a byte is that large. The length of a short text is no letter, and what is behind its end is 0.
#[inline(always)]
fn short_in_case(text: Str, letters: RangeInclusive<u8>) -> Option<Str> {
    let each = |byte: u8| u64::from_le_bytes([byte; 8]);
    let words = text.words();
    if !text.is_inline() || (words[0] | words[1]) & NOT_ASCII != 0 {
        return None;
    }
    let (from, behind) = (each(128 - letters.start()), each(127 - letters.end()));
    Some(Str::from_words(words.map(|word| {
        let is_letter = (word + from) & !(word + behind) & NOT_ASCII;
        word ^ is_letter >> 2
    })))
}

#[inline(always)]
fn in_case(
    text: &str,
    to: &mut String,
    changes: impl Fn(&u8) -> bool,
    change: impl Fn(&mut str),
    of_character: impl Fn(char) -> char,
) -> Result<bool> {
    checked(Some(text.len()))?;
    if !is_ascii(text.as_bytes()) {
        to.extend(text.chars().map(of_character));
    } else if text.as_bytes().iter().any(changes) {
        let begin = to.len();
        to.push_str(text);
        change(&mut to[begin..]);
    } else {
        return Ok(false);
    }
    Ok(true)
}
/// `initcap(text)`: words are runs of letters and digits.
pub fn initcap(text: &str) -> Result<String> {
    let mut out = String::with_capacity(checked(Some(text.len()))?);
    let mut inside = false;
    for c in text.chars() {
        if inside {
            out.push(lower_case(c));
        } else {
            out.push(upper_case(c));
        }
        inside = c.is_alphanumeric();
    }
    Ok(out)
}

/// `ltrim(text, characters)`
#[inline]
pub fn ltrim<'a>(text: &'a str, characters: &str) -> &'a str {
    match characters.as_bytes() {
        [one] if one.is_ascii() => text.trim_start_matches(*one as char),
        _ => text.trim_start_matches(|c| characters.contains(c)),
    }
}
/// `rtrim(text, characters)`
#[inline]
pub fn rtrim<'a>(text: &'a str, characters: &str) -> &'a str {
    match characters.as_bytes() {
        [one] if one.is_ascii() => text.trim_end_matches(*one as char),
        _ => text.trim_end_matches(|c| characters.contains(c)),
    }
}
/// `btrim(text, characters)` and `trim(both characters from text)`
#[inline]
pub fn trim<'a>(text: &'a str, characters: &str) -> &'a str {
    ltrim(rtrim(text, characters), characters)
}

fn padding(text: &str, length: i64, fill: &str) -> Result<Option<(usize, String)>> {
    let length = usize::try_from(length.max(0)).map_err(|_| too_long())?;
    checked(Some(length))?;
    let present = self::length(text) as usize;
    if present >= length || fill.is_empty() {
        return Ok(None);
    }
    let missing = length - present;
    let mut out = String::new();
    let per_fill = self::length(fill) as usize;
    let bytes = (missing / per_fill * fill.len()).checked_add(fill.len()).and_then(|b| b.checked_add(text.len()));
    out.reserve(checked(bytes)?);
    for number in 0..missing / per_fill {
        out.push_str(fill);
        ask_at(number)?;
    }
    out.push_str(left(fill, (missing % per_fill) as i64));
    Ok(Some((missing, out)))
}

/// `lpad(text, length, fill)`: padded on the left, or cut on the right, to `length` characters.
pub fn lpad<'a>(text: &'a str, length: i64, fill: &str) -> Result<Cow<'a, str>> {
    Ok(match padding(text, length, fill)? {
        Some((_, mut pad)) => {
            pad.push_str(text);
            Cow::Owned(pad)
        }
        None => Cow::Borrowed(left(text, length.max(0))),
    })
}
/// `rpad(text, length, fill)`: padded or cut on the right to `length` characters.
pub fn rpad<'a>(text: &'a str, length: i64, fill: &str) -> Result<Cow<'a, str>> {
    Ok(match padding(text, length, fill)? {
        Some((_, mut pad)) => {
            pad.insert_str(0, text);
            Cow::Owned(pad)
        }
        None => Cow::Borrowed(left(text, length.max(0))),
    })
}

/// `left(text, n)`: the first `n` characters, or all but the last `-n`.
#[inline]
pub fn left(text: &str, n: i64) -> &str {
    let keep = if n < 0 { length(text).saturating_add(n).max(0) } else { n };
    &text[..offset(text, usize::try_from(keep).unwrap_or(usize::MAX))]
}
/// `right(text, n)`: the last `n` characters, or all but the first `-n`.
#[inline]
pub fn right(text: &str, n: i64) -> &str {
    let drop = if n < 0 { n.unsigned_abs() } else { (length(text) as u64).saturating_sub(n as u64) };
    &text[offset(text, usize::try_from(drop).unwrap_or(usize::MAX))..]
}

/// `substring(text from start for count)`: positions before 1 count as characters that are not there; without a count
/// all of the rest. 22011 if the count is negative.
#[inline]
pub fn substring(text: &str, start: i64, count: Option<i64>) -> Result<&str> {
    let first = start.max(1) - 1;
    let from = offset(text, usize::try_from(first).unwrap_or(usize::MAX));
    let Some(count) = count else { return Ok(&text[from..]) };
    if count < 0 {
        return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    // One behind the last position, counted from 1; past any text if it overflows.
    let end = start.saturating_add(count);
    let keep = usize::try_from(end.saturating_sub(1).saturating_sub(first).max(0)).unwrap_or(usize::MAX);
    let rest = &text[from..];
    Ok(&rest[..offset(rest, keep)])
}

/// `overlay(text placing new from start for count)`; without a count as many characters as `new` has.
pub fn overlay(text: &str, new: &str, start: i64, count: Option<i64>) -> Result<String> {
    if start <= 0 {
        return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let after = start.checked_add(count.unwrap_or_else(|| length(new))).filter(|&after| i32::try_from(after).is_ok());
    let after = after.ok_or_else(|| crate::ops::error::out_of_range("integer"))?;
    concat(&[substring(text, 1, Some(start - 1))?, new, substring(text, after, None)?])
}

/// `position(needle in text)` and `strpos(text, needle)`: from 1; 0 if it is not there; 1 if it is empty.
#[inline]
pub fn position(text: &str, needle: &str) -> i64 {
    find(text.as_bytes(), needle.as_bytes()).map_or(0, |at| length(&text[..at]) + 1)
}

/// `starts_with(text, prefix)` and `text ^@ prefix`
#[inline]
pub fn starts_with(text: &str, prefix: &str) -> bool {
    text.as_bytes().starts_with(prefix.as_bytes())
}
/// `ends_with(text, suffix)`
#[inline]
pub fn ends_with(text: &str, suffix: &str) -> bool {
    text.as_bytes().ends_with(suffix.as_bytes())
}
/// `contains(text, needle)`
#[inline]
pub fn contains(text: &str, needle: &str) -> bool {
    find(text.as_bytes(), needle.as_bytes()).is_some()
}

/// Room for a text with replacements: counted where the most that it can be is long.
fn replaced_length(text: &str, from: &str, to: &str) -> Result<usize> {
    let length = |count: usize| to.len().checked_mul(count).and_then(|new| new.checked_add(text.len()));
    if let Some(most) = length(text.len() / from.len()).filter(|most| *most <= LONG) {
        return Ok(most);
    }
    let mut count: usize = 0;
    for _ in occurrences(text.as_bytes(), from.as_bytes()) {
        count += 1;
        ask_at(count)?;
    }
    checked(length(count).map(|long| long - from.len() * count))
}

/// `replace(text, from, to)`
pub fn replace<'a>(text: &'a str, from: &str, to: &str) -> Result<Cow<'a, str>> {
    written(text, |out| replace_to(text, from, to, out))
}
/// [`replace`], written behind what is in the string; false, and nothing is written, if that is the text itself.
pub fn replace_to(text: &str, from: &str, to: &str, out: &mut String) -> Result<bool> {
    if from.is_empty() {
        return Ok(false);
    }
    let mut places = occurrences(text.as_bytes(), from.as_bytes()).peekable();
    if places.peek().is_none() {
        return Ok(false);
    }
    out.reserve(replaced_length(text, from, to)?);
    if from.len() == to.len() {
        return overwrite(text, to, places, out);
    }
    let mut behind = 0;
    for (number, at) in places.enumerate() {
        out.push_str(&text[behind..at]);
        out.push_str(to);
        behind = at + from.len();
        ask_at(number)?;
    }
    out.push_str(&text[behind..]);
    Ok(true)
}

/// Writes a text with another one at some places instead of one that is as long.
fn overwrite(text: &str, with: &str, places: impl Iterator<Item = usize>, out: &mut String) -> Result<bool> {
    let begin = out.len();
    out.push_str(text);
    // SAFETY: a text takes the place of another one, so whole characters that of whole characters.
    let bytes = unsafe { &mut out.as_bytes_mut()[begin..] };
    for (number, at) in places.enumerate() {
        copy(with.as_bytes(), &mut bytes[at..at + with.len()]);
        ask_at(number)?;
    }
    Ok(true)
}

/// `repeat(text, n)`
pub fn repeat(text: &str, n: i64) -> Result<String> {
    let n = usize::try_from(n.max(0)).map_err(|_| too_long())?;
    checked(text.len().checked_mul(n))?;
    Ok(text.repeat(n))
}

/// `reverse(text)`
pub fn reverse(text: &str) -> Result<String> {
    let mut reversed = String::with_capacity(text.len());
    reverse_to(text, &mut reversed)?;
    Ok(reversed)
}

/// As [`reverse`], behind what is there; always true.
pub fn reverse_to(text: &str, to: &mut String) -> Result<bool> {
    checked(Some(text.len()))?;
    if text.is_ascii() {
        // SAFETY: ASCII in any order is ASCII.
        unsafe { to.as_mut_vec() }.extend(text.bytes().rev());
    } else {
        to.extend(text.chars().rev());
    }
    Ok(true)
}

/// The texts one after another: `||` and `concat`.
pub fn concat(texts: &[&str]) -> Result<String> {
    concat_length(texts.iter().copied())?;
    Ok(texts.concat())
}
/// The bytes that texts have together, if there may be as many.
#[inline]
pub fn concat_length<'t>(mut texts: impl Iterator<Item = &'t str>) -> Result<usize> {
    checked(texts.try_fold(0usize, |sum, t| sum.checked_add(t.len())))
}

/// `concat_ws(separator, ...)`, of the texts that are not NULL.
pub fn join(separator: &str, texts: &[&str]) -> Result<String> {
    let bytes = texts.iter().try_fold(0usize, |sum, t| sum.checked_add(t.len())?.checked_add(separator.len()));
    checked(bytes)?;
    Ok(texts.join(separator))
}

/// `split_part(text, delimiter, n)`: the n-th field from 1, or from the end if `n` is negative; empty if there is none.
pub fn split_part<'a>(text: &'a str, delimiter: &str, n: i64) -> Result<&'a str> {
    if n == 0 {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "field position must not be zero"));
    }
    if delimiter.is_empty() {
        return Ok(if n.abs() == 1 { text } else { "" });
    }
    let index = usize::try_from(n.unsigned_abs() - 1).unwrap_or(usize::MAX);
    if let (&[byte], 0..=MOST_PLACES) = (delimiter.as_bytes(), text.len()) {
        return Ok(short_part(text, places(text.as_bytes(), byte), index, n < 0));
    }
    if n < 0 {
        return Ok(text.rsplit(delimiter).nth(index).unwrap_or(""));
    }
    let mut ends = occurrences(text.as_bytes(), delimiter.as_bytes());
    let begin = match index.checked_sub(1) {
        None => Some(0),
        Some(before) => ends.nth(before).map(|at| at + delimiter.len()),
    };
    Ok(begin.map_or("", |begin| &text[begin..ends.next().unwrap_or(text.len())]))
}

/// A field of a text by its number from 0, or from the end; the places of the delimiters, which are a byte each, are known.
fn short_part(text: &str, mut delimiters: u64, index: usize, is_from_end: bool) -> &str {
    let before = match (is_from_end, (delimiters.count_ones() as usize).checked_sub(index)) {
        (_, None) => return "",
        (true, Some(before)) => before,
        (false, Some(_)) => index,
    };
    let mut begin = 0;
    for _ in 0..before {
        begin = delimiters.trailing_zeros() as usize + 1;
        delimiters &= delimiters - 1;
    }
    &text[begin..text.len().min(delimiters.trailing_zeros() as usize)]
}

/// `translate(text, from, to)`: characters of `from` become those of `to` at the same place; those without are dropped.
pub fn translate(text: &str, from: &str, to: &str) -> Result<String> {
    checked(Some(text.len()))?;
    let map: Vec<(char, Option<char>)> = {
        let mut to = to.chars();
        from.chars().map(|c| (c, to.next())).collect()
    };
    let mut out = String::with_capacity(text.len());
    for (number, c) in text.chars().enumerate() {
        out.extend(map.iter().find(|(f, _)| *f == c).map_or(Some(c), |(_, t)| *t));
        ask_at(number)?;
    }
    Ok(out)
}

/// `ascii(text)`: the code point of the first character, 0 if there is none.
#[inline]
pub fn ascii(text: &str) -> i32 {
    text.chars().next().map_or(0, |c| c as i32)
}

/// `chr(code)`
pub fn chr(code: i64) -> Result<char> {
    let fail = |message: String| Err(Error::new(SqlState::PROGRAM_LIMIT, message));
    match code {
        0 => fail("null character not permitted".into()),
        ..0 => fail("character number must be positive".into()),
        _ => match u32::try_from(code).ok().and_then(char::from_u32) {
            Some(c) => Ok(c),
            None => fail(format!("requested character too large for encoding: {code}")),
        },
    }
}

/// `to_hex(bigint)`: two's complement, without leading zeros.
pub fn to_hex(value: i64) -> String {
    format!("{value:x}")
}
/// `to_hex(integer)`
pub fn to_hex_i32(value: i32) -> String {
    format!("{value:x}")
}

/// Byte-wise order, the C collation.
#[inline]
pub fn compare(a: &str, b: &str) -> std::cmp::Ordering {
    a.as_bytes().cmp(b.as_bytes())
}

#[cfg(test)]
mod tests;
