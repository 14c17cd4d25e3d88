//! How transactions are kept apart: by versions and validation ([`ConcurrencyControl::Mvcc`]), or as the thesis compares (2.7), one
//! after the other, by two-phase locking, or by timestamp ordering. What is stored is the same for all, so that it can be chosen at any
//! time: transactions of
//! one control wait for those of another to end, as neither sees what the other rests on.
//!
//! Who only reads, a query alone or a transaction that is READ ONLY, sees a moment between two commits and takes part in none of it, but
//! for timestamp ordering.

mod gate;
mod locks;
mod needs;
mod stamps;

pub(crate) use locks::{Item, Mode};
pub(crate) use needs::{of_kept, of_statement};

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use base::{CancelToken, Result};

use gate::Gate;
use locks::Locks;
use stamps::Stamps;

/// A way to keep transactions apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ConcurrencyControl {
    /// Versions; what a transaction has read is validated when it commits (decision 16).
    #[default]
    Mvcc,
    /// One transaction after the other: nothing is noted, nothing validated.
    Serial,
    /// Strict two-phase locking: rows by their primary keys, tables for whatever else is read or changed, until the end.
    TwoPhaseLocking,
    /// Timestamp ordering, in the same granularities.
    TimestampOrdering,
}

impl ConcurrencyControl {
    /// All of them, as they are written.
    pub const ALL: [(&str, Self); 4] = [
        ("mvcc", Self::Mvcc),
        ("serial", Self::Serial),
        ("two_phase_locking", Self::TwoPhaseLocking),
        ("timestamp_ordering", Self::TimestampOrdering),
    ];

    /// Whether statements say what they use before they use it.
    pub fn is_told(self) -> bool {
        matches!(self, Self::TwoPhaseLocking | Self::TimestampOrdering)
    }
}

/// What a database keeps of that.
#[derive(Default)]
pub(crate) struct Control {
    chosen: AtomicU8,
    gate: Gate,
    locks: Locks,
    stamps: Stamps,
    turns: AtomicU64,
}

impl Control {
    /// The control for transactions that begin now.
    pub fn chosen(&self) -> ConcurrencyControl {
        let chosen = self.chosen.load(Ordering::Relaxed);
        ConcurrencyControl::ALL.iter().map(|(_, control)| *control).find(|c| *c as u8 == chosen).unwrap_or_default()
    }

    /// Whether a transaction that begins now may have to wait for others.
    pub fn may_wait(&self) -> bool {
        self.chosen() != ConcurrencyControl::Mvcc || self.gate.has_others(ConcurrencyControl::Mvcc)
    }

    /// Chooses another one.
    pub fn choose(&self, control: ConcurrencyControl) {
        self.chosen.store(control as u8, Ordering::Relaxed);
    }

    /// Waits until a transaction may begin.
    pub fn enter(self: &Arc<Self>, control: ConcurrencyControl, token: &CancelToken) -> Result<Turn> {
        self.gate.enter(control, token)?;
        let owner = match control {
            ConcurrencyControl::TimestampOrdering => self.stamps.begin(),
            _ => self.turns.fetch_add(1, Ordering::Relaxed),
        };
        Ok(Turn { of: self.clone(), control, owner })
    }
}

/// A transaction's: it has ended when this goes.
pub(crate) struct Turn {
    of: Arc<Control>,
    control: ConcurrencyControl,
    /// Its number among those who lock, or its stamp.
    owner: u64,
}

impl Turn {
    /// Says what a statement needs, for as long as the transaction lasts; whether there was something new among it. Error 40P01 if
    /// those who are in the way wait for this one, 40001 if somebody who comes later was there before.
    pub fn needs(&self, needs: Vec<(Item, Mode)>, token: &CancelToken) -> Result<bool> {
        match self.control {
            ConcurrencyControl::TimestampOrdering => self.of.stamps.note(self.owner, &needs, token),
            _ => self.of.locks.acquire(self.owner, needs, token),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        match self.control {
            ConcurrencyControl::TwoPhaseLocking => self.of.locks.release(self.owner),
            ConcurrencyControl::TimestampOrdering => self.of.stamps.end(self.owner),
            ConcurrencyControl::Mvcc | ConcurrencyControl::Serial => {}
        }
        self.of.gate.leave();
    }
}
