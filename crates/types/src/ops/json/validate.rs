//! Whether a text is JSON, as RFC 8259 has it, with PostgreSQL's reasons where it is not.

use base::{Error, Result};

use super::error::{MAX_DEPTH, invalid, too_deep};
use super::plain::is_plain;

/// Fails unless the text is JSON.
#[inline]
pub fn check(text: &str) -> Result<()> {
    if is_plain(text) { Ok(()) } else { check_closely(text) }
}

/// The same, with the reason.
pub(super) fn check_closely(text: &str) -> Result<()> {
    let mut reader = Reader { text, at: 0 };
    let first = reader.token()?;
    reader.value(first, 0)?;
    let behind = reader.token()?;
    if behind.kind != Kind::End { Err(reader.expected("end of input", behind)) } else { Ok(()) }
}

/// Whether the text is JSON.
pub fn is_valid(text: &str) -> bool {
    check(text).is_ok()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One of `{}[],:`.
    Sign(u8),
    String,
    /// A number, `true`, `false` or `null`.
    Scalar,
    End,
}

/// A token and where it begins.
#[derive(Clone, Copy)]
struct Token {
    kind: Kind,
    start: usize,
}

struct Reader<'a> {
    text: &'a str,
    /// Behind what was read.
    at: usize,
}

impl Reader<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn token(&mut self) -> Result<Token> {
        while matches!(self.byte(self.at), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        let start = self.at;
        let kind = match self.byte(start) {
            0 if start >= self.text.len() => Kind::End,
            sign @ (b'{' | b'}' | b'[' | b']' | b',' | b':') => {
                self.at += 1;
                Kind::Sign(sign)
            }
            b'"' => {
                self.string()?;
                Kind::String
            }
            _ => {
                self.scalar()?;
                Kind::Scalar
            }
        };
        Ok(Token { kind, start })
    }

    /// A string, whose quotation mark is next.
    fn string(&mut self) -> Result<()> {
        let bytes = self.text.as_bytes();
        self.at += 1;
        loop {
            match bytes.get(self.at) {
                None => return Err(self.invalid_token(self.at_quote())),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(byte @ ..0x20) => {
                    return Err(invalid(format!("Character with value 0x{byte:02x} must be escaped.")));
                }
                Some(_) => self.at += 1,
            }
        }
    }

    /// Where the string began that has no end.
    fn at_quote(&self) -> usize {
        // Nothing behind the first mark that is not escaped ends the string.
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while at > 0 {
            at -= 1;
            let escapes = bytes[..at].iter().rev().take_while(|b| **b == b'\\').count();
            if bytes[at] == b'"' && escapes % 2 == 0 {
                break;
            }
        }
        at
    }

    fn escape(&mut self) -> Result<()> {
        match self.byte(self.at + 1) {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
            b'u' => {
                let digits = self.text.as_bytes().get(self.at + 2..self.at + 6);
                if !digits.is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(invalid("\"\\u\" must be followed by four hexadecimal digits."));
                }
                self.at += 6;
            }
            _ => {
                return Err(match self.text[self.at + 1..].chars().next() {
                    Some(escaped) => invalid(format!("Escape sequence \"\\{escaped}\" is invalid.")),
                    None => self.invalid_token(self.at_quote()),
                });
            }
        }
        Ok(())
    }

    /// A number or a word: all letters and digits that follow each other.
    fn scalar(&mut self) -> Result<()> {
        let start = self.at;
        let is_number = matches!(self.byte(start), b'-' | b'0'..=b'9');
        if is_number {
            self.number();
        }
        let number_end = self.at;
        while matches!(self.byte(self.at), b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | 0x80..) {
            self.at += 1;
        }
        let token = &self.text[start..self.at];
        let is_whole_number = is_number && number_end == self.at && token.ends_with(|c: char| c.is_ascii_digit());
        if is_whole_number || matches!(token, "true" | "false" | "null") {
            return Ok(());
        }
        if token.is_empty() {
            self.at += 1;
        }
        Err(self.invalid_token(start))
    }

    /// As much of a number as there is.
    fn number(&mut self) {
        let digits = |reader: &mut Self| {
            while reader.byte(reader.at).is_ascii_digit() {
                reader.at += 1;
            }
        };
        if self.byte(self.at) == b'-' {
            self.at += 1;
        }
        match self.byte(self.at) {
            b'0' => self.at += 1,
            _ => digits(self),
        }
        if !self.byte(self.at.saturating_sub(1)).is_ascii_digit() {
            return;
        }
        if self.byte(self.at) == b'.' {
            self.at += 1;
            if !self.byte(self.at).is_ascii_digit() {
                return;
            }
            digits(self);
        }
        if matches!(self.byte(self.at), b'e' | b'E') {
            self.at += 1;
            if matches!(self.byte(self.at), b'+' | b'-') {
                self.at += 1;
            }
            digits(self);
        }
    }

    /// A value, whose first token is that.
    fn value(&mut self, first: Token, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        match first.kind {
            Kind::String | Kind::Scalar => Ok(()),
            Kind::Sign(b'{') => self.object(depth),
            Kind::Sign(b'[') => self.array(depth),
            _ => Err(self.expected("JSON value", first)),
        }
    }

    fn object(&mut self, depth: usize) -> Result<()> {
        let mut token = self.token()?;
        if token.kind == Kind::Sign(b'}') {
            return Ok(());
        }
        if token.kind != Kind::String {
            return Err(self.expected("string or \"}\"", token));
        }
        loop {
            let colon = self.token()?;
            if colon.kind != Kind::Sign(b':') {
                return Err(self.expected("\":\"", colon));
            }
            let first = self.token()?;
            self.value(first, depth + 1)?;
            let next = self.token()?;
            match next.kind {
                Kind::Sign(b'}') => return Ok(()),
                Kind::Sign(b',') => token = self.token()?,
                _ => return Err(self.expected("\",\" or \"}\"", next)),
            }
            if token.kind != Kind::String {
                return Err(self.expected("string", token));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<()> {
        let mut token = self.token()?;
        if token.kind == Kind::Sign(b']') {
            return Ok(());
        }
        loop {
            self.value(token, depth + 1)?;
            let next = self.token()?;
            match next.kind {
                Kind::Sign(b']') => return Ok(()),
                Kind::Sign(b',') => token = self.token()?,
                _ => return Err(self.expected("\",\" or \"]\"", next)),
            }
        }
    }

    #[cold]
    fn expected(&self, what: &str, found: Token) -> Error {
        match found.kind {
            Kind::End => invalid("The input string ended unexpectedly."),
            _ => invalid(format!("Expected {what}, but found \"{}\".", &self.text[found.start..self.at])),
        }
    }

    #[cold]
    fn invalid_token(&self, start: usize) -> Error {
        let end = (self.at.max(start)..=self.text.len()).find(|at| self.text.is_char_boundary(*at));
        invalid(format!("Token \"{}\" is invalid.", &self.text[start..end.unwrap_or(start)]))
    }
}
