//! One worker's part of a result.

use std::ops::Range;
use std::sync::Arc;

use base::Result;

use types::column::Plain;
use types::{Buffer, Chunk, Column, Physical, SqlType, Str};

use super::{Destination, ResultColumn, ResultLocal};

/// Rows of a batch.
const CAPACITY: usize = 2048;

/// What generated code does not see of a worker's result.
#[derive(Debug)]
pub struct LocalResult {
    types: Box<[SqlType]>,
    buffers: Vec<(Buffer, Buffer)>,
    columns: Box<[ResultColumn]>,
    worker: usize,
    destination: Destination,
}

// SAFETY: the pointers lead into the buffers, which the item owns.
unsafe impl Send for ResultLocal {}

impl ResultLocal {
    pub(super) fn new(types: &[SqlType], worker: usize, destination: &Destination) -> Self {
        let mut buffers: Vec<(Buffer, Buffer)> = types.iter().map(|t| buffers(*t)).collect();
        let columns: Box<[ResultColumn]> = buffers.iter_mut().map(column_of).collect();
        let inner = LocalResult { types: types.into(), buffers, columns, worker, destination: destination.clone() };
        Self { count: 0, capacity: CAPACITY as u64, columns: inner.columns.as_ptr(), inner: Box::new(inner) }
    }

    /// Hands the rows on, which came out of a morsel.
    pub(crate) fn flush(&mut self, morsel: Range<u64>) -> Result<()> {
        let Some(chunk) = self.take() else { return Ok(()) };
        let LocalResult { worker, destination, .. } = &*self.inner;
        match &destination.sink {
            Some(sink) => sink.append(*worker, morsel.start, chunk),
            None => destination.queue.push(morsel, chunk),
        }
    }

    /// The rows as a chunk that owns all that it refers to, or none.
    fn take(&mut self) -> Option<Chunk> {
        let rows = std::mem::take(&mut self.count) as usize;
        if rows == 0 {
            return None;
        }
        assert!(rows <= CAPACITY);
        let inner = &mut *self.inner;
        let mut columns = Vec::with_capacity(inner.types.len());
        for (i, &sql_type) in inner.types.iter().enumerate() {
            columns.push(take_column(sql_type, rows, &mut inner.buffers[i]));
            inner.columns[i] = column_of(&mut inner.buffers[i]);
        }
        Some(Chunk::new(rows, columns))
    }
}

fn buffers(sql_type: SqlType) -> (Buffer, Buffer) {
    (Buffer::with_capacity(CAPACITY * sql_type.physical().size()), Buffer::with_capacity(CAPACITY))
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
        zero_nulls(size, buffers);
    }
    one_nan(sql_type.physical(), &mut buffers.0);
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
fn zero_nulls(size: usize, (values, nulls): &mut (Buffer, Buffer)) {
    let values = values.as_mut_slice().chunks_exact_mut(size);
    values.zip(nulls.as_slice()).filter(|(_, null)| **null == 1).for_each(|(value, _)| value.fill(0));
}

/// Which NaN arithmetic makes depends on the processor; results have one.
fn one_nan(physical: Physical, values: &mut Buffer) {
    let values = values.as_mut_slice();
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
