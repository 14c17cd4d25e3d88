//! `string_agg`: the texts of the frame's rows in their order, each behind its separator but for the first.
//!
//! There is no tree: each of its nodes would be a copy of all below it. A frame that goes on where the one before ended
//! gets its rows appended to that one's text, if there is room: results are beginnings of one text then, and frames that
//! grow cost O(1) a row besides the bytes. A text is kept when its range of rows is done, as the next range may go on with
//! it. Other frames are put together from their rows. The text of a long partition that all of its rows have is made once,
//! before rows are evaluated ([`whole`]).

mod whole;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use base::{Area, Budget, CancelToken, Error, Result, SqlState};
use plan::FrameBound;
use plan::FrameExclusion::NoOthers;
use types::Str;
use types::ops::string::MAX_LENGTH;

use super::column::{Cells, Sink};
use super::frame::Frames;
use super::members::{Asked, Condition};
use super::{Evaluation, OPERATOR, Operand, Out, chunks};
use crate::source::Address;
use whole::Wholes;

/// Rows between two looks at whether the statement is cancelled.
const CHECKED: usize = 1024;

/// The text of more rows is made once if all of a partition have it.
const LONG: usize = 1 << 16;

/// A concatenation of the frame's texts.
#[derive(Debug)]
pub(super) struct Concat {
    value: Operand,
    separator: Operand,
    condition: Condition,
    distinct: bool,
    frames: Frames,
    budget: Budget,
    /// What results lie in; a worker takes one while it evaluates.
    areas: Mutex<Vec<Area>>,
    /// The texts of the last rows of ranges: no more than there were workers at once.
    kept: Mutex<Vec<Written>>,
    /// Of long partitions that all of their rows have.
    wholes: Wholes,
}

impl Concat {
    /// `distinct`: rows like the one before them do not count; equal ones must be next to each other.
    pub(super) fn new(
        arguments: Vec<Operand>,
        filter: Option<Operand>,
        distinct: bool,
        frames: Frames,
        budget: &Budget,
    ) -> Self {
        let [value, separator] = <[Operand; 2]>::try_from(arguments).expect("a value and a separator");
        let condition = Condition { value: Some(value.clone()), filter, only: None };
        let (areas, kept, wholes) = (Mutex::default(), Mutex::default(), Wholes::default());
        Self { value, separator, condition, distinct, frames, budget: budget.clone(), areas, kept, wholes }
    }

    /// Whether all rows of a partition have all of it as their frame.
    fn is_whole(&self) -> bool {
        let frame = &self.frames.frame;
        matches!((&frame.start, &frame.end), (FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing))
            && frame.exclude == NoOthers
    }

    /// What `write` makes of an area that nobody else has.
    fn with_area<T>(&self, write: impl FnOnce(&mut Area) -> Result<T>) -> Result<T> {
        let areas = || self.areas.lock().unwrap_or_else(PoisonError::into_inner);
        let known = areas().pop();
        let mut area = known.unwrap_or_else(|| Area::new(self.budget.clone(), OPERATOR));
        let written = write(&mut area);
        areas().push(area);
        written
    }

    fn rows(&self) -> Rows<'_> {
        Rows {
            values: self.value.cells(),
            separators: self.separator.cells(),
            asked: self.condition.ask(),
            distinct: self.distinct,
            cancel: &self.frames.cancel,
        }
    }

    /// The kept text that rows with such a frame go on with, or one to begin with.
    fn nearest(&self, ranges: &[Range<usize>; 3]) -> Written {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let near = |(at, text): (usize, &Written)| text.goes_on_with(ranges).then_some((text.ranges[0].end, at));
        match kept.iter().enumerate().filter_map(near).max() {
            Some((_, at)) => kept.swap_remove(at),
            // In the place of another one, so that they do not become more.
            None => {
                kept.pop();
                Written::default()
            }
        }
    }

    /// The text of a partition that was made before.
    fn whole(&self, partition: &Range<usize>) -> Option<Option<Str>> {
        if partition.len() <= LONG || !self.is_whole() {
            return None;
        }
        Some(self.wholes.text(partition.start))
    }
}

impl Evaluation for Concat {
    fn pieces(&self, phase: usize) -> Option<usize> {
        let rows = self.frames.positions.rows;
        (rows > LONG && self.is_whole()).then(|| Wholes::pieces(phase, rows)).flatten()
    }

    fn build(&self, phase: usize, piece: usize) -> Result<()> {
        let (rows, positions) = (self.rows(), &self.frames.positions);
        match phase {
            0 => self.wholes.measure(&rows, piece, positions),
            1 => self.with_area(|area| self.wholes.place(&rows, area)),
            _ => self.wholes.copy(&rows, piece),
        }
    }

    fn evaluate(&self, rows: Range<usize>, out: Out<'_>) -> Result<()> {
        let mut out: Sink<'_, Str> = out.form();
        let mut batch = self.frames.batch();
        self.with_area(|area| {
            let mut text = Text { rows: self.rows(), area, written: Written::default() };
            for chunk in chunks(rows.clone()) {
                self.frames.fill(&mut batch, chunk.clone())?;
                if chunk.start == rows.start {
                    text.written = self.nearest(&batch.ranges(0));
                }
                for (part, partition) in self.frames.positions.parts(chunk.clone()) {
                    let whole = self.whole(&partition);
                    for row in part {
                        out.set(
                            row - rows.start,
                            match whole {
                                Some(whole) => whole,
                                None => {
                                    text.follow(batch.ranges(row - chunk.start))?;
                                    text.result()
                                }
                            },
                        );
                    }
                }
            }
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(text.written);
            Ok(())
        })
    }

    fn owned(self: Box<Self>) -> Vec<Area> {
        self.areas.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rows whose texts are joined.
struct Rows<'a> {
    values: Cells<'a, Str>,
    separators: Cells<'a, Str>,
    asked: Asked<'a>,
    distinct: bool,
    cancel: &'a CancelToken,
}

impl Rows<'_> {
    /// Whether a row's text is among them, given the last one before that is.
    fn counts(&self, row: usize, last: Option<usize>) -> bool {
        self.asked.admits(row) && !last.is_some_and(|last| self.distinct && self.is_like(last, row))
    }

    /// How many bytes a row that counts adds.
    fn bytes(&self, row: usize, last: Option<usize>) -> usize {
        self.separator(row, last).map_or(0, |text| text.len()) + self.values.value(row).len()
    }

    fn separator(&self, row: usize, last: Option<usize>) -> Option<Str> {
        self.separators.get(row).filter(|_| last.is_some())
    }

    /// Visits rows, unless the statement is cancelled.
    fn each(&self, rows: Range<usize>, mut visit: impl FnMut(usize)) -> Result<()> {
        for from in rows.clone().step_by(CHECKED) {
            self.cancel.check()?;
            (from..rows.end.min(from + CHECKED)).for_each(&mut visit);
        }
        Ok(())
    }

    /// Writes the texts of rows to a place, and says how many bytes that are.
    ///
    /// # Safety
    /// There must be room for them, which is the caller's.
    unsafe fn write(&self, rows: Range<usize>, to: *mut u8, last: &mut Option<usize>) -> Result<usize> {
        let mut length = 0;
        self.each(rows, |row| {
            if !self.counts(row, *last) {
                return;
            }
            for text in self.separator(row, *last).iter().chain([&self.values.value(row)]) {
                // SAFETY: the payloads of columns' strings and of constants live as long as these; there is room.
                unsafe {
                    let bytes = text.bytes();
                    to.add(length).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                }
                length += text.len();
            }
            *last = Some(row);
        })?;
        Ok(length)
    }

    /// Whether two rows have the same text and separator.
    fn is_like(&self, a: usize, b: usize) -> bool {
        // SAFETY: the payloads of columns' strings and of constants live as long as these.
        let same = |a: Str, b: Str| unsafe { a.bytes() == b.bytes() };
        let separators = match (self.separators.get(a), self.separators.get(b)) {
            (Some(a), Some(b)) => same(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        separators && same(self.values.value(a), self.values.value(b))
    }
}

/// Memory for a text of so many bytes.
fn allocate(area: &mut Area, bytes: usize) -> Result<*mut u8> {
    if bytes > MAX_LENGTH {
        return Err(Error::new(SqlState::PROGRAM_LIMIT, "requested length too large"));
    }
    Ok(area.allocate_any(bytes)?.as_ptr())
}

/// The text of bytes that were written.
///
/// # Safety
/// They must stay as they are as long as the text is used.
unsafe fn text_of(start: *const u8, length: usize) -> Str {
    match length {
        0 => Str::EMPTY,
        // SAFETY: as the caller promises.
        _ => Str::new(unsafe { std::slice::from_raw_parts(start, length) }),
    }
}

/// The text of a frame, in memory that has room for more.
#[derive(Debug)]
struct Written {
    start: Address,
    length: usize,
    room: usize,
    /// The frame's rows.
    ranges: [Range<usize>; 3],
    /// The last row that has its text here.
    last: Option<usize>,
}

impl Default for Written {
    fn default() -> Self {
        let start = Address(std::ptr::null_mut());
        Self { start, length: 0, room: 0, ranges: [0..0, 0..0, 0..0], last: None }
    }
}

impl Written {
    /// Whether the text of a frame of such rows begins with this one.
    fn goes_on_with(&self, ranges: &[Range<usize>; 3]) -> bool {
        let [before, itself, behind] = &self.ranges;
        let first = &ranges[0];
        itself.is_empty()
            && behind.is_empty()
            && !before.is_empty()
            && before.start == first.start
            && before.end <= first.end
    }
}

/// What writes the texts of frames, one after the other.
struct Text<'a> {
    rows: Rows<'a>,
    area: &'a mut Area,
    written: Written,
}

impl Text<'_> {
    /// The text; none if no row has one.
    fn result(&self) -> Option<Str> {
        let Written { start: Address(start), length, last, .. } = self.written;
        last?;
        // SAFETY: so many bytes were written, and are not written again. The area outlives the header: it is kept as long
        // as the results are.
        Some(unsafe { text_of(start, length) })
    }

    /// Becomes the text of another frame.
    fn follow(&mut self, ranges: [Range<usize>; 3]) -> Result<()> {
        if self.written.ranges == ranges {
            return Ok(());
        }
        let goes_on = self.written.goes_on_with(&ranges);
        let done = if goes_on { self.written.ranges[0].end } else { ranges[0].start };
        if !goes_on {
            self.written = Written::default();
        }
        self.written.ranges = ranges.clone();
        let [first, itself, behind] = ranges;
        let added = [done..first.end.max(done), itself, behind];
        let mut needed = 0;
        for rows in &added {
            let bytes = |row| if self.rows.asked.admits(row) { self.rows.bytes(row, Some(row)) } else { 0 };
            self.rows.each(rows.clone(), |row| needed += bytes(row))?;
        }
        self.reserve(needed, goes_on)?;
        let Written { start: Address(start), length, last, .. } = &mut self.written;
        for rows in added {
            // SAFETY: there is room for all of them.
            *length += unsafe { self.rows.write(rows, start.add(*length), last)? };
        }
        Ok(())
    }

    /// Sees to it that there is room for so many bytes more; `grows`: and likely for more again.
    fn reserve(&mut self, bytes: usize, grows: bool) -> Result<()> {
        let Written { start: Address(start), length, room, .. } = &mut self.written;
        let needed = *length + bytes;
        if needed <= *room {
            return Ok(());
        }
        let enough = if grows { needed.max((2 * *length).min(MAX_LENGTH)) } else { needed };
        let moved = allocate(self.area, enough)?;
        if *length > 0 {
            // SAFETY: so many bytes were written there, and there is room for them here.
            unsafe { moved.copy_from_nonoverlapping(*start, *length) };
        }
        (*start, *room) = (moved, enough);
        Ok(())
    }
}
