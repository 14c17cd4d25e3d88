//! Rows that are changed, by windows.

use std::ops::Range;

use crate::bits::Bits;
use crate::{RowId, WINDOW};

/// Rows of a window that are changed.
#[derive(Debug)]
pub(crate) struct WindowRows {
    pub chunk: usize,
    /// The window's number.
    pub number: usize,
    /// The rows, counted from the window's first.
    pub rows: Bits,
    /// Which of all rows that are changed with them they are.
    pub at: Range<usize>,
}

impl WindowRows {
    /// Rows by their ids, in order, each once.
    pub(crate) fn of(ids: &[RowId]) -> Vec<Self> {
        let window_of = |id: &RowId| (id.chunk(), id.offset() / WINDOW);
        let mut windows = Vec::new();
        let mut at = 0;
        for ids in ids.chunk_by(|a, b| window_of(a) == window_of(b)) {
            let (chunk, number) = window_of(&ids[0]);
            let (first, last) = (ids[0].offset() % WINDOW, ids[ids.len() - 1].offset() % WINDOW);
            let rows = match last - first + 1 == ids.len() {
                true => Bits::of_range(first..last + 1),
                false => Bits::of(ids.iter().map(|id| id.offset() % WINDOW)),
            };
            windows.push(Self { chunk, number, rows, at: at..at + ids.len() });
            at += ids.len();
        }
        windows
    }

    /// Rows of a range of a chunk.
    pub(crate) fn of_range(chunk: usize, rows: Range<usize>) -> Vec<Self> {
        let numbers = rows.start / WINDOW..rows.end.div_ceil(WINDOW);
        let window = |number: usize| {
            let first = number * WINDOW;
            let own = rows.start.max(first)..rows.end.min(first + WINDOW);
            let at = own.start - rows.start..own.end - rows.start;
            Self { chunk, number, rows: Bits::of_range(own.start - first..own.end - first), at }
        };
        numbers.map(window).collect()
    }
}
