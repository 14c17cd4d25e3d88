//! Runs sqllogictest files: ours in `crates/testkit/slt`, and a folder of SQLite's corpus where one is given.

use std::path::{Path, PathBuf};

use base::Error;
use engine::{Config, Database, QueryResult, Session, Tag};
use sqllogictest::{DBOutput, DefaultColumnType, Runner};
use types::SqlType;

use crate::rows::{NULL, chunk_rows};

/// A session as the runner sees it.
#[derive(Debug)]
pub struct Slt {
    session: Session,
    /// SQLite's way of writing values: integers for booleans, three decimals for reals.
    sqlite: bool,
}

/// An error with its SQLSTATE in front: files expect it by either.
#[derive(Debug)]
pub struct SltError(Error);

impl std::fmt::Display for SltError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl std::error::Error for SltError {}

impl sqllogictest::DB for Slt {
    type Error = SltError;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, SltError> {
        self.session.execute(sql, &[]).and_then(|result| output(result, self.sqlite)).map_err(SltError)
    }

    fn engine_name(&self) -> &str {
        "morseldb"
    }
}

fn output(result: QueryResult, sqlite: bool) -> base::Result<DBOutput<DefaultColumnType>> {
    if !result.has_rows() {
        let count = if let Tag::Rows(_, rows) = result.tag() { *rows } else { 0 };
        result.collect()?;
        return Ok(DBOutput::StatementComplete(count));
    }
    let sql_types: Vec<SqlType> = result.columns().iter().map(|c| c.sql_type).collect();
    let column = |t: &SqlType| match t {
        t if t.is_integer() => DefaultColumnType::Integer,
        t if t.is_decimal() || t.is_float() => DefaultColumnType::FloatingPoint,
        _ => DefaultColumnType::Text,
    };
    let types = sql_types.iter().map(column).collect();
    let text = |(field, sql_type): (String, &SqlType)| match field {
        field if field.is_empty() => "(empty)".to_string(),
        field if sqlite && field != NULL && (sql_type.is_float() || sql_type.is_decimal()) => {
            field.parse::<f64>().map_or(field, |f| format!("{f:.3}"))
        }
        field => field,
    };
    let rows = result.collect()?.iter().flat_map(|c| chunk_rows(c, &sql_types)).collect::<Vec<_>>();
    let rows = rows.into_iter().map(|r| r.into_iter().zip(&sql_types).map(text).collect()).collect();
    Ok(DBOutput::Rows { types, rows })
}

/// Runs a file in a fresh database; an error says where and what.
pub fn run_file(path: &Path, sqlite: bool, settings: &[&str]) -> Result<(), String> {
    let database = Database::new(Config { threads: Some(2), memory_limit: None }).map_err(|e| e.to_string())?;
    let connect = move || {
        let mut session = database.connect();
        for setting in settings {
            session.execute(setting, &[]).and_then(QueryResult::collect).map_err(SltError)?;
        }
        Ok::<_, SltError>(Slt { session, sqlite })
    };
    let mut runner = Runner::new(|| std::future::ready(connect()));
    if sqlite {
        runner.with_hash_threshold(8);
        runner.add_label("postgresql");
        runner.run_script("control resultmode valuewise\n").map_err(|e| e.to_string())?;
    }
    runner.run_file(path).map_err(|e| e.to_string())
}

/// All `.slt` and `.test` files below a folder, sorted.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "slt" || e == "test") {
            all.push(path);
        }
    }
    all.sort();
    all
}
