//! Values within a text that is JSON, found in one pass. What is no JSON makes nothing fail: it ends where its text does.

/// A text that is read from left to right.
#[derive(Clone, Copy)]
pub struct Scan<'a> {
    text: &'a str,
    at: usize,
}

/// What a value is, as its first byte says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `{}`
    Object,
    /// `[]`
    Array,
    /// `""`
    String,
    /// `0`
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

/// The kind of the value that the text is, without blanks around it.
pub fn kind(value: &str) -> Kind {
    match value.as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Bool,
        Some(b'n') => Kind::Null,
        _ => Kind::Number,
    }
}

/// The value without blanks around it.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

/// What is between the marks of a string.
pub fn content(string: &str) -> &str {
    string.get(1..string.len().saturating_sub(1)).unwrap_or_default()
}

impl<'a> Scan<'a> {
    /// At its beginning.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next byte that is no blank; 0 at the end.
    #[inline]
    fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(&byte) => return byte,
                None => return 0,
            }
        }
    }

    /// Reads that byte, if it is next.
    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte;
        self.at += usize::from(found);
        found
    }

    /// Steps over a string, whose mark is next.
    #[inline]
    fn skip_string(&mut self) {
        self.at = string_end(self.text.as_bytes(), self.at + 1);
    }

    /// Steps over objects and arrays within each other, of which one begins.
    fn skip_nested(&mut self) {
        let bytes = self.text.as_bytes();
        let mut depth = 0u32;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.skip_string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    /// The value that is next.
    #[inline]
    fn value(&mut self) -> &'a str {
        let first = self.peek();
        let start = self.at;
        match first {
            b'"' => self.skip_string(),
            b'{' | b'[' => self.skip_nested(),
            _ => {
                let bytes = self.text.as_bytes();
                let ends = |b: &u8| matches!(b, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
                self.at = bytes[start..].iter().position(ends).map_or(bytes.len(), |length| start + length);
            }
        }
        self.text.get(start..self.at).unwrap_or_default()
    }
}

/// Where the string ends whose content is at `at`: behind its mark.
#[inline]
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        // Eight bytes at a time, of which none is a mark or a backslash.
        while let Some(word) = bytes.get(at..at + 8) {
            let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
            let found = zero_bytes(word ^ (ONES * u64::from(b'"'))) | zero_bytes(word ^ (ONES * u64::from(b'\\')));
            if found != 0 {
                at += found.trailing_zeros() as usize / 8;
                break;
            }
            at += 8;
        }
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return bytes.len(),
        }
    }
}

pub(super) const ONES: u64 = 0x0101_0101_0101_0101;

/// The highest bit of the first byte that is 0, and maybe of such behind it.
#[inline]
pub(super) fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

/// Members of an object: keys between their marks as they are written, and values.
pub struct Members<'a>(Option<Scan<'a>>);

/// The members of a text that is an object; none of another.
#[inline]
pub fn members(text: &str) -> Members<'_> {
    let mut scan = Scan::new(text);
    Members(scan.take(b'{').then_some(scan))
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a str);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let scan = self.0.as_mut()?;
        scan.take(b',');
        if scan.peek() != b'"' {
            self.0 = None;
            return None;
        }
        let start = scan.at + 1;
        scan.skip_string();
        let key = scan.text.get(start..scan.at - 1).unwrap_or_default();
        scan.take(b':');
        Some((key, scan.value()))
    }
}

/// Elements of an array.
pub struct Items<'a>(Option<Scan<'a>>);

/// The elements of a text that is an array; none of another.
#[inline]
pub fn items(text: &str) -> Items<'_> {
    let mut scan = Scan::new(text);
    Items(scan.take(b'[').then_some(scan))
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let scan = self.0.as_mut()?;
        scan.take(b',');
        if matches!(scan.peek(), b']' | 0) {
            self.0 = None;
            return None;
        }
        Some(scan.value()).filter(|value| !value.is_empty())
    }
}
