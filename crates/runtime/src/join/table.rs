//! A join's table, but for what generated code sees of it ([`layout`](super::layout)).

use std::any::Any;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use base::memory::Reservation;
use base::traffic::{self, Access};
use scheduler::CancelToken;

use super::keys::Bitmap;
use super::nodes::{Blocks, Histogram};

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
    /// Bytes of a row that chains are walked by, and of all of it, if what is looked at is counted.
    row: Option<(usize, usize)>,
    /// Which nodes it lies on, where that differs.
    pub(super) blocks: Option<Blocks>,
    looked_at: LookedAt,
}

/// Bytes of a table that probes have looked at, away from what they read.
#[derive(Debug, Default)]
#[repr(align(128))]
struct LookedAt {
    all: AtomicU64,
    /// Of them on other nodes than the workers.
    remote: AtomicU64,
}

impl LookedAt {
    /// Adds so many bytes, which `note` notes.
    fn add(&self, bytes: u64, note: impl FnOnce()) {
        let remote = || traffic::so_far().only(&[Access::Shared]).remote();
        let before = remote();
        note();
        self.all.fetch_add(bytes, Relaxed);
        match remote() - before {
            0 => {}
            far => drop(self.remote.fetch_add(far, Relaxed)),
        }
    }
}

/// Bytes of a slot.
const SLOT: usize = 8;
/// Tables up to so many bytes lie in the workers' own caches, and are not counted.
const CACHED: usize = 256 << 10;

impl TableState {
    /// Of a table of so many bytes, and rows of which so many bytes are looked at, first by whoever walks a chain.
    pub(super) fn new(
        keyed: Option<Keyed>,
        bytes: usize,
        row: (usize, usize),
        blocks: Option<Blocks>,
        charged: Reservation,
        cancel: CancelToken,
    ) -> Self {
        let (has_chains, looked_at) = (AtomicBool::new(false), LookedAt::default());
        let row = (bytes > CACHED).then_some(row);
        Self { has_chains, keyed, _charged: charged, cancel, row, looked_at, blocks }
    }

    /// A batch looks at so many slots. `sample`: some of them.
    pub(super) fn note_slots(&self, slots: usize, sample: impl Iterator<Item = u64>) {
        if self.row.is_none() || slots == 0 {
            return;
        }
        let bytes = (slots * SLOT) as u64;
        self.looked_at.add(bytes, || match &self.blocks {
            Some(blocks) => blocks.note_slots(&blocks.of(sample), bytes),
            None => traffic::note_spread(Access::Shared, bytes),
        });
    }

    /// A batch has looked at so many rows, of which some were delivered. `sample`: some of the slots that they are behind, if it
    /// was asked for.
    pub(super) fn note_rows(&self, rows: usize, delivered: usize, sample: Option<&Histogram>) {
        let Some((head, all)) = self.row.filter(|_| rows > 0) else { return };
        let bytes = (rows * head + delivered * (all - head)) as u64;
        self.looked_at.add(bytes, || match self.blocks.as_ref().zip(sample) {
            Some((blocks, sample)) => blocks.note_rows(sample, bytes),
            None => traffic::note_spread(Access::Shared, bytes),
        });
    }

    /// So many slots were written, of rows on a node. `sample`: some of them.
    pub(super) fn note_inserted(&self, slots: usize, node: Option<u16>, sample: &Histogram) {
        let bytes = (slots * SLOT) as u64;
        let Some(blocks) = &self.blocks else { return traffic::note_spread(Access::Shared, bytes) };
        blocks.note_slots(sample, bytes);
        if let Some(node) = node {
            blocks.add(sample, node);
        }
    }

    /// Local and remote bytes.
    pub(super) fn looked_at(&self) -> (u64, u64) {
        let (all, remote) = (self.looked_at.all.load(Relaxed), self.looked_at.remote.load(Relaxed));
        (all.saturating_sub(remote), remote)
    }
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
    /// Where it lies.
    #[expect(dead_code, reason = "kept alive")]
    pub(super) memory: Arc<dyn Any + Send + Sync>,
}
