//! Bytes of a Parquet file: positioned reads, so that workers share one descriptor, and a file that shrinks while it is
//! read is an error and not a signal.

use bytes::{Buf, Bytes};
use parquet::arrow::ProjectionMask;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, Length};

use crate::input::Input;

/// Where a file's bytes are.
pub struct Origin(pub Input);

impl Origin {
    fn read(&self, start: u64, length: u64) -> Result<Bytes> {
        match start.checked_add(length).filter(|&end| end <= self.len()) {
            None => Err(ParquetError::EOF(format!("{length} bytes at offset {start} are past the end of the file"))),
            Some(end) => self.0.bytes(start, end).map_err(|e| ParquetError::External(Box::new(e))),
        }
    }
}

impl Length for Origin {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Origin {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(self.get_bytes(start, self.len().saturating_sub(start) as usize)?.reader())
    }
    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.read(start, length as u64)
    }
}

/// The column chunks of a row group that a read needs, each in a buffer of its own: strings of one column must not keep
/// the bytes of the others alive.
pub struct RowGroupBytes {
    len: u64,
    chunks: Vec<(u64, Bytes)>,
}

impl RowGroupBytes {
    /// Reads the column chunks that `mask` selects.
    pub fn load(origin: &Origin, row_group: &RowGroupMetaData, mask: &ProjectionMask) -> Result<Self> {
        let mut chunks = Vec::new();
        for (leaf, column) in row_group.columns().iter().enumerate() {
            if mask.leaf_included(leaf) {
                let offset = column.dictionary_page_offset().filter(|&o| o > 0).unwrap_or(column.data_page_offset());
                let (Ok(start), Ok(length)) = (u64::try_from(offset), u64::try_from(column.compressed_size())) else {
                    return Err(ParquetError::General("a column chunk has a negative offset or size".into()));
                };
                chunks.push((start, origin.read(start, length)?));
            }
        }
        Ok(Self { len: origin.len(), chunks })
    }

    fn from(&self, start: u64) -> Result<Bytes> {
        for (first, bytes) in &self.chunks {
            if (*first..*first + bytes.len() as u64).contains(&start) {
                return Ok(bytes.slice((start - first) as usize..));
            }
        }
        Err(ParquetError::EOF(format!("offset {start} is outside of the column's bytes")))
    }
}

impl Length for RowGroupBytes {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for RowGroupBytes {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(self.from(start)?.reader())
    }
    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        for (first, bytes) in &self.chunks {
            if start >= *first && start - first <= bytes.len() as u64 {
                let at = (start - first) as usize;
                if length <= bytes.len() - at {
                    return Ok(bytes.slice(at..at + length));
                }
            }
        }
        Err(ParquetError::EOF(format!("{length} bytes at offset {start} are outside of the column's bytes")))
    }
}
