//! What generated code sees of a worker's groups.

use super::LocalGroups;

/// Directory slots that a group lookup inspects before it gives up and makes a new row (and evicts an older group's
/// directory entry; both rows meet again when the groups are combined). A cache line of them: with 4, a directory that is
/// half full makes a third more rows of 6M tuples in 140,000 groups than there are groups; with 8, 4% more.
pub const GROUP_PROBES: usize = 8;

/// One worker's groups: a directory of tagged pointers (tag in the upper 16 bits: bits 48..64 of the hash; the address
/// below; 0: empty) over rows in an area. Slot i of a group's up to [`GROUP_PROBES`] candidates is
/// `((hash >> 16) + i) & mask`. Numbered groups have slots of their own: that of number n holds the row's address without a
/// tag, or 0.
#[derive(Debug)]
#[repr(C)]
pub struct GroupLocal {
    /// The slots.
    pub directory: *mut u64,
    /// Number of slots minus one; of numbered groups the number of slots, 0 until the first one comes.
    pub mask: u64,
    /// The only row of a state without keys.
    pub only: *mut u8,
    /// Rows by places that the codes of a chunk number, null where none is known; the first place is none.
    pub known: *mut *mut u8,
    /// Tuples since the directory was last judged: code counts them.
    pub tuples: u64,
    /// Rust's own part.
    pub inner: Box<LocalGroups>,
}
