//! Arrow's C stream interface: chunks to and from other libraries in this process, without a copy of either's.

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use base::{Error, Result, SqlState};
use types::Chunk;

use crate::source::Field;
use crate::{arrow_in, arrow_out};

/// Chunks as a reader of batches.
struct Export<I> {
    schema: SchemaRef,
    chunks: I,
    ready: std::vec::IntoIter<RecordBatch>,
}

impl<I: Iterator<Item = Result<Chunk>>> Iterator for Export<I> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.ready.next() {
                return Some(Ok(batch));
            }
            let batches = self.chunks.next()?.and_then(|chunk| arrow_out::batches_of(&chunk, &self.schema));
            match batches {
                Ok(batches) => self.ready = batches.into_iter(),
                Err(error) => return Some(Err(ArrowError::ExternalError(Box::new(error)))),
            }
        }
    }
}

impl<I: Iterator<Item = Result<Chunk>>> RecordBatchReader for Export<I> {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// A C stream of chunks with these fields.
pub fn export_stream(
    fields: &[Field],
    chunks: impl Iterator<Item = Result<Chunk>> + Send + 'static,
) -> FFI_ArrowArrayStream {
    let ready = Vec::new().into_iter();
    FFI_ArrowArrayStream::new(Box::new(Export { schema: arrow_out::schema_of(fields), chunks, ready }))
}

/// Chunks of a C stream.
pub struct Import {
    reader: RecordBatchStreamReader,
    fields: Vec<Field>,
}

impl Import {
    /// Takes a stream over.
    pub fn new(stream: FFI_ArrowArrayStream) -> Result<Self> {
        let reader = RecordBatchStreamReader::try_new(stream).map_err(|e| foreign_error(&e))?;
        let fields = arrow_in::fields_of(&reader.schema());
        Ok(Self { reader, fields })
    }

    /// Takes over the stream that a raw pointer names, leaving it released.
    ///
    /// # Safety
    /// `stream` must point to a valid `ArrowArrayStream` of the C stream interface.
    pub unsafe fn from_raw(stream: *mut FFI_ArrowArrayStream) -> Result<Self> {
        // SAFETY: the caller vouches for the stream.
        Self::new(unsafe { FFI_ArrowArrayStream::from_raw(stream) })
    }

    /// The columns.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The next chunks; none at the end. Columns without a counterpart in SQL are all NULL.
    pub fn next_chunks(&mut self) -> Result<Option<Vec<Chunk>>> {
        match self.reader.next() {
            None => Ok(None),
            Some(batch) => arrow_in::chunks_of(&batch.map_err(|e| foreign_error(&e))?, &self.fields).map(Some),
        }
    }
}

#[cold]
fn foreign_error(error: &ArrowError) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("could not read Arrow data: {error}"))
}
