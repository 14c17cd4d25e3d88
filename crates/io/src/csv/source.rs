//! Text files as a source.

mod open;
mod problems;

pub use open::{open_csv, open_csv_bytes};

use base::{Budget, CancelToken, Error, Result, SqlState};
use types::{Chunk, ColumnBuilder};

use super::convert::Reader;
use super::dialect::Dialect;
use super::options::RejectSink;
use super::records::{MAX_TEXT, Record, Records, Span};
use super::sniff::is_blank;
use super::split::Split;
use crate::input::{Input, OPERATOR};
use crate::source::{CHUNK_ROWS, Field, FileSource, PrunePredicate, Sink};
use problems::Lines;

/// Records that are converted column by column at once: their fields stay in the caches.
const BATCH: usize = 1024;

/// One file.
struct TextFile {
    name: String,
    input: Input,
    /// Where the records begin, past the header.
    start: u64,
    /// Its morsels.
    split: Split,
    lines: Lines,
}

impl TextFile {
    fn range(&self, dialect: &Dialect, morsel: usize) -> Result<(u64, u64)> {
        let bounds = self.split.boundaries(&self.input, &self.name, dialect)?;
        Ok((bounds[morsel], bounds[morsel + 1]))
    }
}

/// Text files as one source.
struct CsvSource {
    schema: Vec<Field>,
    readers: Vec<Reader>,
    dialect: Dialect,
    /// Empty lines are left out (`read_csv`) and not records (COPY).
    skip_blank: bool,
    /// Records may end with a delimiter, as those of TPC-H's generator do.
    trailing_delimiter: bool,
    ignore_errors: bool,
    rejects: Option<RejectSink>,
    /// What the text of a morsel is charged to while it is read.
    budget: Option<Budget>,
    cancel: CancelToken,
    /// What to advise when a value is not of its column's type.
    hint: Option<&'static str>,
    files: Vec<TextFile>,
    rows: u64,
}

/// A batch of records with the right number of fields each.
#[derive(Default)]
struct Batch {
    fields: Vec<Span>,
    starts: Vec<u32>,
}

/// The state of reading one morsel.
struct MorselRead<'a> {
    source: &'a CsvSource,
    file: &'a TextFile,
    /// Offset of the text in the file.
    offset: u64,
    text: &'a [u8],
    /// The text is valid UTF-8 without zero bytes.
    clean: bool,
}

impl CsvSource {
    /// The file of a morsel, and its number there.
    fn place(&self, morsel: usize) -> (&TextFile, usize) {
        let (mut at, mut file) = (morsel, 0);
        while at >= self.files[file].split.ranges() {
            at -= self.files[file].split.ranges();
            file += 1;
        }
        (&self.files[file], at)
    }
}

impl FileSource for CsvSource {
    fn schema(&self) -> &[Field] {
        &self.schema
    }

    fn estimated_rows(&self) -> u64 {
        self.rows
    }

    fn morsels(&self) -> usize {
        self.files.iter().map(|f| f.split.ranges()).sum()
    }

    fn preparations(&self) -> usize {
        if self.files.iter().any(|file| file.split.needs_walks(&self.dialect)) { self.morsels() } else { 0 }
    }

    fn prepare(&self, piece: usize) -> Result<()> {
        let (file, range) = self.place(piece);
        file.split.walk(&file.input, &file.name, &self.dialect, range)
    }

    fn read(&self, morsel: usize, columns: &[usize], _prune: &[PrunePredicate], sink: &mut Sink<'_>) -> Result<()> {
        let (file, range) = self.place(morsel);
        let (start, end) = file.range(&self.dialect, range)?;
        if end - start > MAX_TEXT as u64 {
            let message = format!("a record of file \"{}\" is longer than {MAX_TEXT} bytes", file.name);
            return Err(Error::new(SqlState::PROGRAM_LIMIT, message).hint("a closing quote may be missing"));
        }
        let budget = self.budget.as_ref().filter(|_| matches!(file.input, Input::File(..)));
        let _charged = budget.map(|b| b.reserve((end - start) as usize, OPERATOR)).transpose()?;
        let text = file.input.read(&file.name, start, end)?;
        let clean = simdutf8::basic::from_utf8(&text).is_ok() && memchr::memchr(0, &text).is_none();
        MorselRead { source: self, file, offset: start, text: &text, clean }.run(columns, sink)
    }
}

impl MorselRead<'_> {
    fn run(&self, columns: &[usize], sink: &mut Sink<'_>) -> Result<()> {
        let mut records = Records::new(self.text, self.source.dialect);
        let mut batch = Batch::default();
        let mut rows = 0;
        let mut expected = (self.text.len() / 64).min(CHUNK_ROWS);
        let mut builders = Vec::new();
        while self.fill(&mut records, &mut batch)? {
            let count = batch.starts.len();
            if builders.is_empty() {
                let new = |&c: &usize| ColumnBuilder::new(self.source.readers[c].sql_type, expected.max(count));
                builders = columns.iter().map(new).collect();
            }
            for (builder, &column) in builders.iter_mut().zip(columns) {
                self.append(&batch, column, builder).map_err(|(row, e)| self.bad_value(&batch, row, column, e))?;
            }
            rows += count;
            if rows + BATCH > CHUNK_ROWS {
                expected = rows;
                flush(&mut rows, &mut builders, sink)?;
            }
        }
        if rows > 0 { flush(&mut rows, &mut builders, sink) } else { Ok(()) }
    }

    /// The next batch of records; false at the end. Bad records are errors or left out.
    fn fill(&self, records: &mut Records<'_>, batch: &mut Batch) -> Result<bool> {
        let width = self.source.schema.len();
        loop {
            self.source.cancel.check()?;
            batch.fields.clear();
            batch.starts.clear();
            let mut more = true;
            while batch.starts.len() < BATCH {
                let before = batch.fields.len();
                let Some(record) = records.append(&mut batch.fields) else {
                    more = false;
                    break;
                };
                let mut fields = batch.fields.len() - before;
                if fields == width + 1 && self.source.trailing_delimiter && self.ends_empty(batch) {
                    batch.fields.pop();
                    fields = width;
                }
                if fields != width || record.problem.is_some() {
                    let fields = batch.fields.split_off(before);
                    if self.is_no_record(&record, &fields) {
                        continue;
                    }
                    self.bad_record(&record, fields.len(), record.problem)?;
                    continue;
                }
                batch.starts.push(record.start as u32);
            }
            if self.source.rejecting() {
                self.leave_out_bad_values(batch)?;
            }
            if !batch.starts.is_empty() || !more {
                return Ok(!batch.starts.is_empty());
            }
        }
    }

    fn ends_empty(&self, batch: &Batch) -> bool {
        batch.fields.last().is_some_and(|f| !f.quoted() && f.bytes(self.text).is_empty())
    }

    /// Empty lines, and the mark at the end of COPY's text format.
    fn is_no_record(&self, record: &Record, fields: &[Span]) -> bool {
        if record.problem.is_some() {
            return false;
        }
        let blank = is_blank(self.text, fields);
        let end_mark = self.source.dialect.text_format
            && matches!(fields, [one] if one.bytes(self.text) == b"\\.")
            && self.offset + record.end as u64 == self.file.input.len();
        (blank && self.source.skip_blank) || end_mark
    }

    fn append(&self, batch: &Batch, column: usize, out: &mut ColumnBuilder) -> Result<(), (usize, Error)> {
        let fields = (&batch.fields[..], self.source.schema.len(), column);
        self.source.readers[column].append(self.text, &self.source.dialect, fields, self.clean, out)
    }

    /// Where bad records are left out: all columns are read, so that it does not depend on the query which they are.
    fn leave_out_bad_values(&self, batch: &mut Batch) -> Result<()> {
        let width = self.source.schema.len();
        let all_good = (0..width).all(|c| {
            let mut scratch = ColumnBuilder::new(self.source.readers[c].sql_type, batch.starts.len());
            self.append(batch, c, &mut scratch).is_ok()
        });
        if all_good {
            return Ok(());
        }
        let mut good = Batch::default();
        for row in 0..batch.starts.len() {
            let one = Batch { fields: batch.fields[row * width..][..width].to_vec(), starts: vec![batch.starts[row]] };
            let bad = (0..width).find_map(|c| {
                let mut scratch = ColumnBuilder::new(self.source.readers[c].sql_type, 1);
                self.append(&one, c, &mut scratch).err().map(|(_, e)| (c, e))
            });
            match bad {
                Some((column, error)) => self.reject(&one, column, &error)?,
                None => {
                    good.fields.extend(one.fields);
                    good.starts.extend(one.starts);
                }
            }
        }
        *batch = good;
        Ok(())
    }
}

fn flush(rows: &mut usize, builders: &mut Vec<ColumnBuilder>, sink: &mut Sink<'_>) -> Result<()> {
    let columns = std::mem::take(builders).into_iter().map(ColumnBuilder::finish).collect();
    sink(Chunk::new(std::mem::take(rows), columns))
}
