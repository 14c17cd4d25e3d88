//! Files that chunks are written to, each of a format: options that were checked, and the file.

use std::io::{BufWriter, Write};
use std::path::Path;

use base::Result;
use types::Chunk;

use crate::arrow_file::{ArrowFileWriter, ArrowTarget};
use crate::context::OpenContext;
use crate::copy_options::{self, Direction};
use crate::csv::{CsvOptions, CsvWriter};
use crate::format::Format;
use crate::input::{Compression, write_error};
use crate::json::{JsonTarget, JsonWriter};
use crate::new_file::NewFile;
use crate::parquet_out::{self, ParquetWriter};
use crate::source::Field;

/// Takes chunks and writes them to a file.
pub trait ChunkWriter: Send {
    /// Writes the rows of a chunk.
    fn write(&mut self, chunk: &Chunk) -> Result<()>;
    /// Writes what is still to be written. Without it the file is not complete.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// How a file is to be written: options that were checked.
pub(crate) enum Planned {
    Parquet(parquet_out::Prepared),
    Json(JsonTarget),
    Arrow(ArrowTarget),
    Csv(Box<CsvOptions>),
}

impl Planned {
    /// Checks options for a file of these fields.
    pub fn new(path: &str, fields: &[Field], options: &[(String, String)], outside: &OpenContext) -> Result<Self> {
        let format = copy_options::format(path, options);
        if format != Format::Csv {
            copy_options::check_redundant(options)?;
        }
        Ok(match format {
            Format::Parquet => {
                copy_options::refuse_options(options, Direction::To)?;
                Self::Parquet(ParquetWriter::prepare(fields, options)?)
            }
            Format::Json => Self::Json(JsonTarget::of(fields, options)?),
            Format::Arrow => Self::Arrow(ArrowTarget::of(fields, options)?),
            Format::Csv => {
                let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
                let mut csv = copy_options::parse(path, &names, options, Direction::To)?;
                csv.zone = outside.zone.clone();
                Self::Csv(Box::new(csv))
            }
        })
    }

    /// Creates the file.
    pub fn start(self, path: &str, fields: &[Field], outside: &OpenContext) -> Result<Box<dyn ChunkWriter>> {
        Ok(match self {
            Self::Parquet(prepared) => {
                Box::new(prepared.start(NewFile::create(path)?, outside.budget.as_ref(), outside.helpers.clone())?)
            }
            Self::Arrow(target) => {
                let sink = BufWriter::with_capacity(1 << 20, NewFile::create(path)?);
                Box::new(ArrowFileWriter::new(sink, target)?)
            }
            Self::Json(target) => {
                let compression = target.compression.unwrap_or_else(|| Compression::of_path(Path::new(path)));
                let sink = Output::create(path, compression)?;
                Box::new(JsonWriter::new(sink, fields, target.array, outside.zone.clone()))
            }
            Self::Csv(csv) => {
                let sink = Output::create(path, copy_options::compression(path, &csv))?;
                Box::new(CsvFile(CsvWriter::new(sink, fields, &csv)?))
            }
        })
    }
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
    fn create(path: &str, compression: Compression) -> Result<Self> {
        let file = BufWriter::with_capacity(1 << 20, NewFile::create(path)?);
        Ok(match compression {
            Compression::None => Self::Plain(file),
            Compression::Gzip => Self::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            Compression::Zstd => Self::Zstd(zstd::stream::write::Encoder::new(file, 3).map_err(|e| write_error(&e))?),
        })
    }

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

impl ChunkWriter for ArrowFileWriter<BufWriter<NewFile>> {
    fn write(&mut self, chunk: &Chunk) -> Result<()> {
        Self::write(self, chunk)
    }
    fn finish(self: Box<Self>) -> Result<()> {
        let file = Self::finish(*self)?.into_inner();
        file.map_err(|e| write_error(&e.into_error()))?.finish()
    }
}

impl ChunkWriter for JsonWriter<Output> {
    fn write(&mut self, chunk: &Chunk) -> Result<()> {
        Self::write(self, chunk)
    }
    fn finish(self: Box<Self>) -> Result<()> {
        Self::finish(*self)?.finish()
    }
}

impl ChunkWriter for ParquetWriter<NewFile> {
    fn write(&mut self, chunk: &Chunk) -> Result<()> {
        Self::write(self, chunk)
    }
    fn finish(self: Box<Self>) -> Result<()> {
        Self::finish(*self)?.finish()
    }
}
