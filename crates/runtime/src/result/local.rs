//! One worker's part of a result.

use std::ops::Range;
use std::sync::Arc;

use base::Result;

use types::column::Plain;
use types::{Buffer, Chunk, Column, FreeRows, Physical, SqlType, Str};

use super::{Destination, ResultColumn, ResultLocal};

/// Rows of a batch.
const CAPACITY: usize = 2048;

/// What generated code does not see of a worker's result.
#[derive(Debug)]
pub struct LocalResult {
    types: Box<[SqlType]>,
    buffers: Vec<(Buffer, Buffer)>,
    columns: Box<[ResultColumn]>,
    /// Where code writes instead of the buffers, if the sink has room of its own.
    room: Option<FreeRows>,
    worker: usize,
    destination: Destination,
}

// SAFETY: the pointers lead into the buffers, which the item owns, or to rows that the sink, which it keeps alive, has for this
// worker alone.
unsafe impl Send for ResultLocal {}

impl ResultLocal {
    pub(super) fn new(types: &[SqlType], worker: usize, destination: &Destination) -> Self {
        let mut buffers: Vec<(Buffer, Buffer)> = types.iter().map(|t| buffers(*t)).collect();
        let columns: Box<[ResultColumn]> = buffers.iter_mut().map(column_of).collect();
        let destination = destination.clone();
        let inner = LocalResult { types: types.into(), buffers, columns, room: None, worker, destination };
        Self { count: 0, capacity: CAPACITY as u64, columns: inner.columns.as_ptr(), inner: Box::new(inner) }
    }

    /// Hands the rows on, which came out of a morsel.
    pub(crate) fn flush(&mut self, morsel: Range<u64>) -> Result<()> {
        let rows = std::mem::take(&mut self.count) as usize;
        if rows == 0 {
            return Ok(());
        }
        self.capacity = CAPACITY as u64;
        let inner = &mut *self.inner;
        inner.hand_on(rows, morsel)?;
        let room = match &inner.destination.sink {
            Some(sink) => sink.free_rows(inner.worker, &inner.types, CAPACITY)?,
            None => None,
        };
        if let Some(room) = room {
            self.capacity = room.rows as u64;
            inner.columns.iter_mut().zip(&room.columns).for_each(|(column, &data)| column.data = data);
            inner.room = Some(room);
        }
        Ok(())
    }
}

impl LocalResult {
    /// Hands so many rows on. Code writes to the buffers again.
    fn hand_on(&mut self, rows: usize, morsel: Range<u64>) -> Result<()> {
        let room = self.room.take();
        let (worker, begin) = (self.worker, morsel.start);
        match (&self.destination.sink, room) {
            (Some(sink), Some(room)) => {
                let nulls = finish_in_place(&self.types, rows, &room, &mut self.buffers);
                // SAFETY: code has written the values, which are as promised now; payload lives as long as the morsel.
                let done = unsafe { sink.advance(worker, begin, rows, &nulls) };
                self.reset(rows);
                done
            }
            (Some(sink), None) => {
                let sink = sink.clone();
                sink.append(worker, begin, self.take(rows))
            }
            (None, _) => {
                let chunk = self.take(rows);
                self.destination.queue.push(morsel, chunk)
            }
        }
    }

    /// The rows in the buffers as a chunk that owns all that it refers to.
    fn take(&mut self, rows: usize) -> Chunk {
        assert!(rows <= CAPACITY);
        let buffers = self.buffers.iter_mut().zip(&self.types);
        let columns = buffers.map(|(buffers, &sql_type)| take_column(sql_type, rows, buffers)).collect();
        self.reset(rows);
        Chunk::new(rows, columns)
    }

    /// Lets code write to the buffers, of which so many rows were in use. It writes only flags that may be set.
    fn reset(&mut self, rows: usize) {
        self.buffers.iter_mut().for_each(|(_, nulls)| nulls.as_mut_slice()[..rows].fill(0));
        self.columns.iter_mut().zip(&mut self.buffers).for_each(|(column, buffers)| *column = column_of(buffers));
    }
}

/// Brings rows that were written to a sink's room into the form of columns, but for the payload of strings. Returns the flags
/// of columns that have NULLs, which are in the buffers.
fn finish_in_place<'a>(
    types: &[SqlType],
    rows: usize,
    room: &FreeRows,
    buffers: &'a mut [(Buffer, Buffer)],
) -> Vec<Option<&'a [u8]>> {
    assert!(rows <= room.rows);
    let columns = types.iter().zip(&room.columns).zip(buffers);
    let finish = |((sql_type, &data), (_, nulls)): ((&SqlType, &*mut u8), &'a mut (Buffer, Buffer))| {
        let size = sql_type.physical().size();
        // SAFETY: code has written `rows` flags to the buffer, which has room for CAPACITY, and as many values to the room,
        // which is this worker's alone.
        let values = unsafe {
            nulls.set_len(rows);
            std::slice::from_raw_parts_mut(data, rows * size)
        };
        one_nan(sql_type.physical(), values);
        let nulls = Some(nulls.as_slice()).filter(|nulls| nulls.contains(&1));
        if let Some(nulls) = nulls {
            zero_nulls(size, values, nulls);
        }
        nulls
    };
    columns.map(finish).collect()
}

fn buffers(sql_type: SqlType) -> (Buffer, Buffer) {
    (Buffer::with_capacity(CAPACITY * sql_type.physical().size()), Buffer::zeroed(CAPACITY))
}

fn column_of(buffers: &mut (Buffer, Buffer)) -> ResultColumn {
    ResultColumn { data: buffers.0.as_mut_ptr(), nulls: buffers.1.as_mut_ptr() }
}

/// The first `rows` values as a column. Full buffers are given away and replaced; of others what is used is copied.
fn take_column(sql_type: SqlType, rows: usize, buffers: &mut (Buffer, Buffer)) -> Column {
    let size = sql_type.physical().size();
    // SAFETY: code has written `rows` values and flags into room for CAPACITY.
    unsafe {
        buffers.0.set_len(rows * size);
        buffers.1.set_len(rows);
    }
    let any_null = buffers.1.as_slice().contains(&1);
    if any_null {
        zero_nulls(size, buffers.0.as_mut_slice(), buffers.1.as_slice());
    }
    one_nan(sql_type.physical(), buffers.0.as_mut_slice());
    let heap = if sql_type.physical() == Physical::Str { own_strings(&mut buffers.0) } else { None };
    let nulls = any_null.then(|| Arc::new(copy(&buffers.1)));
    let values = if rows * 2 > CAPACITY {
        std::mem::replace(&mut buffers.0, Buffer::with_capacity(CAPACITY * size))
    } else {
        copy(&buffers.0)
    };
    // SAFETY: generated code writes headers of valid text only, and `own_strings` has moved what they point to into the
    // heap.
    unsafe { Column::new(sql_type, rows, Arc::new(values), nulls, heap.into_iter().map(Arc::new).collect()) }
}

fn copy(buffer: &Buffer) -> Buffer {
    let mut copy = Buffer::with_capacity(buffer.len());
    copy.extend(buffer.as_slice());
    copy
}

/// Columns promise zeros where a row is NULL; code writes anything there.
fn zero_nulls(size: usize, values: &mut [u8], nulls: &[u8]) {
    values.chunks_exact_mut(size).zip(nulls).filter(|(_, null)| **null == 1).for_each(|(value, _)| value.fill(0));
}

/// Which NaN arithmetic makes depends on the processor; results have one.
fn one_nan(physical: Physical, values: &mut [u8]) {
    match physical {
        Physical::F32 => replace(values, |v| f32::from_ne_bytes(v).is_nan(), f32::NAN.to_ne_bytes()),
        Physical::F64 => replace(values, |v| f64::from_ne_bytes(v).is_nan(), f64::NAN.to_ne_bytes()),
        _ => {}
    }
}

fn replace<const N: usize>(values: &mut [u8], which: impl Fn([u8; N]) -> bool, by: [u8; N]) {
    let (values, _) = values.as_chunks_mut::<N>();
    values.iter_mut().filter(|v| which(**v)).for_each(|v| *v = by);
}

/// Copies the payload of long strings, which may not live longer than the morsel, into one heap.
fn own_strings(values: &mut Buffer) -> Option<Buffer> {
    const fn plain<T: Plain>() {}
    plain::<Str>();
    let rows = values.len() / size_of::<Str>();
    // SAFETY: the buffer is aligned to 64 and holds that many headers, with payloads alive until the morsel ends; those
    // of NULL rows were zeroed.
    let headers = unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<Str>(), rows) };
    let bytes: usize = headers.iter().filter(|s| !s.is_inline()).map(Str::len).sum();
    if bytes == 0 {
        return None;
    }
    let mut heap = Buffer::with_capacity(bytes);
    for header in headers.iter_mut().filter(|s| !s.is_inline()) {
        let at = heap.len();
        // SAFETY: the payload is alive; the heap has room, so it does not move under earlier headers.
        heap.extend(unsafe { header.bytes() });
        *header = Str::new(&heap.as_slice()[at..]);
    }
    Some(heap)
}
