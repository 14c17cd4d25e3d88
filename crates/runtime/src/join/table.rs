//! A join's table, but for what generated code sees of it ([`layout`](super::layout)).

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use base::memory::{Pages, Reservation};
use base::traffic::{self, Access};
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
    /// Bytes of a row, if what is looked at is counted.
    stride: Option<usize>,
    looked_at: LookedAt,
}

/// Bytes of a table that probes have looked at, away from what they read.
#[derive(Debug, Default)]
#[repr(align(128))]
struct LookedAt(AtomicU64);

/// Bytes of a row that chains are walked by.
const HEAD: usize = 16;
/// Bytes of a slot.
const SLOT: usize = 8;
/// Tables up to so many bytes lie in the workers' own caches, and are not counted.
const CACHED: usize = 256 << 10;

impl TableState {
    /// Of a table of so many bytes, and rows of so many.
    pub(super) fn new(
        keyed: Option<Keyed>,
        (bytes, stride): (usize, usize),
        charged: Reservation,
        cancel: CancelToken,
    ) -> Self {
        let (has_chains, looked_at) = (AtomicBool::new(false), LookedAt::default());
        let stride = (bytes > CACHED).then_some(stride);
        Self { has_chains, keyed, _charged: charged, cancel, stride, looked_at }
    }

    /// A batch has looked at so many slots, or at so many rows, of which some were delivered.
    pub(super) fn note(&self, slots: usize, rows: usize, delivered: usize) {
        let Some(stride) = self.stride else { return };
        let bytes = (slots * SLOT + rows * HEAD + delivered * (stride - HEAD)) as u64;
        if bytes > 0 {
            self.looked_at.0.fetch_add(bytes, Relaxed);
            traffic::note_spread(Access::Shared, bytes);
        }
    }

    pub(super) fn looked_at(&self) -> u64 {
        self.looked_at.0.load(Relaxed)
    }
}

/// So many slots were written.
pub(super) fn note_inserted(slots: usize) {
    traffic::note_spread(Access::Shared, (slots * SLOT) as u64);
}

/// What there is to know of a table of slots.
#[derive(Debug)]
pub(super) struct Keyed {
    /// The range of the keys, where rows are found by them.
    pub(super) range: Option<RangeInclusive<i64>>,
    /// Which there are, where scans ask for them and the range is not too wide.
    pub(super) bitmap: Option<Bitmap>,
    /// Else all of them, if they are few.
    pub(super) list: Option<Arc<[i64]>>,
    /// The slots' memory.
    #[expect(dead_code, reason = "kept alive")]
    pub(super) directory: Pages,
}
