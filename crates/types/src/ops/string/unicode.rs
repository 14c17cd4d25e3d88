//! Unicode's forms of a text, and what readers take for one character.

use base::{Error, Result, SqlState, statement};
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd, is_nfkc, is_nfkd};
use unicode_segmentation::UnicodeSegmentation;

use super::{LONG, check_length};

/// A text in one of Unicode's forms: NFC, NFD, NFKC or NFKD.
pub fn normalise(text: &str, form: &str) -> Result<String> {
    if text.is_ascii() {
        check_form(form)?;
        return Ok(text.to_owned());
    }
    match form.to_ascii_uppercase().as_str() {
        "NFC" => collected(text.nfc()),
        "NFD" => collected(text.nfd()),
        "NFKC" => collected(text.nfkc()),
        "NFKD" => collected(text.nfkd()),
        _ => Err(no_form(form)),
    }
}

/// Whether a text is in that form.
pub fn is_normal(text: &str, form: &str) -> Result<bool> {
    match form.to_ascii_uppercase().as_str() {
        "NFC" => Ok(is_nfc(text)),
        "NFD" => Ok(is_nfd(text)),
        "NFKC" => Ok(is_nfkc(text)),
        "NFKD" => Ok(is_nfkd(text)),
        _ => Err(no_form(form)),
    }
}

fn check_form(form: &str) -> Result<()> {
    is_normal("", form).map(drop)
}

fn no_form(form: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid normalization form: {form}"))
}

/// The characters as a text that is not too long.
fn collected(characters: impl Iterator<Item = char>) -> Result<String> {
    let mut out = String::new();
    let mut next = LONG;
    for character in characters {
        out.push(character);
        if out.len() > next {
            check_length(out.len())?;
            next = 2 * out.len();
        }
    }
    Ok(out)
}

/// Letters without their accents.
pub fn strip_accents(text: &str) -> Result<String> {
    if text.is_ascii() {
        return Ok(text.to_owned());
    }
    let bare: String = collected(text.nfd().filter(|c| !is_combining_mark(*c)))?;
    collected(bare.nfc())
}

/// The number of characters as readers see them: a letter with all its marks is one.
pub fn length_of_graphemes(text: &str) -> Result<i64> {
    let mut count = 0;
    for _ in text.graphemes(true) {
        count += 1;
        if count % (1 << 16) == 0 {
            statement::check()?;
        }
    }
    Ok(count)
}

/// A part of a text by such characters, from one on (from 1; from the end if below zero), and how many.
pub fn substring_of_graphemes(text: &str, start: i64, count: Option<i64>) -> Result<&str> {
    let length = length_of_graphemes(text)?;
    // As in DuckDB: a start below zero counts from the end, and a count below zero goes backwards.
    let start = if start < 0 { length.saturating_add(start) } else { start - 1 };
    let (from, to) = match count {
        None => (start, length),
        Some(count) if count < 0 => (start.saturating_add(count), start),
        Some(count) => (start, start.saturating_add(count)),
    };
    let from = usize::try_from(from.clamp(0, length)).unwrap_or(0);
    let to = usize::try_from(to.clamp(0, length)).unwrap_or(0);
    let byte = |number: usize| text.grapheme_indices(true).nth(number).map_or(text.len(), |(at, _)| at);
    Ok(if from < to { &text[byte(from)..byte(to)] } else { "" })
}

/// The first characters as readers see them; all but so many if `count` is below zero.
pub fn left_of_graphemes(text: &str, count: i64) -> Result<&str> {
    let count = if count < 0 { length_of_graphemes(text)?.saturating_add(count).max(0) } else { count };
    substring_of_graphemes(text, 1, Some(count))
}

/// The last ones; all but so many if `count` is below zero.
pub fn right_of_graphemes(text: &str, count: i64) -> Result<&str> {
    let length = length_of_graphemes(text)?;
    let skipped = if count < 0 { count.saturating_neg().min(length) } else { (length - count.min(length)).max(0) };
    substring_of_graphemes(text, skipped + 1, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_belong_to_their_letters() {
        let text = "e\u{301}a\u{308}x";
        assert_eq!(length_of_graphemes(text), Ok(3));
        assert_eq!(left_of_graphemes(text, 1), Ok("e\u{301}"));
        assert_eq!(right_of_graphemes(text, -1), Ok("a\u{308}x"));
        assert_eq!(substring_of_graphemes(text, -2, Some(1)), Ok("a\u{308}"));
        assert_eq!(strip_accents(text), Ok("eax".into()));
        assert_eq!(normalise(text, "nfc"), Ok("\u{e9}\u{e4}x".into()));
        assert_eq!(is_normal(text, "NFC"), Ok(false));
    }
}
