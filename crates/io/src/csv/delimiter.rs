//! Delimiters of several characters: the text is copied into memory with a byte in their place that is no part of it.

use base::{Error, Result};

use super::options::{CsvOptions, INSTEAD};
use crate::input::{Input, OPERATOR};

/// Bytes that are read between two looks at the statement's token.
const PIECE: u64 = 1 << 20;

/// The text of a file with one byte for each delimiter that does not stand in quotes.
pub fn replaced(input: &Input, name: &str, delimiter: &[u8], options: &CsvOptions) -> Result<Input> {
    let means = options.means();
    let length = usize::try_from(input.len()).unwrap_or(usize::MAX);
    let _charged = means.budget.map(|budget| budget.reserve(length.saturating_mul(2), OPERATOR)).transpose()?;
    let mut text = Vec::with_capacity(length);
    let mut at = 0;
    while at < input.len() {
        means.cancel.check()?;
        let end = (at + PIECE).min(input.len());
        text.extend_from_slice(&input.read(name, at, end)?);
        at = end;
    }
    if text.contains(&INSTEAD) {
        let message = format!("a delimiter of several characters in file \"{name}\", which has the character U+001F");
        return Err(Error::unsupported(message));
    }
    let quote = options.quote.unwrap_or(Some(b'"'));
    let out = outside_of_quotes(&text, delimiter, quote, options.escape.or(quote));
    Ok(Input::Memory { text: out.into(), _charged })
}

/// The text with the other byte for each delimiter. A quote opens where a field begins.
fn outside_of_quotes(text: &[u8], delimiter: &[u8], quote: Option<u8>, escape: Option<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let (mut at, mut begins, mut quoted) = (0, true, false);
    while let Some(&byte) = text.get(at) {
        if quoted {
            if Some(byte) == escape && text.get(at + 1).is_some_and(|&next| Some(next) == quote) {
                out.extend_from_slice(&text[at..at + 2]);
                at += 2;
                continue;
            }
            quoted = Some(byte) != quote;
        } else if text[at..].starts_with(delimiter) {
            out.push(INSTEAD);
            (at, begins) = (at + delimiter.len(), true);
            continue;
        } else {
            quoted = begins && Some(byte) == quote;
        }
        begins = !quoted && matches!(byte, b'\n' | b'\r');
        out.push(byte);
        at += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_what_they_enclose() {
        let replaced = |text: &str| {
            let out = outside_of_quotes(text.as_bytes(), b"||", Some(b'"'), Some(b'"'));
            String::from_utf8(out).unwrap().replace('\u{1f}', ";")
        };
        assert_eq!(replaced("a||b\n\"c||\"\"d\"||e|f\n||\"||\"\r\nx\"||y"), "a;b\n\"c||\"\"d\";e|f\n;\"||\"\r\nx\";y");
        assert_eq!(replaced("\"open||"), "\"open||");
        assert_eq!(replaced("|||"), ";|");
    }
}
