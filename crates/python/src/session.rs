//! Sessions: statements in, results out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::panics::catch;
use base::{Error, SqlState};
use engine::{Config, Database, Interrupt, QueryResult};
use io::FileSource;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use types::{SqlType, Value};

use crate::result::Result;
use crate::{errors, frames, parameters};

/// How often signals are looked at while a statement runs.
const STEP: Duration = Duration::from_millis(50);

/// A session of a database.
#[pyclass(frozen, module = "morseldb._morseldb")]
pub struct Session {
    inner: Mutex<engine::Session>,
    database: Database,
    interrupt: Interrupt,
    /// Of this call, however many statements it runs, and whatever it does between them.
    interrupted: AtomicBool,
    process: Process,
}

/// Where something was made: a forked process has its memory, but not its threads.
#[derive(Clone, Copy)]
pub struct Process(u32);

impl Process {
    pub fn this() -> Self {
        Self(std::process::id())
    }

    /// An error in any other process.
    pub fn check(self) -> base::Result<()> {
        if self.0 == std::process::id() {
            return Ok(());
        }
        Err(Error::new(SqlState::CONNECTION_DOES_NOT_EXIST, "the connection belongs to another process")
            .hint("connect anew after a fork"))
    }
}

/// A statement, or a script, with what it needs.
struct Job<'a> {
    sql: &'a str,
    /// Byte where the statements begin that have not run yet.
    from: usize,
    parameters: Vec<(Value, SqlType)>,
    frames: Vec<(String, Arc<dyn FileSource>)>,
}

impl Session {
    fn of(inner: engine::Session) -> Self {
        Self {
            database: inner.database().clone(),
            interrupt: inner.interrupt_handle(),
            inner: Mutex::new(inner),
            interrupted: AtomicBool::new(false),
            process: Process::this(),
        }
    }

    /// Runs the job without the GIL, in a thread of its own: this one runs Python's signal handlers meanwhile.
    fn run(&self, py: Python<'_>, job: &mut Job<'_>) -> PyResult<base::Result<QueryResult>> {
        if let Err(error) = self.process.check() {
            return Ok(Err(error));
        }
        let mut raised = None;
        let outcome = py.detach(|| {
            let (sender, receiver) = sync_channel(1);
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    let outcome = catch(|| self.run_here(job));
                    // The receiver waits for nothing else.
                    let _ = sender.send(outcome.unwrap_or_else(|panic| Err(errors::panicked(&panic))));
                });
                loop {
                    match receiver.recv_timeout(STEP) {
                        Ok(outcome) => return outcome,
                        Err(RecvTimeoutError::Disconnected) => return Err(errors::panicked("its thread is gone")),
                        Err(RecvTimeoutError::Timeout) => {
                            if raised.is_none() {
                                raised = Python::attach(|py| py.check_signals()).err();
                            }
                            // Again and again: it may have come before the statement began.
                            if raised.is_some() || self.interrupted.load(Ordering::Relaxed) {
                                self.interrupt.interrupt();
                            }
                        }
                    }
                }
            })
        });
        raised.map_or(Ok(outcome), Err)
    }

    fn run_here(&self, job: &mut Job<'_>) -> base::Result<QueryResult> {
        let mut session = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        job.frames.iter().for_each(|(name, frame)| session.register_frame(name, frame.clone()));
        let outcome = run_statements(&mut session, job);
        job.frames.iter().for_each(|(name, _)| session.remove_frame(name));
        outcome
    }
}

/// Runs the statements of a job; the result is the last one's.
fn run_statements(session: &mut engine::Session, job: &mut Job<'_>) -> base::Result<QueryResult> {
    if !job.parameters.is_empty() {
        return session.execute(job.sql, &job.parameters);
    }
    let start = job.from;
    let mut last: Option<QueryResult> = None;
    let outcome = session.run_script(&job.sql[start..], |range, result| {
        job.from = start + range.end;
        // Earlier statements run to their ends, as if their rows had been read.
        if let Some(mut earlier) = last.replace(result) {
            while earlier.next_chunk()?.is_some() {}
        }
        Ok(())
    });
    outcome.map_err(|e| shifted(&e, start))?;
    last.ok_or_else(|| Error::new(SqlState::SYNTAX_ERROR, "the statement is empty"))
}

/// The error of a script that starts at byte `start` of the whole.
fn shifted(error: &Error, start: usize) -> Error {
    let position = error.position().map(|p| p.saturating_add(start as u32));
    let mut out = Error::new(error.state(), error.message()).at(position);
    if let Some(detail) = error.get_detail() {
        out = out.detail(detail);
    }
    if let Some(hint) = error.get_hint() {
        out = out.hint(hint);
    }
    out
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
    /// A session of a new database.
    #[new]
    #[pyo3(signature = (threads=None, memory_limit=None))]
    fn new(py: Python<'_>, threads: Option<usize>, memory_limit: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        if threads.is_some_and(|n| n == 0 || n > 1024) {
            return Err(PyValueError::new_err("threads is a whole number from 1 to 1024"));
        }
        let bytes = memory_limit.and_then(|m| m.extract::<usize>().ok());
        let opened = py.detach(|| Database::new(Config { threads, memory_limit: bytes }));
        let mut session = opened.map_err(|e| errors::plain(py, &e))?.connect();
        if let (None, Some(limit)) = (bytes, memory_limit) {
            let sql = format!("SET memory_limit = '{}'", limit.str()?.to_string().replace('\'', "''"));
            session.execute(&sql, &[]).map_err(|e| errors::exception(py, &e, &sql))?;
        }
        Ok(Self::of(session))
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
        self.interrupted.store(false, Ordering::Relaxed);
        let parameters = parameters.iter().map(parameters::convert).collect::<PyResult<Vec<_>>>()?;
        let mut job = Job { sql, from: 0, parameters, frames: Vec::new() };
        loop {
            let error = match self.run(py, &mut job)? {
                Ok(result) => return Ok(Result::new(result, sql.to_owned(), self.interrupt.clone())),
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
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(errors::plain(py, &Error::new(SqlState::QUERY_CANCELED, "the statement was interrupted")));
            }
        }
    }

    /// Stops the running statement.
    fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
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

    /// Bytes that tables and running queries use.
    fn memory_used(&self) -> usize {
        self.database.memory_used()
    }

    /// Threads that run queries.
    fn threads(&self) -> usize {
        self.database.threads()
    }
}
