//! Reading one morsel: its text, batches of records, chunks. A step is a piece of the text or a batch.

use std::ops::Range;
use std::sync::Arc;

use base::memory::Reservation;
use base::{Error, Result};
use bytes::Bytes;
use types::{Chunk, ColumnBuilder};

use super::{CsvSource, TextFile};
use crate::csv::records::{Record, Records, Span};
use crate::csv::sniff::is_blank;
use crate::input::{Input, OPERATOR};
use crate::source::{CHUNK_ROWS, PieceReader, Step};

/// Records that are converted column by column at once: their fields stay in the caches.
const BATCH: usize = 1024;
/// Bytes after which a batch takes no further record.
const BATCH_BYTES: usize = 128 << 10;
/// Bytes of a file that are read at once.
const READ: usize = 1 << 20;

/// A batch of records with the right number of fields each.
#[derive(Default)]
pub(super) struct Batch {
    pub fields: Vec<Span>,
    pub starts: Vec<u32>,
    /// Their text is valid UTF-8 without zero bytes.
    clean: bool,
}

/// The text of a morsel, once it has been read.
pub(super) struct MorselText {
    pub source: Arc<CsvSource>,
    file: usize,
    /// Offset of the text in the file.
    pub offset: u64,
    pub text: Bytes,
    /// It ends where it was cut off, which may be in the middle of a record.
    is_cut: bool,
}

/// The reading of a morsel.
pub(super) struct MorselReader {
    text: MorselText,
    columns: Vec<usize>,
    /// What is read of the file, until it is all that is to be read.
    loading: Option<(Vec<u8>, usize)>,
    records: Records,
    batch: Batch,
    builders: Vec<ColumnBuilder>,
    /// Rows in them.
    rows: usize,
    /// Rows that a chunk may come to.
    expected: usize,
    _charged: Option<Reservation>,
}

impl MorselReader {
    /// Reads the records of a range of a file. The last one is left out if the range may be cut off in the middle of it.
    pub fn boxed(
        source: Arc<CsvSource>,
        file: usize,
        range: Range<u64>,
        is_cut: bool,
        columns: &[usize],
    ) -> Result<Box<dyn PieceReader>> {
        let (length, input) = ((range.end - range.start) as usize, &*source.files[file].input);
        let (loading, text, budget) = match input {
            Input::Memory { text, .. } => (None, text.slice(range.start as usize..range.end as usize), None),
            Input::File(..) | Input::Remote(..) => (Some((Vec::new(), length)), Bytes::new(), source.budget.as_ref()),
        };
        let _charged = budget.map(|b| b.reserve(length, OPERATOR)).transpose()?;
        let records = Records::new(source.dialect);
        Ok(Box::new(Self {
            text: MorselText { source, file, offset: range.start, text, is_cut },
            columns: columns.to_vec(),
            loading,
            records,
            batch: Batch::default(),
            builders: Vec::new(),
            rows: 0,
            expected: (length / 64).min(CHUNK_ROWS),
            _charged,
        }))
    }

    /// Reads on. Returns whether there is more to read.
    fn load(&mut self) -> Result<bool> {
        let Some((bytes, length)) = &mut self.loading else { return Ok(false) };
        let (file, have) = (self.text.file(), bytes.len());
        let more = READ.min(*length - have);
        bytes.reserve_exact(*length - have);
        bytes.resize(have + more, 0);
        file.input.read_into(&file.name, self.text.offset + have as u64, &mut bytes[have..])?;
        if bytes.len() == *length {
            self.text.text = std::mem::take(bytes).into();
            self.loading = None;
        }
        Ok(true)
    }

    /// Converts the batch.
    fn convert(&mut self) -> Result<()> {
        let (text, batch) = (&self.text, &self.batch);
        let count = batch.starts.len();
        if self.builders.is_empty() {
            let new = |&c: &usize| ColumnBuilder::new(text.source.readers[c].sql_type, self.expected.max(count));
            self.builders = self.columns.iter().map(new).collect();
        }
        for (builder, &column) in self.builders.iter_mut().zip(&self.columns) {
            text.append(batch, column, builder).map_err(|(row, e)| text.bad_value(batch, row, column, e))?;
        }
        self.rows += count;
        Ok(())
    }

    fn chunk(&mut self) -> Step {
        self.expected = self.rows;
        let columns = std::mem::take(&mut self.builders).into_iter().map(ColumnBuilder::finish).collect();
        Step::Chunk(Chunk::new(std::mem::take(&mut self.rows), columns))
    }
}

impl PieceReader for MorselReader {
    fn step(&mut self) -> Result<Step> {
        self.text.source.cancel.check()?;
        if self.load()? {
            return Ok(Step::More);
        }
        let more = self.text.fill(&mut self.records, &mut self.batch)?;
        if !self.batch.starts.is_empty() {
            self.convert()?;
        }
        Ok(match self.rows {
            0 if !more => Step::End,
            rows if !more || rows + BATCH > CHUNK_ROWS => self.chunk(),
            _ => Step::More,
        })
    }
}

impl MorselText {
    pub fn file(&self) -> &TextFile {
        &self.source.files[self.file]
    }

    /// The next batch of records; false at the end. Bad records are errors or left out.
    fn fill(&self, records: &mut Records, batch: &mut Batch) -> Result<bool> {
        let (width, text) = (self.source.schema.len(), &self.text[..]);
        batch.fields.clear();
        batch.starts.clear();
        let begin = records.position();
        let mut more = true;
        while batch.starts.len() < BATCH && records.position() - begin < BATCH_BYTES {
            let before = batch.fields.len();
            let record = records.append(text, &mut batch.fields);
            let Some(record) = record.filter(|r| !(self.is_cut && r.end == text.len())) else {
                batch.fields.truncate(before);
                more = false;
                break;
            };
            let mut fields = batch.fields.len() - before;
            if fields == width + 1 && self.source.trailing_delimiter && self.ends_empty(batch) {
                batch.fields.pop();
                fields = width;
            }
            let is_short = self.source.null_padding && fields < width && record.problem.is_none();
            if is_short && !self.is_no_record(&record, &batch.fields[before..]) {
                batch.fields.resize(before + width, Span::empty(record.start));
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
        // Records begin and end at ASCII characters.
        let read = &text[begin..records.position()];
        batch.clean = simdutf8::basic::from_utf8(read).is_ok() && memchr::memchr(0, read).is_none();
        if self.source.rejecting() {
            self.leave_out_bad_values(batch)?;
        }
        Ok(more)
    }

    fn ends_empty(&self, batch: &Batch) -> bool {
        batch.fields.last().is_some_and(|f| !f.quoted() && f.bytes(&self.text).is_empty())
    }

    /// Empty lines, and the mark at the end of COPY's text format.
    fn is_no_record(&self, record: &Record, fields: &[Span]) -> bool {
        if record.problem.is_some() {
            return false;
        }
        let blank = is_blank(&self.text, fields);
        let end_mark = self.source.dialect.text_format
            && matches!(fields, [one] if one.bytes(&self.text) == b"\\.")
            && self.offset + record.end as u64 == self.file().input.len();
        (blank && self.source.skip_blank) || end_mark
    }

    fn append(&self, batch: &Batch, column: usize, out: &mut ColumnBuilder) -> Result<(), (usize, Error)> {
        let fields = (&batch.fields[..], self.source.schema.len(), column);
        self.source.readers[column].append(&self.text, &self.source.dialect, fields, batch.clean, out)
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
        let clean = batch.clean;
        let mut good = Batch { clean, ..Batch::default() };
        for row in 0..batch.starts.len() {
            let fields = batch.fields[row * width..][..width].to_vec();
            let one = Batch { fields, starts: vec![batch.starts[row]], clean };
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
