//! What has come of a statement that ran by a short plan.

use std::sync::Arc;

use catalog::Field;
use types::SqlType;

use super::short::Row;
use crate::QueryResult;
use crate::result::Tag;
use crate::statement::rows_tag;

/// See the module.
pub(crate) enum Ran {
    /// A query: its rows, and the types of these.
    Rows(Vec<Row>, Arc<[SqlType]>),
    /// One of at most one row.
    Row(Option<Row>, Arc<[SqlType]>),
    /// A change: its tag, and of how many rows.
    Changed(&'static str, usize),
    /// All else.
    Result(QueryResult),
}

impl Ran {
    /// As the client gets it, with these columns.
    pub fn result(self, columns: &Arc<[Field]>) -> QueryResult {
        match self {
            Self::Rows(rows, types) => QueryResult::few(columns.clone(), rows, types),
            Self::Row(row, types) => QueryResult::few(columns.clone(), row.into_iter().collect(), types),
            Self::Changed(tag, rows) => rows_tag(tag, rows),
            Self::Result(result) => result,
        }
    }

    /// Its tag.
    pub fn tag(&self) -> Tag {
        match self {
            Self::Rows(..) | Self::Row(..) => Tag::Select,
            Self::Changed(tag, rows) => Tag::Rows(tag, *rows as u64),
            Self::Result(result) => result.tag().clone(),
        }
    }
}
