//! What the binder asks of the engine: tables, views and files by name.

use std::sync::Arc;

use base::Result;
use catalog::{Check, Field, Filling, ForeignKey, Statistics};
use functions::Sequence;
use plan::TableSource;
use types::ops::date::Zone;
use types::{SqlType, Value};

use crate::ObjectName;

/// Finds what FROM names. Errors need no position: the binder adds it.
pub trait Resolver {
    /// The table or view of that name; error 42P01 if there is none.
    fn table(&self, name: &ObjectName) -> Result<Resolved>;

    /// The sequence of that name; 42P01 if there is none, 42809 if the name means something else.
    fn sequence(&self, name: &ObjectName) -> Result<Arc<Sequence>> {
        Err(base::Error::new(base::SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist")))
    }

    /// The sequence that belongs to a column of a table, as text.
    fn sequence_of(&self, _table: &ObjectName, _column: &str) -> Option<String> {
        None
    }

    /// Whether the name means something that only this session sees.
    fn is_temporary(&self, _name: &ObjectName) -> bool {
        false
    }

    /// Whether a table, view or sequence has that name.
    fn is_taken(&self, _name: &ObjectName) -> bool {
        false
    }

    /// The number by which sequences know the session. What is bound with it is of use to this session only.
    fn session(&self) -> i64 {
        0
    }

    /// Files: `function` is `read_csv`, `read_parquet`, or empty for a bare path in FROM, whose ending decides. Options are
    /// names in lower case with constant values.
    fn file(&self, function: &str, paths: &[String], options: &[(String, Value)]) -> Result<Table>;

    /// `storage_info('t')`: how a table lies in memory.
    fn storage_info(&self, table: &ObjectName) -> Result<Table>;

    /// A function without arguments that shows what the database does; none if there is none of that name.
    fn view_function(&self, function: &str) -> Option<Table>;

    /// The names of all such functions.
    fn view_functions(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// `generate_series(start, stop, step)`; error 22023 if the step is zero.
    fn series(&self, series: Series) -> Result<Table>;

    /// Microseconds since 1970-01-01 00:00 UTC that `now()` and `current_date` mean in this statement.
    fn now(&self) -> i64;

    /// The session's time zone.
    fn time_zone(&self) -> Zone {
        Zone::utc()
    }

    /// The types of the parameters of a prepared statement; none if there is none of that name.
    fn parameters_of(&self, _prepared: &str) -> Option<Vec<SqlType>> {
        None
    }

    /// Names of tables and views, for hints.
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What a name in FROM means.
#[derive(Clone, Debug)]
pub enum Resolved {
    /// A table, data frame or file.
    Table(Table),
    /// A view.
    View {
        /// Text of its query.
        sql: String,
        /// Names of its columns; none: those of the query. What the query has besides are not its.
        columns: Vec<String>,
    },
}

/// Values that are a step apart, as a function in FROM gives them.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name of the function.
    pub function: String,
    /// The name of the column.
    pub column: String,
    /// The type of its values: an integer, a decimal, or a timestamp.
    pub sql_type: SqlType,
    /// From where to where; none if an argument is NULL: then there are no rows.
    pub bounds: Option<SeriesBounds>,
    /// Whether a second column numbers the rows from 1.
    pub ordinality: bool,
    /// Whose days and months are added to moments.
    pub zone: Zone,
}

/// The bounds of a series.
#[derive(Clone, Debug)]
pub struct SeriesBounds {
    /// The first value.
    pub start: Value,
    /// Behind it there is none.
    pub stop: Value,
    /// What is added each time: a value of the same type, an interval to a timestamp.
    pub step: Value,
    /// Whether `stop` itself may be a value.
    pub has_stop: bool,
}

/// A table or file that can be read.
#[derive(Clone, Debug)]
pub struct Table {
    /// For people; a file's stem.
    pub name: String,
    /// Its columns.
    pub fields: Vec<Field>,
    /// What fills columns that INSERT does not name; empty: NULL.
    pub fillings: Vec<Filling>,
    /// What must hold of each row.
    pub checks: Vec<Check>,
    /// Its foreign keys, in the order of the names.
    pub foreign_keys: Vec<ForeignKey>,
    /// What planning may know.
    pub statistics: Arc<dyn Statistics>,
    /// What the engine reads.
    pub source: TableSource,
}
