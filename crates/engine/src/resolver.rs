//! What names in FROM mean: tables and views of the catalog, data frames, files.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base::{Error, Result, SqlState};
use catalog::{DEFAULT_SCHEMA, Domain, Field, Name, Routine, SequenceEntry, TEMPORARY_SCHEMA, TableEntry, UserType};
use functions::Sequence;
use io::FileSource;
use plan::Expr;
use sql::{ComputedColumn, DomainColumn, ObjectName, Resolved, Table};
use storage::transaction::View;
use storage::{Relation, Snapshot};
use types::ops::date::{DateOrder, Zone};
use types::{SqlType, Value};

use crate::QueryResult;
use crate::database::Shared;
use crate::environment::{Environment, placed};
use crate::execute;
use crate::files;
use crate::rejects::{self, Rejects};
use crate::routine_rows::{RoutineRows, Unknown};
use crate::series::SeriesSource;
use crate::settings::Setting;
use crate::source::Source;
use crate::statement::result_columns;
use crate::storage_info::storage_info;
use crate::transaction::next_number;
use crate::views;

/// Resolves against one moment's catalog: all tables that a statement names are of the same moment.
pub(crate) struct Resolver<'a> {
    environment: &'a Environment,
    /// A data frame that only this statement sees.
    frame: Option<(String, Arc<dyn FileSource>)>,
    catalog: Arc<catalog::CatalogSnapshot>,
    /// What it sees, if it is in no transaction.
    view: OnceCell<View>,
    /// The number of the transaction that a statement is by itself.
    transaction: OnceCell<i64>,
    now: i64,
    /// Whether somebody asked for the time.
    asked_now: Cell<bool>,
    /// Whether somebody asked who the session is, or the session has definitions of its own.
    is_of_session: Cell<bool>,
    /// Of the files that were opened so far.
    rejects: RefCell<Vec<Rejects>>,
    /// What names mean in a statement of a procedure.
    variables: Option<Variables<'a>>,
    /// Where names without a schema are looked for now, if that is not the default schema.
    path: RefCell<Option<Vec<String>>>,
}

/// The number and type of the variable that the parts of a name mean.
type Variables<'a> = &'a dyn Fn(&[String]) -> Result<Option<(usize, SqlType)>>;

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
            transaction: OnceCell::new(),
            now,
            asked_now: Cell::new(false),
            is_of_session: Cell::new(is_of_session),
            rejects: RefCell::default(),
            variables: None,
            path: RefCell::new(environment.settings.search_path()),
        }
    }

    /// Names may mean variables.
    pub fn seeing(self, variables: Variables<'a>) -> Self {
        Self { variables: Some(variables), ..self }
    }

    /// Whether somebody asked for the time.
    pub fn has_asked_now(&self) -> bool {
        self.asked_now.get()
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
        let snapshot = match &self.environment.block {
            Some(block) => block.snapshot(relation),
            None => relation.snapshot_of(self.view.get_or_init(|| self.shared().clock.view()).clone()),
        };
        snapshot.with_indexes(self.environment.settings.indexes())
    }

    /// The data frame of that name: the statement's, the session's, the database's.
    fn frame(&self, name: &str) -> Option<Arc<dyn FileSource>> {
        let own = self.frame.as_ref().filter(|(n, _)| n == name).map(|(_, f)| f);
        own.or_else(|| self.environment.frames.get(name)).cloned().or_else(|| self.shared().frame(name))
    }

    /// Whether no schema of the search path has that name.
    fn is_nowhere(&self, name: &ObjectName) -> bool {
        let path = self.path.borrow();
        let (None, Some(path)) = (&name.schema, path.as_ref()) else { return false };
        self.catalog.schema_with(path, &name.name).is_none()
    }

    /// The session's own types come first, as its own tables do.
    fn placed_type(&self, name: &ObjectName) -> ObjectName {
        match self.path.borrow().as_deref() {
            Some(path) if name.schema.is_none() => {
                let schema = self.catalog.schema_with(path, &name.name).unwrap_or_default();
                ObjectName { schema: Some(schema.to_owned()), ..name.clone() }
            }
            _ => name.clone(),
        }
    }

    /// The columns of a table that are of a domain.
    fn domains_of(&self, table: &catalog::Table) -> Vec<DomainColumn> {
        let columns =
            table.domains.iter().enumerate().filter_map(|(attribute, name)| Some((attribute, name.as_ref()?)));
        let known = columns.filter_map(|(attribute, (schema, name))| {
            let (name, domain) = self.catalog.domain(Some(schema), name)?;
            Some(DomainColumn { attribute, name: name.clone(), domain: domain.clone() })
        });
        known.collect()
    }

    fn kin(&self, schema: Option<&str>, name: &str) -> Option<Box<sql::Kin>> {
        let children = self.catalog.children(schema, name);
        let own = self.catalog.kinship(schema, name);
        if children.is_empty() && own.is_none() {
            return None;
        }
        let named = |(schema, name)| ObjectName { schema: Some(schema), name, position: None };
        let condition = self.catalog.partition_condition(schema, name);
        let children = children.into_iter().map(named).collect();
        Some(Box::new(sql::Kin { own: own.cloned().unwrap_or_default(), children, condition }))
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
    fn has_kin(&self) -> bool {
        self.catalog.has_kin()
    }

    fn table(&self, name: &ObjectName) -> Result<Resolved> {
        let (written, name) = (name, &self.placed(name));
        let schema = name.schema.as_deref();
        let found = match self.is_nowhere(written) {
            true => Err(undefined(written)),
            false => self.catalog.lookup(schema, &name.name),
        };
        // What is of the system, or a data frame, has no schema.
        let (name, schema) = if found.is_err() { (written, written.schema.as_deref()) } else { (name, schema) };
        let entry = match found {
            Ok(entry) => entry,
            Err(error) => {
                let placed = self.placed(name);
                if !self.is_nowhere(name)
                    && let Ok(found) = self.catalog.sequence(placed.schema.as_deref(), &name.name)
                {
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
                Resolved::View {
                    sql: view.sql.clone(),
                    columns,
                    path: view.path.clone(),
                    triggers: view.triggers.clone(),
                    check_option: view.check_option,
                }
            }
            TableEntry::Table(table) => {
                let snapshot = self.snapshot(&table.relation);
                if !snapshot.is_whole() {
                    return Err(later(name));
                }
                Resolved::Table(Table {
                    name: name.name.clone(),
                    fields: entry.fields(),
                    computed: computed_columns(table),
                    fillings: table.fillings.clone(),
                    foreign_keys: table.foreign_keys.clone(),
                    checks: table.checks.clone(),
                    domains: self.domains_of(table),
                    collations: collations_of(table),
                    triggers: self.catalog.triggers_of(schema, &name.name),
                    view: None,
                    kin: self.kin(schema, &name.name),
                    definition: table.definition.clone(),
                    statistics: Arc::new(snapshot.clone()),
                    source: Source::Stored(snapshot, table.relation.clone()).into_handle(),
                })
            }
        })
    }

    fn sequence(&self, name: &ObjectName) -> Result<Arc<Sequence>> {
        if self.is_nowhere(name) {
            return Err(undefined(name));
        }
        let name = self.placed(name);
        self.catalog.sequence(name.schema.as_deref(), &name.name).map(|entry| entry.sequence.clone())
    }

    fn sequence_of(&self, table: &ObjectName, column: &str) -> Option<String> {
        let table = &self.placed(table);
        let schema = match table.schema.as_deref() {
            None if self.is_temporary(table) => catalog::TEMPORARY_SCHEMA,
            schema => catalog::canonical(schema),
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

    fn referencing(&self, table: &ObjectName) -> Vec<ObjectName> {
        let schema = self.catalog.schema_of(table.schema.as_deref(), &table.name);
        let of = |(schema, name, _): &(&str, &str, &catalog::ForeignKey)| ObjectName {
            schema: Some((*schema).to_owned()),
            name: (*name).to_owned(),
            position: None,
        };
        self.catalog.references_to(schema, &table.name).iter().map(of).collect()
    }

    fn is_taken(&self, name: &ObjectName) -> bool {
        let name = self.placed(name);
        self.catalog.is_taken(name.schema.as_deref(), &name.name)
    }

    fn user_type(&self, name: &ObjectName) -> Option<UserType> {
        let name = self.placed_type(name);
        self.catalog.user_type(name.schema.as_deref(), &name.name).copied()
    }

    fn number_of(&self, name: &ObjectName) -> Option<i64> {
        let name = self.placed(name);
        views::number_of(&self.catalog, name.schema.as_deref(), &name.name)
    }

    fn collation(&self, name: &ObjectName) -> Option<Arc<types::Collation>> {
        let found = match self.path.borrow().as_deref() {
            Some(path) if name.schema.is_none() => {
                path.iter().find_map(|schema| self.catalog.collation(Some(schema), &name.name))
            }
            _ => self.catalog.collation(name.schema.as_deref(), &name.name),
        };
        found.cloned()
    }

    fn domain(&self, name: &ObjectName) -> Option<(Name, Arc<Domain>)> {
        let name = self.placed_type(name);
        let found = self.catalog.domain(name.schema.as_deref(), &name.name);
        found.map(|(name, domain)| (name.clone(), domain.clone()))
    }

    fn columns_of_domain(&self, domain: &Name) -> Vec<(String, String, String)> {
        self.catalog.columns_of_domain(domain)
    }

    fn registered(&self, kind: sql::Registered) -> Vec<(i64, String)> {
        let path = self.schemas_of_path();
        views::registered(self.environment, &self.catalog, kind, &|schema| {
            matches!(schema, "pg_catalog" | TEMPORARY_SCHEMA) || path.iter().any(|seen| seen == schema)
        })
    }

    fn number_of_type(&self, of: SqlType) -> i64 {
        views::number_of_type(of)
    }

    fn transaction_number(&self) -> i64 {
        let own = || *self.transaction.get_or_init(next_number);
        self.environment.block.as_ref().map_or_else(own, |block| block.number())
    }

    fn nulls_first(&self, descending: bool) -> bool {
        self.environment.settings.nulls_first(descending)
    }

    fn is_within_routine(&self) -> bool {
        self.environment.calls > 0
    }

    fn columns_within_domain(&self, domain: &Name) -> Vec<(String, String, String)> {
        self.catalog.columns_within_domain(domain)
    }

    fn placed(&self, name: &ObjectName) -> ObjectName {
        if self.is_temporary(name) {
            return ObjectName { schema: Some(catalog::TEMPORARY_SCHEMA.to_owned()), ..name.clone() };
        }
        placed(&self.catalog, self.path.borrow().as_deref(), name)
    }

    fn new_name(&self, name: ObjectName) -> Result<ObjectName> {
        let path = self.path.borrow();
        let (None, Some(path)) = (&name.schema, path.as_ref()) else { return Ok(name) };
        match self.catalog.existing(path).next() {
            Some(schema) => Ok(ObjectName { schema: Some(schema.to_owned()), ..name }),
            None => Err(Error::new(SqlState("3F000"), "no schema has been selected to create in").at(name.position)),
        }
    }

    fn search_path(&self) -> Option<Vec<String>> {
        self.path.borrow().clone()
    }

    fn schemas_of_path(&self) -> Vec<String> {
        match self.path.borrow().as_ref() {
            None => vec![DEFAULT_SCHEMA.to_owned()],
            Some(path) => self.catalog.existing(path).map(str::to_owned).collect(),
        }
    }

    fn set_search_path(&self, path: Option<Vec<String>>) -> Option<Vec<String>> {
        self.path.replace(path)
    }

    fn setting(&self, name: &str) -> Option<String> {
        // It is asked each time, as the time is.
        self.is_of_session.set(true);
        self.asked_now.set(true);
        let own = Setting::named(name).map(|setting| self.environment.value_of(setting));
        own.or_else(|| self.environment.told.get(name))
    }

    fn session_variable(&self, name: &str) -> Option<(Value, SqlType)> {
        self.is_of_session.set(true);
        self.asked_now.set(true);
        self.environment.variables.get(name).cloned()
    }

    fn session(&self) -> i64 {
        self.is_of_session.set(true);
        self.environment.sequences.number()
    }

    fn trigger_depth(&self) -> i64 {
        // As with the time, it is asked each time.
        self.asked_now.set(true);
        self.environment.trigger_depth as i64
    }

    fn storage_info(&self, table: &ObjectName) -> Result<Table> {
        let table = &self.placed(table);
        match self.catalog.lookup(table.schema.as_deref(), &table.name)? {
            TableEntry::Table(of) => {
                let info: Arc<dyn FileSource> = {
                    let is_machine = self.shared().scheduler.placement().topology().is_machine();
                    storage_info(&self.snapshot(&of.relation), is_machine)
                };
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

    fn file_functions(&self) -> &'static [&'static str] {
        &io::FUNCTIONS
    }

    fn first_column(&self, plan: plan::Plan) -> Result<Vec<Value>> {
        self.asked_now.set(true);
        let cancel = self.environment.call.token();
        let plan = execute::optimize(self.environment, plan)?;
        let running = execute::start(self.environment, &plan, false, cancel)?;
        let chunks = QueryResult::running(result_columns(&plan), running).collect()?;
        Ok(chunks.iter().flat_map(|chunk| (0..chunk.rows()).map(|row| chunk.column(0).value(row))).collect())
    }

    fn file(&self, function: &str, paths: &[String], options: &[(String, Value)]) -> Result<Table> {
        let mut options = files::texts(options);
        let mut context = self.environment.outside()?;
        if matches!(function, "read_csv" | "read_csv_auto")
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

    fn escapes_strings(&self) -> bool {
        self.environment.told.escapes_strings()
    }

    fn moment(&self) -> i64 {
        self.now
    }

    fn date_order(&self) -> DateOrder {
        self.environment.settings.date_order()
    }

    fn time_zone(&self) -> Zone {
        self.environment.settings.time_zone()
    }

    fn parameters_of(&self, prepared: &str) -> Option<(Vec<SqlType>, Vec<String>)> {
        let named = |prepared: &Arc<crate::PreparedStatement>| {
            (prepared.parameter_types().to_vec(), prepared.parsed().parameter_names().to_vec())
        };
        self.environment.prepared.get(prepared).map(named)
    }

    fn variable(&self, name: &[String]) -> Result<Option<(usize, SqlType)>> {
        self.variables.map_or(Ok(None), |find| find(name))
    }

    fn routines(&self, schema: Option<&str>, name: &str) -> Vec<Arc<Routine>> {
        if !self.catalog.has_routines() {
            return Vec::new();
        }
        let named = |schema: Option<&str>| self.catalog.routines_named(schema, name).to_vec();
        let own = if schema.is_none() { named(Some(TEMPORARY_SCHEMA)) } else { Vec::new() };
        if !own.is_empty() {
            return own;
        }
        match (schema, &*self.path.borrow()) {
            (None, Some(path)) => {
                path.iter().map(|schema| named(Some(schema))).find(|found| !found.is_empty()).unwrap_or_default()
            }
            _ => named(schema),
        }
    }

    fn routine_rows(&self, routine: &Arc<Routine>, arguments: Vec<Expr>, columns: Vec<Field>) -> Result<Table> {
        let rows = RoutineRows { routine: routine.clone(), arguments };
        Ok(rows_to_come(routine.name.clone(), columns, Source::Routine(Arc::new(rows))))
    }

    fn rows_of_part(&self, number: usize, fields: Vec<Field>) -> Result<Table> {
        Ok(rows_to_come("with".to_owned(), fields, Source::Part(number)))
    }

    fn table_names(&self) -> Vec<String> {
        self.catalog.entries().map(|(_, name, _)| name.to_string()).collect()
    }
}

/// The columns of a table that have a collation.
fn collations_of(table: &catalog::Table) -> Vec<(usize, Arc<types::Collation>)> {
    let columns = table.relation.schema().columns().iter().enumerate();
    columns.filter_map(|(at, column)| Some((at, column.collation.clone()?))).collect()
}

/// A table whose rows are not there yet.
fn rows_to_come(name: String, fields: Vec<Field>, source: Source) -> Table {
    Table {
        domains: Vec::new(),
        collations: Vec::new(),
        name,
        fields,
        computed: Vec::new(),
        fillings: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        triggers: Vec::new(),
        view: None,
        kin: None,
        definition: None,
        statistics: Arc::new(Unknown),
        source: source.into_handle(),
    }
}

#[cold]
fn undefined(name: &ObjectName) -> Error {
    Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
}

#[cold]
fn later(name: &ObjectName) -> Error {
    let message = "could not serialize access due to concurrent definitions";
    Error::new(SqlState::SERIALIZATION_FAILURE, message)
        .detail(format!("\"{name}\" was altered by a transaction that has committed since this one began."))
        .hint("the transaction might succeed if it is tried again")
}

/// What indexes of a table compute of its columns.
fn computed_columns(table: &catalog::Table) -> Vec<ComputedColumn> {
    let attributes = &table.relation.schema().attributes()[table.fillings.len()..];
    let column = |(of, computed): (&storage::Attribute, &catalog::Computed)| ComputedColumn {
        field: Field::of(of),
        sql: computed.sql.clone(),
    };
    attributes.iter().zip(&table.computed).map(column).collect()
}
