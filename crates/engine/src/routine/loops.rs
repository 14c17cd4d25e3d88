//! CASE and loops.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::Field;
use types::{SqlType, Value};

use super::embedded::Embedded;
use super::program::{Code, Place, Range};
use super::run::{Flow, Runner};
use super::scope::{Record, Slot};

impl Runner<'_> {
    pub(super) fn case(
        &mut self,
        operand: Option<&(usize, Embedded)>,
        branches: &[(Vec<Embedded>, Code)],
        otherwise: Option<&Code>,
    ) -> Result<Flow> {
        if let Some((slot, operand)) = operand {
            let (value, sql_type) = self.value(operand)?;
            let sql_type = if sql_type == SqlType::Null { SqlType::Text } else { sql_type };
            let fields: Arc<[Field]> = Arc::new([Field { name: "value".into(), sql_type, nullable: true }]);
            self.frame[*slot] = Slot::Record(Some(Record::new(fields, vec![value])));
        }
        for (conditions, code) in branches {
            for condition in conditions {
                if self.is_true(condition)? {
                    return self.steps(code);
                }
            }
        }
        match otherwise {
            Some(code) => self.steps(code),
            None => Err(Error::new(SqlState("20000"), "case not found").hint("CASE statement is missing ELSE part.")),
        }
    }

    pub(super) fn plain_loop(&mut self, number: usize, condition: Option<&Embedded>, code: &Code) -> Result<Flow> {
        let at = self.at;
        loop {
            self.token.check()?;
            self.at = at;
            if let Some(condition) = condition
                && !self.is_true(condition)?
            {
                return Ok(Flow::On);
            }
            if let Some(flow) = after(self.steps(code)?, number) {
                return Ok(flow);
            }
        }
    }

    pub(super) fn for_loop(&mut self, number: usize, places: &[Place], range: &Range, code: &Code) -> Result<Flow> {
        match range {
            Range::Integers { reverse, from, to, step } => {
                let from = self.integer(from, "lower bound")?;
                let to = self.integer(to, "upper bound")?;
                let step = step.as_ref().map_or(Ok(1), |step| self.integer(step, "BY value"))?;
                if step <= 0 {
                    let message = "BY value of FOR loop must be greater than zero";
                    return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
                }
                self.count(number, places, (from, to, if *reverse { -step } else { step }), code)
            }
            Range::Rows(query) => {
                let result = self.query(query)?;
                if !result.has_rows() {
                    return Err(Error::new(SqlState::SYNTAX_ERROR, "cannot open a query that gives no rows as cursor"));
                }
                let mut left = Flow::On;
                let rows = self.each_row(result, |runner, fields, row| {
                    runner.token.check()?;
                    runner.assign_row(places, fields, Some(row))?;
                    match after(runner.steps(code)?, number) {
                        None => Ok(true),
                        Some(flow) => {
                            left = flow;
                            Ok(false)
                        }
                    }
                })?;
                self.set_found(rows > 0);
                Ok(left)
            }
            Range::Cursor(cursor, opening) => self.through_cursor(cursor, opening, (number, places), code),
            Range::Elements(array, slice) => self.each_element((number, &places[0]), (array, *slice), code),
        }
    }

    /// FOR over integers.
    pub(super) fn count(
        &mut self,
        number: usize,
        places: &[Place],
        (from, to, step): (i64, i64, i64),
        code: &Code,
    ) -> Result<Flow> {
        let (slot, mut at, mut found) = (places[0].slot, from, false);
        while if step > 0 { at <= to } else { at >= to } {
            self.token.check()?;
            found = true;
            self.frame[slot] = Slot::Scalar(Value::Int(at));
            if let Some(flow) = after(self.steps(code)?, number) {
                self.set_found(true);
                return Ok(flow);
            }
            // Behind the last integer there is none.
            at += step;
            if i32::try_from(at).is_err() {
                break;
            }
        }
        self.set_found(found);
        Ok(Flow::On)
    }
}

/// What comes behind a round of a loop; none: the next one.
pub(super) fn after(flow: Flow, own: usize) -> Option<Flow> {
    match flow {
        Flow::On => None,
        Flow::Leave { number, goes_on } if number == own => {
            if goes_on {
                None
            } else {
                Some(Flow::On)
            }
        }
        other => Some(other),
    }
}
