//! Files by path: formats, glob patterns, options by name.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Budget, CancelToken, Error, Result, SqlState};
use types::{Chunk, SqlType, Value};

use crate::copy_options::{self, Direction};
use crate::csv::{CsvOptions, CsvWriter, RejectSink, open_csv};
use crate::input::{Compression, open_error};
use crate::new_file::NewFile;
use crate::parquet_in::open_parquet;
use crate::parquet_out::ParquetWriter;
use crate::source::{Field, FileSource};

/// File formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// CSV, TSV and the like.
    Csv,
    /// Apache Parquet.
    Parquet,
}

/// The format that a file's name says: `.csv`, `.tsv`, `.tbl`, `.txt`, each perhaps with `.gz` or `.zst`, or `.parquet`.
pub fn format_of(path: &str) -> Option<Format> {
    let lower = path.to_ascii_lowercase();
    let stem = [".gz", ".gzip", ".zst", ".zstd"].iter().find_map(|s| lower.strip_suffix(s)).unwrap_or(&lower);
    match Path::new(stem).extension()?.to_str()? {
        "csv" | "tsv" | "tbl" | "txt" | "dat" | "psv" => Some(Format::Csv),
        "parquet" | "parq" | "pq" => Some(Format::Parquet),
        _ => None,
    }
}

/// The files that paths and glob patterns name, those of a pattern in the order of their names. A path that exists is
/// no pattern.
pub fn expand_paths(paths: &[String], cancel: &CancelToken) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for path in paths {
        if !path.contains(['*', '?', '[']) || Path::new(path).exists() {
            out.push(PathBuf::from(path));
            continue;
        }
        let bad = |e: &dyn std::fmt::Display| {
            Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid pattern \"{path}\": {e}"))
        };
        let before = out.len();
        for found in glob::glob(path).map_err(|e| bad(&e))? {
            cancel.check()?;
            let found = found.map_err(|e| open_error(e.path(), e.error()))?;
            if !found.is_dir() {
                out.push(found);
            }
        }
        if out.len() == before {
            return Err(Error::new(SqlState::UNDEFINED_FILE, format!("no file matches \"{path}\"")));
        }
    }
    Ok(out)
}

/// Does a part of a piece of some work that takes some hundred microseconds, and says whether that was the piece's last.
pub type PieceStep = Arc<dyn Fn(usize) -> Result<bool> + Send + Sync>;

/// Those who help where work can be divided.
pub trait Helpers: Send + Sync {
    /// Does the pieces `0..count`, many at once.
    fn each(&self, count: usize, step: PieceStep) -> Result<()>;
}

/// What a database lends to the reading of a file.
#[derive(Clone, Default)]
pub struct OpenContext {
    /// What is charged for texts and column chunks in memory.
    pub budget: Option<Budget>,
    /// Stops opening and reading.
    pub cancel: CancelToken,
    /// Who helps to look at a text file before it is read.
    pub helpers: Option<Arc<dyn Helpers>>,
    /// Who is told of bad records of a text file, which are then left out.
    pub rejects: Option<RejectSink>,
    /// COPY: the defaults of the columns.
    pub defaults: Vec<Value>,
}

impl OpenContext {
    fn lend(self, csv: &mut CsvOptions) {
        csv.budget = self.budget;
        csv.cancel = self.cancel;
        csv.helpers = self.helpers;
        csv.rejects = self.rejects;
        if let Some((_, values)) = &mut csv.default {
            *values = self.defaults;
        }
    }
}

/// Opens what FROM names: `function` is `read_csv`, `read_parquet`, or empty for a bare path whose ending decides.
pub fn open(
    function: &str,
    paths: &[String],
    options: &[(String, String)],
    context: OpenContext,
) -> Result<Arc<dyn FileSource>> {
    let files = expand_paths(paths, &context.cancel)?;
    let format = match function {
        "read_csv" => Some(Format::Csv),
        "read_parquet" => Some(Format::Parquet),
        _ => files.first().and_then(|f| format_of(&f.to_string_lossy())),
    };
    match format {
        Some(Format::Csv) => {
            let mut csv = CsvOptions::detect();
            if let Some((name, _)) = options.iter().find(|(name, _)| matches!(name.as_str(), "default" | "force_quote"))
            {
                return Err(Error::new(SqlState::SYNTAX_ERROR, format!("option \"{name}\" is one of COPY only")));
            }
            options.iter().try_for_each(|(name, value)| csv.set(name, value))?;
            context.lend(&mut csv);
            open_csv(&files, &csv)
        }
        Some(Format::Parquet) => {
            refuse_options(options)?;
            open_parquet(&files, context.budget.as_ref(), &context.cancel)
        }
        None => Err(unknown_format(paths.first().map_or("", String::as_str))),
    }
}

#[cold]
fn unknown_format(path: &str) -> Error {
    Error::new(SqlState::UNDEFINED_FILE, format!("cannot tell the format of \"{path}\" by its name"))
        .hint("use read_csv('...') or read_parquet('...')")
}

fn refuse_options(options: &[(String, String)]) -> Result<()> {
    let other = options.iter().find(|(name, _)| name != "format" && name != "compression" && name != "row_group_size");
    match other {
        Some((name, _)) => {
            Err(Error::new(SqlState::SYNTAX_ERROR, format!("option \"{name}\" not recognized for Parquet files")))
        }
        None => Ok(()),
    }
}

/// Opens the file of a COPY FROM into columns of these names and types, in this order. Parquet files have types of
/// their own; their columns are found by name.
pub fn open_for_copy(
    path: &str,
    expected: &[(String, SqlType)],
    options: &[(String, String)],
    context: OpenContext,
) -> Result<Arc<dyn FileSource>> {
    // Mistakes in options first, as PostgreSQL does.
    if copy_options::format(path, options) == Format::Parquet {
        copy_options::check_redundant(options)?;
        refuse_options(options)?;
        let files = expand_paths(&[path.to_owned()], &context.cancel)?;
        return crate::source::select_columns(
            open_parquet(&files, context.budget.as_ref(), &context.cancel)?,
            expected,
            path,
        );
    }
    let names: Vec<&str> = expected.iter().map(|(name, _)| name.as_str()).collect();
    let mut csv = copy_options::parse(path, &names, options, Direction::From)?;
    csv.columns = Some(expected.to_vec());
    context.lend(&mut csv);
    open_csv(&expand_paths(&[path.to_owned()], &csv.cancel)?, &csv)
}

/// Takes chunks and writes them to a file.
pub trait ChunkWriter: Send {
    /// Writes the rows of a chunk.
    fn write(&mut self, chunk: &Chunk) -> Result<()>;
    /// Writes what is still to be written. Without it the file is not complete.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Creates a file for rows of these fields, in the format that options or the path's ending say.
pub fn create(
    path: &str,
    fields: &[Field],
    options: &[(String, String)],
    budget: Option<&Budget>,
) -> Result<Box<dyn ChunkWriter>> {
    let format = copy_options::format(path, options);
    // Options first: a mistake in them must not cost the file that is there.
    if format == Format::Parquet {
        copy_options::check_redundant(options)?;
        refuse_options(options)?;
        let value = |name: &str| options.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        let writer = ParquetWriter::prepare(fields, value("compression"), value("row_group_size"))?;
        return Ok(Box::new(writer.start(NewFile::create(path)?, budget)?));
    }
    let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
    let csv = copy_options::parse(path, &names, options, Direction::To)?;
    let compression = copy_options::compression(path, &csv);
    let file = BufWriter::with_capacity(1 << 20, NewFile::create(path)?);
    let sink = match compression {
        Compression::None => Output::Plain(file),
        Compression::Gzip => Output::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
        Compression::Zstd => Output::Zstd(zstd::stream::write::Encoder::new(file, 3).map_err(|e| write_error(&e))?),
    };
    Ok(Box::new(CsvFile(CsvWriter::new(sink, fields, &csv)?)))
}

/// The error for a write that failed.
#[cold]
pub(crate) fn write_error(error: &std::io::Error) -> Error {
    // SQLSTATE 53100: disk full.
    let state = if error.kind() == std::io::ErrorKind::StorageFull { SqlState("53100") } else { SqlState::IO_ERROR };
    Error::new(state, format!("could not write file: {error}"))
}

enum Output {
    Plain(BufWriter<NewFile>),
    Gzip(flate2::write::GzEncoder<BufWriter<NewFile>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<NewFile>>),
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(w) => w.write(bytes),
            Self::Gzip(w) => w.write(bytes),
            Self::Zstd(w) => w.write(bytes),
        }
    }
    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Plain(w) => w.flush(),
            Self::Gzip(w) => w.flush(),
            Self::Zstd(w) => w.flush(),
        }
    }
}

impl Output {
    fn finish(self) -> Result<()> {
        let file = match self {
            Self::Plain(file) => Ok(file),
            Self::Gzip(w) => w.finish(),
            Self::Zstd(w) => w.finish(),
        };
        let file = file.and_then(|f| f.into_inner().map_err(std::io::IntoInnerError::into_error));
        file.map_err(|e| write_error(&e))?.finish()
    }
}

struct CsvFile(CsvWriter<Output>);

impl ChunkWriter for CsvFile {
    fn write(&mut self, chunk: &Chunk) -> Result<()> {
        self.0.write(chunk)
    }
    fn finish(self: Box<Self>) -> Result<()> {
        self.0.finish()?.finish()
    }
}
