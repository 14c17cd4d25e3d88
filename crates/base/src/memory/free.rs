//! What the process has of the system's memory and nobody needs now.

use super::{extents, spare};

/// Bytes that are free for their next owners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Free {
    /// In areas that queries have given back.
    pub recycled: usize,
    /// Between the extents of tables.
    pub extents: usize,
}

/// What is free at the moment.
pub fn free() -> Free {
    Free { recycled: spare::bytes(), extents: extents::stale_bytes() }
}
