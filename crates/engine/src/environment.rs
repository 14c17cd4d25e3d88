//! What a statement gets: the database, the session's settings and data frames, and the call that it belongs to.
//!
//! Statements see nothing else of the session that runs them. What is outside of the database is opened here or not at
//! all: [`Environment::outside`] is the one door.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use base::helpers::{Helpers, PieceStep};
use base::memory::Reservation;
use base::statement::Working;
use base::{Budget, Error, Result, SqlState, statement};
use catalog::{Catalog, CatalogSnapshot, TEMPORARY_SCHEMA, TableEntry};
use functions::SequenceSession;
use io::{Access, FileSource, OpenContext};
use scheduler::{JobHandle, JobOptions, JobSpec, Observer, Pipeline};
use sql::ObjectName;
use types::{SqlType, Value};

use crate::activity::{Open, Statement};
use crate::call::Call;
use crate::control::ConcurrencyControl;
use crate::cursor::Cursor;
use crate::foreground::panicked;
use crate::kept::known::KnownTexts;
use crate::notices::Notices;
use crate::pieces::each_piece;
use crate::settings::{Kind, SETTINGS, Setting, Settings, Told, parse_memory};
use crate::together::Together;
use crate::trace::{Recorder, Trace};
use crate::transaction::{Block, Local};
use crate::{Database, PreparedStatement, database};

/// How long a server may take if nothing limits it.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes that parsing and planning take for each byte of text, at most: VALUES of short numbers.
const PLANNING: usize = 256;

/// The stage of workers that help to look at a file.
const LOOK: &str = "look at a file";

/// The environment of a statement.
#[derive(Clone)]
pub(crate) struct Environment {
    pub database: Database,
    pub settings: Settings,
    /// Data frames of the host language that only this session sees, by name.
    pub frames: HashMap<String, Arc<dyn FileSource>>,
    /// The session's prepared statements, by name.
    pub prepared: BTreeMap<String, Arc<PreparedStatement>>,
    /// The session's cursors, by name; some may be of transactions that have ended.
    pub cursors: BTreeMap<String, Cursor>,
    /// Of the statement that runs, or has run last.
    pub call: Call,
    /// The number of the session; 0 of none.
    pub session: u64,
    /// What only the session sees.
    pub temporary: Arc<Catalog>,
    /// The session as sequences know it.
    pub sequences: Arc<SequenceSession>,
    /// The statement that runs, or has run last, as others see it.
    pub statement: Arc<Statement>,
    /// Where its statements are recorded.
    pub trace: Option<Arc<Trace>>,
    /// The transaction that it is in, or that its statement is.
    pub block: Option<Arc<Block>>,
    /// Results of the session that are open.
    pub open: Arc<AtomicUsize>,
    /// What its statements tell besides.
    pub notices: Notices,
    /// What SET VARIABLE has set.
    pub variables: HashMap<String, (Value, SqlType)>,
    /// What it has said of settings that mean nothing here.
    pub told: Told,
    /// Functions and procedures that the session has run, by number.
    pub programs: HashMap<i64, Arc<dyn Any + Send + Sync>>,
    /// How many of them run, one within another.
    pub calls: usize,
    /// How many of these are triggers' functions.
    pub trigger_depth: usize,
    /// What keys have done to other rows, as long as others are still looked after.
    pub left: Option<crate::aftermath::Left>,
    /// CALLs with parameters that it has run ([`KnownCall`](crate::kept::calls::KnownCall)), by their texts.
    pub known_calls: HashMap<String, Arc<dyn Any + Send + Sync>>,
    /// Other texts that it has run lately.
    pub texts: KnownTexts,
    /// The data that come with the statement, if it is a COPY FROM STDIN.
    pub given: Option<Arc<str>>,
}

impl Environment {
    /// What a statement comes to. A panic becomes an error, and the session goes on: in the transaction that it was in before, if it
    /// was in one, which has failed.
    pub fn caught<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let (block, calls, trigger_depth) = (self.block.clone(), self.calls, self.trigger_depth);
        let result = base::panics::catch(|| run(self)).unwrap_or_else(|panic| {
            (self.block, self.calls, self.trigger_depth, self.given) = (block, calls, trigger_depth, None);
            self.left = None;
            self.block.iter().for_each(|block| block.fail());
            Err(panicked(&panic))
        });
        result.map_err(|error| self.named(error))
    }

    /// The error with the names of the table that it is about, which storage knows by its number only.
    pub fn named(&self, error: Error) -> Error {
        let Some(number) = error.relation() else { return error };
        let catalog = self.catalog();
        let found = catalog.entries().find_map(|(schema, table, entry)| match entry {
            TableEntry::Table(of) if of.relation.number() == number => Some((schema, table, of)),
            _ => None,
        });
        match found {
            Some((schema, table, of)) => error.called(schema, table, of.relation.name()),
            None => error,
        }
    }

    /// A session's first.
    pub fn new(database: Database) -> Self {
        let settings = database.0.session_settings.clone();
        let statement = Statement::none();
        let trace = database.0.first_trace.get().cloned();
        let (frames, prepared, sequences) = (HashMap::new(), BTreeMap::new(), Arc::default());
        let (call, open, temporary) = (Call::default(), Arc::default(), Arc::new(Catalog::temporary()));
        let (session, block, given) = (0, None, None);
        let (notices, programs, known_calls, calls) = (Notices::default(), HashMap::new(), HashMap::new(), 0);
        Self {
            database,
            settings,
            frames,
            prepared,
            cursors: BTreeMap::new(),
            call,
            session,
            temporary,
            sequences,
            statement,
            trace,
            block,
            open,
            notices,
            variables: HashMap::new(),
            told: Told::default(),
            programs,
            known_calls,
            texts: KnownTexts::default(),
            calls,
            left: None,
            trigger_depth: 0,
            given,
        }
    }

    /// All definitions that a statement sees.
    pub fn catalog(&self) -> Arc<CatalogSnapshot> {
        let [shared, own] = self.catalogs();
        if own.is_empty() { shared } else { Arc::new(shared.beside(&own)) }
    }

    /// The definitions that all sessions see, and those of the session, as a statement sees them.
    pub fn catalogs(&self) -> [Arc<CatalogSnapshot>; 2] {
        match self.block.as_ref().and_then(|block| block.definitions()) {
            Some(own) => [own.shared.own.snapshot(), own.temporary.own.snapshot()],
            None => [self.database.0.catalog.snapshot(), self.temporary.snapshot()],
        }
    }

    /// Whether [these](Self::catalogs) are those still.
    pub fn has_catalogs(&self, known: &[Weak<CatalogSnapshot>; 2]) -> bool {
        match self.block.as_ref().and_then(|block| block.definitions()) {
            Some(own) => own.shared.own.is_as(&known[0]) && own.temporary.own.is_as(&known[1]),
            None => self.database.0.catalog.is_as(&known[0]) && self.temporary.is_as(&known[1]),
        }
    }

    /// The catalog in which a schema is, to be changed: that of the transaction, if the session is in one.
    pub fn catalog_of(&self, schema: Option<&str>) -> &Catalog {
        if let Some(block) = &self.block {
            let own = block.change_definitions(&self.database.0.catalog, &self.temporary);
            return if schema == Some(TEMPORARY_SCHEMA) { &own.temporary.own } else { &own.shared.own };
        }
        if schema == Some(TEMPORARY_SCHEMA) { &self.temporary } else { &self.database.0.catalog }
    }

    /// A name with the schema that it is found in, if that is the session's own, or one of its search path.
    pub fn located(&self, name: &ObjectName) -> ObjectName {
        let catalog = self.catalog();
        if catalog.is_temporary(name.schema.as_deref(), &name.name) {
            return ObjectName { schema: Some(TEMPORARY_SCHEMA.to_owned()), ..name.clone() };
        }
        placed(&catalog, self.settings.search_path().as_deref(), name)
    }

    /// A statement is seen by all sessions until what this returns is dropped.
    pub fn show(&mut self, text: Arc<str>) -> Open {
        let open = self.database.0.activity.begin(self.session, text, self.trace.clone());
        self.statement = open.statement().clone();
        open
    }

    /// The statement has given a job to the scheduler; `counts_rows` says whether its rows are rows of a table, not pieces of
    /// a file.
    pub fn runs(&self, job: &JobHandle, counts_rows: bool) {
        self.call.runs(job, counts_rows);
        self.statement.runs(job);
    }

    /// Who sees a job of the statement that has stages of these names, beside or before somebody else.
    pub fn observer<'a>(
        &self,
        stages: impl Iterator<Item = &'a str>,
        other: Option<Arc<dyn Observer>>,
    ) -> Option<Arc<dyn Observer>> {
        let pictured = self.statement.is_pictured().then_some(None);
        let traced = self.trace.clone().map(Some);
        if pictured.is_none() && traced.is_none() {
            return other;
        }
        let stages: Vec<String> = stages.map(str::to_owned).collect();
        let record = |then, trace| {
            let recorder = Arc::new(Recorder::new(trace, self.statement.number, stages.clone(), then));
            self.statement.is_recorded_by(recorder.clone());
            Some(recorder as Arc<dyn Observer>)
        };
        traced.into_iter().chain(pictured).fold(other, record)
    }

    /// Opens or joins the trace in a file.
    pub fn open_trace(&self, path: &str) -> Result<Arc<Trace>> {
        let file = io::open_grown(path, &self.outside()?)?;
        self.database.0.traces.open(file)
    }

    /// Records statements from the next one on in a file, or no more. An error that has ended the trace before is told now.
    fn set_trace(&mut self, setting: &'static Setting, path: Option<String>) -> Result<()> {
        let path = path.filter(|path| !path.is_empty());
        let next = path.as_deref().map(|path| self.open_trace(path)).transpose()?;
        self.settings.put(setting, path);
        let before = std::mem::replace(&mut self.trace, next);
        before.and_then(|trace| trace.error()).map_or(Ok(()), Err)
    }

    /// A statement of a call begins, with its [text](crate::activity::cut), and the time that it may take. All sessions see it until what this returns is dropped.
    pub fn begin_statement(&mut self, call: &Call, text: Arc<str>) -> Result<Open> {
        call.next_statement()?;
        self.call = call.clone();
        let is_limited = self.settings.is_changed("statement_timeout");
        let allowed = if is_limited { self.settings.duration("statement_timeout") } else { None };
        // Beyond what the clock can express, it is as long as one likes.
        if let Some(time) = allowed.and_then(|allowed| Instant::now().checked_add(allowed)) {
            let (ends, token) = (call.downgrade(), call.token());
            call.ends_at(self.database.0.timeouts.at(time, move || ends.time_out(&token))?);
        }
        Ok(self.show(text))
    }

    /// How the scheduler runs what the statement gives it.
    pub fn job_options(&self) -> JobOptions {
        JobOptions {
            weight: self.settings.number("priority"),
            worker_limit: Some(self.settings.number("worker_limit") as usize).filter(|&limit| limit > 0),
            division: self.settings.division(),
            bushy: self.settings.is_on("bushy_parallelism"),
            placement: self.settings.placement(),
            spread: self.settings.spread(),
            cancel: self.call.token(),
            ..JobOptions::default()
        }
    }

    /// A budget for what the statement makes, within the database's.
    pub fn statement_budget(&self) -> Budget {
        let budget = self.database.0.budget.child(self.settings.memory("query_memory_limit"));
        self.statement.charges(&budget);
        budget
    }

    /// This thread works for the statement with that text, which takes room while it is planned.
    pub fn work_on(&self, text: &str) -> Result<(Working, Reservation)> {
        self.work_on_bytes(text.len())
    }

    /// As [`work_on`](Self::work_on), for statements of so many bytes.
    pub fn work_on_bytes(&self, bytes: usize) -> Result<(Working, Reservation)> {
        let budget = self.statement_budget();
        let working = statement::work_for(&budget, &self.call.token());
        let room = budget.reserve(bytes * PLANNING, "planning")?;
        Ok((working, room))
    }

    /// What reading or writing a file needs; error 42501 where files are closed to SQL.
    pub fn outside(&self) -> Result<OpenContext> {
        if self.database.0.is_closed() {
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, "access to files is disabled")
                .hint("enable_external_access is off"));
        }
        Ok(self.helped())
    }

    /// What reading data needs that are there already.
    pub fn helped(&self) -> OpenContext {
        let budget = Some(self.statement_budget());
        let observer = self.observer([LOOK].into_iter(), None);
        let options = JobOptions { observer, ..self.job_options() };
        let workers = Workers { database: self.database.clone(), options };
        let helpers = Some(Arc::new(workers) as Arc<dyn Helpers>);
        let zone = self.settings.time_zone();
        let timeout = self.settings.duration("http_timeout").unwrap_or(A_DAY);
        let remote =
            Some(Access::new(self.database.0.remote.clone(), self.settings.of_s3(), timeout, self.settings.retries()));
        let footers = Some(self.database.0.footers.clone());
        OpenContext { budget, cancel: self.call.token(), helpers, zone, remote, footers, ..OpenContext::default() }
    }

    /// Whether whoever reads has to say so, too, as transactions come in the order in which they began.
    pub fn orders_by_stamps(&self) -> bool {
        self.database.0.control.chosen() == ConcurrencyControl::TimestampOrdering
    }

    /// Those who help with something of that name: the database's workers, beside this thread.
    pub fn helpers(&self, name: &'static str) -> Together {
        let observer = self.observer([name].into_iter(), None);
        Together { name, database: self.database.clone(), options: JobOptions { observer, ..self.job_options() } }
    }

    /// Changes a setting to a checked value, or to its default.
    pub fn set(&mut self, setting: &'static Setting, value: Option<String>) -> Result<()> {
        let shared = &self.database.0;
        if shared.is_locked() {
            return Err(fixed(setting, "the configuration is locked").hint("lock_configuration is on"));
        }
        let on = value.as_deref().unwrap_or(setting.default) == "on";
        match (setting.name, value) {
            ("threads", value) => {
                let threads = value.and_then(|v| v.parse().ok()).unwrap_or_else(scheduler::available_threads);
                shared.scheduler.set_threads(threads)
            }
            ("memory_limit", value) => {
                let bytes = value.as_deref().and_then(parse_memory).unwrap_or_else(database::default_memory);
                shared.budget.set_limit(bytes);
                Ok(())
            }
            ("concurrency_control", value) => {
                let chosen = ConcurrencyControl::ALL.iter().find(|(name, _)| Some(*name) == value.as_deref());
                shared.control.choose(chosen.map_or_else(ConcurrencyControl::default, |(_, control)| *control));
                Ok(())
            }
            ("query_history_size", value) => {
                shared.activity.set_most_ended(value.and_then(|v| v.parse().ok()).unwrap_or(database::HISTORY));
                Ok(())
            }
            ("enable_external_access", _) if on && shared.is_closed() => {
                Err(fixed(setting, "it can be switched off, but not on again"))
            }
            ("enable_external_access", _) if !on => {
                shared.close();
                Ok(())
            }
            ("lock_configuration", _) if on => {
                shared.lock();
                Ok(())
            }
            ("topology", value) if value.as_ref().is_none_or(|value| *value == shared.topology) => Ok(()),
            ("topology", _) => Err(fixed(setting, "it can only be set when the database is opened")),
            // They are as they begin.
            ("enable_external_access" | "lock_configuration", _) => Ok(()),
            ("trace", value) => self.set_trace(setting, value),
            (_, value) => {
                self.settings.put(setting, value);
                Ok(())
            }
        }
    }

    /// A transaction ends, and with it what SET LOCAL has said.
    pub fn unset_local(&mut self, block: &Block) -> Result<()> {
        let Local { settings, told } = block.take_local();
        for (name, before) in told {
            self.told.set(&name, before.as_deref())?;
        }
        settings.into_iter().try_for_each(|(setting, before)| self.set(setting, before))
    }

    /// The session's cursors, without those of transactions that have ended.
    pub fn live_cursors(&mut self) -> &mut BTreeMap<String, Cursor> {
        let block = self.block.as_ref();
        self.cursors.retain(|_, cursor| cursor.is_of(block));
        &mut self.cursors
    }

    /// The session's own settings, as they are.
    pub fn settings_now(&self) -> (Settings, Told) {
        (self.settings.clone(), self.told.clone())
    }

    /// A transaction is rolled back, or to a savepoint: what the session's settings were then. Those of the database stay.
    pub fn restore_settings(&mut self, (settings, told): (Settings, Told)) {
        self.settings.restore(settings);
        self.told = told;
    }

    /// Tells the client something, if it wants to hear that.
    pub fn notify(&self, notice: crate::notices::Notice) {
        let from = self.told.get("client_min_messages");
        if notice.is_heard(from.as_deref().unwrap_or("notice")) {
            self.notices.push(notice);
        }
    }

    /// Changes a setting of that name, for a while: no transaction notes it.
    pub fn set_named(&mut self, name: &str, value: &str) -> Result<()> {
        if Setting::named(name).is_none() && Told::is_known(name) {
            return self.told.set(name, Some(value)).map(drop);
        }
        let setting = Setting::find(name)?;
        let value = setting.check(value)?;
        self.set(setting, Some(value))
    }

    /// Changes all settings to their defaults, but for those that cannot be.
    pub fn reset_all(&mut self) -> Result<()> {
        let closed = self.database.0.is_closed();
        self.told.reset();
        let can_be = |s: &&Setting| !(closed && s.name == "enable_external_access");
        SETTINGS.iter().filter(can_be).try_for_each(|setting| self.set(setting, None))
    }

    /// The value of a setting as text.
    pub fn value_of(&self, setting: &'static Setting) -> String {
        let shared = &self.database.0;
        let switch = |on| if on { "on".to_string() } else { "off".to_string() };
        match setting.name {
            "threads" => shared.scheduler.threads().to_string(),
            "concurrency_control" => {
                let chosen = shared.control.chosen();
                let name = ConcurrencyControl::ALL.iter().find(|(_, control)| *control == chosen);
                name.map_or("", |(name, _)| name).into()
            }
            "query_history_size" => shared.activity.most_ended().to_string(),
            "memory_limit" if shared.budget.limit() == usize::MAX => "none".into(),
            "memory_limit" => format!("{}MiB", shared.budget.limit() >> 20),
            "enable_external_access" => switch(!shared.is_closed()),
            "lock_configuration" => switch(shared.is_locked()),
            "topology" => shared.topology.clone(),
            _ => match (setting.kind, self.settings.get(setting)) {
                (Kind::Secret, secret) if !secret.is_empty() => "***".into(),
                (_, value) => value.to_string(),
            },
        }
    }
}

/// A name with the schema of a search path in which it is found; as it is if it has one, or there is no path but the default one.
pub(crate) fn placed(catalog: &CatalogSnapshot, path: Option<&[String]>, name: &ObjectName) -> ObjectName {
    let (None, Some(path)) = (&name.schema, path) else { return name.clone() };
    // What is nowhere is not in the default schema either, unless that is in the path.
    let found = catalog.schema_with(path, &name.name).or_else(|| catalog.existing(path).next()).unwrap_or_default();
    ObjectName { schema: Some(found.to_owned()), ..name.clone() }
}

/// The database's workers, as those who help to look at a file.
struct Workers {
    database: Database,
    options: JobOptions,
}

impl Helpers for Workers {
    fn each(&self, count: usize, step: PieceStep) -> Result<()> {
        let mut job = JobSpec::new();
        job.add(Pipeline::new(LOOK, move |cut| Ok(each_piece(count, step.clone(), cut))), &[]);
        self.database.0.scheduler.submit(job, self.options.clone()).wait()
    }
}

#[cold]
fn fixed(setting: &Setting, why: &str) -> Error {
    let message = format!("parameter \"{}\" cannot be changed now: {why}", setting.name);
    Error::new(SqlState::CANNOT_CHANGE_PARAMETER, message)
}
