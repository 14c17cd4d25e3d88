//! A join's table, but for what generated code sees of it ([`layout`](super::layout)).

use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;

use base::memory::{Pages, Reservation};
use scheduler::CancelToken;

use super::keys::Bitmap;

/// What generated code does not see of a table.
#[derive(Debug)]
pub struct TableState {
    /// Whether a chain has more than one row.
    pub(super) has_chains: AtomicBool,
    /// Of tables of slots.
    pub(super) keyed: Option<Keyed>,
    pub(super) _charged: Reservation,
    /// Probes end early once the query is to stop: a chain may be as long as the table.
    pub(super) cancel: CancelToken,
}

/// What there is to know of a table of slots.
#[derive(Debug)]
pub(super) struct Keyed {
    /// The range of the keys, where rows are found by them.
    pub(super) range: Option<RangeInclusive<i64>>,
    /// Which there are, where scans ask for them and the range is not too wide.
    pub(super) bitmap: Option<Bitmap>,
    /// The slots' memory.
    #[expect(dead_code, reason = "kept alive")]
    pub(super) directory: Pages,
}
