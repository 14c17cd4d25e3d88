//! What a program gives back: a row, or rows, charged to the statement as they come.

use std::sync::Arc;

use base::memory::Reservation;
use base::{Budget, Error, Result, SqlState};
use catalog::{Field, Returns, Routine};
use types::ops::date::Zone;
use types::{Chunk, ColumnBuilder, SqlType, Value};

use super::convert::converted;
use crate::environment::Environment;

/// Rows of a chunk of results.
const CHUNK: usize = 1024;
/// Bytes of texts that wait for a chunk.
const PENDING: usize = 1 << 20;

/// What a call gives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// The values of its row.
    pub row: Vec<Value>,
    /// Its rows, if it gives several.
    pub rows: Vec<Chunk>,
}

impl Outcome {
    /// Of a call that does not happen as something is NULL.
    pub fn null(routine: &Routine) -> Self {
        let columns = match routine.returns {
            Returns::Nothing => 0,
            Returns::Value(_) => 1,
            _ => routine.columns().len(),
        };
        Self { row: vec![Value::Null; columns], rows: Vec::new() }
    }
}

/// Rows as they come.
pub(super) struct Results {
    columns: Arc<[Field]>,
    builders: Vec<ColumnBuilder>,
    count: usize,
    /// Bytes of texts among those that are in no chunk yet.
    pending: usize,
    chunks: Vec<Chunk>,
    charged: Vec<Reservation>,
    /// Of all rows, once there are some.
    budget: Option<Budget>,
}

impl Results {
    pub fn new(columns: Arc<[Field]>) -> Self {
        Self {
            columns,
            builders: Vec::new(),
            count: 0,
            pending: 0,
            chunks: Vec::new(),
            charged: Vec::new(),
            budget: None,
        }
    }

    pub fn columns(&self) -> &[Field] {
        &self.columns
    }

    /// Adds a row of values of these types.
    pub fn push(&mut self, environment: &Environment, row: &[Value], types: &[SqlType], zone: &Zone) -> Result<()> {
        if row.len() != self.columns.len() {
            let what = if row.len() < self.columns.len() { "fewer" } else { "more" };
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                "structure of query does not match function result type",
            )
            .detail(format!(
                "Number of returned columns ({}) does not match expected column count ({}): there are {what}.",
                row.len(),
                self.columns.len()
            )));
        }
        if self.builders.is_empty() {
            self.builders = self.columns.iter().map(|field| ColumnBuilder::new(field.sql_type, CHUNK)).collect();
        }
        for (builder, (field, (value, from))) in
            self.builders.iter_mut().zip(self.columns.iter().zip(row.iter().zip(types)))
        {
            if let Value::Str(text) = value {
                self.pending += text.len();
            }
            if *from == field.sql_type || value.is_null() {
                builder.push_value(value);
            } else {
                builder.push_value(&converted(value, *from, field.sql_type, zone)?);
            }
        }
        self.count += 1;
        if self.count == CHUNK || self.pending >= PENDING {
            self.flush(environment)?;
        }
        Ok(())
    }

    fn flush(&mut self, environment: &Environment) -> Result<()> {
        let columns = std::mem::take(&mut self.builders).into_iter().map(ColumnBuilder::finish).collect();
        let chunk = Chunk::new(std::mem::take(&mut self.count), columns);
        self.pending = 0;
        let budget = self.budget.get_or_insert_with(|| environment.statement_budget());
        self.charged.push(budget.reserve(chunk.bytes(), "rows of a function")?);
        self.chunks.push(chunk);
        Ok(())
    }

    /// All rows.
    pub fn finish(mut self, environment: &Environment) -> Result<Vec<Chunk>> {
        if self.count > 0 {
            self.flush(environment)?;
        }
        Ok(self.chunks)
    }
}
