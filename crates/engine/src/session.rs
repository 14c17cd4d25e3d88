//! Sessions: statements in, results out.

use std::ops::Range;
use std::sync::Arc;

use base::{Error, Result, SqlState, stack};
use io::FileSource;
use types::{SqlType, Value};

use crate::activity::Open;
use crate::call::{Call, Interrupt};
use crate::environment::Environment;
use crate::kept::plans::{Kept, Text};
use crate::resolver::Resolver;
use crate::transaction::Block;
use crate::{Database, QueryResult, Recording, execute, statement};

/// A client's view of a database: its settings, and at most one statement at a time.
pub struct Session {
    environment: Environment,
    interrupt: Interrupt,
}

/// The statement ends as its result does, or with its error.
fn ended(open: Open, environment: &Environment, result: Result<QueryResult>) -> Result<QueryResult> {
    match result {
        Ok(result) => {
            let result = result.in_zone(environment.settings.time_zone()).of_block(environment.block.clone());
            Ok(result.and_end(open))
        }
        Err(error) => {
            open.fail(&error);
            Err(error)
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (settings, frames) = (&self.environment.settings, self.environment.frames.keys());
        f.debug_struct("Session").field("settings", settings).field("frames", &frames).finish()
    }
}

impl Session {
    pub(crate) fn new(database: Database) -> Self {
        let session = database.0.activity.new_session();
        let environment = Environment { session, ..Environment::new(database) };
        Self { environment, interrupt: Interrupt::default() }
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.environment.database
    }

    /// Another session of the same database, with the same settings.
    pub fn fork(&self) -> Self {
        let mut fork = Self::new(self.database().clone());
        fork.environment.settings = self.environment.settings.clone();
        fork.environment.trace = self.environment.trace.clone();
        fork
    }

    /// Makes a data frame usable in this session's FROM until it is replaced or [removed](Self::remove_frame). Tables
    /// come first, frames of the database last.
    pub fn register_frame(&mut self, name: &str, frame: Arc<dyn FileSource>) {
        self.environment.frames.insert(name.to_string(), frame);
    }

    /// Forgets a data frame of the session.
    pub fn remove_frame(&mut self, name: &str) {
        self.environment.frames.remove(name);
    }

    /// A handle that stops this session's statements.
    pub fn interrupt_handle(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Runs one statement; `$1` is `parameters[0]`. Rows arrive through the result while the query runs. An error leaves
    /// the session and the database as they were.
    pub fn execute(&mut self, sql: &str, parameters: &[(Value, SqlType)]) -> Result<QueryResult> {
        self.execute_in(&self.interrupt.begin(), sql, parameters)
    }

    /// As [`execute`](Self::execute), for a call that has begun.
    pub fn execute_in(&mut self, call: &Call, sql: &str, parameters: &[(Value, SqlType)]) -> Result<QueryResult> {
        let open = self.environment.begin_statement(call, sql)?;
        let result = self.run_text(sql, parameters);
        ended(open, &self.environment, result)
    }

    fn run_text(&mut self, sql: &str, parameters: &[(Value, SqlType)]) -> Result<QueryResult> {
        let environment = &self.environment;
        let template = environment.settings.plans_as_usual().then(|| sql::Template::of(sql)).flatten();
        let text = template.as_ref().map(|template| Text { sql, template, parameters });
        if let Some(text) = text
            && let Some(result) = self.run_kept(text)
        {
            return result;
        }
        let environment = &self.environment;
        let _working = environment.work_on(sql)?;
        stack::with_room(sql::parse_depth(sql), || {
            let parsed = sql::parse(sql)?;
            self.in_transaction(&parsed, |session| match text {
                Some(text) if parsed.is_query() => session.run_and_keep(&parsed, text),
                _ => session.run(&parsed, parameters),
            })
        })?
    }

    /// Runs the statement by a plan that was kept, if one holds for it.
    fn run_kept(&self, text: Text<'_>) -> Option<Result<QueryResult>> {
        let environment = &self.environment;
        let Some(block) = &environment.block else { return environment.database.0.kept.run(environment, text) };
        if block.begin_statement(false).is_err() {
            return None;
        }
        let result = environment.database.0.kept.run(environment, text)?;
        Some(result.inspect_err(|_| block.fail()))
    }

    /// Runs a statement in the transaction that the session is in, or in one of its own if it changes rows.
    fn in_transaction(
        &mut self,
        parsed: &sql::Parsed,
        mut run: impl FnMut(&mut Self) -> Result<QueryResult>,
    ) -> Result<QueryResult> {
        let block = match &self.environment.block {
            Some(block) => block.clone(),
            None if parsed.changes_rows() => return self.alone(run),
            None => return run(self),
        };
        for tries in 0.. {
            block.begin_statement(parsed.ends_transaction())?;
            let error = match run(self) {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            if let Err(error) = block.retry(error, tries, &self.environment.call) {
                block.fail();
                return Err(error);
            }
        }
        Err(Error::internal("tries without an end"))
    }

    /// Runs a statement as a transaction: again, if another one was faster.
    fn alone(&mut self, mut run: impl FnMut(&mut Self) -> Result<QueryResult>) -> Result<QueryResult> {
        for tries in 0.. {
            let block = Arc::new(Block::implicit(&self.environment.database.0.clock));
            block.begin_statement(false)?;
            self.environment.block = Some(block.clone());
            let result = run(self);
            self.environment.block = None;
            let result = result.and_then(|result| statement::commit(&self.environment, &block).map(|()| result));
            match result {
                Ok(result) => return Ok(result),
                Err(error) => block.retry_all(error, tries, &self.environment.call)?,
            }
        }
        Err(Error::internal("tries without an end"))
    }

    /// Runs the statements of a script one after the other and hands each result to `each`, with the range of the
    /// statement's text. Stops at the first error, of a statement or of `each`.
    pub fn run_script(
        &mut self,
        script: &str,
        each: impl FnMut(Range<usize>, QueryResult) -> Result<()>,
    ) -> Result<()> {
        self.run_script_in(&self.interrupt.begin(), script, 0, each)
    }

    /// As [`run_script`](Self::run_script), for a call that has begun, with the statements that begin at byte `from` or
    /// later.
    pub fn run_script_in(
        &mut self,
        call: &Call,
        script: &str,
        from: usize,
        mut each: impl FnMut(Range<usize>, QueryResult) -> Result<()>,
    ) -> Result<()> {
        self.environment.call = call.clone();
        let room = sql::parse_depth(&script[from..]);
        let working = self.environment.work_on(&script[from..])?;
        let parsed = stack::with_room(room, || sql::parse_script(script, from)).and_then(|parsed| parsed);
        // Otherwise each of its statements is one for itself.
        let statements = parsed.inspect_err(|error| self.environment.show(&script[from..]).fail(error))?;
        drop(working);
        for (parsed, range) in statements {
            let text = &script[range.clone()];
            let open = self.environment.begin_statement(call, text)?;
            let result = self.run_piece(&parsed, text);
            each(range, ended(open, &self.environment, result)?)?;
        }
        Ok(())
    }

    /// Runs a statement of a script.
    fn run_piece(&mut self, parsed: &sql::Parsed, text: &str) -> Result<QueryResult> {
        let _working = self.environment.work_on(text)?;
        let run = |session: &mut Self| session.run(parsed, &[]);
        stack::with_room(sql::parse_depth(text), || self.in_transaction(parsed, run))?
    }

    fn run(&mut self, parsed: &sql::Parsed, parameters: &[(Value, SqlType)]) -> Result<QueryResult> {
        let resolver = Resolver::new(&self.environment);
        let bound = sql::bind(parsed, &resolver, parameters)?;
        let rejects = resolver.into_rejects();
        let levels = bound.plan().map_or(0, plan::Plan::depth);
        stack::with_room(levels, || statement::run(&mut self.environment, bound, rejects))?
    }

    /// Runs a query whose plan may be kept for others of its kind.
    fn run_and_keep(&mut self, parsed: &sql::Parsed, text: Text<'_>) -> Result<QueryResult> {
        let resolver = Resolver::new(&self.environment);
        let Ok((sql::Statement::Query(mut plan), mut uses)) = sql::bind_open(parsed, &resolver, text.parameters) else {
            return self.run(parsed, text.parameters);
        };
        if plan.tables.len() > 1 || resolver.lasting().is_none() {
            plan.close_arguments();
            uses.clear();
        }
        let environment = &self.environment;
        stack::with_room(plan.depth(), || {
            let plan = execute::optimize(environment, plan)?;
            let columns = statement::result_columns(&plan);
            let prepared = execute::prepare(environment, &plan, false)?;
            if let Some(catalog) = resolver.lasting()
                && let Some(kept) = Kept::new(text, &plan, prepared.clone(), columns.clone(), uses, catalog)
            {
                environment.database.0.kept.keep(kept);
            }
            let running =
                prepared.start(environment, execute::sources(&plan)?, None, false, environment.call.token())?;
            QueryResult::running(columns, running).and_reject(resolver.into_rejects())
        })?
    }

    /// Runs a query on one thread that plays so many workers, for a replay. Its rows are dropped.
    pub fn record(&mut self, sql: &str, workers: usize) -> Result<Recording> {
        let open = self.environment.begin_statement(&self.interrupt.begin(), sql)?;
        let environment = &self.environment;
        let resolver = Resolver::new(environment);
        let statement = sql::parse(sql).and_then(|parsed| sql::bind(&parsed, &resolver, &[]))?;
        let sql::Statement::Query(plan) = statement else {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "only queries can be recorded"));
        };
        let recorded = stack::with_room(plan.depth(), || {
            let plan = execute::optimize(environment, plan)?;
            execute::record(environment, &plan, workers)
        })?;
        drop(open);
        recorded
    }

    /// What can be typed next at the end of `text`, for completion: names of tables and columns.
    pub fn names(&self) -> Vec<String> {
        let catalog = self.database().0.catalog.snapshot();
        let mut names = Vec::new();
        for (_, name, entry) in catalog.entries() {
            names.push(name.to_string());
            names.extend(entry.fields().into_iter().map(|f| f.name));
        }
        names.sort();
        names.dedup();
        names
    }
}
