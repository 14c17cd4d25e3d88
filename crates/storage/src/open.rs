//! Chunks that grow: columns with room, whose finished rows readers already see while new ones are written behind them.
//!
//! A writer owns the [`OpenChunk`] and writes only past the rows that were published; readers know how many these are
//! and never look behind them. Growing moves the rows to larger buffers; whoever reads keeps the old ones alive.
//! [`OpenChunk::layout`] changes when readers of later rows need other addresses.

mod row;

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use base::memory::{Reservation, on_node};
use base::{Budget, Result};
use types::{Buffer, Chunk, Column, FreeRows, Physical, SqlType, Str};

use crate::statistics::Known;
use crate::{CHUNK_ROWS, ColumnRef};

const FIRST_CAPACITY: usize = 64;
const LARGEST_BLOCK: usize = 256 << 10;

pub(crate) use row::Appended;

/// Which rows of a chunk to copy.
#[derive(Clone, Debug)]
pub(crate) enum Rows<'a> {
    Range(Range<usize>),
    List(&'a [u32]),
}

impl Rows<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Range(r) => r.len(),
            Self::List(l) => l.len(),
        }
    }
    /// The first `n` rows and the rest.
    pub(crate) fn split(self, n: usize) -> (Self, Self) {
        match self {
            Self::Range(r) => (Self::Range(r.start..r.start + n), Self::Range(r.start + n..r.end)),
            Self::List(l) => (Self::List(&l[..n]), Self::List(&l[n..])),
        }
    }
}

#[derive(Debug)]
struct OpenColumn {
    sql_type: SqlType,
    physical: Physical,
    values: Arc<Buffer>,
    /// What whoever appends single rows knows of the chunk's bounds, and whether there is a block that is not charged yet.
    known: Known,
    has_new_block: bool,
    /// From the first NULL on, a flag for every row.
    nulls: Option<Arc<Buffer>>,
    /// String payload; all blocks but the last are full, `used` bytes of the last are in use.
    blocks: Vec<Arc<Buffer>>,
    used: usize,
}

/// The addresses of a column that grows, and what keeps its memory alive.
#[derive(Clone, Debug)]
pub(crate) struct OpenView {
    sql_type: SqlType,
    values: Arc<Buffer>,
    nulls: Option<Arc<Buffer>>,
    blocks: Vec<Arc<Buffer>>,
}

impl OpenView {
    pub(crate) fn sql_type(&self) -> SqlType {
        self.sql_type
    }
    pub(crate) fn address(&self) -> ColumnRef {
        ColumnRef {
            data: self.values.as_ptr(),
            nulls: self.nulls.as_ref().map_or(std::ptr::null(), |nulls| nulls.as_ptr()),
        }
    }
    pub(crate) fn bytes(&self) -> usize {
        self.values.capacity()
            + self.nulls.as_ref().map_or(0, |n| n.capacity())
            + self.blocks.iter().map(|b| b.capacity()).sum::<usize>()
    }
}

/// The first `len` bytes of a buffer of this module, which keeps its alignment and slack.
fn prefix(buffer: &Arc<Buffer>, len: usize) -> Arc<Buffer> {
    let start = NonNull::new(buffer.as_ptr().cast_mut()).expect("allocated");
    debug_assert!(len <= buffer.capacity());
    // SAFETY: the buffer owns the bytes, is kept alive as the owner and, being shared, never reallocated. Its first
    // `len` bytes were written before and are not written again: the chunk is complete or private.
    Arc::new(unsafe { Buffer::foreign(start, len, buffer.clone()) })
}

impl OpenColumn {
    fn new(sql_type: SqlType, capacity: usize) -> Self {
        let physical = sql_type.physical();
        let values = Arc::new(Buffer::lasting(capacity * physical.size()));
        let (known, has_new_block) = (Known::default(), false);
        Self { sql_type, physical, values, known, has_new_block, nulls: None, blocks: Vec::new(), used: 0 }
    }

    fn bytes(&self) -> usize {
        self.values.capacity()
            + self.nulls.as_ref().map_or(0, |n| n.capacity())
            + self.blocks.iter().map(|b| b.capacity()).sum::<usize>()
    }

    /// How many pieces of memory it consists of.
    fn parts(&self) -> usize {
        self.blocks.len() + usize::from(self.nulls.is_some())
    }

    /// Moves `rows` rows to buffers of `capacity` rows.
    fn grow(&mut self, rows: usize, capacity: usize) {
        let moved = |old: &Buffer, size: usize| {
            let mut new = Buffer::lasting(capacity * size);
            // SAFETY: `rows` rows of the old buffer are initialised, and the new one has room for them.
            unsafe { new.as_mut_ptr().copy_from_nonoverlapping(old.as_ptr(), rows * size) };
            Arc::new(new)
        };
        self.values = moved(&self.values, self.sql_type.physical().size());
        self.nulls = self.nulls.as_deref().map(|n| moved(n, 1));
    }

    /// Copies rows of `source` to the rows from `at` on, for which there is room.
    fn append(&mut self, at: usize, capacity: usize, source: &Column, rows: &Rows<'_>) {
        let size = self.sql_type.physical().size();
        assert_eq!(source.physical(), self.sql_type.physical());
        assert!((at + rows.len()) * size <= self.values.capacity());
        // SAFETY: in bounds, as asserted. No reader looks at these bytes: views end at or before `at`, and the buffer
        // is this writer's alone.
        let target = unsafe { self.values.as_ptr().cast_mut().add(at * size) };
        match (self.sql_type.physical(), rows) {
            (Physical::Str, Rows::Range(r)) => self.append_strings(target.cast(), source, r.clone()),
            (Physical::Str, Rows::List(l)) => self.append_strings(target.cast(), source, l.iter().map(|&i| i as usize)),
            (_, Rows::Range(r)) => {
                assert!(r.end <= source.rows());
                // SAFETY: both ranges are in bounds, and the target is memory of this column only.
                unsafe { target.copy_from_nonoverlapping(source.data().add(r.start * size), r.len() * size) };
            }
            (_, Rows::List(l)) => {
                for (k, &i) in l.iter().enumerate() {
                    assert!((i as usize) < source.rows());
                    // SAFETY: as above, one value at a time.
                    unsafe {
                        target.add(k * size).copy_from_nonoverlapping(source.data().add(i as usize * size), size);
                    }
                }
            }
        }
        self.append_nulls(at, capacity, source, rows);
    }

    fn append_nulls(&mut self, at: usize, capacity: usize, source: &Column, rows: &Rows<'_>) {
        if source.nulls().is_none() && self.nulls.is_none() {
            return;
        }
        let nulls = self.nulls.get_or_insert_with(|| Arc::new(Buffer::zeroed(capacity)));
        assert!(at + rows.len() <= nulls.capacity());
        // SAFETY: in bounds, and behind every view, as for the values.
        let target = unsafe { std::slice::from_raw_parts_mut(nulls.as_ptr().cast_mut().add(at), rows.len()) };
        match (source.nulls(), rows) {
            (None, _) => target.fill(0),
            (Some(flags), Rows::Range(r)) => target.copy_from_slice(&flags[r.clone()]),
            (Some(flags), Rows::List(l)) => target.iter_mut().zip(*l).for_each(|(t, &i)| *t = flags[i as usize]),
        }
    }

    /// Takes over rows that were written behind the rows `at`, of which `nulls` are NULL: copies the payload of long strings.
    ///
    /// # Safety
    /// As of [`OpenChunk::advance`].
    unsafe fn advance(&mut self, at: usize, capacity: usize, rows: usize, nulls: Option<&[u8]>) {
        assert!((at + rows) * self.sql_type.physical().size() <= self.values.capacity());
        if self.sql_type.physical() == Physical::Str {
            // SAFETY: in bounds, as asserted, written as the caller promises, and behind every view.
            let headers =
                unsafe { std::slice::from_raw_parts_mut(self.values.as_ptr().cast_mut().cast::<Str>().add(at), rows) };
            for header in headers.iter_mut().filter(|header| !header.is_inline()) {
                // SAFETY: the caller keeps the payload alive until this returns.
                *header = self.copy_payload(unsafe { header.bytes() });
            }
        }
        if nulls.is_some() || self.nulls.is_some() {
            let flags = self.nulls.get_or_insert_with(|| Arc::new(Buffer::zeroed(capacity)));
            assert!(at + rows <= flags.capacity());
            // SAFETY: in bounds, and behind every view.
            let target = unsafe { std::slice::from_raw_parts_mut(flags.as_ptr().cast_mut().add(at), rows) };
            match nulls {
                Some(nulls) => target.copy_from_slice(nulls),
                None => target.fill(0),
            }
        }
    }

    fn append_strings(&mut self, target: *mut Str, source: &Column, rows: impl Iterator<Item = usize>) {
        let headers = source.values::<Str>();
        for (k, row) in rows.enumerate() {
            let mut header = headers[row];
            if !header.is_inline() {
                // SAFETY: `source` owns the payload.
                header = self.copy_payload(unsafe { header.bytes() });
            }
            // SAFETY: the caller made sure that the target has room for all rows.
            unsafe { target.add(k).write(header) };
        }
    }

    fn copy_payload(&mut self, bytes: &[u8]) -> Str {
        let capacity = self.blocks.last().map_or(0, |b| b.capacity());
        if capacity - self.used < bytes.len() {
            let size = (capacity * 2).clamp(1 << 10, LARGEST_BLOCK).max(bytes.len());
            self.blocks.push(Arc::new(Buffer::with_capacity(size)));
            self.has_new_block = true;
            self.used = 0;
        }
        let block = self.blocks.last().expect("pushed above if there was none");
        // SAFETY: there is room behind `used`, where no header points yet; the block never moves while headers live.
        let copy = unsafe {
            let start = block.as_ptr().cast_mut().add(self.used);
            start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            std::slice::from_raw_parts(start, bytes.len())
        };
        self.used += bytes.len();
        Str::new(copy)
    }

    fn view(&self) -> OpenView {
        let (values, nulls) = (self.values.clone(), self.nulls.clone());
        OpenView { sql_type: self.sql_type, values, nulls, blocks: self.blocks.clone() }
    }

    fn rows(&self, rows: usize) -> Column {
        let size = self.sql_type.physical().size();
        let nulls = self.nulls.as_ref().map(|n| prefix(n, rows));
        // SAFETY: headers come from other columns and point into the blocks, whose used bytes do not change.
        unsafe { Column::new(self.sql_type, rows, prefix(&self.values, rows * size), nulls, self.blocks.clone()) }
    }
}

/// A chunk that grows up to [`CHUNK_ROWS`] rows.
#[derive(Debug)]
pub(crate) struct OpenChunk {
    columns: Vec<OpenColumn>,
    rows: usize,
    capacity: usize,
    memory: Reservation,
    node: u16,
    layout: u32,
}

impl OpenChunk {
    pub(crate) fn new(types: impl Iterator<Item = SqlType>, rows: usize, budget: &Budget) -> Result<Self> {
        let capacity = rows.next_power_of_two().clamp(FIRST_CAPACITY, CHUNK_ROWS);
        let types: Vec<SqlType> = types.collect();
        let bytes = capacity * types.iter().map(|t| t.physical().size()).sum::<usize>();
        let memory = budget.reserve(bytes, "insert")?;
        let columns = types.into_iter().map(|t| OpenColumn::new(t, capacity)).collect();
        Ok(Self { columns, rows: 0, capacity, memory, node: base::memory::node(), layout: 0 })
    }

    /// The node of the thread that began it, and so of its memory.
    pub(crate) fn node(&self) -> u16 {
        self.node
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }
    pub(crate) fn room(&self) -> usize {
        CHUNK_ROWS - self.rows
    }

    /// Appends rows, for which there must be room in a chunk.
    pub(crate) fn append(&mut self, chunk: &Chunk, rows: &Rows<'_>) -> Result<()> {
        assert!(rows.len() <= self.room());
        let _there = on_node(self.node);
        let before = (self.parts(), self.capacity);
        self.make_room(rows.len())?;
        for (column, source) in self.columns.iter_mut().zip(chunk.columns()) {
            column.append(self.rows, self.capacity, source, rows);
        }
        self.added(rows.len(), before)
    }

    /// Where the values of the next rows go, for at most `most` of them: at least one.
    pub(crate) fn free_rows(&mut self, most: usize) -> Result<FreeRows> {
        assert!(self.room() > 0 && most > 0);
        if self.rows == self.capacity {
            self.make_room(most.min(self.room()))?;
        }
        let behind = |c: &OpenColumn| {
            // SAFETY: within the buffer or at its end.
            unsafe { c.values.as_ptr().cast_mut().add(self.rows * c.sql_type.physical().size()) }
        };
        Ok(FreeRows { rows: most.min(self.capacity - self.rows), columns: self.columns.iter().map(behind).collect() })
    }

    /// Takes over `rows` rows that were written to the [`free_rows`](Self::free_rows); `nulls` has the flags of columns that
    /// have NULLs among them.
    ///
    /// # Safety
    /// The values are written, zeros where a row is NULL, and the payload of strings is alive.
    pub(crate) unsafe fn advance(&mut self, rows: usize, nulls: &[Option<&[u8]>]) -> Result<()> {
        assert!(rows <= self.capacity - self.rows);
        let before = (self.parts(), self.capacity);
        for (column, nulls) in self.columns.iter_mut().zip(nulls) {
            // SAFETY: as the caller promises.
            unsafe { column.advance(self.rows, self.capacity, rows, *nulls) };
        }
        self.added(rows, before)
    }

    /// The rows that were written to the [`free_rows`](Self::free_rows), as a chunk of their own.
    ///
    /// # Safety
    /// As of [`advance`](Self::advance); the payload of strings must outlive the chunk.
    pub(crate) unsafe fn written(&self, rows: usize, nulls: &[Option<&[u8]>]) -> Chunk {
        assert!(rows <= self.capacity - self.rows);
        let owned = |bytes: &[u8]| {
            let mut buffer = Buffer::with_capacity(bytes.len());
            buffer.extend(bytes);
            Arc::new(buffer)
        };
        let column = |(c, nulls): (&OpenColumn, &Option<&[u8]>)| {
            let size = c.sql_type.physical().size();
            // SAFETY: in bounds and written, as the caller promises.
            unsafe {
                let values = std::slice::from_raw_parts(c.values.as_ptr().add(self.rows * size), rows * size);
                Column::new(c.sql_type, rows, owned(values), nulls.map(owned), Vec::new())
            }
        };
        Chunk::new(rows, self.columns.iter().zip(nulls).map(column).collect())
    }

    /// How many pieces of memory the columns consist of.
    fn parts(&self) -> usize {
        self.columns.iter().map(OpenColumn::parts).sum()
    }

    /// Has room for so many more rows, if they fit into a chunk.
    pub(crate) fn make_room(&mut self, rows: usize) -> Result<()> {
        let needed = self.rows + rows;
        if needed > self.capacity {
            self.layout += 1;
            let _there = on_node(self.node);
            let capacity = (self.capacity * 4).max(needed.next_power_of_two()).min(CHUNK_ROWS);
            let row: usize = self.columns.iter().map(|c| c.sql_type.physical().size()).sum();
            self.memory.resize(self.memory.bytes() + (capacity - self.capacity) * row)?;
            self.columns.iter_mut().for_each(|c| c.grow(self.rows, capacity));
            self.capacity = capacity;
        }
        Ok(())
    }

    /// Counts rows that were added; `before` are the parts that there were, and the capacity.
    fn added(&mut self, rows: usize, before: (usize, usize)) -> Result<()> {
        self.rows += rows;
        if (self.parts(), self.capacity) == before {
            return Ok(());
        }
        self.take_memory()
    }

    /// Is charged for memory that it has taken, which readers of later rows need.
    fn take_memory(&mut self) -> Result<()> {
        self.layout += 1;
        // String payload is known only now; a refusal leaves the rows to be truncated by whoever gives up.
        self.memory.resize(self.columns.iter().map(OpenColumn::bytes).sum())
    }

    /// Changes when rows from then on need other [`views`](Self::views).
    pub(crate) fn layout(&self) -> u32 {
        self.layout
    }

    /// Its columns for readers of the rows so far, and of later ones as long as the layout is the same.
    pub(crate) fn views(&self) -> impl Iterator<Item = OpenView> {
        self.columns.iter().map(OpenColumn::view)
    }

    /// Forgets the rows from `rows` on, none of which was published.
    pub(crate) fn truncate(&mut self, rows: usize) {
        assert!(rows <= self.rows);
        self.rows = rows;
    }

    /// The rows so far, for their writer: nobody may append as long as this lives.
    pub(crate) fn chunk(&self) -> Chunk {
        Chunk::new(self.rows, self.columns.iter().map(|c| c.rows(self.rows)).collect())
    }

    /// The memory that the chunk is charged for; it grows no more.
    pub(crate) fn into_memory(self) -> Reservation {
        self.memory
    }

    /// The statement that began the chunk is done; others append to it.
    pub(crate) fn outlive(&mut self) {
        self.memory.outlive();
    }
}
