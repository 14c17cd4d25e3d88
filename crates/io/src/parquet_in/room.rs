//! Room for the pages of a column: a page is charged, as it is in the file and as its header says it will be, before either is
//! allocated. Some bytes of a file may be a page of gigabytes.
//!
//! The decoder reads headers and pages through [`PageBytes`]: what it has read of a header before it asks for a page is that
//! page's.

use std::io::{BufReader, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Budget;
use base::memory::Reservation;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use super::origin::{From, Origin};
use crate::input::OPERATOR;

/// Bytes of a header in which the sizes of its page are.
const HEAD: usize = 24;

/// The bytes of a file, whose pages are charged to a budget.
#[derive(Clone)]
pub struct PageBytes(Arc<Shared>);

struct Shared {
    origin: Origin,
    budget: Option<Budget>,
    state: Mutex<State>,
    /// How many pages stay charged if nobody takes their room.
    kept: usize,
}

#[derive(Default)]
struct State {
    /// How the header begins that was read last.
    header: Vec<u8>,
    rooms: Vec<Room>,
}

/// What a page is charged with.
#[derive(Debug)]
pub struct Room(Reservation);

impl Room {
    /// The page is decompressed, and so long; with it there are so many other bytes.
    pub fn settle(&mut self, page: usize, others: usize) -> base::Result<()> {
        self.0.resize(page.saturating_add(others))
    }
}

impl PageBytes {
    /// Of the last `kept` pages the room is kept, if nobody takes it.
    pub fn new(origin: Origin, budget: Option<Budget>, kept: usize) -> Self {
        Self(Arc::new(Shared { origin, budget, state: Mutex::default(), kept }))
    }

    /// The room of the pages that were read since this was asked last.
    pub fn take_room(&self) -> Option<Room> {
        let mut state = self.lock();
        let last = state.rooms.pop();
        state.rooms.clear();
        last
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Length for PageBytes {
    fn len(&self) -> u64 {
        self.0.origin.len()
    }
}

impl ChunkReader for PageBytes {
    type T = Header;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(Header { bytes: self.0.origin.get_read(start)?, of: self.clone(), read: 0 })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let Some(budget) = &self.0.budget else { return self.0.origin.get_bytes(start, length) };
        let page = match sizes(&self.lock().header) {
            Some((page, compressed)) if compressed == length => page,
            _ => return Err(ParquetError::NYI("a page whose header does not begin with its sizes".into())),
        };
        let bytes = page.saturating_add(length);
        let room = budget.reserve(bytes, OPERATOR).map_err(|e| ParquetError::External(Box::new(e)))?;
        let mut state = self.lock();
        state.rooms.push(Room(room));
        if state.rooms.len() > self.0.kept {
            state.rooms.remove(0);
        }
        drop(state);
        self.0.origin.get_bytes(start, length)
    }
}

/// The bytes of a file from where a header begins.
pub struct Header {
    bytes: BufReader<From>,
    of: PageBytes,
    /// How many of them were read.
    read: usize,
}

impl Read for Header {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let count = self.bytes.read(room)?;
        if self.read < HEAD {
            let mut state = self.of.lock();
            if self.read == 0 {
                state.header.clear();
            }
            state.header.extend(room[..count].iter().take(HEAD - self.read));
        }
        self.read += count;
        Ok(count)
    }
}

/// Bytes of a page when it is decompressed, and in the file. A header is a struct in Thrift's compact protocol, whose first
/// three fields are 32-bit integers: the kind of the page and these. All writers write fields in their order.
fn sizes(header: &[u8]) -> Option<(usize, usize)> {
    const NEXT_FIELD_IS_I32: u8 = 0x15;
    let mut bytes = header.iter();
    let mut field = || {
        bytes.next().filter(|&&byte| byte == NEXT_FIELD_IS_I32)?;
        let mut number = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = bytes.next()?;
            number |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                // Zigzag: odd numbers are negative.
                return (number & 1 == 0).then_some((number >> 1) as usize);
            }
        }
        None
    };
    field()?;
    Some((field()?, field()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_second_and_third_field() {
        assert_eq!(sizes(&[0x15, 0x04, 0x15, 0x80, 0x01, 0x15, 0x0c, 0x2c]), Some((64, 6)));
        assert_eq!(sizes(&[0x15, 0x00, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, 0x00]), Some((0x7fff_ffff, 0)));
        let odd: [&[u8]; 5] = [
            &[],
            &[0x15, 0x00, 0x15, 0x80],
            &[0x15, 0x00, 0x15, 0x01, 0x15, 0x00],
            &[0x25, 0x00, 0x15, 0x02, 0x15, 0x02],
            &[0x15, 0x00, 0x15, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
        ];
        assert!(odd.iter().all(|header| sizes(header).is_none()));
    }
}
