//! Bytes of a Parquet file: positioned reads, so that workers share one descriptor, and a file that shrinks while it is
//! read is an error and not a signal. Each page has a buffer of its own: strings of one must not keep the bytes of others
//! alive.

use std::io::{BufReader, Read};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use remote::Wanted;

use crate::input::Input;

/// Bytes that are read at once of what has no known length: the headers of pages.
const HEADER: usize = 4 << 10;

/// Where a file's bytes are.
#[derive(Clone)]
pub struct Origin(Arc<Input>);

impl Origin {
    pub fn new(input: Input) -> Self {
        Self(Arc::new(input))
    }

    /// Whether the file is on a server.
    pub fn is_remote(&self) -> bool {
        matches!(&*self.0, Input::Remote(..))
    }

    /// Has bytes fetched, if they are on a server: until what this returns is dropped.
    pub fn want(&self, ranges: Vec<Range<u64>>) -> base::Result<Option<Wanted>> {
        let end = self.0.len();
        self.0.want(ranges.into_iter().map(|range| range.start.min(end)..range.end.min(end)), false)
    }
}

impl Length for Origin {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Origin {
    type T = BufReader<From>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::with_capacity(HEADER, From { origin: self.clone(), at: start }))
    }
    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        match start.checked_add(length as u64).filter(|&end| end <= self.len()) {
            None => Err(ParquetError::EOF(format!("{length} bytes at offset {start} are past the end of the file"))),
            Some(end) => self.0.bytes(start, end).map_err(|e| ParquetError::External(Box::new(e))),
        }
    }
}

/// The bytes of a file from some offset on.
pub struct From {
    origin: Origin,
    at: u64,
}

impl Read for From {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let left = self.origin.len().saturating_sub(self.at);
        let now = room.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.origin.0.bytes_into(self.at, &mut room[..now])?;
        self.at += now as u64;
        Ok(now)
    }
}
