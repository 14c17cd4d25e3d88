//! Text to records and fields.

use super::dialect::Dialect;
use super::index::{Structural, positions};

/// Bytes that are indexed at once: text and index stay in the second-level cache.
const WINDOW: usize = 64 << 10;
const QUOTED: u32 = 1 << 31;
const ESCAPED: u32 = 1 << 30;

/// Longest text that fields can point into.
pub const MAX_TEXT: usize = 1 << 30;

/// Where a field's bytes are, without quotes.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// Nothing, at that place of a text.
    pub fn empty(at: usize) -> Self {
        Self { start: at as u32, end: at as u32 }
    }

    /// The bytes as they stand in the file.
    #[inline]
    pub fn bytes<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.start as usize..(self.end & !(QUOTED | ESCAPED)) as usize]
    }
    /// Whether it was in quotes.
    #[inline]
    pub fn quoted(&self) -> bool {
        self.end & QUOTED != 0
    }
    /// Whether escapes must be removed.
    #[inline]
    pub fn escaped(&self) -> bool {
        self.end & ESCAPED != 0
    }
}

/// What is wrong with the quotes of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Problem {
    /// The text ends inside of quotes.
    Unterminated,
    /// Something stands between a closing quote and the next delimiter.
    AfterQuote,
}

/// One record: its bytes (without line end) and what is wrong with it.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset past the last byte, line end included.
    pub end: usize,
    /// What is wrong.
    pub problem: Option<Problem>,
}

/// Reads records one after the other, out of a text that must begin at a record and is the same in every call.
pub struct Records {
    dialect: Dialect,
    chars: Structural,
    position: usize,
    index: Vec<u32>,
    at: usize,
    indexed: usize,
}

impl Records {
    /// A reader of a text of at most [`MAX_TEXT`] bytes.
    pub fn new(dialect: Dialect) -> Self {
        let delimiter = dialect.delimiter;
        let quote = dialect.quote.unwrap_or(delimiter);
        let escape = if dialect.text_format || dialect.quote.is_some() { dialect.escape } else { delimiter };
        let chars = [delimiter, dialect.eol, quote, escape];
        Self { dialect, chars, position: 0, index: Vec::new(), at: 0, indexed: 0 }
    }

    /// Offset past the last record.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The next structural character's offset, or the text's length.
    #[inline]
    fn structural(&mut self, text: &[u8]) -> usize {
        if self.at == self.index.len() && !self.refill(text) {
            return text.len();
        }
        let position = self.index[self.at] as usize;
        self.at += 1;
        position
    }

    #[cold]
    fn refill(&mut self, text: &[u8]) -> bool {
        assert!(text.len() <= MAX_TEXT);
        self.index.clear();
        self.at = 0;
        while self.index.is_empty() && self.indexed < text.len() {
            let end = (self.indexed + WINDOW).min(text.len());
            positions(&text[self.indexed..end], self.chars, self.indexed as u32, &mut self.index);
            self.indexed = end;
        }
        !self.index.is_empty()
    }

    /// Skips the structural character at `position`, which comes next.
    fn skip(&mut self, text: &[u8], position: usize) {
        let next = self.structural(text);
        debug_assert_eq!(next, position);
    }

    /// Goes to the next line, whatever this one holds.
    #[cold]
    fn skip_line(&mut self, text: &[u8]) {
        let rest = &text[self.position..];
        self.position += memchr::memchr(self.dialect.eol, rest).map_or(rest.len(), |length| length + 1);
        while (self.at < self.index.len() || self.refill(text)) && (self.index[self.at] as usize) < self.position {
            self.at += 1;
        }
    }

    /// Reads a record; `fields` gets its fields. None at the end of the text.
    #[inline]
    pub fn next(&mut self, text: &[u8], fields: &mut Vec<Span>) -> Option<Record> {
        fields.clear();
        self.append(text, fields)
    }

    /// As [`next`](Self::next), but appends the fields.
    #[inline]
    pub fn append(&mut self, text: &[u8], fields: &mut Vec<Span>) -> Option<Record> {
        let length = text.len();
        while self.dialect.comment.is_some() && text.get(self.position).copied() == self.dialect.comment {
            self.skip_line(text);
        }
        let first = self.position;
        if first >= length {
            return None;
        }
        let mut problem = None;
        let mut start = first;
        loop {
            let mut flags = 0;
            let mut from = start;
            let mut until = None;
            if start < length && self.dialect.quote == Some(text[start]) {
                self.skip(text, start);
                let (close, escaped) = self.quoted(text);
                (from, flags) = (start + 1, QUOTED | escaped);
                until = Some(close.unwrap_or(length));
                if close.is_none() {
                    problem = Some(Problem::Unterminated);
                }
            }
            // To the end of the field; quotes in the middle of it are plain characters.
            let end = loop {
                let p = self.structural(text);
                if p >= length || text[p] == self.dialect.delimiter || text[p] == self.dialect.eol {
                    break p;
                }
                if self.dialect.text_format {
                    flags |= ESCAPED;
                    if text.get(p + 1).is_some_and(|b| self.chars.contains(b)) {
                        self.skip(text, p + 1);
                    }
                }
            };
            let last = end >= length || text[end] == self.dialect.eol;
            let mut content = end;
            if last && self.dialect.eol == b'\n' && content > from && text[content - 1] == b'\r' {
                content -= 1;
            }
            if let Some(close) = until {
                if close + 1 < content {
                    problem = problem.or(Some(Problem::AfterQuote));
                }
                content = close;
            }
            fields.push(Span { start: from as u32, end: content as u32 | flags });
            if last {
                self.position = (end + 1).min(length);
                return Some(Record { start: first, end: self.position, problem });
            }
            start = end + 1;
        }
    }

    /// Finds the closing quote, the opening one being consumed.
    fn quoted(&mut self, text: &[u8]) -> (Option<usize>, u32) {
        let (quote, escape) = (self.chars[2], self.dialect.escape);
        let mut escaped = 0;
        loop {
            let p = self.structural(text);
            if p >= text.len() {
                return (None, escaped);
            }
            let next = text.get(p + 1).copied();
            if text[p] == escape && (next == Some(quote) || (escape != quote && next == Some(escape))) {
                escaped = ESCAPED;
                self.skip(text, p + 1);
            } else if text[p] == quote {
                return (Some(p), escaped);
            }
        }
    }
}

/// The text of a field with its escapes removed. May not be UTF-8.
pub fn unescape(bytes: &[u8], dialect: &Dialect) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let b = bytes[i];
        i += 1;
        if b != dialect.escape || i == bytes.len() {
            out.push(b);
        } else if dialect.text_format {
            i += text_escape(&bytes[i..], &mut out);
        } else if Some(bytes[i]) == dialect.quote || bytes[i] == dialect.escape {
            out.push(bytes[i]);
            i += 1;
        } else {
            out.push(b);
        }
    }
    out
}

/// What follows a backslash in COPY's text format. Returns how many bytes it took.
fn text_escape(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let digits = |from: usize, most: usize, radix: u32| {
        let taken = rest[from..].iter().take(most).take_while(|b| char::from(**b).is_digit(radix)).count();
        let value =
            rest[from..from + taken].iter().fold(0u32, |v, b| v * radix + char::from(*b).to_digit(radix).unwrap_or(0));
        (taken, value as u8)
    };
    match rest[0] {
        b'b' => out.push(8),
        b'f' => out.push(12),
        b'n' => out.push(b'\n'),
        b'r' => out.push(b'\r'),
        b't' => out.push(b'\t'),
        b'v' => out.push(11),
        b'0'..=b'7' => {
            let (taken, value) = digits(0, 3, 8);
            out.push(value);
            return taken;
        }
        b'x' if rest.get(1).is_some_and(u8::is_ascii_hexdigit) => {
            let (taken, value) = digits(1, 2, 16);
            out.push(value);
            return 1 + taken;
        }
        other => out.push(other),
    }
    1
}
