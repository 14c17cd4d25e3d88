//! OPEN, FETCH, MOVE, CLOSE, and loops over cursors: those of the session, by the names that variables hold.

use base::{Error, Result, SqlState};
use sql::Direction;
use types::Value;

use super::embedded::Embedded;
use super::loops::after;
use super::program::{Code, Into, Motion, Opening, Place};
use super::run::{Flow, Runner};
use super::scope::Slot;
use crate::cursor::{Cursor, missing};

impl Runner<'_> {
    /// The name in a cursor variable, if it has one.
    fn cursor_name(&self, place: &Place) -> Option<String> {
        match &self.frame[place.slot] {
            Slot::Scalar(Value::Str(name)) => Some(name.to_string()),
            _ => None,
        }
    }

    fn named_cursor(&self, place: &Place) -> Result<String> {
        let message = || format!("cursor variable \"{}\" is null", place.shown);
        self.cursor_name(place).ok_or_else(|| Error::new(SqlState("22004"), message()))
    }

    pub(super) fn open(&mut self, place: &Place, opening: &Opening) -> Result<()> {
        let name = self.cursor_name(place);
        if let Some(name) = &name
            && self.environment.live_cursors().contains_key(name)
        {
            return Err(Error::new(SqlState("42P03"), format!("cursor \"{name}\" already in use")));
        }
        let (scrolls, result) = match opening {
            Opening::Query(scrolls, query) => (*scrolls, self.query(query)?),
            Opening::Bound(arguments) => {
                let program = self.program.clone();
                for (slot, argument) in arguments {
                    let (value, from) = self.value(argument)?;
                    let shown = program.variables[*slot].name.clone();
                    self.assign(&Place { slot: *slot, field: None, subscript: None, shown }, value, from)?;
                }
                let cursor = &program.cursors[&place.slot];
                (cursor.scrolls, self.statement(&cursor.query)?)
            }
        };
        if !result.has_rows() {
            return Err(Error::new(SqlState("42P11"), "cannot open a query that gives no rows as cursor"));
        }
        let rows = (result.columns().to_vec(), result.collect()?);
        let (block, budget) = (self.environment.block.as_ref(), &self.environment.database.0.budget);
        let cursor = Cursor::new(rows, (scrolls.unwrap_or(true), false), block, budget)?;
        let cursors = self.environment.live_cursors();
        let name = name.unwrap_or_else(|| {
            let mut unnamed = (1..).map(|number: u32| format!("<unnamed portal {number}>"));
            unnamed.find(|name| !cursors.contains_key(name)).unwrap_or_default()
        });
        cursors.insert(name.clone(), cursor);
        self.frame[place.slot] = Slot::Scalar(Value::str(name));
        Ok(())
    }

    pub(super) fn fetch(&mut self, place: &Place, motion: &Motion, into: Option<&Into>) -> Result<()> {
        let name = self.named_cursor(place)?;
        let direction = match motion {
            Motion::Forward(count) => Direction::Forward(self.distance(count)?),
            Motion::Backward(count) => Direction::Forward(-self.distance(count)?),
            Motion::All { backward: false } => Direction::Forward(i64::MAX),
            Motion::All { backward: true } => Direction::Forward(i64::MIN),
            Motion::Absolute(number) => Direction::Absolute(self.distance(number)?),
            Motion::Relative(by) => Direction::Relative(self.distance(by)?),
        };
        let cursor = self.environment.live_cursors().get_mut(&name).ok_or_else(|| missing(&name))?;
        let (rows, reversed) = cursor.go(direction)?;
        let count = rows.end - rows.start;
        if let Some(into) = into {
            let first =
                cursor.chunks_of(&rows, reversed).iter().find(|chunk| chunk.rows() > 0).map(|chunk| chunk.row(0));
            let fields = cursor.columns.as_slice().into();
            self.assign_row(&into.places, &fields, first)?;
        }
        self.row_count = count;
        self.set_found(count > 0);
        Ok(())
    }

    /// How far FETCH goes.
    fn distance(&mut self, count: &Embedded) -> Result<i64> {
        self.integer(count, "relative or absolute cursor position")
    }

    pub(super) fn close(&mut self, place: &Place) -> Result<()> {
        let name = self.named_cursor(place)?;
        self.environment.live_cursors().remove(&name).map(drop).ok_or_else(|| missing(&name))
    }

    /// FOR ... IN cursor: it is open as long as the loop runs.
    pub(super) fn through_cursor(
        &mut self,
        cursor: &Place,
        opening: &Opening,
        (number, places): (usize, &[Place]),
        code: &Code,
    ) -> Result<Flow> {
        let before = self.frame[cursor.slot].clone();
        self.open(cursor, opening)?;
        let name = self.named_cursor(cursor)?;
        let (mut found, mut left) = (false, Flow::On);
        loop {
            self.token.check()?;
            let Some(open) = self.environment.live_cursors().get_mut(&name) else { return Err(missing(&name)) };
            let (rows, reversed) = open.go(Direction::Forward(1))?;
            let row = open.chunks_of(&rows, reversed).iter().find(|chunk| chunk.rows() > 0).map(|chunk| chunk.row(0));
            let (fields, Some(row)) = (open.columns.as_slice().into(), row) else { break };
            found = true;
            self.assign_row(places, &fields, Some(row))?;
            if let Some(flow) = after(self.steps(code)?, number) {
                left = flow;
                break;
            }
        }
        self.environment.live_cursors().remove(&name);
        self.frame[cursor.slot] = before;
        self.set_found(found);
        Ok(left)
    }
}
