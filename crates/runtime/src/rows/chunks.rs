//! Partitions of rows as lists of chunks, each of which goes by itself.
//!
//! The chunks of all partitions of a worker come from one area, so that they lie in huge pages though each is small (with
//! an area for each partition, page faults took as long as all the rest), and go back to the pool when their partition
//! goes. Payload of strings lies in chunks of the same partition; what is longer than a chunk has memory of its own.

use base::memory::{Pages, Reservation, clear};
use base::{Area, Budget, Result};
use types::Str;

use super::Segment;
use super::strings::StringFields;
use base::prefetch::prefetch_write;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes of a chunk, but for rows that are larger.
const CHUNK: usize = 16 << 10;

/// Where partitions take chunks from.
#[derive(Debug)]
pub struct Pool {
    area: Area,
    budget: Budget,
    free: Vec<*mut u8>,
    stride: usize,
    strings: StringFields,
    /// Bytes of a chunk, and how many rows it has room for.
    chunk: usize,
    rows: usize,
}

// SAFETY: free chunks belong to the pool's area.
unsafe impl Send for Pool {}

/// The rows of a partition, of which all but the last chunk are full, and the payload of their strings. It must go with
/// its pool, or be given back to it.
#[derive(Debug, Default)]
pub struct ChunkList {
    chunks: Vec<*mut u8>,
    rows: usize,
    /// Rows that the last chunk still has room for, and its bytes in use: to divide for these would cost more than all the
    /// rest of an allocation.
    left: usize,
    used: usize,
    /// So many rows own their strings.
    owned: usize,
    text: Vec<*mut u8>,
    /// Bytes in use of the last chunk of text.
    text_used: usize,
    long_text: Vec<(Pages, Reservation)>,
}

// SAFETY: the chunks belong to the list until it is given back.
unsafe impl Send for ChunkList {}
// SAFETY: shared references only read.
unsafe impl Sync for ChunkList {}

impl Pool {
    /// A pool of chunks for rows of `stride` bytes, a multiple of 16, with such strings.
    pub fn new(stride: usize, strings: StringFields, budget: &Budget, operator: &'static str) -> Self {
        let rows = (CHUNK / stride).max(1);
        let chunk = CHUNK.max(stride);
        let area = Area::new(budget.clone(), operator);
        Self { area, budget: budget.clone(), free: Vec::new(), stride, strings, chunk, rows }
    }

    fn take(&mut self) -> Result<*mut u8> {
        match self.free.pop() {
            Some(chunk) => Ok(chunk),
            None => Ok(self.area.allocate_any(self.chunk)?.as_ptr()),
        }
    }

    /// Bytes of the chunks that were ever taken.
    pub fn taken(&self) -> u64 {
        self.area.used() as u64
    }

    /// Takes a partition's memory back.
    pub fn give_back(&mut self, list: ChunkList) {
        self.free.extend(list.chunks);
        self.free.extend(list.text);
    }

    /// Bytes from one row to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    pub(super) fn strings(&self) -> &StringFields {
        &self.strings
    }
}

impl ChunkList {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A new zeroed row.
    pub fn allocate(&mut self, pool: &mut Pool) -> Result<*mut u8> {
        if self.left == 0 {
            self.chunks.push(pool.take()?);
            (self.left, self.used) = (pool.rows, 0);
        }
        let last = *self.chunks.last().expect("pushed when there was none");
        // SAFETY: the chunk has room for another row; it may have been used before.
        let row = unsafe {
            let row = last.add(self.used);
            clear(row, pool.stride);
            row
        };
        // Many rows of other partitions come before the next one of this, in too many places for the processor to foresee.
        (LINE..pool.stride).step_by(LINE).chain([0, pool.stride - 1]).for_each(|at| {
            prefetch_write(row.wrapping_add(pool.stride + at));
        });
        self.rows += 1;
        self.left -= 1;
        self.used += pool.stride;
        Ok(row)
    }

    /// The rows. Strings of those that came since `own_strings` may belong to others.
    pub fn segments(&self, pool: &Pool) -> impl Iterator<Item = Segment> {
        let (stride, rows, last, node) = (pool.stride, pool.rows, self.rows, pool.area.node());
        self.chunks.iter().enumerate().map(move |(i, &start)| Segment::Block {
            start,
            stride,
            rows: rows.min(last - i * rows),
            node,
        })
    }

    /// Makes all rows own their strings, which are alive.
    pub fn own_strings(&mut self, pool: &mut Pool) -> Result<()> {
        if self.owned == self.rows {
            return Ok(());
        }
        let strings = pool.strings.clone();
        for number in std::mem::replace(&mut self.owned, self.rows)..self.rows {
            // SAFETY: the row exists, and this list's owner alone uses it; its strings are alive.
            unsafe {
                let row = self.chunks[number / pool.rows].add(number % pool.rows * pool.stride);
                for text in strings.long(row) {
                    *text = self.copy_text(pool, text.bytes())?;
                }
            }
        }
        Ok(())
    }

    /// All rows own their strings.
    pub(super) fn set_owned(&mut self) {
        self.owned = self.rows;
    }

    /// A header of a copy of a long text.
    pub(super) fn copy_text(&mut self, pool: &mut Pool, bytes: &[u8]) -> Result<Str> {
        let to = if bytes.len() > pool.chunk {
            let charged = pool.budget.reserve(bytes.len(), pool.area.operator())?;
            let pages = Pages::zeroed(bytes.len());
            let start = pages.as_ptr();
            self.long_text.push((pages, charged));
            start
        } else {
            if self.text.is_empty() || pool.chunk - self.text_used < bytes.len() {
                self.text.push(pool.take()?);
                self.text_used = 0;
            }
            let last = *self.text.last().expect("pushed when there was none");
            self.text_used += bytes.len();
            // SAFETY: the chunk has room.
            unsafe { last.add(self.text_used - bytes.len()) }
        };
        // SAFETY: room for the text, which the list owns.
        unsafe {
            to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            Ok(Str::new(std::slice::from_raw_parts(to, bytes.len())))
        }
    }
}
