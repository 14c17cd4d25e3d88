//! Units of work, who does them, and how far that came.

use std::ops::Range;

use crate::topology::NodeId;

base::typed_id!(
    /// A worker: a dense number, so that per-worker state can live in [`EachWorker`](crate::EachWorker).
    ///
    /// Among the threads that work on one job at one time it is unique; a thread keeps it for its life.
    WorkerId, "worker");

/// A unit of work: the half-open range `begin..end` of rows, partitions or whatever the task set numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Morsel {
    /// First row.
    pub begin: u64,
    /// One past the last row.
    pub end: u64,
}

impl Morsel {
    /// The rows as a range.
    pub fn rows(self) -> Range<u64> {
        self.begin..self.end
    }
    /// Number of rows.
    pub fn len(self) -> u64 {
        self.end - self.begin
    }
    /// Whether there is no row.
    pub fn is_empty(self) -> bool {
        self.begin >= self.end
    }
}

/// What a worker gets that asks for a morsel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A morsel, which is the caller's alone.
    Morsel {
        /// The rows.
        morsel: Morsel,
        /// The node whose memory holds them, if the task set knows one.
        node: Option<NodeId>,
        /// Whether it was cut from the lane of another worker.
        stolen: bool,
    },
    /// Nothing as long as the consumer of the result is behind: until [`JobHandle::wake`](crate::JobHandle::wake).
    NotNow,
    /// Nothing, for good: nobody will get another morsel of this task set.
    Done,
}

/// How far a run of a morsel came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// To its end.
    Done,
    /// So far that only this is left, to be run by the same worker or by another one: others had to get their turn.
    Yielded(Morsel),
    /// So far, and it cannot go on as long as the consumer of the result is behind.
    NotNow(Morsel),
}

impl Progress {
    /// What is left to do.
    pub fn rest(self) -> Option<Morsel> {
        match self {
            Self::Done => None,
            Self::Yielded(rest) | Self::NotNow(rest) => Some(rest),
        }
    }
}

impl From<()> for Progress {
    fn from((): ()) -> Self {
        Self::Done
    }
}
