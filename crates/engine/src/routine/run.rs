//! A program as it runs.

use std::sync::Arc;

use base::{CancelToken, Error, Result, SqlState};
use catalog::{Field, Returns};
use types::ops::date::Zone;
use types::{SqlType, Value};

use super::convert::converted;
use super::embedded::Embedded;
use super::program::{Code, Program};
use super::results::{Outcome, Results};
use super::scope::{Kind, Record, Slot, held, record_of, struct_of};
use crate::QueryResult;
use crate::environment::Environment;
use crate::kept::Ran;
use crate::kept::direct::Spare;

/// What comes after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The next.
    On,
    /// What follows the loop or block of that number, or its next round.
    Leave { number: usize, goes_on: bool },
    /// The end.
    Return,
}

/// A run of a program.
pub(super) struct Runner<'e> {
    pub environment: &'e mut Environment,
    pub program: Arc<Program>,
    pub frame: Vec<Slot>,
    pub zone: Zone,
    /// Of these settings.
    settings: u64,
    pub token: CancelToken,
    /// Whether it may end the transaction that it is in: CALL outside of one.
    pub may_end: bool,
    /// Blocks with EXCEPTION around the place.
    pub guards: usize,
    /// Rows of the last statement.
    pub row_count: i64,
    /// The error that a handler looks at.
    pub handled: Option<Error>,
    pub results: Results,
    /// The row that RETURN gives, of a trigger's function; none: NULL.
    pub returned_row: Option<Record>,
    /// What RETURN gives.
    pub returned: Option<(Value, SqlType)>,
    pub has_returned: bool,
    /// Memory of statements of one row.
    pub spare: Spare,
    /// So many of them have run.
    pub direct_runs: u64,
    /// The line that runs, and what it does, for errors.
    pub at: (u32, &'static str),
}

impl<'e> Runner<'e> {
    pub fn new(
        environment: &'e mut Environment,
        program: Arc<Program>,
        arguments: Vec<Value>,
        may_end: bool,
    ) -> Result<Self> {
        let (zone, settings) = (environment.settings.time_zone(), environment.settings.of_plans());
        let token = environment.call.token();
        let columns = program.columns.clone();
        let mut runner = Self {
            environment,
            frame: Vec::with_capacity(program.variables.len()),
            program,
            zone,
            settings,
            token,
            may_end,
            guards: 0,
            row_count: 0,
            handled: None,
            results: Results::new(columns),
            returned_row: None,
            returned: None,
            has_returned: false,
            spare: Spare::default(),
            direct_runs: 0,
            at: (0, ""),
        };
        for slot in 0..runner.program.variables.len() {
            let empty = runner.empty(slot);
            runner.frame.push(empty);
        }
        let program = runner.program.clone();
        runner.frame[program.found] = Slot::Scalar(Value::Bool(false));
        for (slot, value) in program.given.iter().zip(arguments) {
            runner.give(*slot, value);
        }
        Ok(runner)
    }

    /// A parameter gets what the call gives.
    fn give(&mut self, slot: usize, value: Value) {
        self.frame[slot] = match &self.program.variables[slot].kind {
            Kind::Row(fields) => {
                let record = record_of(&value, struct_of(fields));
                Slot::Record(Some(record.unwrap_or_else(|| Record::null(fields.clone()))))
            }
            _ => Slot::Scalar(value),
        };
    }

    /// Its rows have these columns.
    pub fn with_columns(self, columns: &[Field]) -> Self {
        Self { results: Results::new(columns.into()), ..self }
    }

    /// Runs it to its end.
    pub fn run(mut self) -> Result<Outcome> {
        self.body()?;
        self.outcome()
    }

    fn body(&mut self) -> Result<()> {
        let program = self.program.clone();
        let ran = self.steps(&program.body);
        if self.direct_runs > 0 {
            self.environment.database.0.kept.has_run(std::mem::take(&mut self.direct_runs));
            self.environment.statement.needs_no_code();
            self.environment.statement.ran_here();
        }
        ran.map(drop).map_err(|error| self.located(error))
    }

    /// Runs a trigger's function to its end: the row that it gives, or none.
    pub fn run_for_row(mut self) -> Result<Option<Record>> {
        self.body()?;
        if !self.has_returned {
            let message = "control reached end of trigger procedure without RETURN";
            return Err(Error::new(SqlState("2F005"), message).context(self.program.place.clone()));
        }
        Ok(self.returned_row)
    }

    /// RETURN of a trigger's function.
    pub fn return_row(&mut self, value: &Embedded) -> Result<()> {
        if let Some(record) = self.record_named(value) {
            self.returned_row = Some(record);
            return Ok(());
        }
        self.returned_row = match self.value(value)? {
            (Value::Null, _) => None,
            (value, sql_type) => match record_of(&value, sql_type) {
                Some(record) => Some(record),
                None => {
                    let message = "cannot return non-composite value from function returning composite type";
                    return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
                }
            },
        };
        Ok(())
    }

    /// The error with the place where it happened.
    pub fn located(&self, error: Error) -> Error {
        let place = &self.program.place;
        error.nowhere().context(match self.at {
            (0, _) => place.clone(),
            (line, "") => format!("{place} line {line}"),
            (line, _) if self.program.is_sql => format!("{place} statement {line}"),
            (line, what) => format!("{place} line {line} at {what}"),
        })
    }

    fn outcome(mut self) -> Result<Outcome> {
        let program = self.program.clone();
        let Some(routine) = program.routine.as_ref() else { return Ok(Outcome::default()) };
        let is_record = routine.returns == Returns::Record;
        if is_record && !routine.is_set && !program.is_sql && !self.has_returned {
            return Err(without_return(&program));
        }
        if routine.is_set || is_record || program.is_sql && routine.returns != Returns::Nothing {
            let rows = std::mem::replace(&mut self.results, Results::new(Arc::new([]))).finish(self.environment)?;
            let first = rows.iter().find(|chunk| chunk.rows() > 0);
            let row = match (first, routine.is_set) {
                (Some(chunk), false) => chunk.row(0),
                (None, false) => Outcome::null(routine).row,
                (_, true) => Vec::new(),
            };
            return Ok(Outcome { row, rows: if routine.is_set { rows } else { Vec::new() } });
        }
        if !program.results.is_empty() {
            let value = |slot: &usize| held(&self.frame, *slot);
            return Ok(Outcome { row: program.results.iter().map(value).collect(), rows: Vec::new() });
        }
        match (routine.returns, self.returned.take()) {
            (Returns::Value(to), Some((value, from))) => {
                let value = converted(&value, from, to, &self.zone).map_err(|e| {
                    e.context(format!("{} while casting return value to function's return type", program.place))
                })?;
                Ok(Outcome { row: vec![value], rows: Vec::new() })
            }
            (Returns::Value(_), None) => Err(without_return(&program)),
            // As PostgreSQL has it: nothing is an empty text, but for functions in SQL.
            _ if program.is_sql => Ok(Outcome { row: vec![Value::Null], rows: Vec::new() }),
            _ => Ok(Outcome { row: vec![Value::str("")], rows: Vec::new() }),
        }
    }

    /// Runs steps until one of them goes elsewhere.
    pub fn steps(&mut self, code: &Code) -> Result<Flow> {
        for step in code {
            self.token.check()?;
            match self.step(step)? {
                Flow::On => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::On)
    }

    /// The value and type of an expression.
    pub fn value(&mut self, expression: &Embedded) -> Result<(Value, SqlType)> {
        let value = expression.value(self.environment, &self.program.variables, &self.frame);
        self.look_at_settings();
        value
    }

    /// What has just run may have changed them.
    fn look_at_settings(&mut self) {
        let settings = self.environment.settings.of_plans();
        if self.settings != settings {
            (self.settings, self.zone) = (settings, self.environment.settings.time_zone());
        }
    }

    /// Whether a condition is true.
    pub fn is_true(&mut self, condition: &Embedded) -> Result<bool> {
        match self.value(condition)? {
            (Value::Bool(value), _) => Ok(value),
            (Value::Null, _) => Ok(false),
            (value, from) => {
                let value = converted(&value, from, SqlType::Bool, &self.zone)?;
                Ok(value == Value::Bool(true))
            }
        }
    }

    /// An integer that must not be NULL.
    pub fn integer(&mut self, expression: &Embedded, what: &str) -> Result<i64> {
        let (value, from) = self.value(expression)?;
        match converted(&value, from, SqlType::Integer, &self.zone)? {
            Value::Int(value) => Ok(value),
            _ => Err(Error::new(SqlState("22004"), format!("{what} of FOR loop cannot be null"))),
        }
    }

    /// Runs a statement of SQL.
    pub fn statement(&mut self, sql: &Embedded) -> Result<QueryResult> {
        let (ran, columns) = self.ran(sql)?;
        Ok(ran.result(&columns).without_positions())
    }

    /// The same, for whoever needs no result: what came of it, and the columns of its rows.
    pub fn ran(&mut self, sql: &Embedded) -> Result<(Ran, Arc<[Field]>)> {
        let ran = sql.run_for(self.environment, &self.program.variables, &self.frame);
        self.look_at_settings();
        ran.map_err(|error| within(error, sql))
    }

    pub fn set_found(&mut self, found: bool) {
        match &mut self.frame[self.program.found] {
            Slot::Scalar(Value::Bool(known)) => *known = found,
            slot => *slot = Slot::Scalar(Value::Bool(found)),
        }
    }

    /// What happens to each row of a result; how many there were.
    pub fn each_row(
        &mut self,
        mut result: QueryResult,
        mut each: impl FnMut(&mut Self, &Arc<[Field]>, Vec<Value>) -> Result<bool>,
    ) -> Result<u64> {
        let fields = result.shared_columns();
        let mut count = 0;
        while let Some((_, rows)) = result.next_rows(usize::MAX)? {
            for row in rows {
                count += 1;
                if !each(self, &fields, row)? {
                    return Ok(count);
                }
            }
        }
        Ok(count)
    }
}

/// An error of a statement of SQL.
#[cold]
pub(super) fn within(error: Error, sql: &Embedded) -> Error {
    error.context(format!("SQL statement \"{}\"", sql.text))
}

fn without_return(program: &Program) -> Error {
    let message = "control reached end of function without RETURN";
    Error::new(SqlState("2F005"), message).context(program.place.clone())
}
