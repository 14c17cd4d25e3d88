//! Prepared statements: parsed and checked once, run with other parameters as often as one likes. A query runs by a kept
//! plan (decision 19), which the statement remembers, as long as one holds.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base::{Result, stack};
use catalog::Field;
use sql::{Parsed, Template};
use types::SqlType;

use crate::kept::known::KnownText;

/// A statement that is prepared; see [`Session::prepare`](crate::Session::prepare).
pub struct PreparedStatement {
    known: KnownText,
    /// The text of the statement that prepared it.
    pub(crate) told: String,
    parsed: Parsed,
    types: Vec<SqlType>,
    columns: Vec<Field>,
    /// Microseconds since 1970-01-01 00:00 UTC.
    pub(crate) made: i64,
}

impl std::fmt::Debug for PreparedStatement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PreparedStatement({})", self.sql())
    }
}

impl PreparedStatement {
    pub(crate) fn new(prepare: sql::Prepare, told: String) -> Result<Self> {
        let sql::Prepare { text: sql, types, columns, .. } = prepare;
        let parsed = stack::with_room(sql::parse_depth(&sql), || sql::parse(&sql))??;
        let template = if parsed.may_be_kept() { Template::of(&sql) } else { None };
        let made = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64);
        Ok(Self { known: KnownText::new(sql, template), told, parsed, types, columns, made })
    }

    /// Its text.
    pub fn sql(&self) -> &str {
        self.known.sql()
    }
    /// Its text as all sessions see it.
    pub(crate) fn shown(&self) -> Arc<str> {
        self.known.shown()
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

    /// Its text, with the plan by which it ran last.
    pub(crate) fn known(&self) -> &KnownText {
        &self.known
    }

    /// Whether rows with these columns are what it was prepared for.
    pub(crate) fn gives(&self, columns: &[Field]) -> bool {
        // Of decimals, the digits may be those of a parameter.
        let same_type = |a: SqlType, b: SqlType| a == b || a.is_decimal() && b.is_decimal();
        let same = |(old, new): (&Field, &Field)| old.name == new.name && same_type(old.sql_type, new.sql_type);
        !self.parsed.is_query() || self.columns.len() == columns.len() && self.columns.iter().zip(columns).all(same)
    }
}
