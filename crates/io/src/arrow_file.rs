//! Files of Arrow's IPC format, also called Feather, in and out. A morsel is a record batch.

mod layout;
mod writer;

pub use writer::{ArrowFileWriter, ArrowTarget};

use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_ipc::reader::FileReaderBuilder;
use arrow_schema::ArrowError;
use base::memory::Reservation;
use base::panics::catch;
use base::{Budget, CancelToken, Error, Result, SqlState};
use types::Chunk;

use crate::arrow_in::{chunks_of, fields_of};
use crate::context::OpenContext;
use crate::input::{Compression, Input, OPERATOR};
use crate::source::{Field, FileSource, PieceReader, PrunePredicate, Step};
use layout::Batch;

/// A file whose footer was read.
struct ArrowFile {
    name: String,
    input: Input,
    fields: Vec<Field>,
    batches: Vec<Batch>,
    /// Bytes of dictionaries, which are read for each batch.
    dictionaries: u64,
    /// The file's column for each column of the source.
    columns: Vec<usize>,
}

/// The error for a file that is not what it should be.
#[cold]
fn corrupt(file: &str, detail: &str) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("\"{file}\" is not a valid Arrow file or is corrupt")).detail(detail)
}

/// Runs a step of decoding; what it throws or says becomes an error that names the file.
fn guarded<T>(file: &str, step: impl FnOnce() -> Result<T, ArrowError>) -> Result<T> {
    match catch(step) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(ArrowError::IoError(what, error))) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            Err(Error::new(SqlState::IO_ERROR, format!("could not read \"{file}\": {what}")))
        }
        Ok(Err(ArrowError::NotYetImplemented(what))) => Err(Error::unsupported(format!("\"{file}\": {what}"))),
        Ok(Err(error)) => Err(corrupt(file, &error.to_string())),
        Err(_) => Err(corrupt(file, "decoding it failed")),
    }
}

/// The bytes of a file as a stream that can be turned back.
struct Cursor {
    file: Arc<ArrowFile>,
    at: u64,
}

impl Read for Cursor {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let left = self.file.input.len().saturating_sub(self.at);
        let now = room.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.file.input.bytes_into(self.at, &mut room[..now])?;
        self.at += now as u64;
        Ok(now)
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let place = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.file.input.len().checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = place.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// Arrow files as one source.
struct ArrowSource {
    schema: Vec<Field>,
    files: Vec<Arc<ArrowFile>>,
    /// File and batch of each morsel.
    morsels: Vec<(usize, usize)>,
    budget: Option<Budget>,
    cancel: CancelToken,
}

/// Opens Arrow files. Every file must have the columns of the first, of the same types.
pub fn open_arrow(paths: &[PathBuf], context: &OpenContext) -> Result<Arc<dyn FileSource>> {
    let mut files: Vec<ArrowFile> = Vec::new();
    for path in paths {
        context.cancel.check()?;
        let input = Input::open(path, Compression::None, context.means())?;
        // The heads of its batches are all over it.
        input.fetch(std::iter::once(0..input.len()))?;
        let mut file = ArrowFile::open(path.display().to_string(), input)?;
        if let Some(first) = files.first() {
            file.conform(first)?;
        }
        files.push(file);
    }
    let Some(first) = files.first() else {
        return Err(Error::new(SqlState::UNDEFINED_FILE, "no file to read"));
    };
    let schema = first.fields.iter().map(|field| Field { nullable: true, ..field.clone() }).collect();
    let morsels = files.iter().enumerate().flat_map(|(f, file)| (0..file.batches.len()).map(move |b| (f, b))).collect();
    let files = files.into_iter().map(Arc::new).collect();
    Ok(Arc::new(ArrowSource { schema, files, morsels, budget: context.budget.clone(), cancel: context.cancel.clone() }))
}

impl ArrowFile {
    fn open(name: String, input: Input) -> Result<Self> {
        let found = layout::read(&name, &input)?;
        let fields = guarded(&name, || Ok(fields_of(&found.schema)))?;
        let columns = (0..fields.len()).collect();
        Ok(Self { name, input, fields, batches: found.batches, dictionaries: found.dictionaries, columns })
    }

    /// Checks that the file has the columns of the first, and notes where.
    fn conform(&mut self, first: &Self) -> Result<()> {
        let place = |field: &Field| {
            let same = |other: &Field| other.name == field.name && other.sql_type == field.sql_type;
            self.fields.iter().position(same).ok_or_else(|| {
                let (name, of) = (&field.name, field.sql_type);
                let message =
                    format!("file \"{}\" has no column \"{name}\" of type {of}, as \"{}\" has", self.name, first.name);
                Error::new(SqlState::DATATYPE_MISMATCH, message).hint("union_by_name = true reads them")
            })
        };
        self.columns = first.fields.iter().map(place).collect::<Result<_>>()?;
        Ok(())
    }
}

impl FileSource for ArrowSource {
    fn schema(&self) -> &[Field] {
        &self.schema
    }
    fn estimated_rows(&self) -> u64 {
        (0..self.morsels.len()).map(|morsel| self.rows_of(morsel)).fold(0, u64::saturating_add)
    }
    fn exact_rows(&self) -> Option<u64> {
        Some(self.estimated_rows())
    }
    fn morsels(&self) -> usize {
        self.morsels.len()
    }
    fn file_of(&self, morsel: usize) -> usize {
        self.morsels[morsel].0
    }
    fn rows_of(&self, morsel: usize) -> u64 {
        let (file, batch) = self.morsels[morsel];
        self.files[file].batches[batch].rows
    }
    fn read(
        self: Arc<Self>,
        morsel: usize,
        columns: &[usize],
        _prune: &[PrunePredicate],
        _chunk_rows: usize,
    ) -> Result<Box<dyn PieceReader>> {
        columns.iter().try_for_each(|&c| self.schema[c].check_supported())?;
        let (file, batch) = self.morsels[morsel];
        let file = self.files[file].clone();
        let columns = columns.iter().map(|&c| file.columns[c]).collect();
        let (budget, cancel) = (self.budget.clone(), self.cancel.clone());
        Ok(Box::new(BatchReader { file, batch, columns, budget, cancel, chunks: None, _charged: None }))
    }
    fn read_first(self: Arc<Self>, columns: &[usize]) -> Result<Box<dyn PieceReader>> {
        match self.morsels.is_empty() {
            true => Ok(Box::new(crate::source::NoRows)),
            false => self.read(0, columns, &[], crate::source::CHUNK_ROWS),
        }
    }
}

/// The reading of a batch: decoded at once, and given out in chunks.
struct BatchReader {
    file: Arc<ArrowFile>,
    batch: usize,
    columns: Vec<usize>,
    budget: Option<Budget>,
    cancel: CancelToken,
    chunks: Option<std::vec::IntoIter<Chunk>>,
    _charged: Option<Reservation>,
}

impl BatchReader {
    fn decode(&mut self) -> Result<Vec<Chunk>> {
        let (file, batch) = (&self.file, &self.file.batches[self.batch]);
        let bytes = batch.bytes.saturating_add(file.dictionaries);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self._charged = self.budget.as_ref().map(|b| b.reserve(bytes, OPERATOR)).transpose()?;
        // Each column once, as the library wants it.
        let mut wanted = self.columns.clone();
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.is_empty() {
            return Ok(layout::empty(batch.rows));
        }
        let (cursor, number) = (Cursor { file: file.clone(), at: 0 }, self.batch);
        let projection = wanted.clone();
        let read = guarded(&file.name, move || {
            let mut reader = FileReaderBuilder::new().with_projection(projection).build(cursor)?;
            reader.set_index(number)?;
            reader.next().transpose()
        })?;
        let Some(read) = read else { return Err(corrupt(&file.name, "a record batch is missing")) };
        if read.num_rows() as u64 != batch.rows {
            return Err(corrupt(&file.name, "a record batch has other rows than it says"));
        }
        let place = |column: &usize| wanted.iter().position(|w| w == column).expect("each column is wanted");
        let places: Vec<usize> = self.columns.iter().map(place).collect();
        let fields: Vec<Field> = self.columns.iter().map(|&column| file.fields[column].clone()).collect();
        let name = file.name.clone();
        match catch(|| chunks_of(&read.project(&places).map_err(|e| corrupt(&name, &e.to_string()))?, &fields)) {
            Ok(chunks) => chunks,
            Err(_) => Err(corrupt(&name, "decoding it failed")),
        }
    }
}

impl PieceReader for BatchReader {
    fn step(&mut self) -> Result<Step> {
        self.cancel.check()?;
        if self.chunks.is_none() {
            self.chunks = Some(self.decode()?.into_iter());
        }
        Ok(self.chunks.as_mut().and_then(Iterator::next).map_or(Step::End, Step::Chunk))
    }
}
