//! Memory layouts that generated code knows.

use std::sync::atomic::{AtomicU32, Ordering};

use base::{Area, Error};

use crate::query::operator_mark;

/// Most tuples of a batch, and most pairs that a probe delivers at once.
pub const BATCH: usize = 1024;

/// Directory slots that a group lookup inspects before it gives up and makes a new row (and evicts an older group's
/// directory entry; both rows meet again when the groups are combined). A cache line of them: with 4, a directory that is
/// half full makes a third more rows of 6M tuples in 140,000 groups than there are groups; with 8, 4% more.
pub const GROUP_PROBES: usize = 8;

/// One value of any type as it is passed to and from Rust: integers and booleans zero- or sign-extended to at least 8
/// bytes, floats by their bits, strings and intervals by their 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Slot(pub [u64; 2]);

/// A function that generated code calls: worker, immediate (the id inside of the callee: site, parameter or state),
/// arguments, results. Returns 0, or 1 after it has stored an error in the worker.
pub type AbiFn =
    unsafe extern "C" fn(worker: &mut Worker, immediate: u64, args: *const Slot, results: *mut Slot) -> u32;

/// The code of a pipeline: runs the body for every tuple of the batch. Returns 0, or 1 if the worker has an error.
pub type PipelineFn = unsafe extern "C" fn(worker: *mut Worker, batch: *const Batch) -> u32;

/// The code of an [`ir::Function`](pipeline::ir::Function): 0 or 1 as its Bool result (0 without one), 2 if the worker
/// has an error.
pub type PairFn = unsafe extern "C" fn(worker: *mut Worker, a: *mut u8, b: *mut u8) -> u32;

/// At most [`BATCH`] tuples of a source.
#[derive(Debug)]
#[repr(C)]
pub struct Batch {
    /// Columns of a table or values source, in the source's order.
    pub columns: *const ColumnRef,
    /// Positions of the batch's tuples within the columns, increasing. Never null for such a source.
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

/// What one worker has of one query. Generated code reads the fields up to `error_position`.
#[repr(C)]
pub struct Worker {
    /// Values of the query's parameters, by `ParamId`.
    pub params: *const Slot,
    /// This worker's part of each state, by `StateId`: [`RowsLocal`], [`GroupLocal`], [`ResultLocal`].
    pub locals: *const *mut u8,
    /// The shared part of each finished state, by `StateId`: [`JoinTable`] for joins, the only row for group states
    /// without keys (`Operation::OnlyRow`).
    pub shared: *const *const u8,
    /// Batch buffers of the running pipeline, as many bytes as its code asks for, aligned to 64.
    pub scratch: *mut u8,
    /// Counters of EXPLAIN ANALYZE.
    pub counters: *mut u64,
    /// The operator that this worker works for, for EXPLAIN ANALYZE: its counter plus one, 0 for none. Others read it.
    pub operator: *const AtomicU32,
    /// Written by generated code when a call or check fails: the number of the position in
    /// [`Program::positions`](pipeline::ir::Program::positions) plus one, 0 for none.
    pub error_position: u64,
    /// Rust's own part.
    pub inner: Box<crate::query::WorkerState>,
}

impl Worker {
    /// Tells whoever watches (EXPLAIN ANALYZE) the operator that this worker works for.
    pub fn now_working_for(&self, operator: Option<u32>) {
        // SAFETY: it lies in the part that all workers share, which this worker keeps alive.
        unsafe { &*self.operator }.store(operator_mark(operator), Ordering::Relaxed);
    }

    /// Stores an error and returns the code of failure.
    #[cold]
    pub fn fail(&mut self, error: Error) -> u32 {
        self.inner.error.get_or_insert(error);
        1
    }
}

/// One worker's rows of a join, sort or rows state. Rows lie one after the other in the area's blocks; each takes
/// [`stride`](pipeline::ir::RowLayout::stride) bytes. Code allocates inline from the area ([`Area::NEXT_OFFSET`],
/// [`Area::END_OFFSET`]) and calls `rows_grow` when the block is full.
#[derive(Debug)]
#[repr(C)]
pub struct RowsLocal {
    /// The rows.
    pub area: Area,
    /// Bytes from one row to the next.
    pub stride: usize,
}

/// One worker's groups: a directory of tagged pointers (tag in the upper 16 bits: bits 48..64 of the hash; the address
/// below; 0: empty) over rows in an area. Slot i of a group's up to [`GROUP_PROBES`] candidates is
/// `((hash >> 16) + i) & mask`.
#[derive(Debug)]
#[repr(C)]
pub struct GroupLocal {
    /// The slots.
    pub directory: *mut u64,
    /// Number of slots minus one.
    pub mask: u64,
    /// The only row of a state without keys.
    pub only: *mut u8,
    /// Tuples since the directory was last judged: code counts them.
    pub tuples: u64,
    /// Rust's own part.
    pub inner: Box<crate::group::LocalGroups>,
}

/// A finished hash table (thesis 4.5.2). The chain of a hash starts at `directory[hash >> shift]`: upper 16 bits tags of
/// all rows in the chain, below the address of the first row (0: empty).
#[derive(Debug)]
#[repr(C)]
pub struct JoinTable {
    /// The slots.
    pub directory: *const u64,
    /// 64 minus the logarithm of the number of slots.
    pub shift: u64,
    /// Rust's own part.
    pub inner: Box<crate::join::TableState>,
}

/// The scratch memory of one match: batch in, pairs out.
#[repr(C)]
pub struct ProbeScratch {
    /// In: number of tuples.
    pub count: u64,
    /// In: 1 if `active` says which tuples take part.
    pub has_active: u64,
    /// In: 1 if a tuple's first row with an equal hash suffices; 2 if nothing more is asked of a tuple once
    /// `matched[tuple]` is 1 (pairs that were already delivered, or are in the same delivery, may still follow).
    pub first_only: u64,
    /// In: the limit that the pairs come to later in the body, null if there is none. Once it is exhausted, no pairs are
    /// delivered.
    pub limit: *const crate::limit::Limit,
    /// The kernel's own cursor.
    pub cursor: [u64; 4],
    /// In: hash by tuple.
    pub hashes: [u64; BATCH],
    /// Out: build rows of the pairs.
    pub entries: [*mut u8; BATCH],
    /// The kernel's own: where each tuple's chain goes on.
    pub chains: [*mut u8; BATCH],
    /// Out: tuples of the pairs.
    pub tuples: [u32; BATCH],
    /// The kernel's own: tuples whose chains go on.
    pub pending: [u32; BATCH],
    /// In: 1 if the tuple takes part.
    pub active: [u8; BATCH],
    /// Generated code's own, zeroed by `probe_begin`: 1 if the tuple has a match, 2 if only the condition was NULL.
    pub matched: [u8; BATCH],
}

/// One worker's part of a result: columns of `capacity` rows that code fills at `count`; when `count` reaches `capacity`,
/// it calls `result_flush`, which copies strings, hands the batch on and resets `count`.
#[derive(Debug)]
#[repr(C)]
pub struct ResultLocal {
    /// Rows in the columns.
    pub count: u64,
    /// Room.
    pub capacity: u64,
    /// The columns.
    pub columns: *const ResultColumn,
    /// Rust's own part.
    pub inner: Box<crate::result::LocalResult>,
}

/// A result column being filled.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ResultColumn {
    /// Values.
    pub data: *mut u8,
    /// NULL flags, one byte a row, always written.
    pub nulls: *mut u8,
}
