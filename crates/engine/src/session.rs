//! Sessions: statements in, results out.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use base::{Budget, Result, stack};
use io::FileSource;
use scheduler::{CancelToken, JobHandle};
use types::{SqlType, Value};

use crate::kept::{Kept, Text};
use crate::resolver::Resolver;
use crate::settings::Settings;
use crate::{Database, Progress, QueryResult, execute, statement};

/// A client's view of a database: its settings, and at most one statement at a time.
pub struct Session {
    pub(crate) database: Database,
    pub(crate) settings: Settings,
    /// Data frames of the host language that only this session sees, by name.
    pub(crate) frames: HashMap<String, Arc<dyn FileSource>>,
    current: Arc<Mutex<Current>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("settings", &self.settings).field("frames", &self.frames.keys()).finish()
    }
}

/// The statement that a session runs, or has run last.
#[derive(Default)]
struct Current {
    token: CancelToken,
    /// What it has given to the scheduler, and whether the rows of that are rows of a table, not pieces of a file.
    job: Option<(JobHandle, bool)>,
    /// By an interrupt: the token alone does not tell, as a result that is dropped cancels it too.
    interrupted: bool,
}

/// Another thread's handle on whatever statement a session runs.
#[derive(Clone)]
pub struct Interrupt(Arc<Mutex<Current>>);

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupt")
    }
}

impl Interrupt {
    /// Stops it, if there is one: it ends with error 57014.
    pub fn interrupt(&self) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current.interrupted = true;
        current.token.cancel();
    }

    /// How far it is; none before it has begun to run. Of a file that is loaded as it is, rows are not counted.
    pub fn progress(&self) -> Option<Progress> {
        let current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (job, counts_rows) = current.job.as_ref()?;
        let progress = Progress::of(job);
        Some(Progress { rows: if *counts_rows { progress.rows } else { 0 }, ..progress })
    }
}

impl Session {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, settings: Settings::default(), frames: HashMap::new(), current: Arc::default() }
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Another session of the same database, with the same settings.
    pub fn fork(&self) -> Self {
        Self { settings: self.settings.clone(), ..Self::new(self.database.clone()) }
    }

    /// Makes a data frame usable in this session's FROM until it is replaced or [removed](Self::remove_frame). Tables
    /// come first, frames of the database last.
    pub fn register_frame(&mut self, name: &str, frame: Arc<dyn FileSource>) {
        self.frames.insert(name.to_string(), frame);
    }

    /// Forgets a data frame of the session.
    pub fn remove_frame(&mut self, name: &str) {
        self.frames.remove(name);
    }

    /// A handle that stops this session's statements.
    pub fn interrupt_handle(&self) -> Interrupt {
        Interrupt(self.current.clone())
    }

    /// Runs one statement; `$1` is `parameters[0]`. Rows arrive through the result while the query runs. An error leaves
    /// the session and the database as they were.
    pub fn execute(&mut self, sql: &str, parameters: &[(Value, SqlType)]) -> Result<QueryResult> {
        self.begin();
        let template = self.settings.plans_as_usual().then(|| sql::Template::of(sql)).flatten();
        let text = template.as_ref().map(|template| Text { sql, template, parameters });
        if let Some(result) = text.and_then(|text| self.database.0.kept.run(self, text)) {
            return result;
        }
        stack::with_room(sql::parse_depth(sql), || {
            let parsed = sql::parse(sql)?;
            match text {
                Some(text) if parsed.is_query() => self.run_and_keep(&parsed, text),
                _ => self.run(&parsed, parameters),
            }
        })?
    }

    /// Runs the statements of a script one after the other and hands each result to `each`, with the range of the
    /// statement's text. Stops at the first error, of a statement or of `each`.
    pub fn run_script(
        &mut self,
        script: &str,
        mut each: impl FnMut(Range<usize>, QueryResult) -> Result<()>,
    ) -> Result<()> {
        self.begin();
        for (parsed, range) in stack::with_room(sql::parse_depth(script), || sql::parse_script(script))?? {
            self.go_on()?;
            let levels = sql::parse_depth(&script[range.clone()]);
            let result = stack::with_room(levels, || self.run(&parsed, &[]))??;
            each(range, result)?;
        }
        Ok(())
    }

    fn run(&mut self, parsed: &sql::Parsed, parameters: &[(Value, SqlType)]) -> Result<QueryResult> {
        let resolver = Resolver::new(self);
        let bound = sql::bind(parsed, &resolver, parameters)?;
        let rejects = resolver.into_rejects();
        let levels = bound.plan().map_or(0, plan::Plan::depth);
        stack::with_room(levels, || statement::run(self, bound, rejects))?
    }

    /// Runs a query whose plan may be kept for others of its kind.
    fn run_and_keep(&mut self, parsed: &sql::Parsed, text: Text<'_>) -> Result<QueryResult> {
        let resolver = Resolver::new(self);
        let Ok((sql::Statement::Query(mut plan), mut uses)) = sql::bind_open(parsed, &resolver, text.parameters) else {
            return self.run(parsed, text.parameters);
        };
        if plan.tables.len() > 1 || resolver.lasting().is_none() {
            plan.close_arguments();
            uses.clear();
        }
        stack::with_room(plan.depth(), || {
            let plan = execute::optimize(self, plan)?;
            let columns = statement::result_columns(&plan);
            let prepared = execute::prepare(self, &plan, false)?;
            if let Some(catalog) = resolver.lasting()
                && let Some(kept) = Kept::new(text, &plan, prepared.clone(), columns.clone(), uses, catalog)
            {
                self.database.0.kept.keep(kept);
            }
            let running = prepared.start(self, execute::sources(&plan)?, None, false, self.cancel_token())?;
            QueryResult::running(columns, running).and_reject(resolver.into_rejects())
        })?
    }

    /// What can be typed next at the end of `text`, for completion: names of tables and columns.
    pub fn names(&self) -> Vec<String> {
        let catalog = self.database.0.catalog.snapshot();
        let mut names = Vec::new();
        for (_, name, entry) in catalog.entries() {
            names.push(name.to_string());
            names.extend(entry.fields().unwrap_or_default().into_iter().map(|f| f.name));
        }
        names.sort();
        names.dedup();
        names
    }

    /// A fresh token for a statement: from now on, interrupts are for it.
    fn begin(&self) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Current::default();
    }

    /// A fresh token for the next statement of a script, unless the script has been interrupted.
    fn go_on(&self) -> Result<()> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.interrupted {
            return Err(scheduler::canceled());
        }
        *current = Current::default();
        Ok(())
    }

    /// A budget for what one statement makes, within the database's.
    pub(crate) fn statement_budget(&self) -> Budget {
        self.database.0.budget.child(self.settings.memory("query_memory_limit"))
    }

    /// The running statement's token.
    pub(crate) fn cancel_token(&self) -> CancelToken {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).token.clone()
    }

    /// The running statement has given a job to the scheduler.
    pub(crate) fn runs(&self, job: &JobHandle, counts_rows: bool) {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).job = Some((job.clone(), counts_rows));
    }
}
