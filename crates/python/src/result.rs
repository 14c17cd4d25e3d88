//! Results: rows as tuples, as texts, or as a stream of Arrow's.

use std::sync::{Arc, Mutex, PoisonError};

use engine::{Call, Field, QueryResult, Tag};
use io::pretty::{Lines, Look, Table};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};

use types::Value;
use types::ops::date::Zone;

use crate::stream::{Failed, Failure, Stream};
use crate::{errors, frames, values};

/// Rows that become Python's at once.
const ROWS_AT_ONCE: usize = 1 << 13;

/// The result of a statement. Rows arrive while the query runs.
#[pyclass(frozen, module = "morseldb._morseldb")]
pub struct Result {
    sql: String,
    columns: Arc<[Field]>,
    /// Whether values of all columns are Python's as they are.
    is_plain: bool,
    has_rows: bool,
    tag: Tag,
    stream: Mutex<Option<Stream>>,
    failed: Failed,
    call: Call,
    /// In which moments are shown.
    zone: Zone,
}

impl Result {
    /// The result of `sql`.
    pub fn new(result: QueryResult, sql: String, call: Call) -> Self {
        let columns = result.shared_columns();
        let zone = result.zone().clone();
        Self {
            sql,
            is_plain: columns.iter().all(|column| values::is_plain(column.sql_type)),
            columns,
            has_rows: result.has_rows(),
            tag: result.tag().clone(),
            stream: Mutex::new(Some(Stream::new(result, call.clone()))),
            failed: Failed::default(),
            call,
            zone,
        }
    }

    /// Lets `work` at the stream, without the GIL.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Stream) -> std::result::Result<T, Failure> + Send,
    ) -> PyResult<Option<T>> {
        let done = py.detach(|| {
            let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            stream.as_mut().map(work).transpose()
        });
        done.map_err(|failure| self.exception(py, failure))
    }

    fn exception(&self, py: Python<'_>, failure: Failure) -> PyErr {
        match failure {
            Failure::Raised(raised) => raised,
            Failure::Sql(error) => errors::exception(py, &error, &self.sql),
        }
    }

    /// Takes at most `limit` rows away that are here as plain values, all of them: without waiting, so with the GIL.
    fn take_few(&self, limit: usize) -> Option<Vec<Vec<Value>>> {
        if !self.is_plain {
            return None;
        }
        self.stream.try_lock().ok()?.as_mut()?.take_few(limit)
    }

    /// Takes at most `limit` rows that are here away from the stream, as columns that share their data with it.
    fn take(&self, py: Python<'_>, limit: usize) -> PyResult<Vec<(types::Chunk, usize, usize)>> {
        let taken = self.with(py, |stream| {
            if stream.ready() == 0 {
                stream.pull()?;
            }
            let (mut left, mut parts) = (limit, Vec::new());
            let (chunks, mut offset) = stream.ahead();
            for chunk in chunks {
                let rows = (chunk.rows() - offset).min(left);
                if rows > 0 {
                    parts.push((chunk.clone(), offset, offset + rows));
                }
                (left, offset) = (left - rows, 0);
                if left == 0 {
                    break;
                }
            }
            stream.skip(limit - left);
            Ok(parts)
        })?;
        Ok(taken.unwrap_or_default())
    }
}

/// A row of plain values.
fn tuple<'py>(py: Python<'py>, row: &[Value]) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, row.iter().map(|value| values::plain(py, value)).collect::<PyResult<Vec<_>>>()?)
}

#[pymethods]
impl Result {
    /// Names, SQL types and nullability of the columns.
    fn columns(&self) -> Vec<(String, String, bool)> {
        self.columns.iter().map(|f| (f.name.clone(), f.sql_type.to_string(), f.nullable)).collect()
    }

    /// Whether the statement gives rows (perhaps none of them).
    fn has_rows(&self) -> bool {
        self.has_rows
    }

    /// Rows that the statement wrote; -1 if it is none that writes.
    fn row_count(&self) -> i64 {
        match &self.tag {
            Tag::Rows(_, rows) => *rows as i64,
            _ => -1,
        }
    }

    /// What the statement did, as PostgreSQL says it.
    fn tag(&self) -> String {
        self.tag.to_string()
    }

    /// The next row as a tuple; None at the end.
    fn fetch_one<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.take_few(1) {
            Some(rows) => rows.first().map(|row| tuple(py, row).map(Bound::into_any)).transpose(),
            None => self.fetch(py, Some(1))?.iter().next().map(Ok).transpose(),
        }
    }

    /// The next rows as tuples: at most `limit`, or all.
    #[pyo3(signature = (limit=None))]
    fn fetch<'py>(&self, py: Python<'py>, limit: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        let mut left = limit.unwrap_or(usize::MAX);
        if let Some(rows) = self.take_few(left) {
            return PyList::new(py, rows.iter().map(|row| tuple(py, row)).collect::<PyResult<Vec<_>>>()?);
        }
        let rows = PyList::empty(py);
        while left > 0 {
            if let Err(raised) = py.check_signals() {
                self.call.interrupt();
                return Err(raised);
            }
            let parts = self.take(py, left.min(ROWS_AT_ONCE))?;
            if parts.is_empty() {
                break;
            }
            for (chunk, from, to) in parts {
                let objects = |c: &types::Column| values::objects(py, c, from, to, &self.zone).map(Vec::into_iter);
                let mut columns = chunk.columns().iter().map(objects).collect::<PyResult<Vec<_>>>()?;
                for _ in from..to {
                    let row: Vec<Py<PyAny>> = columns.iter_mut().filter_map(Iterator::next).collect();
                    rows.append(PyTuple::new(py, row)?)?;
                }
                left -= to - from;
            }
        }
        Ok(rows)
    }

    /// The next rows as a table of at most `width` columns of a terminal, without taking them away; how many they are,
    /// and whether there are more.
    fn render(&self, py: Python<'_>, limit: usize, width: Option<usize>) -> PyResult<(String, usize, bool)> {
        let look = Look {
            lines: Lines::Box,
            headers: true,
            types: true,
            null: "NULL".into(),
            max_rows: 0,
            width,
            zone: self.zone.clone(),
        };
        let mut table = Table::new(look, self.columns.iter().map(|f| (f.name.clone(), f.sql_type)).collect());
        let peeked = self.with(py, |stream| {
            while stream.ready() <= limit && stream.pull()? {}
            let (mut left, more) = (limit, stream.ready() > limit);
            let (chunks, mut offset) = stream.ahead();
            for chunk in chunks {
                let rows = (chunk.rows() - offset).min(left);
                table.add_rows(chunk, offset, offset + rows);
                (left, offset) = (left - rows, 0);
            }
            Ok((limit - left, more))
        })?;
        let (rows, more) = peeked.unwrap_or_default();
        let mut text = Vec::new();
        table.write(&mut text)?;
        Ok((String::from_utf8_lossy(&text).into_owned(), rows, more))
    }

    /// The remaining rows as a capsule with a stream of Arrow's; the result is empty after that.
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let taken = py.detach(|| self.stream.lock().unwrap_or_else(PoisonError::into_inner).take());
        let chunks = taken.into_iter().flat_map({
            let failed = self.failed.clone();
            move |stream| stream.chunks(failed.clone())
        });
        let field = |c: &Field| io::Field { nullable: c.nullable, ..io::Field::new(&c.name, c.sql_type) };
        let fields: Vec<io::Field> = self.columns.iter().map(field).collect();
        PyCapsule::new_with_value(py, io::ffi::export_stream(&fields, chunks), frames::STREAM)
    }

    /// Raises what ended the stream early, if anything did.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let failed = py.detach(|| self.failed.lock().unwrap_or_else(PoisonError::into_inner).take());
        failed.map_or(Ok(()), |failure| Err(self.exception(py, failure)))
    }

    /// Stops the query if it runs, and forgets its rows.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            if let Some(stream) = self.stream.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                stream.close();
            }
        });
    }

    /// Stops the query.
    fn interrupt(&self) {
        self.call.interrupt();
    }
}
