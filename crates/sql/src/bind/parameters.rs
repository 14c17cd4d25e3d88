//! Parameters of tables: by which column their rows are parts of the database, and on which NUMA nodes they lie.

use base::{Error, Result, SqlState};
use sqlparser::ast;

use super::{Binder, fold};
use crate::CreateTable;
use crate::parse::{DISTRIBUTION, PARTITION_KEY};

/// Error 42703 of a partition key that is no column.
#[cold]
pub(super) fn no_partition_key(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" named in partition key does not exist"))
}

impl Binder<'_> {
    /// `WITH (partition_key = ..., distribution = ...)`. Others, which tell PostgreSQL how to store rows, mean nothing here.
    pub(super) fn table_parameters(&self, options: &ast::CreateTableOptions, table: &mut CreateTable) -> Result<()> {
        let (ast::CreateTableOptions::With(options) | ast::CreateTableOptions::Options(options)) = options else {
            return Ok(());
        };
        for option in options {
            let ast::SqlOption::KeyValue { key, value } = option else { continue };
            let value = match value {
                ast::Expr::Identifier(word) => fold(word),
                ast::Expr::Value(value) => value.clone().into_string().unwrap_or_default(),
                _ => String::new(),
            };
            match fold(key).as_str() {
                PARTITION_KEY => {
                    let at = table.columns.iter().position(|column| column.name == value);
                    let at = at.ok_or_else(|| no_partition_key(&value).at(self.text.at(key)))?;
                    table.partition_key = Some(at);
                }
                DISTRIBUTION => {
                    table.is_hashed = is_hashed(&value, table).map_err(|e| e.at(self.text.at(key)))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a table's rows go to nodes by the hash of their key.
fn is_hashed(value: &str, table: &CreateTable) -> Result<bool> {
    match value {
        "local" => Ok(false),
        "hashed" if table.primary_key.is_empty() => {
            Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, "a table without a primary key cannot be hashed")
                .hint("rows are distributed by the first column of PRIMARY KEY (...)"))
        }
        "hashed" => Ok(true),
        _ => {
            let message = format!("invalid value for parameter \"{DISTRIBUTION}\": \"{value}\"");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).hint("it is local or hashed"))
        }
    }
}
