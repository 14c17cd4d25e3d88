//! What a statement gives back: its columns, its rows as they are produced, and a tag when it is done.

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base::Result;
use catalog::Field;
use scheduler::StageReport;
use types::ops::date::Zone;
use types::{Chunk, ColumnBuilder, SqlType, Value};

use crate::activity::{Open, Outcome};
use crate::execute::Running;
use crate::progress::Progress;
use crate::rejects::Rejects;
use crate::transaction::Block;

/// The result of a statement. Rows arrive while the query runs; dropping the result stops it.
#[derive(Debug)]
pub struct QueryResult {
    columns: Arc<[Field]>,
    tag: Tag,
    rows: Rows,
    delivered: u64,
    /// Whether its errors have positions in the text that the client has sent.
    has_positions: bool,
    /// In which its moments are shown.
    zone: Zone,
    /// Stored when all rows were read.
    rejects: Vec<Rejects>,
    /// The transaction that it is of, which fails as it does.
    block: Option<Arc<Block>>,
    /// While there are rows to come: the statement that gives them.
    open: Option<Open>,
}

#[derive(Debug)]
enum Rows {
    /// All there is, last first.
    Ready(Vec<Chunk>),
    /// All there is: a few rows as values, and the types of these.
    Few(Vec<Vec<Value>>, Arc<[SqlType]>),
    /// A query that runs.
    Running(Box<Running>),
}

/// What a statement did, as PostgreSQL's command tags say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Gave rows: SELECT, SHOW, EXPLAIN, ...
    Select,
    /// Added rows: INSERT, COPY FROM, CREATE TABLE AS; or wrote them: COPY TO.
    Rows(&'static str, u64),
    /// Anything else: `CREATE TABLE`, `SET`.
    Done(&'static str),
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Select => f.write_str("SELECT"),
            Self::Rows(what, rows) => write!(f, "{what} {rows}"),
            Self::Done(what) => f.write_str(what),
        }
    }
}

impl QueryResult {
    pub(crate) fn running(columns: impl Into<Arc<[Field]>>, running: Running) -> Self {
        Self::of(Tag::Select, columns.into(), Rows::Running(Box::new(running)))
    }
    pub(crate) fn ready(columns: impl Into<Arc<[Field]>>, mut chunks: Vec<Chunk>) -> Self {
        chunks.reverse();
        Self::of(Tag::Select, columns.into(), Rows::Ready(chunks))
    }
    /// A few rows, whose values are of these types.
    pub(crate) fn few(columns: Arc<[Field]>, rows: Vec<Vec<Value>>, types: Arc<[SqlType]>) -> Self {
        Self::of(Tag::Select, columns, Rows::Few(rows, types))
    }
    pub(crate) fn done(tag: Tag) -> Self {
        static NONE: LazyLock<Arc<[Field]>> = LazyLock::new(|| Arc::new([]));
        Self::of(tag, NONE.clone(), Rows::Ready(Vec::new()))
    }
    fn of(tag: Tag, columns: Arc<[Field]>, rows: Rows) -> Self {
        let (zone, rejects) = (Zone::utc(), Vec::new());
        Self { columns, tag, rows, delivered: 0, has_positions: true, zone, rejects, block: None, open: None }
    }

    /// The statement that gave this, in a transaction of several, ends when its rows have been read; without rows that are still
    /// made, now. Its moments are shown in this zone.
    pub(crate) fn ends(&mut self, open: Open, block: Option<Arc<Block>>, zone: Zone) {
        (self.block, self.zone) = (block, zone);
        match &self.rows {
            Rows::Running(_) => self.open = Some(open),
            Rows::Ready(_) | Rows::Few(..) => {
                open.statement().has_rows(match (&self.tag, &self.rows) {
                    (Tag::Rows(_, rows), _) => *rows,
                    (Tag::Select, Rows::Few(rows, _)) => rows.len() as u64,
                    (Tag::Select, Rows::Ready(chunks)) => chunks.iter().map(|c| c.rows() as u64).sum(),
                    _ => 0,
                });
                open.end(Outcome::Finished);
            }
        }
    }

    /// Its errors are of a text that the client has not sent.
    pub(crate) fn without_positions(self) -> Self {
        Self { has_positions: false, ..self }
    }

    /// The session's time zone, in which moments are to be shown.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Stores rejected records: now, or when the query has ended.
    pub(crate) fn and_reject(mut self, rejects: Vec<Rejects>) -> Result<Self> {
        match self.rows {
            Rows::Ready(_) | Rows::Few(..) => rejects.iter().try_for_each(Rejects::write)?,
            Rows::Running(_) => self.rejects = rejects,
        }
        Ok(self)
    }

    /// As [`columns`](Self::columns), for whoever keeps them.
    pub fn shared_columns(&self) -> Arc<[Field]> {
        self.columns.clone()
    }

    /// The same with other names of its columns.
    pub(crate) fn named_as(mut self, names: &[Field]) -> Self {
        let named = |(field, other): (&Field, &Field)| Field { name: other.name.clone(), ..field.clone() };
        self.columns = self.columns.iter().zip(names).map(named).collect();
        self
    }

    /// Names and types of the columns; none for statements without rows.
    pub fn columns(&self) -> &[Field] {
        &self.columns
    }
    /// Whether the statement gives rows (perhaps none of them).
    pub fn has_rows(&self) -> bool {
        self.tag == Tag::Select
    }
    /// What the statement did.
    pub fn tag(&self) -> &Tag {
        &self.tag
    }
    /// Rows handed out so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The next rows, at most a few thousand; none at the end. Waits for them.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        loop {
            if let Some(chunk) = self.poll_chunk(Duration::from_secs(3600))? {
                return Ok(chunk);
            }
        }
    }

    /// As [`next_chunk`](Self::next_chunk), but waits at most for `timeout`: then `None`, to show progress or look for
    /// signals. `Some(None)` is the end.
    pub fn poll_chunk(&mut self, timeout: Duration) -> Result<Option<Option<Chunk>>> {
        let there = self.block.as_ref().map_or(Ok(()), |block| block.check_there());
        let next = there.and_then(|()| self.next_within(timeout));
        if let (Err(_), Some(block)) = (&next, &self.block) {
            block.fail();
        }
        let Some(open) = &self.open else { return next };
        match &next {
            Ok(Some(Some(_))) => open.statement().has_rows(self.delivered),
            Ok(Some(None)) => open.end(Outcome::Finished),
            Ok(None) => {}
            Err(error) => open.end(Outcome::Failed(error.state())),
        }
        next
    }

    fn next_within(&mut self, timeout: Duration) -> Result<Option<Option<Chunk>>> {
        let next = match &mut self.rows {
            Rows::Ready(chunks) => Some(chunks.pop()),
            Rows::Few(rows, types) => Some((!rows.is_empty()).then(|| chunk_of(&std::mem::take(rows), types))),
            Rows::Running(running) => match running.next(timeout) {
                Err(error) if !self.has_positions => return Err(error.nowhere()),
                next => next?,
            },
        };
        match &next {
            Some(Some(chunk)) => self.delivered += chunk.rows() as u64,
            Some(None) => std::mem::take(&mut self.rejects).iter().try_for_each(Rejects::write)?,
            None => {}
        }
        Ok(next)
    }

    /// How far the query is.
    pub fn progress(&self) -> Progress {
        match &self.rows {
            Rows::Ready(_) | Rows::Few(..) => Progress { fraction: 1.0, rows: self.delivered },
            Rows::Running(running) => running.progress(),
        }
    }

    /// What each stage of the query has taken so far; nothing if it ran on the caller's thread.
    pub fn stages(&self) -> Vec<StageReport> {
        match &self.rows {
            Rows::Ready(_) | Rows::Few(..) => Vec::new(),
            Rows::Running(running) => running.report(),
        }
    }

    /// As [`next_chunk`](Self::next_chunk): how many rows there are, and the first of these, at least so many, as values.
    pub(crate) fn next_rows(&mut self, wanted: usize) -> Result<Option<(usize, Vec<Vec<Value>>)>> {
        if let (Rows::Few(rows, _), None) = (&mut self.rows, &self.block)
            && !rows.is_empty()
        {
            self.delivered += rows.len() as u64;
            return Ok(Some((rows.len(), std::mem::take(rows))));
        }
        let chunk = self.next_chunk()?;
        Ok(chunk.map(|chunk| (chunk.rows(), (0..chunk.rows().min(wanted)).map(|row| chunk.row(row)).collect())))
    }

    /// At most so many of the next rows as values, if all rows are here as values, as those of statements by keys are: nothing is waited
    /// for, and no column made of them. None if it has to be [asked for chunks](Self::next_chunk).
    pub fn take_few(&mut self, most: usize) -> Option<Vec<Vec<Value>>> {
        let Rows::Few(rows, _) = &mut self.rows else { return None };
        if self.block.as_ref().is_some_and(|block| block.check_there().is_err()) {
            return None;
        }
        let taken: Vec<_> = rows.drain(..most.min(rows.len())).collect();
        self.delivered += taken.len() as u64;
        Some(taken)
    }

    /// All rows as chunks.
    pub fn collect(mut self) -> Result<Vec<Chunk>> {
        let mut all = Vec::new();
        while let Some(chunk) = self.next_chunk()? {
            all.push(chunk);
        }
        Ok(all)
    }

    /// All rows as values: for small results and tests.
    pub fn rows(self) -> Result<Vec<Vec<Value>>> {
        Ok(self.collect()?.iter().flat_map(|c| (0..c.rows()).map(|r| c.row(r)).collect::<Vec<_>>()).collect())
    }
}

/// A few rows of values of these types.
fn chunk_of(rows: &[Vec<Value>], types: &[SqlType]) -> Chunk {
    let column = |(at, of): (usize, &SqlType)| {
        let mut column = ColumnBuilder::new(*of, rows.len());
        rows.iter().for_each(|row| column.push_value(&row[at]));
        column.finish()
    };
    Chunk::new(rows.len(), types.iter().enumerate().map(column).collect())
}
