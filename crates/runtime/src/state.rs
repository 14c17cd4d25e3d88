//! What pipelines fill: one contract for all breakers.
//!
//! While pipelines run, each worker fills its own part through generated code; at the end of each morsel it hands on what
//! must not wait. When the last pipeline has ended, the finalisation runs in phases of morsels. Then others read: probes
//! through what is published, pipelines through a source.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use base::Result;
use pipeline::ir::{KeyPlace, RowSet};
use scheduler::{Cutting, TaskSet};

use crate::build_keys::BuildKeys;
use crate::keys::KeySet;
use crate::source::RowSource;
use crate::threshold::Threshold;
use crate::worker::Worker;

/// A state of a query.
pub(crate) trait State: Debug + Send + Sync {
    /// A worker's part, as generated code sees it; it lives as long as the state. Asked for once, when the worker first
    /// comes, before anybody else touches the part.
    fn local(&self, worker: usize) -> *mut u8;

    /// The worker has ended a morsel: rows `rows` of its source, and if it was `broken` off some batches of what follows
    /// from the row behind them. Memory that its batches referred to goes away.
    fn end_morsel(&self, worker: usize, rows: Range<u64>, broken: bool) -> Result<()> {
        let _ = (worker, rows, broken);
        Ok(())
    }

    /// Bytes that a worker has materialised here so far, as far as they are still there. Called by the worker itself.
    fn written(&self, worker: usize) -> u64 {
        let _ = worker;
        0
    }

    /// Local and remote bytes of the finalised state that others have looked at, if it is shared by all workers.
    fn looked_at(&self) -> (u64, u64) {
        (0, 0)
    }

    /// What its rows may have as their first key, if it is a top-k that knows.
    fn threshold(&self) -> Option<&Threshold> {
        None
    }

    /// So many of its first rows do not come to it, if that is all right: whose they are asks, before the first one comes.
    fn pass_over(&self, rows: u64) -> bool {
        rows == 0
    }

    /// Lets it look at the rows of a worker, between two batches of it.
    fn look(&self, worker: usize) -> Result<()> {
        let _ = worker;
        Ok(())
    }

    /// So many places are numbered by codes from here on: the rows that a worker's groups know by these are forgotten, unless the numbering
    /// is the same one.
    fn number_places(&self, worker: usize, places: usize, numbering: u64) {
        let _ = (worker, places, numbering);
    }

    /// Phase `phase` (from 0) of the finalisation: called when the last pipeline that fills the state has run its last
    /// morsel, then again after the last morsel of each task set that it returned, until it returns none.
    fn finalize(
        self: Arc<Self>,
        workers: &dyn Workers,
        phase: usize,
        cut: &Cutting,
    ) -> Result<Option<Box<dyn TaskSet>>> {
        let _ = (workers, phase, cut);
        Ok(None)
    }

    /// What the tasks do that `finalize` has returned last.
    fn phase(&self) -> &'static str {
        "finish"
    }

    /// What generated code reads of the state once it is finalised.
    fn finished(&self) -> *const u8 {
        std::ptr::null()
    }

    /// The keys of the finalised state's rows, if that is known.
    fn keys(&self) -> Option<KeySet> {
        None
    }

    /// The keys of the finalised state's rows, if it is a join.
    fn build_keys(self: Arc<Self>, places: Vec<KeyPlace>) -> Option<BuildKeys> {
        let _ = places;
        None
    }

    /// The rows of the finalised state, if it has rows.
    fn source(self: Arc<Self>, rows: RowSet) -> Option<RowSource> {
        let _ = rows;
        None
    }

    /// Whether the state takes no further row, so that its pipelines need not go on.
    fn is_exhausted(&self) -> bool {
        false
    }
}

/// The workers of a query, for finalisations that run generated code.
pub(crate) trait Workers {
    /// Does something as a worker, for one thread at a time: others wait.
    fn with(&self, worker: usize, work: &mut dyn FnMut(&mut Worker) -> Result<()>) -> Result<()>;
}
