//! What a caller may say about a text file: PostgreSQL's COPY options and those of `read_csv`.

use std::fmt;
use std::sync::Arc;

use base::{Budget, CancelToken, Error, Result, SqlState};
use remote::Access;
use types::ops::date::Zone;
use types::{SqlType, Value};

use super::forms::Forms;
use crate::across;
use crate::encoding::Encoding;
use crate::input::{Compression, Means};
use crate::option::{bad, byte, compression, flag, items, sql_type, typed_columns, unknown};
use base::helpers::{Helpers, PieceStep};

/// What stands in memory for a delimiter of several characters: the separator of units, which texts have no use for.
pub(super) const INSTEAD: u8 = 0x1f;
/// Most bytes of a delimiter.
const LONGEST: usize = 4;

/// The two text formats of COPY.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CsvFormat {
    /// Comma separated values with quotes.
    #[default]
    Csv,
    /// PostgreSQL's text format: tabs and backslashes.
    Text,
}

/// Whether the first line names the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// It does not.
    No,
    /// It does; the names of given columns win.
    Yes,
    /// It does, and the names must be those of the given columns.
    Match,
}

/// Some of the columns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Columns {
    /// None of them.
    #[default]
    None,
    /// All of them.
    All,
    /// Those of these names.
    Named(Vec<String>),
}

impl Columns {
    /// Whether the column is among them.
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Named(names) => names.iter().any(|n| n == name),
        }
    }
}

/// A record that was not read.
#[derive(Clone, PartialEq, Debug)]
pub struct RejectedRow {
    /// The file.
    pub file: String,
    /// The line where the record begins, from 1.
    pub line: u64,
    /// The column, if one is to blame.
    pub column: Option<String>,
    /// The text of the value, or of the record.
    pub value: String,
    /// What is wrong.
    pub message: String,
}

/// Takes rejected rows, from many threads.
pub type RejectSink = Arc<dyn Fn(RejectedRow) + Send + Sync>;

/// How to read or write a text file. `None` everywhere means: find out (`auto_detect`), or COPY's default.
#[derive(Clone, Default)]
pub struct CsvOptions {
    /// The format.
    pub format: CsvFormat,
    /// Whether what is not said is found out from the file. Off for COPY.
    pub auto_detect: bool,
    /// Between fields.
    pub delimiter: Option<u8>,
    /// What stands for that in the file, if it is more than a byte.
    pub long_delimiter: Option<Vec<u8>>,
    /// Around fields; `Some(None)`: nothing.
    pub quote: Option<Option<u8>>,
    /// Before a quote inside of quotes.
    pub escape: Option<u8>,
    /// Texts that mean NULL where they are not in quotes.
    pub null: Option<Vec<String>>,
    /// Whether there is a header.
    pub header: Option<Header>,
    /// Names and types of all columns, in the file's order.
    pub columns: Option<Vec<(String, SqlType)>>,
    /// Types of some columns; the others' are found out.
    pub types: Vec<(String, SqlType)>,
    /// Types of the first columns.
    pub first_types: Vec<SqlType>,
    /// Names of the first columns, instead of those that the file has.
    pub names: Vec<String>,
    /// Lines that begin with it are none of the data.
    pub comment: Option<u8>,
    /// What ends a line: a line feed, also behind a carriage return, or a carriage return alone.
    pub new_line: Option<u8>,
    /// How numbers and moments are written.
    pub forms: Forms,
    /// Read every column as text.
    pub all_varchar: bool,
    /// The types that are found out; none if all of them.
    pub candidates: Option<Vec<SqlType>>,
    /// Records with too few fields have NULLs in the others.
    pub null_padding: bool,
    /// Names that the file gives become plain ones.
    pub normalize_names: bool,
    /// Records that types are found out from; -1: all of them. Files under 64 MiB are read whole unless this is said.
    pub sample_size: Option<i64>,
    /// Lines to skip before the header.
    pub skip: usize,
    /// Columns whose values are never NULL.
    pub force_not_null: Columns,
    /// Columns in which quoted values can be NULL.
    pub force_null: Columns,
    /// Columns that are written in quotes.
    pub force_quote: Columns,
    /// The text that means the column's default, and these defaults by column.
    pub default: Option<(String, Vec<Value>)>,
    /// The file's compression, if not as its name says.
    pub compression: Option<Compression>,
    /// How characters are written, if not in UTF-8.
    pub encoding: Option<Encoding>,
    /// Leave out bad records.
    pub ignore_errors: bool,
    /// Who is told of bad records; they are left out.
    pub rejects: Option<RejectSink>,
    /// Bytes of a morsel (8 MiB if 0).
    pub morsel_bytes: usize,
    /// Most bytes that a compressed file may have when decompressed (no limit if 0).
    pub decompressed_limit: usize,
    /// What texts in memory are charged to.
    pub budget: Option<Budget>,
    /// Stops opening and reading.
    pub cancel: CancelToken,
    /// Who asks servers for files.
    pub remote: Option<Access>,
    /// Who helps to find out what is not said.
    pub helpers: Option<Arc<dyn Helpers>>,
    /// The zone of moments whose text names none, and in which they are written.
    pub zone: Zone,
    /// Rows in a row group of Parquet (ignored otherwise).
    pub row_group_size: Option<usize>,
}

impl CsvOptions {
    /// What opening a file takes.
    pub(super) fn means(&self) -> Means<'_> {
        let limit = if self.decompressed_limit == 0 { usize::MAX } else { self.decompressed_limit };
        Means { limit, budget: self.budget.as_ref(), cancel: &self.cancel, remote: self.remote.as_ref() }
    }

    /// Does the pieces `0..count` of some work, with those who help or alone.
    pub(super) fn each(&self, count: usize, step: PieceStep) -> Result<()> {
        match &self.helpers {
            Some(helpers) => helpers.each(count, step),
            None => (0..count).try_for_each(|piece| {
                while !step(piece)? {}
                Ok(())
            }),
        }
    }
}

impl fmt::Debug for CsvOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CsvOptions").field("format", &self.format).finish_non_exhaustive()
    }
}

/// The names of the options of `read_csv`; those of COPY are PostgreSQL's.
const NAMES: [&str; 30] = [
    "delim",
    "sep",
    "delimiter",
    "header",
    "columns",
    "types",
    "dtypes",
    "names",
    "column_names",
    "normalize_names",
    "auto_type_candidates",
    "null_padding",
    "nullstr",
    "null",
    "skip",
    "quote",
    "escape",
    "comment",
    "new_line",
    "dateformat",
    "timestampformat",
    "decimal_separator",
    "thousands",
    "allow_quoted_nulls",
    "all_varchar",
    "auto_detect",
    "sample_size",
    "ignore_errors",
    "compression",
    "encoding",
];

/// A pattern; none is ISO's.
fn pattern(value: &str) -> Option<String> {
    (!matches!(value.to_ascii_lowercase().as_str(), "" | "auto" | "iso")).then(|| value.to_owned())
}

fn some_columns(value: &str) -> Columns {
    match value.trim() {
        "*" | "(*)" | "true" => Columns::All,
        _ => Columns::Named(items(value)),
    }
}

impl CsvOptions {
    /// Options of COPY: nothing is found out, columns are those of a table.
    pub fn copy() -> Self {
        Self::default()
    }

    /// Options of `read_csv`: everything that is not said is found out.
    pub fn detect() -> Self {
        Self { auto_detect: true, ..Self::default() }
    }

    /// Sets an option by its name in SQL (in lower case).
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "format" => {
                self.format = match value.to_ascii_lowercase().as_str() {
                    "csv" => CsvFormat::Csv,
                    "text" => CsvFormat::Text,
                    "binary" => return Err(Error::unsupported("file format \"binary\"")),
                    _ => {
                        let message = format!("COPY format \"{value}\" not recognized");
                        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                            .hint("formats are csv, text, parquet, json and arrow"));
                    }
                }
            }
            // COPY has none of several characters.
            "delimiter" | "delim" | "sep"
                if self.auto_detect && (2..=LONGEST).contains(&value.len()) && value != "\\t" =>
            {
                self.delimiter = Some(INSTEAD);
                self.long_delimiter = Some(value.as_bytes().to_vec());
            }
            "delimiter" | "delim" | "sep" => self.delimiter = Some(byte(name, value)?),
            "quote" if value.is_empty() => self.quote = Some(None),
            "quote" => self.quote = Some(Some(byte(name, value)?)),
            "escape" if value.is_empty() => {}
            "escape" => self.escape = Some(byte(name, value)?),
            "null" | "nullstr" => {
                self.null = Some(if value.starts_with('[') { items(value) } else { vec![value.to_owned()] });
            }
            "header" => {
                self.header = Some(match value.to_ascii_lowercase().as_str() {
                    "match" => Header::Match,
                    other => [Header::No, Header::Yes][usize::from(flag(name, other)?)],
                })
            }
            "null_padding" => self.null_padding = flag(name, value)?,
            "normalize_names" => self.normalize_names = flag(name, value)?,
            "auto_type_candidates" => {
                self.candidates = Some(items(value).iter().map(|of| sql_type(of)).collect::<Result<_>>()?);
            }
            // How a file is read here needs no such sizes.
            "buffer_size" | "max_line_size" | "maximum_line_size" | "files_to_sniff" => {
                let _: i64 = value.parse().map_err(|_| bad(name, value))?;
            }
            "auto_detect" => self.auto_detect = flag(name, value)?,
            "all_varchar" => self.all_varchar = flag(name, value)?,
            "ignore_errors" => self.ignore_errors = flag(name, value)?,
            "on_error" => {
                self.ignore_errors = match value.to_ascii_lowercase().as_str() {
                    "ignore" => true,
                    "stop" => false,
                    _ => return Err(bad(name, value)),
                }
            }
            "columns" => self.columns = Some(typed_columns(name, value)?),
            "types" | "dtypes" | "column_types" if value.starts_with("[\"") => {
                self.first_types = items(value).iter().map(|of| sql_type(of)).collect::<Result<_>>()?;
            }
            "types" | "dtypes" | "column_types" => self.types = typed_columns(name, value)?,
            "names" | "column_names" => {
                self.names = items(value);
                if let Some(twice) = self.names.iter().enumerate().find(|(at, n)| self.names[..*at].contains(n)) {
                    let message = format!("column \"{}\" is given twice", twice.1);
                    return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
                }
            }
            "comment" => self.comment = if value.is_empty() { None } else { Some(byte(name, value)?) },
            "new_line" => {
                self.new_line = match value {
                    "\n" | "\r\n" | "\\n" | "\\r\\n" => Some(b'\n'),
                    "\r" | "\\r" => Some(b'\r'),
                    _ => return Err(bad(name, value).hint("lines end with \\n, \\r\\n or \\r")),
                }
            }
            "dateformat" | "date_format" => self.forms.date = pattern(value),
            "timestampformat" | "timestamp_format" => self.forms.timestamp = pattern(value),
            "decimal_separator" => {
                self.forms.separator = match value {
                    "." => None,
                    "," => Some(b','),
                    _ => return Err(bad(name, value).hint("it is a point or a comma")),
                }
            }
            "thousands" => {
                self.forms.thousands = match value {
                    "" => None,
                    _ => Some(byte(name, value)?),
                }
            }
            "allow_quoted_nulls" => {
                self.force_null = if flag(name, value)? { Columns::All } else { Columns::None };
            }
            // What is not as it should be is an error, or left out.
            "strict_mode" if flag(name, value)? => {}
            "strict_mode" => {
                return Err(Error::unsupported("strict_mode = false").hint("ignore_errors leaves out bad rows"));
            }
            "skip" => self.skip = value.parse().map_err(|_| bad(name, value))?,
            "sample_size" => self.sample_size = Some(value.parse().map_err(|_| bad(name, value))?),
            "force_not_null" => self.force_not_null = some_columns(value),
            "force_null" => self.force_null = some_columns(value),
            "force_quote" => self.force_quote = some_columns(value),
            "default" => self.default = Some((value.to_owned(), Vec::new())),
            "encoding" => self.encoding = Encoding::of_name(value)?,
            "compression" => self.compression = compression(name, value)?,
            "row_group_size" => self.row_group_size = Some(value.parse().map_err(|_| bad(name, value))?),
            // All rows are loaded at once and all become visible together anyway.
            "freeze" | "parallel" | "oids" => drop(flag(name, value)?),
            _ => return Err(unknown(name, &[&NAMES[..], &across::NAMES].concat())),
        }
        Ok(())
    }

    /// Checks what PostgreSQL checks of options that go together.
    pub fn check(&self) -> Result<()> {
        let error = |text: &str| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, text));
        let text = self.format == CsvFormat::Text;
        if self.forms.thousands.is_some() && self.forms.thousands == self.forms.separator {
            return error("thousands and decimal_separator must be different");
        }
        if text && (self.quote.is_some() || self.escape.is_some()) {
            return error("COPY QUOTE and ESCAPE require CSV mode");
        }
        // What is not given is found by looking, or the default.
        let or_default = |given: Option<u8>, default: u8| given.or((!self.auto_detect).then_some(default));
        if let (false, Some(delimiter), Some(Some(quote))) =
            (text, or_default(self.delimiter, b','), self.quote.or((!self.auto_detect).then_some(Some(b'"'))))
            && delimiter == quote
        {
            return error("COPY delimiter and quote must be different");
        }
        if text && self.delimiter.is_some_and(|d| b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&d)) {
            return error("COPY delimiter cannot be a letter, a digit, a period or a backslash");
        }
        if self.null.iter().flatten().any(|n| n.contains(['\n', '\r'])) {
            return error("COPY null representation cannot use newline or carriage return");
        }
        let delimiter = self.delimiter.unwrap_or(if text { b'\t' } else { b',' });
        let default = self.default.as_ref().map(|(marker, _)| marker);
        if default.is_some_and(|d| d.contains(['\n', '\r'])) {
            return error("COPY default representation cannot use newline or carriage return");
        }
        for (what, marker) in
            self.null.iter().flatten().map(|n| ("NULL", n)).chain(default.into_iter().map(|d| ("DEFAULT", d)))
        {
            if marker.as_bytes().contains(&delimiter) && !self.auto_detect {
                return error(&format!("COPY delimiter character must not appear in the {what} specification"));
            }
            if let (false, Some(quote)) = (text || self.auto_detect, self.quote.unwrap_or(Some(b'"')))
                && marker.as_bytes().contains(&quote)
            {
                return error(&format!("CSV quote character must not appear in the {what} specification"));
            }
        }
        let null = if text { "\\N" } else { "" };
        if let Some(default) = default
            && self.null.as_ref().map_or(default == null, |n| n.contains(default))
        {
            return error("NULL specification and DEFAULT specification cannot be the same");
        }
        Ok(())
    }

    /// Whether bad records are left out.
    pub fn rejecting(&self) -> bool {
        self.ignore_errors || self.rejects.is_some()
    }
}
