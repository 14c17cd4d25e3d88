//! Sources inside of the query: rows of finished states, and rows written in the query.

use std::sync::Arc;

use base::Result;
use pipeline::ir::PipelineId;
use runtime::abi::BATCH;
use runtime::source::RowSource;
use scheduler::{Claim, Cutting, Morsel, Progress, Strategy, TaskSet, Wanted, WorkerId};
use storage::ChunkReader;
use types::Chunk;

use super::Query;
use super::batch::{Delivered, Feed, Read};

pub(super) struct RowTasks {
    feed: Feed,
    rows: RowSource,
}

impl RowTasks {
    pub fn new(query: Arc<Query>, pipeline: PipelineId, rows: RowSource, cut: &Cutting) -> Self {
        let ranges = rows.cut(cut);
        Self { feed: Feed::new(query, pipeline, ranges, cut), rows }
    }
}

impl TaskSet for RowTasks {
    fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim {
        self.feed.claim(worker, wanted)
    }
    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<Progress> {
        let mut run = self.feed.begin(worker, morsel);
        let mut buffer = [std::ptr::null_mut(); BATCH];
        let mut cursor = morsel.begin;
        while !run.must_wait() {
            let steps = self.feed.steps();
            if cursor < morsel.end && !self.rows.prepare(run.worker(), cursor, steps)? {
                if run.must_stop() {
                    break;
                }
                continue;
            }
            let mut next = cursor;
            let filled = self.rows.fill(run.worker(), &mut next, morsel.end, &mut buffer)?;
            if filled == 0 {
                return run.end(morsel.end);
            }
            if !run.rows(&buffer[..filled])? {
                break;
            }
            cursor = next;
            if run.must_stop() {
                break;
            }
        }
        run.end(cursor)
    }
    fn split(&self, rest: Morsel) -> Option<[Morsel; 2]> {
        if self.rows.is_dense() { self.feed.split(rest) } else { None }
    }
    fn total(&self) -> u64 {
        self.feed.total()
    }
}

pub(super) struct ValueTasks {
    feed: Feed,
    rows: ChunkReader,
    delivered: Delivered,
}

impl ValueTasks {
    pub fn new(query: Arc<Query>, pipeline: PipelineId, chunk: Arc<Chunk>, cut: &Cutting) -> Self {
        let ranges = cut.with_strategy(Strategy::InOrder).rows(chunk.rows() as u64);
        let delivered = Delivered { read: (0..chunk.columns().len()).map(Read::Values).collect(), codes: None };
        let rows = ChunkReader::of(Chunk::clone(&chunk));
        Self { feed: Feed::new(query, pipeline, ranges, cut), rows, delivered }
    }
}

impl TaskSet for ValueTasks {
    fn claim(&self, worker: WorkerId, wanted: Wanted) -> Claim {
        self.feed.claim(worker, wanted)
    }
    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<Progress> {
        let mut run = self.feed.begin(worker, morsel);
        let at = run.chunk(&self.rows, &self.delivered, &Arc::default(), morsel.begin as usize..morsel.end as usize)?;
        run.end(at as u64)
    }
    fn total(&self) -> u64 {
        self.feed.total()
    }
}
