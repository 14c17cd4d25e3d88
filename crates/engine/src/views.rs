//! Functions in FROM that show what the database does: `running_queries()` and its kin (decision 29).
//!
//! A call becomes a small table when it is bound, so that any SQL works on it, and nothing is locked while that runs.

mod memory;
mod pipelines;
mod statements;
mod system;
mod workers;
mod zones;

use std::sync::Arc;
use std::time::Duration;

use functions::Sequence;
use io::{Field, MemorySource};
use types::{Chunk, ColumnBuilder, SqlType, Value};

use crate::environment::Environment;

pub(crate) use system::{number_of, number_of_type, registered, system_table};

/// Names and types of columns.
type Columns = &'static [(&'static str, SqlType)];

/// A view.
struct View {
    name: &'static str,
    columns: Columns,
    rows: fn(&Environment) -> Vec<Vec<Value>>,
}

/// All of them.
const VIEWS: [View; 6] = [
    statements::RUNNING_QUERIES,
    pipelines::RUNNING_PIPELINES,
    statements::QUERY_HISTORY,
    workers::WORKERS,
    memory::MEMORY_USAGE,
    zones::TIMEZONES,
];

/// The view of that name as it is now.
pub(crate) fn view(environment: &Environment, name: &str) -> Option<Arc<MemorySource>> {
    let view = VIEWS.iter().find(|view| view.name == name)?;
    Some(small_table(view.columns, (view.rows)(environment)))
}

/// A sequence in FROM: one row of its state.
pub(crate) fn sequence(sequence: &Sequence) -> Arc<MemorySource> {
    let columns = [("last_value", SqlType::BigInt), ("log_cnt", SqlType::BigInt), ("is_called", SqlType::Bool)];
    let (last, is_called) = sequence.last();
    small_table(&columns, vec![vec![Value::Int(last), Value::Int(0), Value::Bool(is_called)]])
}

/// A time in milliseconds, as all views have it.
fn ms(time: Duration) -> Value {
    Value::Float(time.as_secs_f64() * 1e3)
}

fn count(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The names of all views.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    VIEWS.iter().map(|view| view.name)
}

/// A table of a few rows that somebody has put together.
pub(crate) fn small_table(schema: &[(&str, SqlType)], rows: Vec<Vec<Value>>) -> Arc<MemorySource> {
    let mut columns: Vec<_> = schema.iter().map(|(_, t)| ColumnBuilder::new(*t, rows.len())).collect();
    for row in &rows {
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push_value(value));
    }
    let fields = schema.iter().map(|(name, sql_type)| Field::new(*name, *sql_type)).collect();
    let chunk = Chunk::new(rows.len(), columns.into_iter().map(ColumnBuilder::finish).collect());
    Arc::new(MemorySource::new(fields, vec![chunk]))
}
