//! Files by path: formats, glob patterns, options by name.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result, SqlState};
use types::{Chunk, SqlType};

use crate::csv::{CsvFormat, CsvOptions, CsvWriter, open_csv};
use crate::input::{Compression, open_error};
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
pub fn expand_paths(paths: &[String]) -> Result<Vec<PathBuf>> {
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

/// Opens what FROM names: `function` is `read_csv`, `read_parquet`, or empty for a bare path whose ending decides.
pub fn open(function: &str, paths: &[String], options: &[(String, String)]) -> Result<Arc<dyn FileSource>> {
    let files = expand_paths(paths)?;
    let format = match function {
        "read_csv" => Some(Format::Csv),
        "read_parquet" => Some(Format::Parquet),
        _ => files.first().and_then(|f| format_of(&f.to_string_lossy())),
    };
    match format {
        Some(Format::Csv) => {
            let mut csv = CsvOptions::detect();
            options.iter().try_for_each(|(name, value)| csv.set(name, value))?;
            open_csv(&files, &csv)
        }
        Some(Format::Parquet) => {
            refuse_options(options)?;
            open_parquet(&files)
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

/// The format of a COPY: as its options say, else as the path's ending says, else CSV if there is any.
fn copy_format(path: &str, options: &[(String, String)]) -> Format {
    match options.iter().find(|(name, _)| name == "format") {
        Some((_, format)) if format.eq_ignore_ascii_case("parquet") => Format::Parquet,
        Some(_) => Format::Csv,
        None => format_of(path).unwrap_or(Format::Csv),
    }
}

/// Options of COPY. Unlike PostgreSQL's, the format of a file without the option is CSV unless its name ends in `.txt`
/// or `.dat`; a CSV file read without the option HEADER has one if its first line names the columns.
fn copy_options(path: &str, options: &[(String, String)]) -> Result<CsvOptions> {
    let mut csv = CsvOptions::copy();
    let lower = path.to_ascii_lowercase();
    if lower.ends_with(".txt") || lower.ends_with(".dat") {
        csv.format = CsvFormat::Text;
    }
    options.iter().try_for_each(|(name, value)| csv.set(name, value))?;
    if csv.format == CsvFormat::Csv && csv.delimiter.is_none() {
        let stem = lower.trim_end_matches(".gz").trim_end_matches(".zst");
        csv.delimiter = match stem.rsplit('.').next() {
            Some("tsv") => Some(b'\t'),
            Some("tbl" | "psv") => Some(b'|'),
            _ => None,
        };
    }
    Ok(csv)
}

/// Opens the file of a COPY FROM into columns of these names and types, in this order. Parquet files have types of
/// their own; their columns are found by name.
pub fn open_for_copy(
    path: &str,
    expected: &[(String, SqlType)],
    options: &[(String, String)],
) -> Result<Arc<dyn FileSource>> {
    let files = expand_paths(&[path.to_owned()])?;
    if copy_format(path, options) == Format::Parquet {
        refuse_options(options)?;
        return crate::source::select_columns(open_parquet(&files)?, expected, path);
    }
    let mut csv = copy_options(path, options)?;
    csv.columns = Some(expected.to_vec());
    open_csv(&files, &csv)
}

/// Takes chunks and writes them to a file.
pub trait ChunkWriter: Send {
    /// Writes the rows of a chunk.
    fn write(&mut self, chunk: &Chunk) -> Result<()>;
    /// Writes what is still to be written. Without it the file is not complete.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Creates a file for rows of these fields, in the format that options or the path's ending say.
pub fn create(path: &str, fields: &[Field], options: &[(String, String)]) -> Result<Box<dyn ChunkWriter>> {
    let format = copy_format(path, options);
    // Options first: a mistake in them must not cost the file that is there.
    if format == Format::Parquet {
        refuse_options(options)?;
        let value = |name: &str| options.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        let writer = ParquetWriter::prepare(fields, value("compression"), value("row_group_size"))?;
        return Ok(Box::new(writer.start(create_file(path)?)?));
    }
    let csv = copy_options(path, options)?;
    csv.check()?;
    let compression = csv.compression.unwrap_or_else(|| Compression::of_path(Path::new(path)));
    let file = BufWriter::with_capacity(1 << 20, create_file(path)?);
    let sink = match compression {
        Compression::None => Output::Plain(file),
        Compression::Gzip => Output::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
        Compression::Zstd => Output::Zstd(zstd::stream::write::Encoder::new(file, 3).map_err(|e| write_error(&e))?),
    };
    Ok(Box::new(CsvFile(CsvWriter::new(sink, fields, &csv)?)))
}

fn create_file(path: &str) -> Result<File> {
    File::create(path).map_err(|e| open_error(Path::new(path), &e))
}

/// The error for a write that failed.
#[cold]
pub(crate) fn write_error(error: &std::io::Error) -> Error {
    // SQLSTATE 53100: disk full.
    let state = if error.kind() == std::io::ErrorKind::StorageFull { SqlState("53100") } else { SqlState::IO_ERROR };
    Error::new(state, format!("could not write file: {error}"))
}

enum Output {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
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
    fn finish(self) -> std::io::Result<()> {
        let mut file = match self {
            Self::Plain(file) => file,
            Self::Gzip(w) => w.finish()?,
            Self::Zstd(w) => w.finish()?,
        };
        file.flush()
    }
}

struct CsvFile(CsvWriter<Output>);

impl ChunkWriter for CsvFile {
    fn write(&mut self, chunk: &Chunk) -> Result<()> {
        self.0.write(chunk)
    }
    fn finish(self: Box<Self>) -> Result<()> {
        self.0.finish()?.finish().map_err(|e| write_error(&e))
    }
}
