//! RETURN NEXT, RETURN QUERY and GET DIAGNOSTICS.

use base::{Error, Result, SqlState};
use types::{SqlType, Value};

use super::embedded::Embedded;
use super::program::{Place, Query};
use super::run::Runner;
use super::scope::{Record, Slot, held, record_of};

impl Runner<'_> {
    pub(super) fn return_next(&mut self, value: Option<&Embedded>) -> Result<()> {
        if !self.program.routine.as_ref().is_some_and(|routine| routine.is_set) {
            let message = "cannot use RETURN NEXT in a non-SETOF function";
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        let (row, types): (Vec<Value>, Vec<SqlType>) = match value {
            Some(value) => self.row_of(value)?,
            None => {
                let types = self.results.columns().iter().map(|field| field.sql_type).collect();
                let value = |slot: &usize| held(&self.frame, *slot);
                (self.program.results.iter().map(value).collect(), types)
            }
        };
        self.results.push(self.environment, &row, &types, &self.zone)
    }

    /// RETURN of a function that returns a record: its row.
    pub(super) fn return_record(&mut self, value: &Embedded) -> Result<()> {
        let (row, types) = self.row_of(value)?;
        self.results.push(self.environment, &row, &types, &self.zone)
    }

    /// The row that an expression is, with the types of its values.
    fn row_of(&mut self, value: &Embedded) -> Result<(Vec<Value>, Vec<SqlType>)> {
        let typed = |record: Record| (record.values, record.fields.iter().map(|field| field.sql_type).collect());
        if let Some(record) = self.record_named(value) {
            return Ok(typed(record));
        }
        let (value, sql_type) = self.value(value)?;
        let record = record_of(&value, sql_type).filter(|_| self.results.columns().len() != 1);
        Ok(record.map_or_else(|| (vec![value], vec![sql_type]), typed))
    }

    /// The record that an expression is the name of.
    pub(super) fn record_named(&self, expression: &Embedded) -> Option<Record> {
        match &self.frame[expression.variable()?] {
            Slot::Record(record) => record.clone(),
            Slot::Scalar(_) => None,
        }
    }

    pub(super) fn return_query(&mut self, query: &Query) -> Result<()> {
        let is_sql = self.program.is_sql;
        if !is_sql && !self.program.routine.as_ref().is_some_and(|routine| routine.is_set) {
            let message = "cannot use RETURN QUERY in a non-SETOF function";
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        let result = self.query(query)?;
        if !result.has_rows() && is_sql {
            let message = "return type mismatch in function: its last statement gives no rows";
            return Err(Error::new(SqlState("42P13"), message)
                .detail("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING."));
        }
        let types: Vec<SqlType> = result.columns().iter().map(|field| field.sql_type).collect();
        let rows = self.each_row(result, |runner, _, row| {
            runner.results.push(runner.environment, &row, &types, &runner.zone)?;
            Ok(true)
        })?;
        self.row_count = rows as i64;
        self.set_found(rows > 0);
        Ok(())
    }

    pub(super) fn diagnostics(&mut self, stacked: bool, items: &[(Place, String)]) -> Result<()> {
        for (place, item) in items {
            let text = |text: Option<&str>| (Value::str(text.unwrap_or("")), SqlType::Text);
            let (value, sql_type) = match (&self.handled, item.as_str()) {
                (_, "row_count") => (Value::Int(self.row_count), SqlType::BigInt),
                (_, "pg_context") => (Value::str(self.program.place.as_str()), SqlType::Text),
                (None, _) => {
                    let message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
                    return Err(Error::new(SqlState("0Z002"), message));
                }
                (Some(error), "returned_sqlstate") => text(Some(error.state().0)),
                (Some(error), "message_text") => text(Some(error.message())),
                (Some(error), "pg_exception_detail") => text(error.get_detail()),
                (Some(error), "pg_exception_hint") => text(error.get_hint()),
                (Some(error), "pg_exception_context") => text(error.get_context()),
                (Some(error), item) => text(error.get_about(item)),
            };
            debug_assert!(!stacked || sql_type == SqlType::Text);
            self.assign(place, value, sql_type)?;
        }
        Ok(())
    }
}
