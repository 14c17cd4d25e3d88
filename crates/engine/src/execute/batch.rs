//! From morsels to batches: what every source does with one worker.

use base::Result;
use base::ids::Id;
use pipeline::ir::PipelineId;
use runtime::abi::{BATCH, Batch, ColumnRef, Worker};
use runtime::query::WorkerGuard;
use scheduler::{Morsel, WorkerId};
use storage::ScanPredicate;
use types::Chunk;

use super::Query;

/// NULL flags of columns in which no row is NULL.
static NO_NULLS: [u8; BATCH] = [0; BATCH];

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

    /// Runs rows `begin..end` of columns, those that satisfy the predicates. `all` is what predicates number, `read` are
    /// the columns of the source among them. The columns outlive the call.
    pub fn columns(
        &mut self,
        all: &[storage::ColumnRef],
        read: &[(usize, usize)],
        predicates: &[ScanPredicate],
        begin: usize,
        end: usize,
    ) -> Result<()> {
        let mut selection = [0u32; BATCH];
        let mut columns: Vec<ColumnRef> = Vec::with_capacity(read.len());
        let mut at = begin;
        while at < end {
            let to = (at + BATCH).min(end);
            // SAFETY: the caller's columns have these rows, of the types for which the predicates were made.
            let count = unsafe { storage::scan::select(predicates, all, at, to, &mut selection) };
            if count > 0 {
                columns.clear();
                columns.extend(read.iter().map(|&(index, size)| {
                    let column = all[index];
                    let nulls = if column.nulls.is_null() {
                        NO_NULLS.as_ptr()
                    } else {
                        // SAFETY: within the column.
                        unsafe { column.nulls.add(at) }
                    };
                    // SAFETY: within the column.
                    ColumnRef { data: unsafe { column.data.add(at * size) }, nulls }
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

/// Addresses of a chunk's columns, and which of them the source reads with their sizes: (index, bytes a value).
pub(super) fn chunk_refs(chunk: &Chunk) -> (Vec<storage::ColumnRef>, Vec<(usize, usize)>) {
    let refs = chunk.columns().iter().map(storage::ColumnRef::of).collect();
    let read = chunk.columns().iter().enumerate().map(|(i, c)| (i, c.physical().size())).collect();
    (refs, read)
}
