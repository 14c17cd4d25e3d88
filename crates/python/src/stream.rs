//! Chunks as they come: from a query that runs, with Python's signal handlers run meanwhile.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base::{Error, SqlState};
use engine::{Call, QueryResult};
use pyo3::prelude::*;
use types::{Chunk, ColumnBuilder, Value};

use crate::process::{Own, Process};

/// How often signals are looked at, also while there is no lack of rows.
const STEP: Duration = Duration::from_millis(50);

/// Why a result ended early.
pub enum Failure {
    /// An exception of a signal handler: KeyboardInterrupt.
    Raised(PyErr),
    /// An error of the query.
    Sql(Error),
}

/// Where a stream that Arrow's consumers read leaves its failure: they keep no more than its text.
pub type Failed = Arc<Mutex<Option<Failure>>>;

/// The rows of a result that have not been given away.
pub struct Stream {
    result: Option<Own<QueryResult>>,
    ahead: VecDeque<Chunk>,
    /// Rows of the first chunk that have been given away.
    offset: usize,
    call: Call,
    /// When signals were looked at last.
    looked: Instant,
    process: Process,
}

impl Stream {
    /// All rows of a result.
    pub fn new(result: QueryResult, call: Call) -> Self {
        let looked = Instant::now();
        Self {
            result: Some(Own::new(result)),
            ahead: VecDeque::new(),
            offset: 0,
            call,
            looked,
            process: Process::this(),
        }
    }

    /// Rows that are here.
    pub fn ready(&self) -> usize {
        self.ahead.iter().map(Chunk::rows).sum::<usize>() - self.offset
    }

    /// The chunks that are here, with the row to begin with in the first.
    pub fn ahead(&self) -> (impl Iterator<Item = &Chunk>, usize) {
        (self.ahead.iter(), self.offset)
    }

    /// Gives `rows` rows away.
    pub fn skip(&mut self, rows: usize) {
        self.offset += rows;
        while let Some(first) = self.ahead.front()
            && self.offset >= first.rows()
        {
            self.offset -= first.rows();
            self.ahead.pop_front();
        }
    }

    /// Forgets everything; a running query stops.
    pub fn close(&mut self) {
        self.result = None;
        self.ahead.clear();
        self.offset = 0;
    }

    /// Gives at most so many rows away, if all rows are here as values.
    pub fn take_few(&mut self, most: usize) -> Option<Vec<Vec<Value>>> {
        let is_begun = !self.ahead.is_empty();
        let result = self.result.as_mut().filter(|_| !is_begun)?;
        self.process.check().ok()?;
        result.take_few(most)
    }

    /// Waits for one more chunk; false at the end. Not to be called with the GIL held by a thread that others wait for.
    pub fn pull(&mut self) -> Result<bool, Failure> {
        let more = self.pull_running();
        if !matches!(more, Ok(true)) {
            self.result = None;
        }
        more
    }

    fn pull_running(&mut self) -> Result<bool, Failure> {
        let Some(result) = &mut self.result else { return Ok(false) };
        self.process.check().map_err(Failure::Sql)?;
        let overdue = self.looked.elapsed() >= STEP;
        let raised = RefCell::new(None);
        let mut look = || {
            self.looked = Instant::now();
            let mut raised = raised.borrow_mut();
            if raised.is_none() {
                *raised = Python::try_attach(|py| py.check_signals()).and_then(PyResult::err);
                raised.iter().for_each(|_| self.call.interrupt());
            }
        };
        if overdue {
            look();
        }
        loop {
            let next = engine::next_chunk(result, |_| look());
            if let Some(raised) = raised.take() {
                return Err(Failure::Raised(raised));
            }
            match next.map_err(Failure::Sql)? {
                Some(chunk) if chunk.rows() == 0 => {}
                Some(chunk) => {
                    self.ahead.push_back(chunk);
                    return Ok(true);
                }
                None => return Ok(false),
            }
        }
    }

    fn next_chunk(&mut self) -> Result<Option<Chunk>, Failure> {
        if self.ahead.is_empty() && !self.pull()? {
            return Ok(None);
        }
        let offset = std::mem::take(&mut self.offset);
        Ok(self.ahead.pop_front().map(|chunk| if offset == 0 { chunk } else { rest_of(&chunk, offset) }))
    }

    /// The remaining chunks, for a reader that knows no more of errors than their text.
    pub fn chunks(mut self, failed: Failed) -> impl Iterator<Item = base::Result<Chunk>> + Send + 'static {
        std::iter::from_fn(move || match self.next_chunk() {
            Ok(chunk) => chunk.map(Ok),
            Err(failure) => {
                let error = match &failure {
                    Failure::Sql(error) => error.clone(),
                    Failure::Raised(_) => Error::new(SqlState::QUERY_CANCELED, "the query was interrupted"),
                };
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                Some(Err(error))
            }
        })
    }
}

/// The rows of a chunk from `offset` on.
fn rest_of(chunk: &Chunk, offset: usize) -> Chunk {
    let rows = chunk.rows() - offset;
    let column = |c: &types::Column| {
        let mut builder = ColumnBuilder::new(c.sql_type(), rows);
        (offset..chunk.rows()).for_each(|row| builder.push_value(&c.value(row)));
        builder.finish()
    };
    Chunk::new(rows, chunk.columns().iter().map(column).collect())
}
