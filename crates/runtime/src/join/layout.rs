//! What generated code and the probe kernels share.

use super::TableState;
use crate::limit::LimitLocal;

/// Most tuples of a batch, and most pairs that a probe delivers at once.
pub const BATCH: usize = 1024;

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
    pub inner: Box<TableState>,
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
    pub limit: *const LimitLocal,
    /// The kernel's own cursor.
    pub cursor: [u64; 3],
    /// Generated code's own, zeroed by `probe_begin`: 1 once the unmatched tuples are delivered.
    pub finishing: u64,
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
