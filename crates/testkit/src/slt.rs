//! Runs sqllogictest files: ours in `crates/testkit/slt`, and a folder of SQLite's corpus where one is given.

use std::collections::BTreeMap;
use std::future::{Ready, ready};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base::{Error, SqlState};
use engine::{Config, Database, QueryResult, Session, Tag};
use sqllogictest::{DBOutput, DefaultColumnType, QueryExpect, Record, Runner};
use types::SqlType;

use crate::rows::{NULL, chunk_rows};

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
        let mut expected = self.sqlite.as_ref().map(|e| e.lock().unwrap_or_else(PoisonError::into_inner));
        let types = expected.as_ref().map(|e| e.types.as_slice());
        let result = self.session.execute(sql, &[]).and_then(|result| output(result, types));
        if let (Some(expected), Err(error)) = (&mut expected, &result) {
            expected.error = Some(error.state());
        }
        result.map_err(SltError)
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
        t if t.is_decimal() || t.is_float() => DefaultColumnType::FloatingPoint,
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
    let rows = result.collect()?.iter().flat_map(|c| chunk_rows(c, &sql_types)).collect::<Vec<_>>();
    let rows = rows.into_iter().map(|r| r.into_iter().enumerate().map(text).collect()).collect();
    Ok(DBOutput::Rows { types, rows })
}

/// Runs a file in a fresh database; an error says where and what.
pub fn run_file(path: &Path, settings: &[&str]) -> Result<(), String> {
    runner(settings, None)?.run_file(path).map_err(|e| e.to_string())
}

/// What came of a file of SQLite's corpus.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Records with the expected result.
    pub passed: usize,
    /// Records that are errors here and are not in SQLite, as its language differs: by SQLSTATE.
    pub foreign: BTreeMap<String, usize>,
    /// What is wrong with the others.
    pub failures: Vec<String>,
}

/// What SQLite allows and PostgreSQL does not: `IN ()`, operators of any types, results beyond an integer's range, division
/// by zero (NULL there), columns beside aggregates that are not grouped.
const FOREIGN: &[SqlState] = &[
    SqlState::SYNTAX_ERROR,
    SqlState::UNDEFINED_FUNCTION,
    SqlState::DATATYPE_MISMATCH,
    SqlState::NUMERIC_OUT_OF_RANGE,
    SqlState::DIVISION_BY_ZERO,
    SqlState::GROUPING_ERROR,
];

/// SQLite's files say after a condition why it is there, which the parser does not know.
fn without_remarks(text: &str) -> String {
    let condition = |line: &&str| line.starts_with("onlyif") || line.starts_with("skipif");
    let plain = |line| Some(line).filter(condition).and_then(|l| l.split('#').next()).unwrap_or(line);
    text.lines().map(plain).flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// Runs a file of SQLite's corpus in a fresh database. A statement that is not supported ends it, but for indexes:
/// what follows depends on it.
pub fn run_sqlite_file(path: &Path) -> Outcome {
    let mut outcome = Outcome::default();
    let shared = Arc::new(Mutex::new(Expected::default()));
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string());
    let records = text.and_then(|t| sqllogictest::parse(&without_remarks(&t)).map_err(|e| format!("{e} in {path:?}")));
    let (mut runner, records) = match (runner(&[], Some(&shared)), records) {
        (Ok(runner), Ok(records)) => (runner, records),
        (runner, records) => {
            outcome.failures.extend(runner.err());
            outcome.failures.extend(records.err());
            return outcome;
        }
    };
    for record in records {
        let is_test = matches!(record, Record::Statement { .. } | Record::Query { .. });
        let types = match &record {
            Record::Query { expected: QueryExpect::Results { types, .. }, .. } => types.clone(),
            _ => Vec::new(),
        };
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = Expected { types, error: None };
        if matches!(record, Record::Halt { .. }) {
            break;
        }
        // An index changes no result.
        let index = matches!(&record, Record::Statement { sql, .. } if sql.contains("INDEX"));
        let averages = matches!(&record, Record::Query { sql, .. } if sql.contains("AVG"));
        let result = runner.run(record);
        let error = shared.lock().unwrap_or_else(PoisonError::into_inner).error;
        match (result, error) {
            (Ok(_), _) => outcome.passed += usize::from(is_test),
            (Err(_), Some(state)) if FOREIGN.contains(&state) => {
                *outcome.foreign.entry(state.to_string()).or_default() += 1
            }
            (Err(_), Some(state)) if state == SqlState::FEATURE_NOT_SUPPORTED => {
                *outcome.foreign.entry(state.to_string()).or_default() += 1;
                if !index {
                    break;
                }
            }
            // There, an expression over an average has the type of whatever value it comes to, and may divide as integers.
            (Err(_), None) if averages => *outcome.foreign.entry("average".into()).or_default() += 1,
            (Err(e), _) => outcome.failures.push(e.to_string()),
        }
    }
    outcome
}

type Connect = Box<dyn FnMut() -> Ready<Result<Slt, SltError>>>;

fn runner(settings: &[&str], sqlite: Option<&Arc<Mutex<Expected>>>) -> Result<Runner<Slt, Connect>, String> {
    let database = Database::new(Config { threads: Some(2), ..Config::default() }).map_err(|e| e.to_string())?;
    let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    let expected = sqlite.cloned();
    let connect = move || {
        let mut session = database.connect();
        for setting in &settings {
            session.execute(setting, &[]).and_then(QueryResult::collect).map_err(SltError)?;
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
