//! What generated code is: the layouts of its batches and the types of its functions. Those of states lie beside their
//! operators.

use crate::slot::Slot;
use crate::worker::Worker;

/// A function that generated code calls: worker, immediate (the id inside of the callee: site, parameter or state),
/// arguments, results. Returns 0, or 1 after it has stored an error in the worker.
pub type AbiFn =
    unsafe extern "C" fn(worker: &mut Worker, immediate: u64, args: *const Slot, results: *mut Slot) -> u32;

/// The code of a pipeline: runs the body for every tuple of the batch. Returns 0, or 1 if the worker has an error, or 2 if its
/// [steps](Worker::steps) are used up: then it goes on when it is called again with an equal batch.
pub type PipelineFn = unsafe extern "C" fn(worker: *mut Worker, batch: *const Batch) -> u32;

/// Tuples of a source: at most [`BATCH`](super::BATCH), unless the body only counts them.
#[derive(Debug)]
#[repr(C)]
pub struct Batch {
    /// Columns of a table or values source, in the source's order.
    pub columns: *const ColumnRef,
    /// Positions of the batch's tuples within the columns, increasing. Never null for such a source; nobody reads them if
    /// the body only counts.
    pub selection: *const u32,
    /// Rows of a `Rows` source.
    pub rows: *const *mut u8,
    /// Number of tuples.
    pub count: u64,
}

/// A column's memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ColumnRef {
    /// Values.
    pub data: *const u8,
    /// NULL flags, one byte a row: never the null pointer (zeros where no row is NULL).
    pub nulls: *const u8,
}
