//! Arrow's C stream interface: chunks to and from other libraries in this process, without a copy of either's.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{ArrowPrimitiveType, DurationNanosecondType, Time64NanosecondType, TimestampNanosecondType};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, SchemaRef, TimeUnit};
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

    /// The next chunks; none at the end. Columns without a counterpart in SQL are all NULL, and those with times that
    /// would lose digits turn out to be such columns here.
    pub fn next_chunks(&mut self) -> Result<Option<Vec<Chunk>>> {
        let Some(batch) = self.reader.next() else { return Ok(None) };
        let batch = batch.map_err(|e| foreign_error(&e))?;
        for (field, column) in self.fields.iter_mut().zip(batch.columns()) {
            if field.unsupported.is_none() && has_nanoseconds(column) {
                field.unsupported = Some(format!("{} with nanoseconds (round it to microseconds)", field.sql_type));
            }
        }
        arrow_in::chunks_of(&batch, &self.fields).map(Some)
    }
}

/// Whether a column has times that microseconds cannot hold.
fn has_nanoseconds(column: &ArrayRef) -> bool {
    fn any<T: ArrowPrimitiveType<Native = i64>>(column: &ArrayRef) -> bool {
        column.as_primitive::<T>().iter().flatten().any(|ns| ns % 1000 != 0)
    }
    match column.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => any::<TimestampNanosecondType>(column),
        DataType::Time64(TimeUnit::Nanosecond) => any::<Time64NanosecondType>(column),
        DataType::Duration(TimeUnit::Nanosecond) => any::<DurationNanosecondType>(column),
        _ => false,
    }
}

#[cold]
fn foreign_error(error: &ArrowError) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("could not read Arrow data: {error}"))
}
