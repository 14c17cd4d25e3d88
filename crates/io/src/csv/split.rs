//! Cutting a file into ranges that begin at records.
//!
//! Whether a line end is inside of quotes depends on everything before it. Cuts are made after line ends; then each
//! range is walked from both states that it could begin in (inside and outside of quotes), by whoever has time, and
//! composing the results from the first range on gives the true states. A range that begins inside of quotes gives the bytes up
//! to its first record to the range before it. One pass over the file, over quotes only, whose places are found by vectors.
//! Exact for whatever [`Records`](super::records::Records) accepts: a quote opens only at the start of a field.
//!
//! Nobody waits for another: what two need at once, both find, and each step is a window of text or one search for a line
//! end in a range.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use base::Result;

use super::dialect::Dialect;
use super::index::positions;
use crate::input::Input;

/// Bytes read at first while looking for a line end; then more and more.
const LINE: u64 = 4 << 10;
const LINES: u64 = 1 << 20;
/// Bytes that a step walks over; few in tests, whose files are small.
const WINDOW: u64 = if cfg!(test) { 64 } else { 256 << 10 };

/// A file as it is cut.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    pub input: &'a Input,
    pub name: &'a str,
    pub dialect: &'a Dialect,
}

/// `count` ranges of `[start, length)`, whose boundaries are found range by range.
pub struct Split {
    start: u64,
    pieces: Box<[Piece]>,
    bounds: OnceLock<Vec<u64>>,
}

#[derive(Default)]
struct Piece {
    /// The offset past the first line end, if there is one before the next piece's.
    line: OnceLock<Option<u64>>,
    walking: Mutex<Option<Walking>>,
    walked: OnceLock<[Walk; 2]>,
}

/// A range that is being walked, from both states.
struct Walking {
    range: Range<u64>,
    /// The piece in which the range's end is looked for, as long as it is not known.
    ends_in: Option<usize>,
    walks: [Walk; 2],
}

impl Split {
    pub fn new(start: u64, count: usize) -> Self {
        Self { start, pieces: (0..count).map(|_| Piece::default()).collect(), bounds: OnceLock::new() }
    }

    /// Number of ranges.
    pub fn ranges(&self) -> usize {
        self.pieces.len()
    }

    /// Whether ranges have to be walked.
    pub fn needs_walks(&self, dialect: &Dialect) -> bool {
        dialect.quote.is_some() && self.ranges() > 1 && self.bounds.get().is_none()
    }

    /// The offsets at which a range begins and ends, each the start of a record or the file's end. Walks what nobody has.
    pub fn range(&self, text: Text<'_>, range: usize) -> Result<(u64, u64)> {
        if text.dialect.quote.is_none() || self.ranges() == 1 {
            return Ok((self.cut(text, range)?, self.cut(text, range + 1)?));
        }
        if self.bounds.get().is_none() {
            let bounds = self.boundaries(text)?;
            let _ = self.bounds.set(bounds);
        }
        let bounds = self.bounds.get().expect("just found");
        Ok((bounds[range], bounds[range + 1]))
    }

    /// Walks on over a range, unless that has been done. Returns whether the end is reached.
    pub fn walk(&self, text: Text<'_>, range: usize) -> Result<bool> {
        let Some(quote) = text.dialect.quote.filter(|_| self.pieces[range].walked.get().is_none()) else {
            return Ok(true);
        };
        let mut walking = self.pieces[range].walking.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Walking { range: bytes, ends_in, walks }) = &mut *walking else {
            let begin = self.line(text, range)?;
            // A piece in which no line ends belongs to the one before.
            let bytes = begin.map_or(0..0, |begin| begin..text.input.len());
            let walks = [false, true].map(|inside| Walk::new(&bytes, inside));
            *walking = Some(Walking { range: bytes, ends_in: begin.map(|_| range + 1), walks });
            return Ok(false);
        };
        if let Some(next) = *ends_in {
            let end = if next < self.ranges() { self.line(text, next)? } else { Some(text.input.len()) };
            bytes.end = end.unwrap_or(bytes.end);
            *ends_in = if end.is_some() { None } else { Some(next + 1) };
            return Ok(false);
        }
        let at = walks[0].at.min(walks[1].at);
        if at < bytes.end {
            // Both neighbours of a character are looked at.
            let (from, to) = (at.saturating_sub(1).max(bytes.start), bytes.end.min(at + WINDOW));
            let window = Window { bytes: text.input.read(text.name, from, to)?, offset: from, range: bytes.clone() };
            let mut marks = Vec::new();
            positions(&window.bytes, [quote, quote, text.dialect.escape, quote], 0, &mut marks);
            let [outside, inside] = walks;
            // As quotes open at the start of fields only, both soon come to the same.
            let agree = outside.agrees(inside);
            outside.go(&window, &marks, text.dialect, quote);
            if agree {
                (inside.at, inside.inside) = (outside.at, outside.inside);
            } else {
                inside.go(&window, &marks, text.dialect, quote);
            }
        }
        let is_done = walks.iter().all(|walk| walk.at >= bytes.end);
        if is_done {
            let _ = self.pieces[range].walked.set(*walks);
        }
        Ok(is_done)
    }

    /// The bytes that a range is likely to have, and that finding it out takes.
    pub fn about(&self, text: Text<'_>, range: usize) -> Range<u64> {
        const BEYOND: u64 = 64 << 10;
        self.nominal(text, range).saturating_sub(1)..(self.nominal(text, range + 1) + BEYOND).min(text.input.len())
    }

    /// Where a piece of the file would begin if all were equally long.
    fn nominal(&self, text: Text<'_>, piece: usize) -> u64 {
        let length = text.input.len() - self.start;
        self.start + (u128::from(length) * piece as u128 / self.ranges() as u128) as u64
    }

    /// The offset past the first line end of a piece that an escape does not hide; the first piece begins at a line. A
    /// line end right before the piece is its.
    fn line(&self, text: Text<'_>, piece: usize) -> Result<Option<u64>> {
        if piece == 0 {
            return Ok(Some(self.start));
        }
        if let Some(found) = self.pieces[piece].line.get() {
            return Ok(*found);
        }
        let (from, to) = (self.nominal(text, piece) - 1, self.nominal(text, piece + 1));
        let to = if to == text.input.len() { to } else { to - 1 };
        let found = line_after(text, from, to)?;
        Ok(*self.pieces[piece].line.get_or_init(|| found))
    }

    /// Where a range is cut: after a line end, which may be inside of quotes.
    fn cut(&self, text: Text<'_>, range: usize) -> Result<u64> {
        for piece in range..self.ranges() {
            if let Some(line) = self.line(text, piece)? {
                return Ok(line);
            }
        }
        Ok(text.input.len())
    }

    /// One offset more than there are ranges.
    fn boundaries(&self, text: Text<'_>) -> Result<Vec<u64>> {
        let mut bounds = Vec::with_capacity(self.ranges() + 1);
        let mut inside = false;
        for range in 0..self.ranges() {
            while !self.walk(text, range)? {}
            let walk = self.pieces[range].walked.get().expect("just walked")[usize::from(inside)];
            // Without a record's start in it, the range is empty and belongs to the one before.
            bounds.push(walk.first.unwrap_or(u64::MAX));
            inside = walk.inside;
        }
        bounds.push(text.input.len());
        for i in (0..self.ranges()).rev() {
            bounds[i] = bounds[i].min(bounds[i + 1]);
        }
        Ok(bounds)
    }
}

/// The offset past the first line end in a range of bytes that an escape does not hide.
fn line_after(text: Text<'_>, from: u64, to: u64) -> Result<Option<u64>> {
    let (mut at, mut step) = (from, LINE);
    while at < to {
        let bytes = text.input.read(text.name, at, (at + step).min(to))?;
        for p in memchr::memchr_iter(text.dialect.eol, &bytes) {
            let end = at + p as u64;
            if !text.dialect.text_format || !escaped(text, end)? {
                return Ok(Some(end + 1));
            }
        }
        at += bytes.len() as u64;
        step = (4 * step).min(LINES);
    }
    Ok(None)
}

/// Whether an odd number of escapes stands before `end`.
fn escaped(text: Text<'_>, end: u64) -> Result<bool> {
    let (mut at, mut count) = (end, 0);
    loop {
        let from = at.saturating_sub(64);
        let bytes = text.input.read(text.name, from, at)?;
        let run = bytes.iter().rev().take_while(|b| **b == text.dialect.escape).count();
        count += run;
        if run < bytes.len() || from == 0 {
            return Ok(count % 2 == 1);
        }
        at = from;
    }
}

/// Some bytes of a range that is walked over.
struct Window {
    bytes: bytes::Bytes,
    /// Of the first of them.
    offset: u64,
    range: Range<u64>,
}

/// How far a walk over a range has come, and what it has found.
#[derive(Clone, Copy, Debug)]
struct Walk {
    at: u64,
    /// Offset of the first record that begins in the range.
    first: Option<u64>,
    /// Whether it is inside of quotes there.
    inside: bool,
}

impl Walk {
    /// Before a range that begins after a line end, inside of quotes or not.
    fn new(range: &Range<u64>, inside: bool) -> Self {
        Self { at: range.start, first: (!inside && !range.is_empty()).then_some(range.start), inside }
    }

    /// Whether both find the same from here on.
    fn agrees(&self, other: &Self) -> bool {
        self.first.is_some() && other.first.is_some() && (self.at, self.inside) == (other.at, other.inside)
    }

    /// Goes on to the end of the window, but for a last byte whose neighbour is not in it. `marks` are the places of quotes and
    /// escapes in it.
    fn go(&mut self, window: &Window, marks: &[u32], dialect: &Dialect, quote: u8) {
        let text = &window.bytes[..];
        let is_last = window.offset + text.len() as u64 == window.range.end;
        let limit = text.len() - usize::from(!is_last);
        let mut marks = marks.iter().map(|&mark| mark as usize).take_while(|&mark| mark < limit).peekable();
        while self.at < window.offset + limit as u64 {
            let from = (self.at - window.offset) as usize;
            while marks.next_if(|&mark| mark < from || (!self.inside && text[mark] != quote)).is_some() {}
            let mark = marks.peek().copied();
            if !self.inside
                && self.first.is_none()
                && let Some(line) = memchr::memchr(dialect.eol, &text[from..mark.unwrap_or(limit)])
            {
                self.at += line as u64 + 1;
                self.first = Some(self.at).filter(|&at| at < window.range.end);
                continue;
            }
            let Some(p) = mark else {
                self.at = window.offset + limit as u64;
                return;
            };
            let offset = window.offset + p as u64;
            self.at = offset + 1;
            if self.inside {
                let next = text.get(p + 1).copied();
                let escapes = text[p] == dialect.escape
                    && (next == Some(quote) || (dialect.escape != quote && next == Some(dialect.escape)));
                self.at += u64::from(escapes);
                self.inside = escapes || text[p] != quote;
            } else {
                self.inside =
                    offset == window.range.start || text[p - 1] == dialect.delimiter || text[p - 1] == dialect.eol;
            }
        }
    }
}
