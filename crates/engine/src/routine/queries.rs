//! Statements of SQL: written, and made of texts.

use std::sync::Arc;

use base::{Error, Result, SqlState};
use catalog::Field;
use types::Value;

use super::embedded::Embedded;
use super::program::{Into, Query};
use super::run::{Runner, within};
use crate::kept::Ran;
use crate::kept::direct::One;
use crate::result::Tag;
use crate::{QueryResult, text};

/// P0002 and P0003.
const NO_DATA_FOUND: SqlState = SqlState("P0002");
const TOO_MANY_ROWS: SqlState = SqlState("P0003");

impl Runner<'_> {
    pub(super) fn sql(&mut self, sql: &Embedded, into: Option<&Into>) -> Result<()> {
        if self.one(sql, into)? {
            return Ok(());
        }
        let (ran, columns) = self.ran(sql)?;
        let tag = ran.tag();
        let changed = match &tag {
            Tag::Rows(_, rows) => Some(*rows as i64),
            Tag::Done(_) => Some(0),
            Tag::Select => None,
        };
        match (changed, into) {
            (Some(rows), None) => {
                let is_change = matches!(tag, Tag::Rows(..));
                self.row_count = rows;
                if is_change {
                    self.set_found(rows > 0);
                }
                Ok(())
            }
            (Some(_), Some(_)) => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "INTO used with a command that cannot return data"))
            }
            (None, None) => Err(Error::new(SqlState::SYNTAX_ERROR, "query has no destination for result data")
                .hint("If you want to discard the results of a SELECT, use PERFORM instead.")),
            (None, Some(into)) => {
                let found = match ran {
                    Ran::Row(row, _) => self.first_row(into, usize::from(row.is_some()), row, &columns)?,
                    ran => self.into(into, ran.result(&columns).without_positions(), sql.changes_rows())?,
                };
                self.set_found(found);
                Ok(())
            }
        }
    }

    /// Runs a statement of at most one row where that lies; false: nothing has happened, and it has to be run as others are.
    fn one(&mut self, sql: &Embedded, into: Option<&Into>) -> Result<bool> {
        let environment = &*self.environment;
        let Some(block) = &environment.block else { return Ok(false) };
        let Some((direct, references)) = sql.direct(environment, &self.frame) else { return Ok(false) };
        let is_usual = environment.trace.is_none() && !block.has_failed() && !block.is_told();
        if !is_usual || direct.gives_rows() != into.is_some() {
            return Ok(false);
        }
        block.begin_statement(false, &environment.call).map_err(|error| within(error.nowhere(), sql))?;
        let parameter = |number: usize| references[number].0.borrowed(&self.frame);
        let Some(done) = direct.one(environment, block, &parameter, &mut self.spare) else { return Ok(false) };
        self.direct_runs += 1;
        let found = match (done, into) {
            (One::Changed(rows), _) => {
                self.row_count = rows as i64;
                rows > 0
            }
            (One::Row(true), Some(into)) => {
                self.row_count = 1;
                self.assign_spare(&into.places, direct.columns())?;
                true
            }
            (One::Row(found), Some(into)) => self.first_row(into, usize::from(found), None, direct.columns())?,
            (One::Row(_), None) => return Ok(false),
        };
        self.set_found(found);
        Ok(true)
    }

    /// The first row of a result goes to variables; whether there is one. As in PostgreSQL, a change must not return another one.
    pub(super) fn into(&mut self, into: &Into, mut result: QueryResult, is_change: bool) -> Result<bool> {
        let fields = result.shared_columns();
        let mut first: Option<Vec<Value>> = None;
        let mut rows = 0;
        while let Some((count, more)) = result.next_rows(1)? {
            rows += count;
            first = first.or_else(|| more.into_iter().next());
            if first.is_some() && (!into.strict && !is_change || rows > 1) {
                break;
            }
        }
        if is_change && rows > 1 {
            return Err(too_many_rows());
        }
        self.first_row(into, rows, first, &fields)
    }

    /// The first row of so many goes to variables; whether there is one.
    fn first_row(
        &mut self,
        into: &Into,
        rows: usize,
        first: Option<Vec<Value>>,
        fields: &Arc<[Field]>,
    ) -> Result<bool> {
        if into.strict && rows != 1 {
            return Err(match rows {
                0 => Error::new(NO_DATA_FOUND, "query returned no rows"),
                _ => too_many_rows(),
            });
        }
        let found = first.is_some();
        self.row_count = i64::from(found);
        self.assign_row(&into.places, fields, first)?;
        Ok(found)
    }

    /// How many rows a result has; nobody wants them.
    pub(super) fn rows_of(&mut self, result: QueryResult) -> Result<i64> {
        match result.tag() {
            Tag::Rows(_, rows) => Ok(*rows as i64),
            Tag::Done(_) => Ok(0),
            Tag::Select => {
                let mut result = result;
                let mut rows = 0;
                while let Some(chunk) = result.next_chunk()? {
                    rows += chunk.rows() as i64;
                }
                Ok(rows)
            }
        }
    }

    /// The result of a statement that is put together.
    pub(super) fn made(&mut self, text: &Embedded, using: &[Embedded]) -> Result<QueryResult> {
        let (value, _) = self.value(text)?;
        let Value::Str(made) = value else {
            return Err(Error::new(SqlState("22004"), "query string argument of EXECUTE is null"));
        };
        let mut parameters = Vec::with_capacity(using.len());
        for expression in using {
            parameters.push(self.value(expression)?);
        }
        if sql::parse(&made).is_ok_and(|parsed| parsed.controls_transactions()) {
            return Err(Error::unsupported("EXECUTE of transaction commands"));
        }
        let result = text::run(self.environment, &made, &parameters).map(QueryResult::without_positions);
        result.map_err(|error| error.nowhere().context(format!("SQL statement \"{made}\"")))
    }

    pub(super) fn execute(&mut self, text: &Embedded, into: Option<&Into>, using: &[Embedded]) -> Result<()> {
        let result = self.made(text, using)?;
        match into {
            Some(into) if result.has_rows() => {
                self.into(into, result, false)?;
            }
            Some(_) => {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "INTO used with a command that cannot return data"));
            }
            None => self.row_count = self.rows_of(result)?,
        }
        Ok(())
    }

    pub(super) fn query(&mut self, query: &Query) -> Result<QueryResult> {
        match query {
            Query::Written(sql) => self.statement(sql),
            Query::Made(text, using) => self.made(text, using),
        }
    }
}

#[cold]
fn too_many_rows() -> Error {
    Error::new(TOO_MANY_ROWS, "query returned more than one row")
        .hint("Make sure the query returns a single row, or use LIMIT 1.")
}
