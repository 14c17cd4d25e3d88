//! What commits publish, under one lock: which rows are visible, and the statistics of all of them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use crate::clock::Stamp;
use crate::statistics::{Sample, Summary};

/// Which rows a snapshot sees: those of chunks below `chunks` that grew no more, and the first ones of those that did.
#[derive(Debug, Default)]
pub(crate) struct View {
    /// Number of chunks.
    pub(super) chunks: usize,
    /// Chunks that were growing or not committed, in order, with their visible rows.
    growing: Box<[(u32, u32)]>,
    /// Visible rows.
    pub(super) rows: usize,
}

impl View {
    /// The same with rows of chunks that only their transaction sees; of other chunks that have begun since, none is seen.
    pub(super) fn with_own(&self, chunks: usize, own: impl Iterator<Item = (u32, u32)>) -> Self {
        let hidden = (self.chunks..chunks).map(|chunk| (chunk as u32, 0));
        let mut growing: BTreeMap<u32, u32> = self.growing.iter().copied().chain(hidden).collect();
        let mut rows = self.rows;
        for (chunk, visible) in own {
            rows += (visible - growing.insert(chunk, visible).unwrap_or(0)) as usize;
        }
        Self { chunks, growing: growing.into_iter().collect(), rows }
    }

    /// The visible rows of a chunk, unless it is one that grows no more: then it has as many as it has.
    pub(super) fn visible(&self, chunk: usize) -> Option<usize> {
        let at = self.growing.binary_search_by_key(&(chunk as u32), |entry| entry.0).ok()?;
        Some(self.growing[at].1 as usize)
    }
}

/// Readers of older snapshots use the statistics too: bounds only widen.
#[derive(Debug)]
pub(super) struct Live {
    /// The last ones, with the timestamps of their commits: as long as some reader sees an earlier moment than the next.
    views: VecDeque<(u64, Arc<View>)>,
    /// Whose rows are in chunks that nobody else sees all of.
    pub(super) pending: BTreeMap<u32, Arc<Stamp>>,
    /// What the next view's `growing` is made of.
    growing: BTreeMap<u32, u32>,
    rows: usize,
    pub(super) summary: Summary,
    pub(super) sample: Sample,
    /// Rows of chunks that grow whose distinct values are not counted yet: few.
    pub(super) young: Vec<(usize, Range<usize>)>,
}

impl Live {
    pub(super) fn new(attributes: usize) -> Self {
        let (summary, sample) = (Summary::new(attributes), Sample::default());
        let views = VecDeque::from([(0, Arc::default())]);
        Self { views, pending: BTreeMap::new(), growing: BTreeMap::new(), rows: 0, summary, sample, young: Vec::new() }
    }

    pub(super) fn view(&self) -> Arc<View> {
        self.views[self.views.len() - 1].1.clone()
    }

    /// As of a moment that somebody sees.
    pub(super) fn view_at(&self, timestamp: u64) -> Arc<View> {
        let at = self.views.iter().rposition(|(committed, _)| *committed <= timestamp).unwrap_or(0);
        self.views[at].1.clone()
    }

    /// How many rows of a chunk are visible; none if all that it has for good are.
    pub(super) fn visible(&self, chunk: usize) -> Option<usize> {
        self.growing.get(&(chunk as u32)).map(|rows| *rows as usize)
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

    /// Makes what was extended visible, of so many chunks, to those who see the commit of that moment; nobody sees an older
    /// one than `oldest`.
    pub(super) fn publish(&mut self, chunks: usize, timestamp: u64, oldest: u64) {
        let growing = self.growing.iter().map(|(&chunk, &rows)| (chunk, rows)).collect();
        self.views.push_back((timestamp, Arc::new(View { chunks, growing, rows: self.rows })));
        while self.views.get(1).is_some_and(|(committed, _)| *committed <= oldest) {
            self.views.pop_front();
        }
    }

    /// Visible rows from the next view on.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }
}
