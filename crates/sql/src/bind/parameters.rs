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
        for (key, value) in key_values(options) {
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

    /// Refuses them for a table of a query's rows, which has no key yet.
    pub(super) fn no_table_parameters(&self, options: &ast::CreateTableOptions) -> Result<()> {
        let refused = |name: &str, hint: &str| {
            let message = format!("CREATE TABLE AS does not take the parameter \"{name}\"");
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).hint(hint)
        };
        for (key, _) in key_values(options) {
            let hint = match fold(key).as_str() {
                PARTITION_KEY => "ALTER TABLE ... SET (partition_key = ...) when it is there",
                DISTRIBUTION => "CREATE TABLE with a PRIMARY KEY first, then INSERT INTO ... SELECT",
                _ => continue,
            };
            return Err(refused(&fold(key), hint).at(self.text.at(key)));
        }
        Ok(())
    }
}

fn key_values(options: &ast::CreateTableOptions) -> impl Iterator<Item = (&ast::Ident, &ast::Expr)> {
    let options = match options {
        ast::CreateTableOptions::With(options) | ast::CreateTableOptions::Options(options) => options.as_slice(),
        _ => &[],
    };
    options.iter().filter_map(|option| match option {
        ast::SqlOption::KeyValue { key, value } => Some((key, value)),
        _ => None,
    })
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
