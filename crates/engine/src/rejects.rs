//! Records of text files that a statement leaves out, in a table: `rejects_table = 'name'` of `read_csv` and COPY.
//!
//! Rejected records are collected while the statement runs and appended when it has succeeded, so that one that fails
//! leaves no trace. A file may be read more often than once (by the sample that planning looks at, by several scans): a
//! record is told by its file and line, and counted once.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use base::memory::Reservation;
use base::{Error, Result, SqlState};
use catalog::{IfExists, Table, TableEntry};
use io::csv::{RejectSink, RejectedRow};
use storage::relation::Distribution;
use storage::{Attribute, Relation, Schema};
use types::{Chunk, ColumnBuilder, SqlType, Value};

use crate::database::Shared;
use crate::freezing::freeze_behind;

/// The table of `store_rejects = true`.
const TABLE: &str = "reject_errors";
/// Columns of such a table.
const COLUMNS: [(&str, SqlType); 5] = [
    ("file", SqlType::Text),
    ("line", SqlType::BigInt),
    ("column_name", SqlType::Text),
    ("value", SqlType::Text),
    ("message", SqlType::Text),
];

/// What is rejected on behalf of one table.
#[derive(Clone)]
pub(crate) struct Rejects {
    table: String,
    shared: Arc<Shared>,
    collected: Arc<Mutex<Collected>>,
}

struct Collected {
    rows: BTreeMap<(String, u64), RejectedRow>,
    charged: Reservation,
    /// Why not all could be collected.
    error: Option<Error>,
}

impl fmt::Debug for Rejects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rejects({})", self.table)
    }
}

/// Takes the options that are about rejects: the name of their table, if rejects are wanted.
pub(crate) fn take_options(options: &mut Vec<(String, String)>) -> Result<Option<String>> {
    let take = |options: &mut Vec<(String, String)>, name: &str| {
        let at = options.iter().position(|(n, _)| n == name);
        at.map(|at| options.remove(at).1)
    };
    let invalid = |message: String| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
    let table = take(options, "rejects_table");
    let store = match take(options, "store_rejects").map(|v| v.to_ascii_lowercase()).as_deref() {
        None => table.is_some(),
        Some("true" | "on" | "1" | "yes") => true,
        Some("false" | "off" | "0" | "no") if table.is_none() => false,
        Some(other) => return Err(invalid(format!("invalid value for option \"store_rejects\": \"{other}\""))),
    };
    if !store {
        return Ok(None);
    }
    let stops = |(name, value): &(String, String)| name == "on_error" && value.eq_ignore_ascii_case("stop");
    if options.iter().any(stops) {
        return Err(invalid("a table of rejects requires ON_ERROR ignore".to_owned()));
    }
    match table.unwrap_or_else(|| TABLE.to_owned()) {
        name if name.is_empty() => Err(invalid("invalid value for option \"rejects_table\": \"\"".to_owned())),
        name => Ok(Some(name)),
    }
}

impl Rejects {
    /// Rejects for a table, which must have the right columns if it exists.
    pub fn new(shared: &Arc<Shared>, table: String) -> Result<Self> {
        existing(shared, &table)?;
        let charged = shared.budget.reserve(0, "rejected records")?;
        let collected = Collected { rows: BTreeMap::new(), charged, error: None };
        Ok(Self { table, shared: shared.clone(), collected: Arc::new(Mutex::new(collected)) })
    }

    pub fn table(&self) -> &str {
        &self.table
    }

    /// Who is told of rejected records.
    pub fn sink(&self) -> RejectSink {
        // Not all of `self`: a source must not keep the database alive.
        let collected = self.collected.clone();
        Arc::new(move |row| collected.lock().unwrap_or_else(PoisonError::into_inner).add(row))
    }

    /// Appends what was rejected to the table, which is created if it is missing.
    pub fn write(&self) -> Result<()> {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = collected.error.take() {
            return Err(error);
        }
        let rows = std::mem::take(&mut collected.rows);
        let relation = match existing(&self.shared, &self.table)? {
            Some(relation) => relation,
            None => create(&self.shared, &self.table)?,
        };
        if !rows.is_empty() {
            let append = relation.append(&self.shared.budget);
            append.append(0, 0, chunk(rows.into_values()))?;
            append.commit()?;
            freeze_behind(&self.shared, &relation);
        }
        collected.charged.resize(0)
    }
}

impl Collected {
    fn add(&mut self, row: RejectedRow) {
        if self.error.is_some() {
            return;
        }
        let Entry::Vacant(entry) = self.rows.entry((row.file.clone(), row.line)) else { return };
        let bytes = 2 * row.file.len() + row.value.len() + row.message.len() + 256;
        match self.charged.resize(self.charged.bytes() + bytes) {
            Ok(()) => drop(entry.insert(row)),
            Err(error) => {
                self.rows.clear();
                self.error = Some(error);
            }
        }
    }
}

/// The table of rejects, if there is one; an error if it is something else.
fn existing(shared: &Shared, name: &str) -> Result<Option<Arc<Relation>>> {
    let catalog = shared.catalog.snapshot();
    match catalog.find(None, name) {
        None => Ok(None),
        Some(TableEntry::View(_)) => {
            Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is a view: rejects need a table")))
        }
        Some(TableEntry::Table(table)) => {
            let relation = &table.relation;
            let types = relation.schema().attributes().iter().map(|a| a.sql_type);
            if types.eq(COLUMNS.map(|(_, t)| t)) {
                return Ok(Some(relation.clone()));
            }
            let columns = COLUMNS.map(|(name, t)| format!("{name} {t}")).join(", ");
            Err(Error::new(SqlState::DATATYPE_MISMATCH, format!("table \"{name}\" is no table of rejects"))
                .hint(format!("its columns must be ({columns})")))
        }
    }
}

fn create(shared: &Shared, name: &str) -> Result<Arc<Relation>> {
    let attribute = |(name, sql_type): (&str, SqlType)| Attribute::new(name, sql_type, false);
    let schema = Schema::new(COLUMNS.map(attribute).into(), Vec::new());
    let relation = Relation::of_database(name.to_owned(), schema, Distribution::Local, &shared.budget, &shared.clock)?;
    shared.catalog.create(None, name, TableEntry::Table(Arc::new(Table::new(relation.clone()))), IfExists::Skip)?;
    // Another session may have been faster.
    Ok(existing(shared, name)?.unwrap_or(relation))
}

fn chunk(rows: impl ExactSizeIterator<Item = RejectedRow>) -> Chunk {
    let count = rows.len();
    let mut builders = COLUMNS.map(|(_, sql_type)| ColumnBuilder::new(sql_type, count));
    for row in rows {
        let values = [
            Value::str(row.file),
            Value::Int(i64::try_from(row.line).unwrap_or(i64::MAX)),
            row.column.map_or(Value::Null, Value::str),
            Value::str(row.value),
            Value::str(row.message),
        ];
        builders.iter_mut().zip(values).for_each(|(builder, value)| builder.push_value(&value));
    }
    Chunk::new(count, builders.into_iter().map(ColumnBuilder::finish).collect())
}
