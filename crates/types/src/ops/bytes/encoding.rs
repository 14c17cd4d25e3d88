//! Bytes as texts and back: hexadecimal, base64, escapes; and texts as bytes in an encoding.

use base::{Error, Result, SqlState};

use super::{bytes, escaped, form, hexadecimal, misused, write};
use crate::ops::string::check_length;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters of a line of base64.
const LINE: usize = 76;

#[cold]
fn unknown(format: &str) -> Error {
    misused(format!("unrecognized encoding: \"{format}\""))
}

/// `encode(value, format)`
pub fn encode(value: &str, format: &str) -> Result<String> {
    let mut out = String::new();
    match format.to_ascii_lowercase().as_str() {
        "hex" => {
            write(&mut out, value);
            out.drain(..2);
        }
        "base64" => base64(&mut out, &bytes(value)),
        "escape" => {
            for character in value.chars() {
                match character {
                    '\\' => out.push_str("\\\\"),
                    '\0' | '\u{80}'.. => out.push_str(&format!("\\{:03o}", character as u8)),
                    other => out.push(other),
                }
            }
        }
        _ => return Err(unknown(format)),
    }
    check_length(out.len())?;
    Ok(out)
}

/// `decode(text, format)`
pub fn decode(text: &str, format: &str) -> Result<String> {
    match format.to_ascii_lowercase().as_str() {
        "hex" => hexadecimal(text),
        "base64" => of_base64(text).map(|all| form(&all)),
        "escape" => {
            escaped(text).ok_or_else(|| Error::new(SqlState::INVALID_TEXT, "invalid input syntax for type bytea"))
        }
        _ => Err(unknown(format)),
    }
}

fn base64(out: &mut String, all: &[u8]) {
    out.reserve(all.len().div_ceil(3) * 4);
    for (number, group) in all.chunks(3).enumerate() {
        if number > 0 && number % (LINE / 4) == 0 {
            out.push('\n');
        }
        let word = group.iter().enumerate().fold(0u32, |word, (at, byte)| word | u32::from(*byte) << (16 - 8 * at));
        for at in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= group.len() { char::from(digit) } else { '=' });
        }
    }
}

fn of_base64(text: &str) -> Result<Vec<u8>> {
    let ended = || {
        misused("invalid base64 end sequence")
            .hint("Input data is missing padding, is truncated, or is otherwise corrupted.")
    };
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut digits, mut padding) = (0u32, 0, 0);
    for character in text.chars().filter(|c| !matches!(c, ' ' | '\t' | '\n' | '\r')) {
        let digit = match character {
            '=' if digits >= 2 || padding > 0 => {
                padding += 1;
                0
            }
            '=' => return Err(misused("unexpected \"=\" while decoding base64 sequence")),
            other => {
                let at = u8::try_from(other).ok().and_then(|b| DIGITS.iter().position(|d| *d == b));
                let found = at.ok_or_else(|| {
                    misused(format!("invalid symbol \"{other}\" found while decoding base64 sequence"))
                })?;
                if padding > 0 {
                    return Err(ended());
                }
                found as u32
            }
        };
        (word, digits) = (word << 6 | digit, digits + 1);
        if digits == 4 {
            out.extend(&word.to_be_bytes()[1..4 - padding.min(2)]);
            (word, digits) = (0, 0);
        }
    }
    if digits == 0 { Ok(out) } else { Err(ended()) }
}

/// An encoding that texts can be in.
enum Encoding {
    Utf8,
    Latin1,
    Ascii,
}

fn encoding(name: &str, which: &str) -> Result<Encoding> {
    match name.to_ascii_lowercase().replace(['-', '_', ' '], "").as_str() {
        "utf8" | "unicode" => Ok(Encoding::Utf8),
        "latin1" | "iso88591" => Ok(Encoding::Latin1),
        "sqlascii" => Ok(Encoding::Ascii),
        _ => Err(misused(format!("invalid {which} encoding name \"{name}\""))),
    }
}

fn listed(all: &[u8]) -> String {
    all.iter().map(|b| format!("0x{b:02x}")).collect::<Vec<_>>().join(" ")
}

/// The text that the bytes are in an encoding.
pub fn convert_from(value: &str, name: &str) -> Result<String> {
    let encoding = encoding(name, "source")?;
    let bad = |found: &[u8]| {
        let message = format!("invalid byte sequence for encoding \"UTF8\": {}", listed(found));
        Error::new(SqlState::INVALID_ENCODING, message)
    };
    if value.contains('\0') {
        return Err(bad(&[0]));
    }
    match encoding {
        Encoding::Latin1 => Ok(value.to_owned()),
        Encoding::Utf8 | Encoding::Ascii => String::from_utf8(bytes(value)).map_err(|error| {
            let (at, all) = (error.utf8_error().valid_up_to(), error.as_bytes());
            // As many bytes as the first one announces.
            let announced = match all[at] {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => 1,
            };
            bad(&all[at..all.len().min(at + announced)])
        }),
    }
}

/// The bytes of a text in an encoding.
pub fn convert_to(text: &str, name: &str) -> Result<String> {
    match encoding(name, "destination")? {
        Encoding::Utf8 | Encoding::Ascii => Ok(form(text.as_bytes())),
        Encoding::Latin1 => match text.chars().find(|c| u32::from(*c) > 255) {
            None => Ok(text.to_owned()),
            Some(character) => {
                let found = listed(character.to_string().as_bytes());
                let message = format!(
                    "character with byte sequence {found} in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\""
                );
                Err(Error::new(SqlState("22P05"), message))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_comes_back() {
        for length in 0..200u8 {
            let all: Vec<u8> = (0..length).map(|b| b.wrapping_mul(37)).collect();
            for format in ["hex", "base64", "escape"] {
                let text = encode(&form(&all), format).unwrap();
                assert_eq!(bytes(&decode(&text, format).unwrap()), all, "{format} {text}");
            }
        }
        for broken in ["a", "ab", "abc", "a=", "ab=c", "ab==c", "ä", "====", "abc=d"] {
            assert!(decode(broken, "base64").is_err(), "{broken}");
        }
    }

    #[test]
    fn texts_in_encodings() {
        assert_eq!(bytes(&convert_to("ä", "UTF8").unwrap()), [0xc3, 0xa4]);
        assert_eq!(bytes(&convert_to("ä", "latin1").unwrap()), [0xe4]);
        assert_eq!(convert_from(&form(&[0xe4]), "LATIN1").as_deref(), Ok("ä"));
        let error = convert_from(&form(b"a\xe4b"), "UTF8").unwrap_err();
        assert_eq!(error.message(), "invalid byte sequence for encoding \"UTF8\": 0xe4 0x62");
        assert!(convert_to("€", "latin1").is_err() && convert_to("a", "klingon").is_err());
    }
}
