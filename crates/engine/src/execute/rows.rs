//! Sources inside of the query: rows of finished states, and rows written in the query.

use std::sync::Arc;

use base::Result;
use pipeline::ir::{PipelineId, StateId};
use runtime::abi::BATCH;
use runtime::source::RowSource;
use scheduler::{Morsel, MorselRanges, TaskSet, WorkerId};
use storage::ChunkReader;
use types::Chunk;

use super::Query;
use super::batch::Run;

/// Rows in a morsel.
const MORSEL: u64 = 16_384;

/// Whether some limit that the pipeline counts against is exhausted.
pub(super) fn exhausted(query: &Query, limits: &[StateId]) -> bool {
    limits.iter().any(|&l| query.context.is_exhausted(l))
}

pub(super) struct RowTasks {
    query: Arc<Query>,
    pipeline: PipelineId,
    rows: RowSource,
    ranges: MorselRanges,
    limits: Vec<StateId>,
    ordered: bool,
}

impl RowTasks {
    pub fn new(query: Arc<Query>, pipeline: PipelineId, rows: RowSource) -> Self {
        let ordered = query.program.ordered && query.context.result().is_ordered();
        // One lane: morsels are then claimed in order, and the consumer need not wait for an early one.
        let lanes = if ordered { 1 } else { query.workers };
        let ranges = MorselRanges::new(rows.len(), lanes.min(64), MORSEL);
        let limits = query.limits_of(&query.program.pipelines[pipeline].body);
        Self { query, pipeline, rows, ranges, limits, ordered }
    }
}

impl TaskSet for RowTasks {
    fn claim(&self, worker: WorkerId) -> Option<Morsel> {
        if exhausted(&self.query, &self.limits) {
            return None;
        }
        self.ranges.claim(if self.ordered { WorkerId(0) } else { worker })
    }
    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<()> {
        let mut run = Run::begin(&self.query, self.pipeline, worker, morsel);
        let mut buffer = [std::ptr::null_mut(); BATCH];
        let mut cursor = morsel.begin;
        loop {
            let filled = self.rows.fill(&mut cursor, morsel.end, &mut buffer);
            if filled == 0 {
                return run.end();
            }
            run.rows(&buffer[..filled])?;
        }
    }
    fn total(&self) -> u64 {
        self.ranges.rows()
    }
    fn is_ready(&self) -> bool {
        !self.query.context.result().is_full()
    }
}

pub(super) struct ValueTasks {
    query: Arc<Query>,
    pipeline: PipelineId,
    chunk: Arc<Chunk>,
    ranges: MorselRanges,
}

impl ValueTasks {
    pub fn new(query: Arc<Query>, pipeline: PipelineId, chunk: Arc<Chunk>) -> Self {
        let ranges = MorselRanges::new(chunk.rows() as u64, 1, MORSEL);
        Self { query, pipeline, chunk, ranges }
    }
}

impl TaskSet for ValueTasks {
    fn claim(&self, _: WorkerId) -> Option<Morsel> {
        self.ranges.claim(WorkerId(0))
    }
    fn run(&self, worker: WorkerId, morsel: Morsel) -> Result<()> {
        let mut run = Run::begin(&self.query, self.pipeline, worker, morsel);
        let columns: Vec<usize> = (0..self.chunk.columns().len()).collect();
        let chunk = ChunkReader::of(Chunk::clone(&self.chunk));
        run.chunk(&chunk, &columns, &[], morsel.begin as usize, morsel.end as usize)?;
        run.end()
    }
    fn total(&self) -> u64 {
        self.ranges.rows()
    }
    fn is_ready(&self) -> bool {
        !self.query.context.result().is_full()
    }
}
