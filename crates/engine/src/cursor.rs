//! Cursors: the rows of a query, of which a client takes some at a time. All rows are there from the beginning, so that a cursor
//! sees nothing of what happens later, and can go back.

use std::ops::Range;
use std::sync::{Arc, Weak};

use base::memory::Reservation;
use base::{Budget, Error, Result, SqlState};
use catalog::Field;
use sql::Direction;
use types::Chunk;

use crate::transaction::Block;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    pub columns: Vec<Field>,
    /// All rows, and what they take.
    pub chunks: Arc<(Vec<Chunk>, Reservation)>,
    pub scrolls: bool,
    /// WITH HOLD.
    pub holds: bool,
    /// The transaction with which it ends, and the statement that has made it; none if that has committed.
    pub block: Option<(Weak<Block>, u32)>,
    /// The number of the row where it is: 0 is before the first one, and there is one behind the last one.
    pub place: i64,
}

/// 34000.
const INVALID_CURSOR_NAME: SqlState = SqlState("34000");

/// The error that there is no cursor of that name.
#[cold]
pub(crate) fn missing(name: &str) -> Error {
    Error::new(INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}

impl Cursor {
    /// A cursor before the first of these rows, in a transaction; its memory is charged to the budget as long as it is there.
    pub fn new(
        (columns, chunks): (Vec<Field>, Vec<Chunk>),
        (scrolls, holds): (bool, bool),
        block: Option<&Arc<Block>>,
        budget: &Budget,
    ) -> Result<Self> {
        let bytes = chunks.iter().map(Chunk::bytes).sum();
        let chunks = Arc::new((chunks, budget.reserve(bytes, "cursor")?));
        let block = block.map(|block| (Arc::downgrade(block), block.transaction.statement()));
        Ok(Self { columns, chunks, scrolls, holds, block, place: 0 })
    }

    fn rows(&self) -> i64 {
        self.chunks.0.iter().map(|chunk| chunk.rows() as i64).sum()
    }

    /// Whether it was there before a statement of its transaction.
    pub fn is_from_before(&self, statement: u32) -> bool {
        self.block.as_ref().is_none_or(|(_, made)| *made < statement)
    }

    /// Whether a session in that transaction has it.
    pub fn is_of(&self, block: Option<&Arc<Block>>) -> bool {
        self.block.as_ref().is_none_or(|(own, _)| block.is_some_and(|block| own.as_ptr() == Arc::as_ptr(block)))
    }

    /// Goes to rows, and says which these are, in the order in which they are given: numbers from 1 on, backwards if told so.
    pub fn go(&mut self, direction: Direction) -> Result<(Range<i64>, bool)> {
        let (rows, place) = (self.rows(), self.place);
        let one = |row: i64| if (1..=rows).contains(&row) { row..row + 1 } else { 0..0 };
        let (given, backwards, place) = match direction {
            Direction::Forward(0) | Direction::Relative(0) => (one(place), !one(place).is_empty(), place),
            Direction::Forward(count @ 1..) => {
                let last = place.saturating_add(count).min(rows);
                let end = if place.saturating_add(count) > rows { rows + 1 } else { last };
                (place.min(rows) + 1..last + 1, false, end)
            }
            Direction::Forward(count) => {
                let first = place.saturating_add(count).max(1);
                let end = place.saturating_add(count).max(0);
                (first..place.max(first), true, end)
            }
            Direction::Absolute(number) => {
                let row = if number < 0 { (rows + 1 + number).max(0) } else { number.min(rows + 1) };
                (one(row), row <= place && place > 0, row)
            }
            Direction::Relative(by) => {
                let row = place.saturating_add(by).clamp(0, rows + 1);
                (one(row), by < 0, row)
            }
        };
        if backwards && !self.scrolls {
            return Err(Error::new(SqlState("55000"), "cursor can only scan forward")
                .hint("Declare it with SCROLL option to enable backward scan."));
        }
        self.place = place;
        let reversed = matches!(direction, Direction::Forward(..0));
        Ok((given, reversed))
    }

    /// Rows by their numbers.
    pub fn chunks_of(&self, rows: &Range<i64>, reversed: bool) -> Vec<Chunk> {
        let mut given = Vec::new();
        let mut first = 1;
        for chunk in self.chunks.0.iter() {
            let end = first + chunk.rows() as i64;
            let (from, to) = (rows.start.max(first), rows.end.min(end));
            if from < to {
                let mut own: Vec<u32> = (from - first..to - first).map(|row| row as u32).collect();
                if reversed {
                    own.reverse();
                }
                given.push(crate::statement::some_rows(chunk, &own));
            }
            first = end;
        }
        if reversed {
            given.reverse();
        }
        given
    }
}
