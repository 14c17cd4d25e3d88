//! Texts in other encodings than UTF-8, which are decoded into memory when they are opened.

use base::{Error, Result, SqlState};

use crate::input::{Input, Means, OPERATOR};

/// How characters are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// A byte is the character of its number.
    Latin1,
    /// Units of two bytes, the lower one first if no mark says otherwise.
    Utf16,
}

/// Bytes that are decoded between two looks at the statement's token.
const PIECE: u64 = 1 << 20;

impl Encoding {
    /// The encoding of that name; none is UTF-8.
    pub fn of_name(name: &str) -> Result<Option<Self>> {
        match name.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
            "utf8" | "unicode" => Ok(None),
            "latin1" | "iso88591" | "88591" => Ok(Some(Self::Latin1)),
            "utf16" => Ok(Some(Self::Utf16)),
            _ => Err(Error::unsupported(format!("encoding \"{name}\""))
                .hint("encodings are utf-8, utf-16 and latin-1; convert the file")),
        }
    }

    /// The text of a file in UTF-8.
    pub fn decoded(self, input: &Input, name: &str, means: Means<'_>) -> Result<Input> {
        let length = usize::try_from(input.len()).unwrap_or(usize::MAX);
        // A byte of Latin-1 may take two, and two bytes of UTF-16 three.
        let most = length.saturating_mul(2);
        if most > means.limit.saturating_mul(2) {
            let message = format!("file \"{name}\" is too long to be decoded");
            return Err(Error::new(SqlState::PROGRAM_LIMIT, message));
        }
        let _charged = means.budget.map(|budget| budget.reserve(most, OPERATOR)).transpose()?;
        let mut text = String::with_capacity(length);
        let mut decoder = Units { first: true, swapped: false, high: None };
        let mut at = 0;
        while at < input.len() {
            means.cancel.check()?;
            let end = (at + PIECE).min(input.len());
            let bytes = input.read(name, at, end)?;
            at = end;
            match self {
                Self::Latin1 => text.extend(bytes.iter().map(|byte| char::from(*byte))),
                Self::Utf16 => decoder.append(&bytes, &mut text).ok_or_else(|| {
                    let message = format!("file \"{name}\" is not in the encoding \"UTF16\"");
                    Error::new(SqlState::INVALID_ENCODING, message)
                })?,
            }
        }
        if decoder.high.is_some() || self == Self::Utf16 && length % 2 == 1 {
            let message = format!("file \"{name}\" ends in the middle of a character of UTF-16");
            return Err(Error::new(SqlState::INVALID_ENCODING, message));
        }
        Ok(Input::Memory { text: text.into_bytes().into(), _charged })
    }
}

/// What is known between two pieces of UTF-16.
struct Units {
    /// No unit has been there: a mark may come.
    first: bool,
    /// The higher byte comes first.
    swapped: bool,
    /// The first half of a character of two units.
    high: Option<u16>,
}

impl Units {
    /// Appends the characters of some units; none if these are no text.
    fn append(&mut self, bytes: &[u8], text: &mut String) -> Option<()> {
        for pair in bytes.chunks_exact(2) {
            let pair = [pair[0], pair[1]];
            let unit = if self.swapped { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
            if std::mem::take(&mut self.first) && matches!(unit, 0xfeff | 0xfffe) {
                self.swapped = unit == 0xfffe;
                continue;
            }
            match self.high.take() {
                Some(high) => text.push(char::decode_utf16([high, unit]).next()?.ok()?),
                None if (0xd800..0xdc00).contains(&unit) => self.high = Some(unit),
                None => text.push(char::from_u32(unit.into())?),
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use base::CancelToken;

    use super::*;

    fn decoded(encoding: Encoding, bytes: &[u8]) -> Result<Vec<u8>> {
        let cancel = CancelToken::default();
        let means = Means { limit: 1 << 20, budget: None, cancel: &cancel, remote: None };
        let input = encoding.decoded(&Input::memory(bytes.to_vec().into()), "f", means)?;
        Ok(input.read("f", 0, input.len())?.to_vec())
    }

    #[test]
    fn texts_become_utf_8() {
        assert_eq!(decoded(Encoding::Latin1, b"caf\xe9\n").unwrap(), "café\n".as_bytes());
        for swap in [false, true] {
            let bytes: Vec<u8> = "\u{feff}aé€😀\n"
                .encode_utf16()
                .flat_map(|unit| if swap { unit.to_be_bytes() } else { unit.to_le_bytes() })
                .collect();
            assert_eq!(decoded(Encoding::Utf16, &bytes).unwrap(), "aé€😀\n".as_bytes());
        }
        assert_eq!(decoded(Encoding::Utf16, b"").unwrap(), b"");
        for bad in [&b"a"[..], b"\x00\xd8", b"\x00\xd8a\x00", b"\x00\xdc"] {
            assert_eq!(decoded(Encoding::Utf16, bad).unwrap_err().state(), SqlState::INVALID_ENCODING, "{bad:?}");
        }
    }
}
