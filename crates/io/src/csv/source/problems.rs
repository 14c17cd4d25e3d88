//! Errors that name file, line, column and value; rejected records.

use base::{Error, Result, SqlState};

use super::morsel::{Batch, MorselText};
use super::{CsvSource, TextFile};
use crate::csv::options::RejectedRow;
use crate::csv::records::{Problem, Record};
use crate::lines::shown;

impl TextFile {
    fn line(&self, eol: u8, offset: u64) -> u64 {
        self.lines.line(&self.input, &self.name, eol, offset)
    }
}

impl CsvSource {
    pub(super) fn rejecting(&self) -> bool {
        self.ignore_errors || self.rejects.is_some()
    }
}

impl MorselText {
    fn line(&self, start: usize) -> u64 {
        self.file().line(self.source.dialect.eol, self.offset + start as u64)
    }

    /// A record with bad quotes or the wrong number of fields: an error, or left out.
    #[cold]
    pub(super) fn bad_record(&self, record: &Record, fields: usize, problem: Option<Problem>) -> Result<()> {
        let width = self.source.schema.len();
        let message = match problem {
            Some(Problem::Unterminated) => "unterminated quoted field".to_owned(),
            Some(Problem::AfterQuote) => "text after a closing quote".to_owned(),
            None if fields < width => {
                format!(
                    "missing data for column \"{}\": {fields} fields, {width} expected",
                    self.source.schema[fields].name
                )
            }
            None => format!("extra data after last expected column: {fields} fields, {width} expected"),
        };
        let (line, value) = (self.line(record.start), shown(&self.text[record.start..record.end]));
        if self.source.rejecting() {
            if let Some(sink) = &self.source.rejects {
                sink(RejectedRow { file: self.file().name.clone(), line, column: None, value, message });
            }
            return Ok(());
        }
        let message = format!("{message} in file \"{}\", line {line}", self.file().name);
        let error = Error::new(SqlState::BAD_COPY_FILE, message).detail(format!("The line is: {value}"));
        Err(match self.source.hint {
            Some(_) => error.hint("set delim, quote or skip, or leave out bad lines with ignore_errors = true"),
            None => error,
        })
    }

    /// The error for a value that is not of its column's type.
    #[cold]
    pub(super) fn bad_value(&self, batch: &Batch, row: usize, column: usize, error: Error) -> Error {
        let field = batch.fields[row * self.source.schema.len() + column];
        let (file, line) = (&self.file().name, self.line(batch.starts[row] as usize));
        let (name, value) = (&self.source.schema[column].name, shown(field.bytes(&self.text)));
        let message =
            format!("{} in file \"{file}\", line {line}, column \"{name}\", value \"{value}\"", error.message());
        let out = Error::new(error.state(), message);
        let out = if let Some(detail) = error.get_detail() { out.detail(detail) } else { out };
        match self.source.hint {
            Some(hint) if error.state() != SqlState::INVALID_ENCODING => out.hint(hint),
            _ => out,
        }
    }

    /// Tells of a record with a bad value.
    #[cold]
    pub(super) fn reject(&self, batch: &Batch, column: usize, error: &Error) -> Result<()> {
        if let Some(sink) = &self.source.rejects {
            sink(RejectedRow {
                file: self.file().name.clone(),
                line: self.line(batch.starts[0] as usize),
                column: Some(self.source.schema[column].name.clone()),
                value: shown(batch.fields[column].bytes(&self.text)),
                message: error.message().to_owned(),
            });
        }
        Ok(())
    }
}
