//! SQLite's corpus of sqllogictest files, and what differs from its language.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use base::SqlState;
use engine::Config;
use sqllogictest::{QueryExpect, Record};

use super::{Expected, runner};

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
/// by zero (NULL there), columns beside aggregates that are not grouped, dropping a view that another one reads.
const FOREIGN: &[SqlState] = &[
    SqlState::SYNTAX_ERROR,
    SqlState::UNDEFINED_FUNCTION,
    SqlState::DATATYPE_MISMATCH,
    SqlState::NUMERIC_OUT_OF_RANGE,
    SqlState::DIVISION_BY_ZERO,
    SqlState::GROUPING_ERROR,
    SqlState::DEPENDENT_OBJECTS,
];

/// What SQLite refuses and PostgreSQL allows: changes of a view of one table's rows.
const ALLOWED: &[&str] = &["DELETE FROM view1 WHERE x>0", "UPDATE view1 SET x=2"];

/// Texts that later records of their file rely on, and what they mean in SQLite: of several assignments to a column the last
/// counts there, and PostgreSQL refuses them.
const MEANT: &[(&str, &str)] = &[("SET x=3, x=4, x=5", "SET x=5")];

/// SQLite's files say after a condition why it is there, which the parser does not know.
fn without_remarks(text: &str) -> String {
    let condition = |line: &&str| line.starts_with("onlyif") || line.starts_with("skipif");
    let plain = |line| Some(line).filter(condition).and_then(|l| l.split('#').next()).unwrap_or(line);
    let text: String = text.lines().map(plain).flat_map(|line| [line.trim_end(), "\n"]).collect();
    MEANT.iter().fold(text, |text, (there, here)| text.replace(there, here))
}

/// Runs a file of SQLite's corpus in a fresh database. A statement that is not supported ends it, but for indexes:
/// what follows depends on it.
pub fn run_file(path: &Path) -> Outcome {
    let mut outcome = Outcome::default();
    let shared = Arc::new(Mutex::new(Expected::default()));
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string());
    let records = text.and_then(|t| sqllogictest::parse(&without_remarks(&t)).map_err(|e| format!("{e} in {path:?}")));
    let usual = Config { threads: Some(2), ..Config::default() };
    let (mut runner, records) = match (runner(&usual, &[], Some(&shared)), records) {
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
        let allowed = matches!(&record, Record::Statement { sql, .. } if ALLOWED.contains(&sql.trim()));
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
            (Err(_), None) if allowed => *outcome.foreign.entry("allowed".into()).or_default() += 1,
            // There, an expression over an average has the type of whatever value it comes to, and may divide as integers.
            (Err(_), None) if averages => *outcome.foreign.entry("average".into()).or_default() += 1,
            (Err(e), _) => outcome.failures.push(e.to_string()),
        }
    }
    outcome
}
