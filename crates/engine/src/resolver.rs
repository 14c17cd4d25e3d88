//! What names in FROM mean: tables and views of the catalog, data frames, files.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base::{Error, Result, SqlState};
use catalog::{SequenceEntry, TableEntry};
use functions::Sequence;
use io::FileSource;
use sql::{ObjectName, Resolved, Table};
use storage::transaction::View;
use storage::{Relation, Snapshot};
use types::ops::date::Zone;
use types::{SqlType, Value};

use crate::database::Shared;
use crate::environment::Environment;
use crate::files;
use crate::rejects::{self, Rejects};
use crate::series::SeriesSource;
use crate::source::Source;
use crate::storage_info::storage_info;
use crate::views;

/// Resolves against one moment's catalog: all tables that a statement names are of the same moment.
pub(crate) struct Resolver<'a> {
    environment: &'a Environment,
    /// A data frame that only this statement sees.
    frame: Option<(String, Arc<dyn FileSource>)>,
    catalog: Arc<catalog::CatalogSnapshot>,
    /// What it sees, if it is in no transaction.
    view: OnceCell<View>,
    now: i64,
    /// Whether somebody asked for the time.
    asked_now: Cell<bool>,
    /// Whether somebody asked who the session is, or the session has definitions of its own.
    is_of_session: Cell<bool>,
    /// Of the files that were opened so far.
    rejects: RefCell<Vec<Rejects>>,
}

impl<'a> Resolver<'a> {
    pub fn new(environment: &'a Environment) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64);
        let catalog = environment.catalog();
        let is_of_session = !environment.temporary.snapshot().is_empty();
        Self {
            environment,
            frame: None,
            catalog,
            view: OnceCell::new(),
            now,
            asked_now: Cell::new(false),
            is_of_session: Cell::new(is_of_session),
            rejects: RefCell::default(),
        }
    }

    /// Adds a data frame.
    pub fn with_frame(self, name: String, frame: Arc<dyn FileSource>) -> Self {
        Self { frame: Some((name, frame)), ..self }
    }

    /// What the statement was bound against, if the same text will be bound alike as long as that is the catalog.
    pub fn lasting(&self) -> Option<&Arc<catalog::CatalogSnapshot>> {
        (!self.asked_now.get() && !self.is_of_session.get()).then_some(&self.catalog)
    }

    fn shared(&self) -> &'a Arc<Shared> {
        &self.environment.database.0
    }

    /// The rows of a table: of all tables as of the same moment.
    fn snapshot(&self, relation: &Arc<Relation>) -> Snapshot {
        match &self.environment.block {
            Some(block) => block.snapshot(relation),
            None => relation.snapshot_of(self.view.get_or_init(|| self.shared().clock.view()).clone()),
        }
    }

    /// The data frame of that name: the statement's, the session's, the database's.
    fn frame(&self, name: &str) -> Option<Arc<dyn FileSource>> {
        let own = self.frame.as_ref().filter(|(n, _)| n == name).map(|(_, f)| f);
        own.or_else(|| self.environment.frames.get(name)).cloned().or_else(|| self.shared().frame(name))
    }

    /// Where bad records of the statement's files go once it has succeeded.
    pub fn into_rejects(self) -> Vec<Rejects> {
        self.rejects.into_inner()
    }

    /// The rejects of a table: one for all files of the statement.
    fn rejects(&self, table: String) -> Result<Rejects> {
        let mut all = self.rejects.borrow_mut();
        if let Some(known) = all.iter().find(|r| r.table() == table) {
            return Ok(known.clone());
        }
        let new = Rejects::new(self.shared(), table)?;
        all.push(new.clone());
        Ok(new)
    }
}

impl sql::Resolver for Resolver<'_> {
    fn table(&self, name: &ObjectName) -> Result<Resolved> {
        let schema = name.schema.as_deref();
        let entry = match self.catalog.lookup(schema, &name.name) {
            Ok(entry) => entry,
            Err(error) => {
                if let Ok(found) = self.catalog.sequence(schema, &name.name) {
                    let table: Arc<dyn FileSource> = views::sequence(&found.sequence);
                    self.is_of_session.set(true);
                    return Ok(Resolved::Table(files::table(&name.name, table, &self.shared().samples)));
                }
                if let Some(table) = views::system_table(self.environment, &self.catalog, schema, &name.name) {
                    let table: Arc<dyn FileSource> = table;
                    return Ok(Resolved::Table(files::table(&name.name, table, &self.shared().samples)));
                }
                // A schema that does not exist has no such table, like any other.
                let error = match schema {
                    Some(_) if error.state() != SqlState::UNDEFINED_TABLE => {
                        Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
                            .detail(error.message().to_owned())
                    }
                    _ => error,
                };
                let frame = schema.is_none().then(|| self.frame(&name.name)).flatten();
                return frame
                    .map(|f| Resolved::Table(files::table(&name.name, f, &self.shared().samples)))
                    .ok_or(error);
            }
        };
        Ok(match entry {
            TableEntry::View(view) => {
                let columns = view.columns.iter().map(|c| c.name.clone()).collect();
                Resolved::View { sql: view.sql.clone(), columns }
            }
            TableEntry::Table(table) => {
                let snapshot = self.snapshot(&table.relation);
                if !snapshot.is_whole() {
                    return Err(later(name));
                }
                Resolved::Table(Table {
                    name: name.name.clone(),
                    fields: entry.fields(),
                    fillings: table.fillings.clone(),
                    foreign_keys: table.foreign_keys.clone(),
                    checks: table.checks.clone(),
                    statistics: Arc::new(snapshot.clone()),
                    source: Source::Stored(snapshot, table.relation.clone()).into_handle(),
                })
            }
        })
    }

    fn sequence(&self, name: &ObjectName) -> Result<Arc<Sequence>> {
        self.catalog.sequence(name.schema.as_deref(), &name.name).map(|entry| entry.sequence.clone())
    }

    fn sequence_of(&self, table: &ObjectName, column: &str) -> Option<String> {
        let schema = match table.schema.as_deref() {
            None if self.is_temporary(table) => catalog::TEMPORARY_SCHEMA,
            None | Some("public") => catalog::DEFAULT_SCHEMA,
            Some(schema) => schema,
        };
        let is_owned = |entry: &&SequenceEntry| {
            let owner = entry.owner.as_ref();
            owner.is_some_and(|o| o.schema == schema && o.table == table.name && o.column == column)
        };
        self.catalog.sequences().map(|(_, _, entry)| entry).find(is_owned).map(|entry| entry.sequence.name())
    }

    fn is_temporary(&self, name: &ObjectName) -> bool {
        self.catalog.is_temporary(name.schema.as_deref(), &name.name)
    }

    fn is_taken(&self, name: &ObjectName) -> bool {
        self.catalog.is_taken(name.schema.as_deref(), &name.name)
    }

    fn session(&self) -> i64 {
        self.is_of_session.set(true);
        self.environment.sequences.number()
    }

    fn storage_info(&self, table: &ObjectName) -> Result<Table> {
        match self.catalog.lookup(table.schema.as_deref(), &table.name)? {
            TableEntry::Table(of) => {
                let info: Arc<dyn FileSource> = storage_info(&self.snapshot(&of.relation));
                Ok(files::table("storage_info", info, &self.shared().samples))
            }
            TableEntry::View(_) => {
                let message = format!("\"{}\" is a view", table.name);
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                    .hint("storage_info shows how tables lie in memory"))
            }
        }
    }

    fn view_function(&self, function: &str) -> Option<Table> {
        let view: Arc<dyn FileSource> = views::view(self.environment, function)?;
        Some(files::table(function, view, &self.shared().samples))
    }

    fn view_functions(&self) -> Vec<&'static str> {
        views::names().collect()
    }

    fn series(&self, series: sql::Series) -> Result<Table> {
        let name = series.function.clone();
        Ok(files::table(&name, Arc::new(SeriesSource::new(series)?), &self.shared().samples))
    }

    fn file(&self, function: &str, paths: &[String], options: &[(String, Value)]) -> Result<Table> {
        let mut options = files::texts(options);
        let mut context = self.environment.outside()?;
        if function == "read_csv"
            && let Some(table) = rejects::take_options(&mut options)?
        {
            context.rejects = Some(self.rejects(table)?.sink());
        }
        let file = io::open(function, paths, &options, context)?;
        let stem = paths.first().and_then(|p| std::path::Path::new(p).file_name()).and_then(|n| n.to_str());
        let name = stem.and_then(|n| n.split('.').next()).unwrap_or("file");
        Ok(files::table(name, file, &self.shared().samples))
    }

    fn now(&self) -> i64 {
        self.asked_now.set(true);
        self.now
    }

    fn time_zone(&self) -> Zone {
        self.environment.settings.time_zone()
    }

    fn parameters_of(&self, prepared: &str) -> Option<Vec<SqlType>> {
        self.environment.prepared.get(prepared).map(|prepared| prepared.parameter_types().to_vec())
    }

    fn table_names(&self) -> Vec<String> {
        self.catalog.entries().map(|(_, name, _)| name.to_string()).collect()
    }
}

#[cold]
fn later(name: &ObjectName) -> Error {
    let message = "could not serialize access due to concurrent definitions";
    Error::new(SqlState::SERIALIZATION_FAILURE, message)
        .detail(format!("\"{name}\" was altered by a transaction that has committed since this one began."))
        .hint("the transaction might succeed if it is tried again")
}
