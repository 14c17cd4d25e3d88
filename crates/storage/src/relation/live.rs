//! What commits publish, under one lock: which rows are visible, and the statistics of all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::statistics::{Sample, Summary};

/// Which rows a snapshot sees: those of chunks below `chunks` that grew no more, and the first ones of those that did.
#[derive(Debug, Default)]
pub(super) struct View {
    /// Number of chunks.
    pub(super) chunks: usize,
    /// Chunks that were growing or not committed, in order, with their visible rows.
    growing: Box<[(u32, u32)]>,
    /// Visible rows.
    pub(super) rows: usize,
}

impl View {
    /// The visible rows of a chunk, unless it is one that grows no more: then it has as many as it has.
    pub(super) fn visible(&self, chunk: usize) -> Option<usize> {
        let at = self.growing.binary_search_by_key(&(chunk as u32), |entry| entry.0).ok()?;
        Some(self.growing[at].1 as usize)
    }
}

/// Readers of older snapshots use the statistics too: bounds only widen.
#[derive(Debug)]
pub(super) struct Live {
    view: Arc<View>,
    /// What the next view's `growing` is made of.
    growing: BTreeMap<u32, u32>,
    rows: usize,
    pub(super) summary: Summary,
    pub(super) sample: Sample,
}

impl Live {
    pub(super) fn new(attributes: usize) -> Self {
        let (summary, sample) = (Summary::new(attributes), Sample::default());
        Self { view: Arc::default(), growing: BTreeMap::new(), rows: 0, summary, sample }
    }

    pub(super) fn view(&self) -> Arc<View> {
        self.view.clone()
    }

    /// A chunk has begun of which no row is visible.
    pub(super) fn begin(&mut self, chunk: usize) {
        self.growing.insert(chunk as u32, 0);
    }

    /// So many rows of the chunk are visible from the next view on; with `closed`, it grows no more.
    pub(super) fn extend(&mut self, chunk: usize, rows: usize, closed: bool) {
        let before = self.growing.insert(chunk as u32, rows as u32).expect("it grows");
        self.rows += rows - before as usize;
        if closed {
            self.growing.remove(&(chunk as u32));
        }
    }

    /// Makes what was extended visible, of so many chunks.
    pub(super) fn publish(&mut self, chunks: usize) {
        let growing = self.growing.iter().map(|(&chunk, &rows)| (chunk, rows)).collect();
        self.view = Arc::new(View { chunks, growing, rows: self.rows });
    }

    /// Visible rows from the next view on.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }
}
