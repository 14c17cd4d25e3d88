//! One worker's part of a result.

use std::ops::Range;
use std::sync::Arc;

use base::Result;

use types::column::Plain;
use types::{Buffer, Chunk, Column, FreeRows, Physical, SqlType, Str};

use super::{Destination, ResultColumn, ResultLocal};

/// Rows of a batch, unless it has very many columns.
const CAPACITY: usize = 2048;
/// Bytes of a batch's values, and of the payload of its texts, that there should be at most.
const BYTES: usize = 4 << 20;
/// Fewest rows of a batch that has to be small.
const LEAST: usize = 64;

/// What generated code does not see of a worker's result.
#[derive(Debug)]
pub struct LocalResult {
    types: Box<[SqlType]>,
    buffers: Vec<(Buffer, Buffer)>,
    columns: Box<[ResultColumn]>,
    /// Rows that the buffers have room for.
    capacity: usize,
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
        let width = types.iter().map(|t| t.physical().size() + 1).sum::<usize>();
        let capacity = (BYTES / width.max(1)).clamp(LEAST, CAPACITY);
        let mut buffers: Vec<(Buffer, Buffer)> = types.iter().map(|t| buffers(*t, capacity)).collect();
        let columns: Box<[ResultColumn]> = buffers.iter_mut().map(column_of).collect();
        let destination = destination.clone();
        let inner = LocalResult { types: types.into(), buffers, columns, capacity, room: None, worker, destination };
        Self { count: 0, capacity: capacity as u64, columns: inner.columns.as_ptr(), inner: Box::new(inner) }
    }

    /// Hands the rows on, which came out of a morsel.
    pub(crate) fn flush(&mut self, morsel: Range<u64>) -> Result<()> {
        let rows = std::mem::take(&mut self.count) as usize;
        if rows == 0 {
            return Ok(());
        }
        let inner = &mut *self.inner;
        self.capacity = inner.capacity as u64;
        inner.hand_on(rows, morsel)?;
        let room = match &inner.destination.sink {
            Some(sink) => sink.free_rows(inner.worker, &inner.types, inner.capacity)?,
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
                self.each_chunk(rows, |_, chunk| sink.append(worker, begin, chunk()))
            }
            (None, _) => {
                let queue = self.destination.queue.clone();
                self.each_chunk(rows, |bytes, chunk| {
                    let room = queue.room(bytes)?;
                    queue.push(morsel.clone(), chunk(), room)
                })
            }
        }
    }

    /// Gives the rows in the buffers as chunks that own all that they refer to: as one, unless texts are so long that whoever
    /// takes it would have to have room for too much at once. A chunk's bytes are told before it is made.
    fn each_chunk(
        &mut self,
        rows: usize,
        mut give: impl FnMut(usize, &mut dyn FnMut() -> Chunk) -> Result<()>,
    ) -> Result<()> {
        assert!(rows <= self.capacity);
        let texts = self.finish(rows);
        let width = self.types.iter().map(|t| t.physical().size() + 1).sum::<usize>();
        let given = if texts <= BYTES {
            give(texts + rows * width, &mut || self.take(rows))
        } else {
            self.pieces(rows)
                .into_iter()
                .try_for_each(|(piece, texts)| give(texts + piece.len() * width, &mut || self.copy_rows(piece.clone())))
        };
        self.reset(rows);
        given
    }

    /// Brings the rows in the buffers into the form of columns, but for the payload of strings, whose bytes are returned.
    fn finish(&mut self, rows: usize) -> usize {
        let mut texts = 0;
        for ((values, nulls), sql_type) in self.buffers.iter_mut().zip(&self.types) {
            let (physical, size) = (sql_type.physical(), sql_type.physical().size());
            // SAFETY: code has written `rows` values and flags into room for as many.
            unsafe {
                values.set_len(rows * size);
                nulls.set_len(rows);
            }
            if nulls.as_slice().contains(&1) {
                zero_nulls(size, values.as_mut_slice(), nulls.as_slice());
            }
            one_nan(physical, values.as_mut_slice());
            if physical == Physical::Str {
                texts += headers(values).iter().map(payload).sum::<usize>();
            }
        }
        texts
    }

    /// The rows as pieces with not too much text, and what each of them has; a row is never cut.
    fn pieces(&mut self, rows: usize) -> Vec<(Range<usize>, usize)> {
        let mut of_rows = vec![0; rows];
        for ((values, _), _) in self.buffers.iter_mut().zip(&self.types).filter(|(_, t)| t.physical() == Physical::Str)
        {
            of_rows.iter_mut().zip(headers(values)).for_each(|(sum, text)| *sum += payload(text));
        }
        let mut pieces: Vec<(Range<usize>, usize)> = Vec::new();
        for (row, bytes) in of_rows.into_iter().enumerate() {
            match pieces.last_mut() {
                Some((piece, sum)) if *sum + bytes <= BYTES => {
                    piece.end = row + 1;
                    *sum += bytes;
                }
                _ => pieces.push((row..row + 1, bytes)),
            }
        }
        pieces
    }

    /// The rows in the buffers, finished. Those that are full are given away and replaced; of others what is used is copied.
    fn take(&mut self, rows: usize) -> Chunk {
        if rows * 2 <= self.capacity {
            return self.copy_rows(0..rows);
        }
        let buffers = self.buffers.iter_mut().zip(&self.types);
        let columns = buffers.map(|((values, nulls), &sql_type)| {
            let room = Buffer::with_capacity(self.capacity * sql_type.physical().size());
            column(sql_type, rows, std::mem::replace(values, room), nulls.as_slice())
        });
        Chunk::new(rows, columns.collect())
    }

    /// Some of the rows in the buffers, finished.
    fn copy_rows(&mut self, rows: Range<usize>) -> Chunk {
        let columns = self.buffers.iter().zip(&self.types).map(|((values, nulls), &sql_type)| {
            let size = sql_type.physical().size();
            let values = copy(&values.as_slice()[rows.start * size..rows.end * size]);
            column(sql_type, rows.len(), values, &nulls.as_slice()[rows.clone()])
        });
        Chunk::new(rows.len(), columns.collect())
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
        // SAFETY: code has written `rows` flags to the buffer, which has room for them, and as many values to the room,
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

fn buffers(sql_type: SqlType, rows: usize) -> (Buffer, Buffer) {
    (Buffer::with_capacity(rows * sql_type.physical().size()), Buffer::zeroed(rows))
}

fn column_of(buffers: &mut (Buffer, Buffer)) -> ResultColumn {
    ResultColumn { data: buffers.0.as_mut_ptr(), nulls: buffers.1.as_mut_ptr() }
}

/// Finished values as a column that owns the payload of its strings.
fn column(sql_type: SqlType, rows: usize, mut values: Buffer, nulls: &[u8]) -> Column {
    let heap = if sql_type.physical() == Physical::Str { own_strings(&mut values) } else { None };
    let nulls = nulls.contains(&1).then(|| Arc::new(copy(nulls)));
    // SAFETY: generated code writes headers of valid text only, and `own_strings` has moved what they point to into the
    // heap.
    unsafe { Column::new(sql_type, rows, Arc::new(values), nulls, heap.into_iter().map(Arc::new).collect()) }
}

fn copy(bytes: &[u8]) -> Buffer {
    let mut copy = Buffer::with_capacity(bytes.len());
    copy.extend(bytes);
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

/// Bytes of a text that lie elsewhere.
fn payload(text: &Str) -> usize {
    if text.is_inline() { 0 } else { text.len() }
}

/// The headers of finished texts.
fn headers(values: &mut Buffer) -> &mut [Str] {
    const fn plain<T: Plain>() {}
    plain::<Str>();
    let rows = values.len() / size_of::<Str>();
    // SAFETY: the buffer is aligned to 64 and holds that many headers, with payloads alive until the morsel ends; those
    // of NULL rows were zeroed.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<Str>(), rows) }
}

/// Copies the payload of long strings, which may not live longer than the morsel, into one heap.
fn own_strings(values: &mut Buffer) -> Option<Buffer> {
    let headers = headers(values);
    let bytes: usize = headers.iter().map(payload).sum();
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
