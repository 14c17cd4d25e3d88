//! How transactions are kept apart: by versions and validation ([`ConcurrencyControl::Mvcc`]), or as the thesis compares (2.7), one
//! after the other, by static partitions, by two-phase locking, or by timestamp ordering. What is stored is the same for all, so that it can be chosen at any
//! time: transactions of
//! one control wait for those of another to end, as neither sees what the other rests on.
//!
//! Who only reads, a query alone or a transaction that is READ ONLY, sees a moment between two commits and takes part in none of it, but
//! for timestamp ordering.

mod gate;
mod locks;
mod needs;
mod partitions;
mod stamps;

pub(crate) use locks::{Item, Mode};

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use base::{CancelToken, Result};
use sql::Statement;

use gate::Gate;
use locks::Locks;
use partitions::Reach;
use stamps::Stamps;

use crate::kept::plans::Kept;
use crate::kept::short::Given;

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
    /// One transaction after the other in each part of the database, and in all of it those that reach several.
    Partitioned,
}

impl ConcurrencyControl {
    /// All of them, as they are written.
    pub const ALL: [(&str, Self); 5] = [
        ("mvcc", Self::Mvcc),
        ("serial", Self::Serial),
        ("two_phase_locking", Self::TwoPhaseLocking),
        ("timestamp_ordering", Self::TimestampOrdering),
        ("partitioned", Self::Partitioned),
    ];

    /// Whether statements say what they use before they use it.
    pub fn is_told(self) -> bool {
        matches!(self, Self::TwoPhaseLocking | Self::TimestampOrdering | Self::Partitioned)
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
        Ok(Turn { of: self.clone(), control, owner, reach: Reach::Nothing })
    }
}

/// What a statement uses.
pub(crate) enum Needs {
    Items(Vec<(Item, Mode)>),
    Parts(Reach),
}

impl Needs {
    /// Those of a bound statement.
    pub fn of_statement(statement: &Statement, control: ConcurrencyControl) -> Result<Self> {
        match control {
            ConcurrencyControl::Partitioned if !needs::of_statement(statement)?.is_empty() => {
                Ok(Self::Parts(Reach::of_statement(statement)))
            }
            ConcurrencyControl::Partitioned => Ok(Self::Parts(Reach::Nothing)),
            _ => needs::of_statement(statement).map(Self::Items),
        }
    }

    /// Those of a kept plan with these arguments. None if its tables are gone.
    pub fn of_kept(kept: &Kept, arguments: Given<'_>, control: ConcurrencyControl) -> Option<Self> {
        match control {
            ConcurrencyControl::Partitioned => Reach::of_kept(kept, arguments).map(Self::Parts),
            _ => needs::of_kept(kept, arguments).map(Self::Items),
        }
    }
}

/// A transaction's: it has ended when this goes.
pub(crate) struct Turn {
    of: Arc<Control>,
    control: ConcurrencyControl,
    /// Its number among those who lock, or its stamp.
    owner: u64,
    /// What it has reached so far of a partitioned database.
    reach: Reach,
}

impl Turn {
    /// Says what a statement needs, for as long as the transaction lasts; whether there was something new among it. Error 40P01 if
    /// those who are in the way wait for this one, 40001 if somebody who comes later was there before.
    pub fn needs(&mut self, needs: Needs, token: &CancelToken) -> Result<bool> {
        match needs {
            Needs::Items(items) if self.control == ConcurrencyControl::TimestampOrdering => {
                self.of.stamps.note(self.owner, &items, token)
            }
            Needs::Items(items) => self.of.locks.acquire(self.owner, items, token),
            Needs::Parts(more) => {
                let reach = self.reach.and(more);
                if reach == self.reach {
                    return Ok(false);
                }
                self.of.locks.acquire(self.owner, reach.items(), token)?;
                self.reach = reach;
                Ok(true)
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        match self.control {
            ConcurrencyControl::TwoPhaseLocking | ConcurrencyControl::Partitioned => self.of.locks.release(self.owner),
            ConcurrencyControl::TimestampOrdering => self.of.stamps.end(self.owner),
            ConcurrencyControl::Mvcc | ConcurrencyControl::Serial => {}
        }
        self.of.gate.leave();
    }
}
