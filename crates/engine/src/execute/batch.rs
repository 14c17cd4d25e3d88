//! From morsels to batches: what every source does with one worker.

use base::Result;
use base::ids::Id;
use pipeline::ir::PipelineId;
use runtime::abi::{BATCH, Batch, ColumnRef, Worker};
use runtime::query::WorkerGuard;
use scheduler::{Morsel, WorkerId};
use storage::{ChunkReader, ScanPredicate, Scratch};

use super::Query;

/// NULL flags of columns in which no row is NULL.
static NO_NULLS: [u8; BATCH] = [0; BATCH];

// Readers hand out what generated code takes at once.
const _: () = assert!(BATCH <= storage::WINDOW);

/// One worker's run of a pipeline over one morsel.
pub(super) struct Run<'q> {
    query: &'q Query,
    pipeline: PipelineId,
    worker: WorkerGuard<'q>,
}

impl<'q> Run<'q> {
    pub fn begin(query: &'q Query, pipeline: PipelineId, worker: WorkerId, morsel: Morsel) -> Self {
        let mut guard = query.context.worker(worker.index());
        guard.begin_pipeline(&query.program.pipelines[pipeline], query.code.scratch_bytes(pipeline));
        guard.begin_morsel(morsel.rows());
        Self { query, pipeline, worker: guard }
    }

    fn run(&mut self, batch: &Batch) -> Result<()> {
        let worker: &mut Worker = &mut self.worker;
        // SAFETY: the worker belongs to the query's context, and `begin` gave it the scratch memory; the callers build
        // batches of the pipeline's source; the scheduler starts a stage when the states that it reads are finished.
        unsafe { self.query.code.run_pipeline(self.pipeline, worker, batch) }
    }

    /// Runs rows that a state delivers.
    pub fn rows(&mut self, rows: &[*mut u8]) -> Result<()> {
        debug_assert!(rows.len() <= BATCH);
        self.run(&Batch {
            columns: std::ptr::null(),
            selection: std::ptr::null(),
            rows: rows.as_ptr(),
            count: rows.len() as u64,
        })
    }

    /// Runs rows `begin..end` of a chunk, those that satisfy the predicates. `read` are the source's columns among the
    /// chunk's.
    pub fn chunk(
        &mut self,
        chunk: &ChunkReader,
        read: &[usize],
        predicates: &[ScanPredicate],
        begin: usize,
        end: usize,
    ) -> Result<()> {
        let Some(predicates) = chunk.applicable(predicates) else { return Ok(()) };
        let mut selection = [0u32; BATCH];
        let mut columns: Vec<ColumnRef> = Vec::with_capacity(read.len());
        let mut scratch = Scratch::default();
        let mut at = begin;
        while at < end {
            let to = (at + BATCH).min(end);
            let count = chunk.scan(at..to, &predicates, &mut selection);
            if count > 0 {
                columns.clear();
                columns.extend(read.iter().map(|&attribute| {
                    let column = chunk.column(attribute, at..to, &mut scratch);
                    let nulls = if column.nulls.is_null() { NO_NULLS.as_ptr() } else { column.nulls };
                    ColumnRef { data: column.data, nulls }
                }));
                self.run(&Batch {
                    columns: columns.as_ptr(),
                    selection: selection.as_ptr(),
                    rows: std::ptr::null(),
                    count: count as u64,
                })?;
            }
            at = to;
        }
        Ok(())
    }

    /// Hands on what the morsel put into the result.
    pub fn end(mut self) -> Result<()> {
        self.worker.end_morsel()
    }
}
