//! Sessions: statements in, results out.

use std::sync::{Arc, Mutex, PoisonError};

use base::{Error, SqlState};
use engine::{Call, Config, Database, Foreground, Interrupt, QueryResult, SETTINGS};
use io::FileSource;
use pyo3::prelude::*;
use types::{SqlType, Value};

use crate::process::{Own, Process};
use crate::result::Result;
use crate::{errors, frames, parameters};

/// A session of a database.
#[pyclass(frozen, module = "morseldb._morseldb")]
pub struct Session {
    inner: Own<Arc<Mutex<engine::Session>>>,
    /// Where its statements run.
    thread: Own<Foreground>,
    database: Own<Database>,
    interrupt: Interrupt,
    process: Process,
}

/// A statement, or a script, with what it needs.
struct Job {
    call: Call,
    sql: Arc<str>,
    /// Byte where the statements begin that have not run yet.
    from: usize,
    parameters: Vec<(Value, SqlType)>,
    frames: Vec<(String, Arc<dyn FileSource>)>,
}

impl Session {
    fn of(inner: engine::Session) -> Self {
        Self {
            database: Own::new(inner.database().clone()),
            interrupt: inner.interrupt_handle(),
            inner: Own::new(Arc::new(Mutex::new(inner))),
            thread: Own::default(),
            process: Process::this(),
        }
    }

    /// Runs a statement that takes microseconds in this thread: to have another one do it takes longer.
    fn run_at_once(
        &self,
        call: &Call,
        sql: &str,
        parameters: &[(Value, SqlType)],
    ) -> Option<base::Result<QueryResult>> {
        let mut session = self.inner.try_lock().ok()?;
        engine::caught(|| session.execute_at_once(call, sql, parameters).transpose()).transpose()
    }

    /// Runs the job without the GIL, in the session's thread: this one runs Python's signal handlers meanwhile. The job comes back.
    fn run(&self, py: Python<'_>, mut job: Job) -> PyResult<base::Result<(Job, base::Result<QueryResult>)>> {
        if let Err(error) = self.process.check() {
            return Ok(Err(error));
        }
        let mut raised = None;
        let (call, session) = (job.call.clone(), self.inner.clone());
        let ran = py.detach(|| {
            let look = || {
                if raised.is_none() {
                    raised = Python::attach(|py| py.check_signals()).err();
                    raised.iter().for_each(|_| call.interrupt());
                }
            };
            let work = move || {
                let outcome = run_here(&session, &mut job);
                Ok((job, outcome))
            };
            self.thread.run(work, look)
        });
        raised.map_or(Ok(ran), Err)
    }
}

fn run_here(session: &Mutex<engine::Session>, job: &mut Job) -> base::Result<QueryResult> {
    let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
    job.frames.iter().for_each(|(name, frame)| session.register_frame(name, frame.clone()));
    if !job.frames.is_empty() {
        session.try_again();
    }
    let outcome = run_statements(&mut session, job);
    job.frames.iter().for_each(|(name, _)| session.remove_frame(name));
    outcome
}

/// Runs the statements of a job; the result is the last one's.
fn run_statements(session: &mut engine::Session, job: &mut Job) -> base::Result<QueryResult> {
    if !job.parameters.is_empty() {
        return session.execute_in(&job.call, &job.sql, &job.parameters);
    }
    let mut last: Option<QueryResult> = None;
    session.run_script_in(&job.call, &job.sql, job.from, |range, result| {
        job.from = range.end;
        // Earlier statements run to their ends, as if their rows had been read.
        if let Some(mut earlier) = last.replace(result) {
            while earlier.next_chunk()?.is_some() {}
        }
        Ok(())
    })?;
    last.ok_or_else(|| Error::new(SqlState::SYNTAX_ERROR, "the statement is empty"))
}

/// The table that an error says does not exist.
fn missing_table(error: &Error) -> Option<&str> {
    if error.state() != SqlState::UNDEFINED_TABLE {
        return None;
    }
    error.message().strip_prefix("relation \"")?.strip_suffix("\" does not exist")
}

#[pymethods]
impl Session {
    /// A session of a new database with these settings, by name and as text.
    #[new]
    fn new(py: Python<'_>, settings: Vec<(String, String)>) -> PyResult<Self> {
        let opened = py.detach(|| {
            let mut config = Config::default();
            settings.iter().try_for_each(|(name, value)| config.settings.set(name, value))?;
            Database::new(config)
        });
        Ok(Self::of(opened.map_err(|e| errors::plain(py, &e))?.connect()))
    }

    /// Names and descriptions of all settings.
    #[staticmethod]
    fn settings() -> Vec<(&'static str, &'static str)> {
        SETTINGS.iter().map(|s| (s.name, s.description)).collect()
    }

    /// Another session of the same database.
    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        self.process.check().map_err(|e| errors::plain(py, &e))?;
        Ok(py.detach(|| Self::of(self.inner.lock().unwrap_or_else(PoisonError::into_inner).fork())))
    }

    /// Runs a statement, or without parameters a script. `lookup` is called with the names of tables that do not exist
    /// and may return an object with `__arrow_c_stream__`.
    #[pyo3(signature = (sql, parameters=Vec::new(), lookup=None))]
    fn execute(
        &self,
        py: Python<'_>,
        sql: &str,
        parameters: Vec<Bound<'_, PyAny>>,
        lookup: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Result> {
        self.process.check().map_err(|e| errors::plain(py, &e))?;
        let call = self.interrupt.begin();
        let parameters = parameters.iter().map(parameters::convert).collect::<PyResult<Vec<_>>>()?;
        if let Some(result) = py.detach(|| self.run_at_once(&call, sql, &parameters)) {
            let result = result.map_err(|error| errors::exception(py, &error, sql))?;
            return Ok(Result::new(result, sql.to_owned(), call));
        }
        // The variables of the program are outside of the database, too.
        let lookup = lookup.filter(|_| self.database.has_external_access());
        let mut job = Job { call: call.clone(), sql: sql.into(), from: 0, parameters, frames: Vec::new() };
        loop {
            let ran = self.run(py, job)?;
            let (back, outcome) = ran.map_err(|error| errors::exception(py, &error, sql))?;
            job = back;
            let error = match outcome {
                Ok(result) => return Ok(Result::new(result, sql.to_owned(), call)),
                Err(error) => error,
            };
            let frame = match (missing_table(&error), lookup) {
                (Some(name), Some(lookup)) if job.frames.iter().all(|(known, _)| known != name) => {
                    Some((name.to_owned(), lookup.call1((name,))?)).filter(|(_, object)| !object.is_none())
                }
                _ => None,
            };
            let Some((name, object)) = frame else { return Err(errors::exception(py, &error, sql)) };
            job.frames.push((name, frames::import(py, &object)?));
        }
    }

    /// Stops the running statements.
    fn interrupt(&self) {
        self.interrupt.interrupt();
    }

    /// Makes an object with `__arrow_c_stream__` usable in FROM, in all sessions.
    fn register(&self, py: Python<'_>, name: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
        self.process.check().map_err(|e| errors::plain(py, &e))?;
        let frame = frames::import(py, object)?;
        self.database.register_frame(name, frame);
        Ok(())
    }

    /// Forgets a registered object.
    fn unregister(&self, name: &str) {
        self.database.remove_frame(name);
    }

    /// What statements have told besides their results since this was last asked.
    fn take_notices(&self) -> Vec<String> {
        let session = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        session.take_notices().iter().map(ToString::to_string).collect()
    }

    /// Bytes that tables and running queries use.
    fn memory_used(&self) -> usize {
        self.database.memory_used()
    }

    /// Threads that run queries.
    fn threads(&self) -> usize {
        self.database.threads()
    }
}
