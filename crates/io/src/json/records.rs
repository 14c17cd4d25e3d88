//! Records of a JSON file: where each begins and ends, found while the text is read, a window at a time. What a record holds is
//! looked at later; here only strings and brackets count. Every byte is looked at once, however long a record is.

use std::ops::Range;
use std::sync::Arc;

use base::memory::Reservation;
use base::{Budget, Error, Result, SqlState};

use crate::csv::dialect::Dialect;
use crate::csv::split::{Split, Text};
use crate::input::{Input, OPERATOR};
use crate::lines::Lines;

/// How the records of a file follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// One in each line.
    Lines,
    /// As the elements of one array.
    Array,
    /// One behind the other.
    Values,
}

/// Bytes that are read at once; few in tests, whose files are small.
const READ: u64 = if cfg!(test) { 16 } else { 1 << 20 };

/// Lines end at line feeds, and nothing quotes them.
pub const LINES: Dialect =
    Dialect { delimiter: b',', quote: None, escape: b'\\', eol: b'\n', text_format: false, comment: None };

/// One file.
pub struct JsonFile {
    pub name: String,
    pub input: Input,
    pub layout: Layout,
    /// Its morsels: ranges of lines, or all of it.
    pub split: Split,
    pub lines: Lines,
}

impl JsonFile {
    /// The bytes of a morsel.
    pub fn range(&self, range: usize) -> Result<Range<u64>> {
        let (start, end) = self.split.range(self.text(), range)?;
        Ok(start..end)
    }

    /// The file as it is cut.
    pub fn text(&self) -> Text<'_> {
        Text { input: &self.input, name: &self.name, dialect: &LINES }
    }

    /// An error with the place that it is at.
    #[cold]
    pub fn error_at(&self, state: SqlState, what: &str, offset: u64) -> Error {
        let line = self.lines.line(&self.input, &self.name, LINES.eol, offset);
        Error::new(state, format!("{what} in file \"{}\", line {line}", self.name))
    }
}

/// What is next.
#[derive(PartialEq, Eq, Debug)]
pub enum Found {
    /// A record: a range of [`Records::text`].
    Record(Range<usize>),
    /// More of the text has to be read first.
    More,
    /// Nothing.
    End,
}

/// What may come next in an array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    First,
    Value,
    Behind,
    Closed,
}

/// Finds the records of a range of a file.
pub struct Records {
    file: Arc<JsonFile>,
    /// The text that is there, and the offset of its first byte.
    text: Vec<u8>,
    offset: u64,
    end: u64,
    /// The range was cut off, maybe in the middle of a record, which is left out then.
    is_cut: bool,
    /// Behind the last record.
    at: usize,
    /// Bytes behind `at` that were looked at, the brackets that are open there, and whether that is in a string.
    seen: usize,
    depth: usize,
    in_string: bool,
    place: Place,
    /// Most bytes of a record.
    limit: usize,
    charged: Option<Reservation>,
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

impl Records {
    pub fn new(
        file: Arc<JsonFile>,
        range: Range<u64>,
        is_cut: bool,
        limit: usize,
        budget: Option<&Budget>,
    ) -> Result<Self> {
        let charged = budget.map(|b| b.reserve(0, OPERATOR)).transpose()?;
        Ok(Self {
            file,
            text: Vec::new(),
            offset: range.start,
            end: range.end,
            is_cut,
            at: 0,
            seen: 0,
            depth: 0,
            in_string: false,
            place: Place::Before,
            limit,
            charged,
        })
    }

    pub fn file(&self) -> &JsonFile {
        &self.file
    }

    /// The bytes of a record.
    pub fn text(&self, record: &Range<usize>) -> &[u8] {
        &self.text[record.clone()]
    }

    /// Where a record is in the file.
    pub fn offset(&self, record: &Range<usize>) -> u64 {
        self.offset + record.start as u64
    }

    /// Bytes up to the last record.
    pub fn read(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// Reads on. The records that were found are gone then.
    pub fn load(&mut self) -> Result<()> {
        self.text.drain(..self.at);
        self.offset += self.at as u64;
        self.at = 0;
        let have = self.text.len();
        let from = self.offset + have as u64;
        let more = (self.end - from).min(READ.max(have as u64)) as usize;
        if let Some(charged) = &mut self.charged {
            charged.resize((have + more).max(self.text.capacity()))?;
        }
        self.text.reserve_exact(more);
        self.text.resize(have + more, 0);
        self.file.input.read_into(&self.file.name, from, &mut self.text[have..])
    }

    fn is_whole(&self) -> bool {
        self.offset + self.text.len() as u64 == self.end
    }

    /// The record from `at` to `end`, if it is no longer than wanted.
    fn record(&mut self, end: usize, next: usize) -> Result<Found> {
        let record = self.at..end;
        self.check_length(record.len())?;
        (self.at, self.seen, self.depth, self.in_string) = (next, 0, 0, false);
        Ok(Found::Record(record))
    }

    fn check_length(&self, length: usize) -> Result<()> {
        if length <= self.limit {
            return Ok(());
        }
        let what = format!("a record is longer than {} bytes", self.limit);
        Err(self
            .file
            .error_at(SqlState::PROGRAM_LIMIT, &what, self.offset + self.at as u64)
            .hint("set maximum_object_size, or the format if it is not newline_delimited"))
    }

    /// Looks for the next record in the text that is there.
    pub fn find(&mut self) -> Result<Found> {
        match self.file.layout {
            Layout::Lines => self.line(),
            layout => self.value(layout == Layout::Array),
        }
    }

    fn line(&mut self) -> Result<Found> {
        loop {
            let from = self.at + self.seen;
            let (end, next) = match memchr::memchr(LINES.eol, &self.text[from..]) {
                Some(length) => (from + length, from + length + 1),
                None if self.is_whole() && (self.is_cut || self.at == self.text.len()) => return Ok(Found::End),
                None if self.is_whole() => (self.text.len(), self.text.len()),
                None => {
                    self.seen = self.text.len() - self.at;
                    self.check_length(self.seen)?;
                    return Ok(Found::More);
                }
            };
            if !self.text[self.at..end].iter().all(|b| is_blank(*b)) {
                return self.record(end, next);
            }
            (self.at, self.seen) = (next, 0);
        }
    }

    fn value(&mut self, in_array: bool) -> Result<Found> {
        loop {
            if self.seen == 0 {
                self.at += self.text[self.at..].iter().take_while(|b| is_blank(**b)).count();
            }
            let Some(&byte) = self.text.get(self.at) else {
                return match self.is_whole() {
                    false => Ok(Found::More),
                    true if self.is_cut || !in_array || matches!(self.place, Place::Closed | Place::Before) => {
                        Ok(Found::End)
                    }
                    true => Err(self.wrong("an array that does not end")),
                };
            };
            if in_array && self.seen == 0 {
                let (next, is_sign) = match (self.place, byte) {
                    (Place::Before, b'[') => (Place::First, true),
                    (Place::Before, _) => return Err(self.wrong("no array")),
                    (Place::First | Place::Behind, b']') => (Place::Closed, true),
                    (Place::Behind, b',') => (Place::Value, true),
                    (Place::Behind, _) => return Err(self.wrong("neither , nor ] behind an element")),
                    (Place::Closed, _) => return Err(self.wrong("text behind the array")),
                    (Place::First | Place::Value, _) => (Place::Value, false),
                };
                self.place = next;
                if is_sign {
                    self.at += 1;
                    continue;
                }
            }
            let Some(end) = self.end_of_value() else {
                self.check_length(self.seen)?;
                if !self.is_whole() {
                    return Ok(Found::More);
                }
                if self.is_cut {
                    return Ok(Found::End);
                }
                self.place = Place::Behind;
                return self.record(self.text.len(), self.text.len());
            };
            self.place = Place::Behind;
            return self.record(end, end);
        }
    }

    /// Where the value at `at` ends; none if that is not in the text that is there, of which all is seen then.
    fn end_of_value(&mut self) -> Option<usize> {
        let text = &self.text[..];
        let mut at = self.at + self.seen;
        while at < text.len() {
            if self.in_string {
                let Some(length) = memchr::memchr2(b'"', b'\\', &text[at..]) else { break };
                at += length;
                if text[at] == b'\\' {
                    // What is escaped is not there yet: the backslash is looked at again.
                    if at + 1 == text.len() {
                        self.seen = at - self.at;
                        return None;
                    }
                    at += 2;
                    continue;
                }
                self.in_string = false;
                at += 1;
                if self.depth == 0 {
                    return Some(at);
                }
                continue;
            }
            match text[at] {
                b'"' | b'{' | b'[' | b',' if self.depth == 0 && at > self.at => return Some(at),
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                // What closes nothing is a record of its own, which is no JSON.
                b'}' | b']' | b',' if self.depth == 0 => return Some(at.max(self.at + 1)),
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                blank if self.depth == 0 && is_blank(blank) => return Some(at),
                _ => {}
            }
            at += 1;
        }
        self.seen = text.len() - self.at;
        None
    }

    #[cold]
    fn wrong(&self, what: &str) -> Error {
        self.file.error_at(SqlState::BAD_COPY_FILE, what, self.offset + self.at as u64)
    }
}
