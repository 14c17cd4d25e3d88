//! Whether a text is JSON of the usual kind, found out fast: what has escapes, or is none, is left to whoever knows the reasons.

use std::ops::Range;

use super::error::MAX_DEPTH;
use super::scan::{ONES, zero_bytes};

/// Whether the text is JSON, if that is easily seen.
pub fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    value(bytes, blanks(bytes, 0), 0).is_some_and(|end| blanks(bytes, end) == bytes.len())
}

/// The value of a key in a text that is JSON, if that is easily seen: the last one, if it is there several times.
pub(super) fn member<'a>(text: &'a str, key: &str) -> Option<Option<&'a str>> {
    let (bytes, key) = (text.as_bytes(), key.as_bytes());
    let begin = blanks(bytes, 0);
    let mut found = None;
    let end = match byte(bytes, begin) {
        b'{' => members(bytes, begin + 1, b'}', |at| {
            let (name, begin) = name(bytes, at)?;
            let end = value(bytes, begin, 1)?;
            if &bytes[name] == key {
                found = Some(begin..end);
            }
            Some(end)
        }),
        _ => value(bytes, begin, 0),
    }?;
    (blanks(bytes, end) == bytes.len()).then(|| text.get(found?))
}

#[inline]
fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// The next place without a blank.
#[inline]
fn blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(byte(bytes, at), b' ' | b'\t' | b'\n' | b'\r') {
        at += 1;
    }
    at
}

/// Behind the value that begins there.
fn value(bytes: &[u8], at: usize, depth: usize) -> Option<usize> {
    match byte(bytes, at) {
        b'"' => string(bytes, at + 1),
        b'-' | b'0'..=b'9' => number(bytes, at),
        b'{' | b'[' if depth == MAX_DEPTH => None,
        b'{' => members(bytes, at + 1, b'}', |at| value(bytes, name(bytes, at)?.1, depth + 1)),
        b'[' => members(bytes, at + 1, b']', |at| value(bytes, at, depth + 1)),
        b't' => word(bytes, at, b"true"),
        b'f' => word(bytes, at, b"false"),
        b'n' => word(bytes, at, b"null"),
        _ => None,
    }
}

/// The name of the member that is next, and where its value begins.
#[inline]
fn name(bytes: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
    let begin = (byte(bytes, at) == b'"').then_some(at + 1)?;
    let end = string(bytes, begin)?;
    let colon = blanks(bytes, end);
    Some((begin..end - 1, blanks(bytes, (byte(bytes, colon) == b':').then_some(colon + 1)?)))
}

/// Behind the end of what has members, of which the first is next.
#[inline(always)]
fn members(bytes: &[u8], at: usize, end: u8, mut member: impl FnMut(usize) -> Option<usize>) -> Option<usize> {
    let mut at = blanks(bytes, at);
    if byte(bytes, at) == end {
        return Some(at + 1);
    }
    loop {
        at = blanks(bytes, member(at)?);
        match byte(bytes, at) {
            b',' => at = blanks(bytes, at + 1),
            found if found == end => return Some(at + 1),
            _ => return None,
        }
    }
}

/// Behind the string whose content is next; none if it has an escape.
#[inline]
fn string(bytes: &[u8], mut at: usize) -> Option<usize> {
    // Eight bytes at a time, none of them a mark, a backslash or a control character.
    while let Some(word) = bytes.get(at..at + 8) {
        let word = u64::from_le_bytes(word.try_into().ok()?);
        let marks = zero_bytes(word ^ (ONES * u64::from(b'"'))) | zero_bytes(word ^ (ONES * u64::from(b'\\')));
        let controls = word.wrapping_sub(ONES * 0x20) & !word & (ONES << 7);
        if marks | controls != 0 {
            at += (marks | controls).trailing_zeros() as usize / 8;
            break;
        }
        at += 8;
    }
    loop {
        match byte(bytes, at) {
            b'"' => return Some(at + 1),
            b'\\' | ..0x20 => return None,
            _ => at += 1,
        }
    }
}

/// Behind a number.
#[inline]
fn number(bytes: &[u8], mut at: usize) -> Option<usize> {
    let digits = |from: usize| {
        let mut at = from;
        while byte(bytes, at).is_ascii_digit() {
            at += 1;
        }
        Some(at).filter(|_| at > from)
    };
    at += usize::from(byte(bytes, at) == b'-');
    at = if byte(bytes, at) == b'0' { at + 1 } else { digits(at)? };
    if byte(bytes, at) == b'.' {
        at = digits(at + 1)?;
    }
    if matches!(byte(bytes, at), b'e' | b'E') {
        at = digits(at + 1 + usize::from(matches!(byte(bytes, at + 1), b'+' | b'-')))?;
    }
    ended(bytes, at)
}

fn word(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    bytes[at..].starts_with(word).then_some(at + word.len()).and_then(|at| ended(bytes, at))
}

/// The place, if no letter or digit follows there.
fn ended(bytes: &[u8], at: usize) -> Option<usize> {
    let goes_on = matches!(byte(bytes, at), b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | 0x80..);
    (!goes_on).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::super::find::{Part, field};
    use super::super::validate::check_closely;
    use super::*;
    use base::Random;

    #[test]
    fn what_is_plain_is_json() {
        let parts = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"a\"",
            "\"längerer text\"",
            "1",
            "-0.5e+3",
            "01",
            "1.",
            "true",
            "nul",
            " ",
            "{\"a\":1",
            "\"a\" : {\"a\":2}",
            "\"\\n\"",
            "\u{1}",
        ];
        let mut random = Random(3);
        let (mut plain, mut members) = (0, 0);
        for _ in 0..200_000 {
            let mut text: String = (0..1 + random.index(7)).map(|_| random.pick(&parts)).collect();
            if random.index(4) == 0 {
                text = format!("{{{text}}}");
            }
            let found = member(&text, "a");
            assert_eq!(found.is_some(), is_plain(&text), "{text}");
            if let Some(found) = found {
                plain += 1;
                assert!(check_closely(&text).is_ok(), "{text}");
                assert_eq!(Part::from(found), field(&text, "a", &mut String::new()).unwrap(), "{text}");
                members += usize::from(found.is_some());
            }
        }
        assert!(plain > 1000 && members > 100);
        for text in
            ["{\"a\": [1, -2.5e-3, {\"b\": null}], \"c\": \"x\"}", " [ ] ", "\"12345678\"", "-0", "[true,false]"]
        {
            assert!(is_plain(text), "{text}");
        }
        for text in ["", "{\"a\" 1}", "[1,]", "\"tab\there\"", "\"unended", "1 2", "{\"a\":1,}", "-", "{,}"] {
            assert!(!is_plain(text), "{text}");
        }
    }
}
