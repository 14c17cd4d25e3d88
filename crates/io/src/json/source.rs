//! JSON files as a source. A morsel is a range of lines, read by whichever worker takes it, or a whole file whose records
//! span lines.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use base::{Budget, CancelToken, Error, Result, SqlState};
use types::ops::json::scan::{Kind, kind, members, trimmed};
use types::ops::json::{check, unescaped};
use types::{Chunk, ColumnBuilder};

use super::convert::{Reader, duplicate_key, unknown_key};
use super::records::{Found, JsonFile, Records};
use crate::arriving::Arriving;
use crate::lines::shown;
use crate::source::{CHUNK_ROWS, Field, FileSource, PieceReader, PrunePredicate, Step};

/// Bytes that a sample is made of.
const FIRST: u64 = 256 << 10;
/// Bytes after which a step reads no further record.
const BATCH_BYTES: u64 = 128 << 10;

const HINT: &str = "look at more records with sample_size = -1, give the types with columns = {'name': 'type'}, or make \
    NULL of what does not fit with ignore_errors = true";
const HINT_GIVEN: &str = "make NULL of what does not fit with ignore_errors = true";

/// JSON files as one source.
pub struct JsonSource {
    pub schema: Vec<Field>,
    /// The members of objects are columns; otherwise a record is the value of the only one.
    pub records: bool,
    /// Columns by the names of members.
    pub by_name: HashMap<String, usize>,
    pub reader: Reader,
    pub ignore_errors: bool,
    pub limit: usize,
    pub budget: Option<Budget>,
    pub cancel: CancelToken,
    pub files: Vec<Arc<JsonFile>>,
    pub rows: u64,
}

impl JsonSource {
    /// The number of a morsel's file, and its own there.
    fn place(&self, morsel: usize) -> (usize, usize) {
        let (mut at, mut file) = (morsel, 0);
        while at >= self.files[file].split.ranges() {
            at -= self.files[file].split.ranges();
            file += 1;
        }
        (file, at)
    }

    fn boxed(
        self: Arc<Self>,
        file: usize,
        range: Range<u64>,
        is_cut: bool,
        columns: &[usize],
    ) -> Result<Box<dyn PieceReader>> {
        let records = Records::new(self.files[file].clone(), range, is_cut, self.limit, self.budget.as_ref())?;
        Ok(Box::new(JsonReader {
            values: vec![None; self.schema.len()],
            columns: columns.to_vec(),
            source: self,
            records,
            builders: Vec::new(),
            rows: 0,
        }))
    }
}

impl FileSource for JsonSource {
    fn schema(&self) -> &[Field] {
        &self.schema
    }

    fn estimated_rows(&self) -> u64 {
        self.rows
    }

    fn file_of(&self, morsel: usize) -> usize {
        self.place(morsel).0
    }

    fn morsels(&self) -> usize {
        self.files.iter().map(|f| f.split.ranges()).sum()
    }

    fn read(
        self: Arc<Self>,
        morsel: usize,
        columns: &[usize],
        _prune: &[PrunePredicate],
        _chunk_rows: usize,
    ) -> Result<Box<dyn PieceReader>> {
        let (number, range) = self.place(morsel);
        let file = &self.files[number];
        let begin = move |source: Arc<Self>, columns: &[usize]| {
            let range = source.files[number].range(range)?;
            source.boxed(number, range, false, columns)
        };
        match file.input.want(std::iter::once(file.split.about(file.text(), range)), true)? {
            None => begin(self, columns),
            Some(wanted) => {
                let (source, columns) = (self.clone(), columns.to_vec());
                Ok(Arriving::boxed(Arc::new(wanted), move || begin(source, &columns)))
            }
        }
    }

    fn read_first(self: Arc<Self>, columns: &[usize]) -> Result<Box<dyn PieceReader>> {
        let range = self.files[0].range(0)?;
        let end = range.end.min(range.start + FIRST);
        let is_cut = end < range.end;
        self.boxed(0, range.start..end, is_cut, columns)
    }
}

/// The reading of a morsel.
struct JsonReader {
    source: Arc<JsonSource>,
    columns: Vec<usize>,
    records: Records,
    /// Where the values of a record are in its text, by column.
    values: Vec<Option<Range<usize>>>,
    builders: Vec<ColumnBuilder>,
    rows: usize,
}

impl PieceReader for JsonReader {
    fn step(&mut self) -> Result<Step> {
        self.source.cancel.check()?;
        let begin = self.records.read();
        loop {
            match self.records.find()? {
                Found::Record(record) => self.row(&record)?,
                Found::More => {
                    self.records.load()?;
                    return Ok(Step::More);
                }
                Found::End if self.rows == 0 => return Ok(Step::End),
                Found::End => return Ok(self.chunk()),
            }
            if self.rows == CHUNK_ROWS {
                return Ok(self.chunk());
            }
            if self.records.read() - begin > BATCH_BYTES {
                return Ok(Step::More);
            }
        }
    }
}

/// Where a part of a text is in it.
fn place_of(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

/// A record that is JSON, without blanks around it.
pub fn checked(bytes: &[u8]) -> Result<&str> {
    let text = simdutf8::basic::from_utf8(bytes)
        .map_err(|_| Error::new(SqlState::INVALID_ENCODING, "invalid byte sequence for encoding \"UTF8\""))?;
    check(text)?;
    Ok(trimmed(text))
}

impl JsonReader {
    fn chunk(&mut self) -> Step {
        let columns = std::mem::take(&mut self.builders).into_iter().map(ColumnBuilder::finish).collect();
        Step::Chunk(Chunk::new(std::mem::take(&mut self.rows), columns))
    }

    /// Appends a record.
    fn row(&mut self, record: &Range<usize>) -> Result<()> {
        let Self { source, columns, records, values, builders, rows } = self;
        if builders.is_empty() {
            let new = |&c: &usize| ColumnBuilder::new(source.schema[c].sql_type, 1024);
            *builders = columns.iter().map(new).collect();
        }
        *rows += 1;
        let found = checked(records.text(record)).and_then(|text| source.find_values(text, values).map(|()| text));
        let text = match found {
            Ok(text) => text,
            Err(_) if source.ignore_errors => {
                builders.iter_mut().for_each(ColumnBuilder::push_null);
                return Ok(());
            }
            Err(error) => return Err(source.located(records, record, &error, None)),
        };
        for (builder, &column) in builders.iter_mut().zip(&*columns) {
            let Some(place) = &values[column] else {
                builder.push_null();
                continue;
            };
            match source.reader.append(&text[place.clone()], builder) {
                Ok(()) => {}
                Err(_) if source.ignore_errors => builder.push_null(),
                Err(error) => {
                    return Err(source.located(records, record, &error, Some((column, &text[place.clone()]))));
                }
            }
        }
        Ok(())
    }
}

impl JsonSource {
    /// Finds the values of the columns in a record.
    fn find_values(&self, text: &str, values: &mut [Option<Range<usize>>]) -> Result<()> {
        values.fill(None);
        match kind(text) {
            _ if !self.records => values[0] = Some(0..text.len()),
            // As an object without members.
            Kind::Null => {}
            Kind::Object => {
                for (at, (key, value)) in members(text).enumerate() {
                    let key = unescaped(key)?;
                    // Objects have their members in one order most of the time.
                    let is_next = self.schema.get(at).is_some_and(|field| field.name == *key);
                    let column = if is_next { Some(at) } else { self.by_name.get(&*key).copied() };
                    match column {
                        Some(column) if values[column].is_some() => return Err(duplicate_key(&key)),
                        Some(column) => values[column] = Some(place_of(text, value)),
                        None if self.reader.strict && !self.ignore_errors => return Err(unknown_key(&key)),
                        None => {}
                    }
                }
            }
            _ => return Err(Error::new(SqlState::BAD_COPY_FILE, "a record is no object")),
        }
        Ok(())
    }

    /// The error for a record, or a value of it, with its place.
    #[cold]
    fn located(&self, records: &Records, record: &Range<usize>, error: &Error, value: Option<(usize, &str)>) -> Error {
        let out = records.file().error_at(error.state(), error.message(), records.offset(record));
        let out = match value {
            Some((column, value)) => {
                let (name, value) = (&self.schema[column].name, shown(value.as_bytes()));
                Error::new(out.state(), format!("{}, column \"{name}\", value {value}", out.message()))
            }
            None => out,
        };
        let detail = format!("The record is: {}", shown(records.text(record)));
        let out = out.detail(error.get_detail().map_or(detail, str::to_owned));
        match error.state() {
            SqlState::INVALID_ENCODING => out,
            _ => out.hint(if self.reader.strict { HINT } else { HINT_GIVEN }),
        }
    }
}
