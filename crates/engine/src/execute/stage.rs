//! A pipeline as a stage of the scheduler: its source becomes morsels, its end finalises the states that it was the last to
//! fill.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use base::Result;
use base::ids::Id;
use pipeline::ir::{Pipeline, PipelineId, Source as IrSource, StateId};
use scheduler::{Stage, TaskSet};

use super::Query;
use super::rows::{RowTasks, ValueTasks};
use super::scan::{FileTasks, TableTasks};
use super::watch::Watched;
use crate::source::Source;

pub(super) struct PipelineStage {
    query: Arc<Query>,
    id: PipelineId,
    /// What is left to finalise: states, and the phase of the first; none before the pipeline's last morsel.
    finalizing: Mutex<Option<(VecDeque<StateId>, usize)>>,
}

impl PipelineStage {
    pub fn new(query: Arc<Query>, id: PipelineId) -> Self {
        Self { query, id, finalizing: Mutex::new(None) }
    }

    fn pipeline(&self) -> &Pipeline {
        &self.query.program.pipelines[self.id]
    }

    fn watched(&self, tasks: Box<dyn TaskSet>, operator: Option<u32>) -> Box<dyn TaskSet> {
        match operator {
            Some(operator) => Box::new(Watched { query: self.query.clone(), pipeline: self.id, operator, tasks }),
            None => tasks,
        }
    }

    /// The states that no other pipeline fills any more.
    fn filled(&self) -> VecDeque<StateId> {
        let last = |s: &&StateId| self.query.fillers[s.index()].fetch_sub(1, Ordering::AcqRel) == 1;
        self.pipeline().fills.iter().filter(last).copied().collect()
    }
}

impl Stage for PipelineStage {
    fn name(&self) -> &str {
        &self.pipeline().name
    }

    fn start(&self) -> Result<Box<dyn TaskSet>> {
        let query = self.query.clone();
        let tasks: Box<dyn TaskSet> = match &self.pipeline().source {
            IrSource::Table { table, predicates, .. } => match &self.query.sources[*table] {
                Source::Stored(snapshot, _) => Box::new(TableTasks::new(query, self.id, snapshot.clone(), predicates)),
                Source::File(file) => Box::new(FileTasks::new(query, self.id, file.clone(), predicates)?),
            },
            IrSource::Values(chunk) => Box::new(ValueTasks::new(query, self.id, chunk.clone())),
            IrSource::Rows { state, rows } => {
                let rows = query.context.rows(*state, *rows);
                Box::new(RowTasks::new(query, self.id, rows))
            }
        };
        Ok(self.watched(tasks, self.pipeline().operator_at(0)))
    }

    fn finish(&self) -> Result<Option<Box<dyn TaskSet>>> {
        let mut guard = self.finalizing.lock().unwrap_or_else(PoisonError::into_inner);
        let (states, phase) = guard.get_or_insert_with(|| (self.filled(), 0));
        while let Some(&state) = states.front() {
            if let Some(tasks) = self.query.context.finalize_phase(state, *phase)? {
                *phase += 1;
                return Ok(Some(self.watched(tasks, self.pipeline().operator)));
            }
            states.pop_front();
            *phase = 0;
        }
        Ok(None)
    }

    fn estimated_rows(&self) -> u64 {
        match &self.pipeline().source {
            IrSource::Table { table, .. } => match &self.query.sources[*table] {
                Source::Stored(snapshot, _) => snapshot.rows() as u64,
                Source::File(file) => file.estimated_rows(),
            },
            IrSource::Values(chunk) => chunk.rows() as u64,
            IrSource::Rows { .. } => 0,
        }
    }
}
