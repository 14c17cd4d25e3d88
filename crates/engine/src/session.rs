//! Sessions: statements in, results out.

use std::ops::Range;
use std::sync::Arc;

use base::{Error, Result, SqlState, stack};
use io::FileSource;
use scheduler::Seats;
use types::{SqlType, Value};

use crate::activity::{Open, cut};
use crate::call::{Call, Interrupt};
use crate::environment::Environment;
use crate::resolver::Resolver;
use crate::{Database, Notice, PreparedStatement, QueryResult, Recording, execute, text};

/// A client's view of a database: its settings, and at most one statement at a time.
pub struct Session {
    environment: Environment,
    interrupt: Interrupt,
    /// A statement that has begun and is to be executed.
    begun: Option<Open>,
}

/// The statement ends as its result does, or with its error.
fn ended(open: Open, environment: &Environment, mut result: Result<QueryResult>) -> Result<QueryResult> {
    match &mut result {
        Ok(result) => result.ends(open, environment.block.clone(), environment.settings.time_zone()),
        Err(error) => open.fail(error),
    }
    result
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (settings, frames) = (&self.environment.settings, self.environment.frames.keys());
        f.debug_struct("Session").field("settings", settings).field("frames", &frames).finish()
    }
}

impl Drop for Session {
    /// What it has begun and not ended has not happened.
    fn drop(&mut self) {
        if let Some(block) = self.environment.block.take() {
            block.roll_back();
        }
    }
}

impl Session {
    pub(crate) fn new(database: Database) -> Self {
        let session = database.0.activity.new_session();
        let environment = Environment { session, ..Environment::new(database) };
        Self { environment, interrupt: Interrupt::default(), begun: None }
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

    /// As [`execute_in`](Self::execute_in), if the statement is the only one of a text and takes microseconds, as one of its
    /// kind did before: for a caller who does something else while others run. None: nothing has happened, and it is to be
    /// executed as they are.
    pub fn execute_at_once(
        &mut self,
        call: &Call,
        sql: &str,
        parameters: &[(Value, SqlType)],
    ) -> Option<Result<QueryResult>> {
        let sql = if parameters.is_empty() { &sql[..only_statement(sql)?.end] } else { sql };
        let (fit, shown) = text::short(&self.environment, sql, parameters)?;
        let open = match self.environment.begin_statement(call, shown) {
            Ok(open) => open,
            Err(error) => return Some(Err(error)),
        };
        let result = self
            .environment
            .caught(|environment| text::by_kept_plan(environment, || fit.run(environment, false)).transpose());
        match result.transpose() {
            Some(result) => Some(ended(open, &self.environment, result)),
            None => {
                self.begun = Some(open);
                None
            }
        }
    }

    /// As [`execute`](Self::execute), for a call that has begun.
    pub fn execute_in(&mut self, call: &Call, sql: &str, parameters: &[(Value, SqlType)]) -> Result<QueryResult> {
        let open = match self.begun.take() {
            Some(open) => open,
            None => self.environment.begin_statement(call, cut(sql))?,
        };
        let result = self.environment.caught(|environment| text::run(environment, sql, parameters));
        ended(open, &self.environment, result)
    }

    /// What statements have told besides their results since this was last asked, in order: RAISE NOTICE and its like.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.environment.notices.take()
    }

    /// The last statement has failed before it did anything, for the want of a table that is there now, and is run again: it
    /// does not end the transaction that the session is in.
    pub fn try_again(&mut self) {
        if let Some(block) = &self.environment.block {
            block.try_again();
        }
    }

    /// Prepares a statement, which then runs with other parameters as often as one likes; `types` are those of its first
    /// parameters, [`SqlType::Null`] where the parameter's place is to decide, as it does for all that follow.
    pub fn prepare(&mut self, sql: &str, types: &[SqlType]) -> Result<PreparedStatement> {
        let _working = self.environment.work_on(sql)?;
        let resolver = Resolver::new(&self.environment);
        let prepare = stack::with_room(sql::parse_depth(sql), || sql::prepare(sql, &resolver, types))??;
        PreparedStatement::new(prepare, sql.to_owned())
    }

    /// Runs a prepared statement, of this session or another one of the database. The parameters have its types; a text is
    /// read as one.
    pub fn run(&mut self, prepared: &PreparedStatement, parameters: &[(Value, SqlType)]) -> Result<QueryResult> {
        let open = self.environment.begin_statement(&self.interrupt.begin(), prepared.shown())?;
        let result = self.environment.caught(|environment| text::run_prepared(environment, prepared, parameters));
        ended(open, &self.environment, result)
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
        if let Some(range) = only_statement(script).filter(|_| from == 0) {
            // It may be one whose plan is kept. Positions are those in the script.
            let result = self.execute_in(call, &script[..range.end], &[])?;
            return each(range, result);
        }
        self.environment.call = call.clone();
        let room = sql::parse_depth(&script[from..]);
        let working = self.environment.work_on_bytes(sql::bytes_of_statements(script, from))?;
        let parsed = stack::with_room(room, || sql::parse_script(script, from)).and_then(|parsed| parsed);
        // Otherwise each of its statements is one for itself.
        let statements = parsed.inspect_err(|error| self.environment.show(cut(&script[from..])).fail(error))?;
        drop(working);
        for (parsed, range) in statements {
            let text = &script[range.clone()];
            let open = self.environment.begin_statement(call, cut(text))?;
            let result = self.run_piece(&parsed, text);
            each(range, ended(open, &self.environment, result)?)?;
        }
        Ok(())
    }

    /// Runs a statement of a script.
    fn run_piece(&mut self, parsed: &sql::Parsed, text: &str) -> Result<QueryResult> {
        let (text, data) = sql::given_data(text);
        let _working = self.environment.work_on(text)?;
        let run = |environment: &mut Environment| {
            stack::with_room(sql::parse_depth(text), || text::run_with_data(environment, parsed, data))?
        };
        self.environment.caught(run)
    }

    /// Runs a query on one thread that plays so many workers, for a replay, and sits on the first node or where they do. Its rows
    /// are dropped.
    pub fn record(&mut self, sql: &str, workers: usize, seats: Seats) -> Result<Recording> {
        let open = self.environment.begin_statement(&self.interrupt.begin(), cut(sql))?;
        let environment = &self.environment;
        let resolver = Resolver::new(environment);
        let statement = sql::parse(sql).and_then(|parsed| sql::bind(&parsed, &resolver, &[]))?;
        let sql::Statement::Query(plan) = statement else {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "only queries can be recorded"));
        };
        let recorded = stack::with_room(plan.depth(), || {
            let plan = execute::optimize(environment, plan)?;
            execute::record(environment, &plan, workers, seats)
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

/// The range of a script's statement, if it has one alone.
fn only_statement(script: &str) -> Option<Range<usize>> {
    let first = sql::next_piece(script, 0)?;
    sql::next_piece(script, first.next).is_none().then_some(first.range)
}
