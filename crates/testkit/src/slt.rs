//! Runs sqllogictest files: ours in `crates/testkit/slt`, here and in PostgreSQL ([`beside`]), and a folder of SQLite's
//! corpus where one is given ([`sqlite`]).
//!
//! An error is written `SQLSTATE: message at position`, the position in characters from 1, so that files may expect any of
//! them: `statement error 42703: .* at 8$`.

pub mod beside;
pub mod sqlite;

use std::future::{Ready, ready};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base::{Error, SqlState};
use engine::{Config, Database, QueryResult, Session, Tag};
use sqllogictest::{DBOutput, DefaultColumnType, Runner};
use types::SqlType;

use engine::rows::{NULL, chunk_rows};

/// A session as the runner sees it.
#[derive(Debug)]
pub struct Slt {
    session: Session,
    /// How SQLite's files write values, if this is one.
    sqlite: Option<Arc<Mutex<Expected>>>,
}

/// What a record of SQLite's files says of its result, and what an error was.
#[derive(Debug, Default)]
struct Expected {
    /// Types of the columns: SQLite writes values by them, whatever they are.
    types: Vec<DefaultColumnType>,
    /// SQLSTATE of the statement's error.
    error: Option<SqlState>,
}

/// An error as files expect it.
#[derive(Debug)]
pub struct SltError {
    error: Error,
    /// Character of the statement, from 1.
    position: Option<usize>,
}

impl SltError {
    fn new(error: Error, sql: &str) -> Self {
        let before = error.position().and_then(|p| sql.get(..p as usize));
        Self { error, position: before.map(|text| text.chars().count() + 1) }
    }
}

impl std::fmt::Display for SltError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.error)?;
        self.position.map_or(Ok(()), |p| write!(f, " at {p}"))
    }
}

impl std::error::Error for SltError {}

impl sqllogictest::DB for Slt {
    type Error = SltError;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, SltError> {
        let mut expected = self.sqlite.as_ref().map(|e| e.lock().unwrap_or_else(PoisonError::into_inner));
        let types = expected.as_ref().map(|e| e.types.as_slice());
        let result = self.session.execute(sql, &[]).and_then(|result| output(result, types));
        if let (Some(expected), Err(error)) = (&mut expected, &result) {
            expected.error = Some(error.state());
        }
        result.map_err(|error| SltError::new(error, sql))
    }

    fn engine_name(&self) -> &str {
        "morseldb"
    }
}

/// A result as the runner compares it; `sqlite`: the types by which SQLite writes the columns, integers without what is
/// behind the point, reals with three digits there.
fn output(result: QueryResult, sqlite: Option<&[DefaultColumnType]>) -> base::Result<DBOutput<DefaultColumnType>> {
    if !result.has_rows() {
        let count = if let Tag::Rows(_, rows) = result.tag() { *rows } else { 0 };
        result.collect()?;
        return Ok(DBOutput::StatementComplete(count));
    }
    let sql_types: Vec<SqlType> = result.columns().iter().map(|c| c.sql_type).collect();
    let column = |t: &SqlType| match t {
        t if t.is_integer() => DefaultColumnType::Integer,
        t if t.is_decimal() || t.is_long_numeric() || t.is_float() => DefaultColumnType::FloatingPoint,
        _ => DefaultColumnType::Text,
    };
    let types = sql_types.iter().map(column).collect();
    let text = |(i, field): (usize, String)| match sqlite.and_then(|types| types.get(i)) {
        _ if field.is_empty() => "(empty)".to_string(),
        Some(_) if field == NULL => field,
        Some(DefaultColumnType::FloatingPoint) => field.parse::<f64>().map_or(field, |f| format!("{f:.3}")),
        Some(DefaultColumnType::Integer) => match field.as_str() {
            "t" | "true" => "1".into(),
            "f" | "false" => "0".into(),
            // A text that is no number counts as zero.
            _ => format!("{:.0}", field.parse::<f64>().unwrap_or(0.0).trunc() + 0.0),
        },
        _ => field,
    };
    let zone = result.zone().clone();
    let rows = result.collect()?.iter().flat_map(|c| chunk_rows(c, &sql_types, &zone)).collect::<Vec<_>>();
    let rows = rows.into_iter().map(|r| r.into_iter().enumerate().map(text).collect()).collect();
    Ok(DBOutput::Rows { types, rows })
}

/// Runs a file in a fresh database; an error says where and what.
pub fn run_file(path: &Path, config: &Config, settings: &[&str]) -> Result<(), String> {
    runner(config, settings, None)?.run_file(path).map_err(|e| e.to_string())
}

type Connect = Box<dyn FnMut() -> Ready<Result<Slt, SltError>>>;

fn runner(
    config: &Config,
    settings: &[&str],
    sqlite: Option<&Arc<Mutex<Expected>>>,
) -> Result<Runner<Slt, Connect>, String> {
    let database = Database::new(config.clone()).map_err(|e| e.to_string())?;
    let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    let expected = sqlite.cloned();
    let connect = move || {
        let mut session = database.connect();
        for setting in &settings {
            let done = session.execute(setting, &[]).and_then(QueryResult::collect);
            done.map_err(|error| SltError::new(error, setting))?;
        }
        Ok(Slt { session, sqlite: expected.clone() })
    };
    let mut runner = Runner::new(Box::new(move || ready(connect())) as Connect);
    if sqlite.is_some() {
        runner.with_hash_threshold(8);
        runner.add_label("postgresql");
        runner.run_script("control resultmode valuewise\n").map_err(|e| e.to_string())?;
    }
    Ok(runner)
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
