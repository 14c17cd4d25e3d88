//! Prepared statements: parsed and checked once, run with other parameters as often as one likes. A query runs by a kept
//! plan (decision 19), which the statement remembers, as long as one holds.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use base::{Result, stack};
use catalog::Field;
use sql::{Parsed, Template};
use types::{SqlType, Value};

use crate::activity::cut;
use crate::kept::plans::{Kept, Text};

/// A statement that is prepared; see [`Session::prepare`](crate::Session::prepare).
pub struct PreparedStatement {
    /// Its text, and that of the statement that prepared it.
    sql: String,
    /// As all sessions see it.
    shown: Arc<str>,
    pub(crate) told: String,
    parsed: Parsed,
    template: Option<Template>,
    types: Vec<SqlType>,
    columns: Vec<Field>,
    /// Microseconds since 1970-01-01 00:00 UTC.
    pub(crate) made: i64,
    /// The plan by which it ran last.
    recent: Mutex<Option<Arc<Kept>>>,
}

impl std::fmt::Debug for PreparedStatement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PreparedStatement({})", self.sql)
    }
}

impl PreparedStatement {
    pub(crate) fn new(prepare: sql::Prepare, told: String) -> Result<Self> {
        let sql::Prepare { text: sql, types, columns, .. } = prepare;
        let parsed = stack::with_room(sql::parse_depth(&sql), || sql::parse(&sql))??;
        let template = if parsed.may_be_kept() { Template::of(&sql) } else { None };
        let made = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64);
        Ok(Self { shown: cut(&sql), sql, told, parsed, template, types, columns, made, recent: Mutex::default() })
    }

    /// Its text.
    pub fn sql(&self) -> &str {
        &self.sql
    }
    /// Its text as all sessions see it.
    pub(crate) fn shown(&self) -> Arc<str> {
        self.shown.clone()
    }
    /// The types of its parameters.
    pub fn parameter_types(&self) -> &[SqlType] {
        &self.types
    }
    /// The columns of its rows; none of a statement that changes something.
    pub fn columns(&self) -> &[Field] {
        &self.columns
    }

    pub(crate) fn parsed(&self) -> &Parsed {
        &self.parsed
    }

    /// A statement of its text with these parameters, for kept plans; none if it can have none.
    pub(crate) fn text<'a>(&'a self, parameters: &'a [(Value, SqlType)]) -> Option<Text<'a>> {
        self.template.as_ref().map(|template| Text { sql: &self.sql, template, parameters })
    }

    /// The plan by which it ran last.
    pub(crate) fn recent(&self) -> Option<Arc<Kept>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// It runs by this plan.
    pub(crate) fn runs_by(&self, kept: &Arc<Kept>) {
        *self.recent.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept.clone());
    }

    /// Whether rows with these columns are what it was prepared for.
    pub(crate) fn gives(&self, columns: &[Field]) -> bool {
        // Of decimals, the digits may be those of a parameter.
        let same_type = |a: SqlType, b: SqlType| a == b || a.is_decimal() && b.is_decimal();
        let same = |(old, new): (&Field, &Field)| old.name == new.name && same_type(old.sql_type, new.sql_type);
        !self.parsed.is_query() || self.columns.len() == columns.len() && self.columns.iter().zip(columns).all(same)
    }
}
