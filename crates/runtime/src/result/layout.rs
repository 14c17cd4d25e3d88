//! What generated code sees of a worker's result.

use super::LocalResult;

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
    pub inner: Box<LocalResult>,
}

/// A result column being filled.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ResultColumn {
    /// Values.
    pub data: *mut u8,
    /// NULL flags, one byte a row: zero until code writes them, which it does for values that may be NULL.
    pub nulls: *mut u8,
}
