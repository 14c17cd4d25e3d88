//! What each step does.

use base::Result;
use catalog::Returns;

use super::names::what;
use super::program::{Action, Step};
use super::run::{Flow, Runner};

impl Runner<'_> {
    pub fn step(&mut self, step: &Step) -> Result<Flow> {
        self.at = (step.line, what(&step.action));
        match &step.action {
            Action::Block(block) => return self.block(block),
            Action::Assign(place, value) => {
                let (value, from) = self.value(value)?;
                self.assign(place, value, from)?;
            }
            Action::Sql(sql, into) => self.sql(sql, into.as_ref())?,
            Action::Perform(sql) => {
                let result = self.statement(sql)?;
                let rows = self.rows_of(result)?;
                self.row_count = rows;
                self.set_found(rows > 0);
            }
            Action::Execute(text, into, using) => self.execute(text, into.as_ref(), using)?,
            Action::If(branches, otherwise) => {
                for (condition, code) in branches {
                    if self.is_true(condition)? {
                        return self.steps(code);
                    }
                }
                return self.steps(otherwise);
            }
            Action::Case(operand, branches, otherwise) => {
                return self.case(operand.as_ref(), branches, otherwise.as_ref());
            }
            Action::Loop(number, condition, code) => return self.plain_loop(*number, condition.as_ref(), code),
            Action::For(number, places, range, code) => return self.for_loop(*number, places, range, code),
            Action::Leave { goes_on, number, when } => {
                let leaves = when.as_ref().map_or(Ok(true), |when| self.is_true(when))?;
                return Ok(if leaves { Flow::Leave { number: *number, goes_on: *goes_on } } else { Flow::On });
            }
            Action::Return(value) => {
                let returns = self.program.routine.as_ref().map(|of| (of.returns, of.is_set));
                match (value, returns) {
                    (Some(value), Some((Returns::Trigger, _))) => self.return_row(value)?,
                    (Some(value), Some((Returns::Record, false))) => self.return_record(value)?,
                    (Some(value), _) => self.returned = Some(self.value(value)?),
                    (None, _) => {}
                }
                self.has_returned = true;
                return Ok(Flow::Return);
            }
            Action::ReturnNext(value) => self.return_next(value.as_ref())?,
            Action::ReturnQuery(query) => self.return_query(query)?,
            Action::Raise(raise) => self.raise(raise)?,
            Action::Assert(condition, message) => self.assert(condition, message.as_ref())?,
            Action::Diagnostics(stacked, items) => self.diagnostics(*stacked, items)?,
            Action::Call(sql, places) => self.call(sql, places)?,
            Action::Open(place, opening) => self.open(place, opening)?,
            Action::Fetch(place, motion, into) => self.fetch(place, motion, into.as_ref())?,
            Action::Close(place) => self.close(place)?,
            Action::Nothing => {}
            Action::End { commits } => self.end(*commits)?,
        }
        Ok(Flow::On)
    }
}
