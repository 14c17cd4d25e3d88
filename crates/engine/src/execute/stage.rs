//! A pipeline as a stage of the scheduler: its source becomes morsels, its end finalises the states that it was the last to
//! fill.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Result;
use base::ids::Id;
use pipeline::ir::{Pipeline, PipelineId, Source as IrSource, State, StateId};
use scheduler::{Cutting, Stage, TaskSet};
use storage::relation::IndexedRows;

use super::Query;
use super::file_scan::FileScan;
use super::found_rows::{FoundRows, FoundTasks, Rows};
use super::index_join::IndexJoin;
use super::pass_over::left_out;
use super::phases::Phase;
use super::rows::{RowTasks, ValueTasks};
use super::scan::{self, TableTasks};
use super::watch::Watched;
use crate::pieces::prepare_file;
use crate::source::Source;

/// So many rows one worker reads before all others, in their order, where a LIMIT takes few: mostly it takes the first ones then.
const FIRST_ROWS: u64 = 1 << 15;

pub(super) struct PipelineStage {
    query: Arc<Query>,
    id: PipelineId,
    /// What comes when the task set is done.
    next: Mutex<Next>,
}

/// What a stage does after its present task set.
enum Next {
    /// Reads its source, which was prepared.
    Source,
    /// Reads the rows that its keys have found, or all of its source.
    Found(Arc<IndexJoin>),
    /// Reads what is left of its source, if somebody wants it.
    Rest(Rest),
    /// Begins to finalise.
    Finalize,
    /// States to finalise, and the phase of the first.
    Finalizing(VecDeque<StateId>, usize),
}

/// What makes the tasks behind the first ones, once these are done.
type Rest = Box<dyn FnOnce(&Cutting) -> Box<dyn TaskSet> + Send>;

impl PipelineStage {
    pub fn new(query: Arc<Query>, id: PipelineId) -> Self {
        Self { query, id, next: Mutex::new(Next::Finalize) }
    }

    fn pipeline(&self) -> &Pipeline {
        &self.query.program.pipelines[self.id]
    }

    /// The tasks of a phase before or after the source is read.
    fn phase(&self, name: &'static str, tasks: Box<dyn TaskSet>) -> Box<dyn TaskSet> {
        let Some(operator) = self.pipeline().operator else { return tasks };
        let phase = Arc::new(Phase::new(self.id, name));
        self.query.phases.lock().unwrap_or_else(PoisonError::into_inner).push(phase.clone());
        Box::new(Watched { query: self.query.clone(), pipeline: self.id, operator, phase: Some(phase), tasks })
    }

    fn lock(&self) -> MutexGuard<'_, Next> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The morsels of the source.
    fn source(&self, cut: &Cutting) -> Result<Box<dyn TaskSet>> {
        Ok(self.watched(tasks_of(&self.query, self.id, cut)?))
    }

    fn watched(&self, tasks: Box<dyn TaskSet>) -> Box<dyn TaskSet> {
        watched(&self.query, self.id, self.pipeline().operator_at(0), tasks)
    }

    /// The morsels of the first rows of a table or file and those of the others, if a LIMIT takes no more than the first rows, or leaves
    /// rows of a table out that need not be read: the first rows are those behind them.
    fn first_and_rest(&self, cut: &Cutting) -> Result<Option<(Box<dyn TaskSet>, Rest)>> {
        let is_few = |limit: &StateId| match &self.query.program.states[*limit] {
            State::Limit { offset, limit } => offset.saturating_add(*limit) <= FIRST_ROWS,
            _ => false,
        };
        let limits = self.query.limits_of(&self.pipeline().body);
        let IrSource::Table { table, predicates, filters, lookups, .. } = &self.pipeline().source else {
            return Ok(None);
        };
        let left_out = match &self.query.sources[*table] {
            Source::Stored(snapshot, _) if !limits.is_empty() => left_out(&self.query, self.id, snapshot),
            _ => 0,
        };
        if limits.is_empty() || left_out == 0 && !limits.iter().all(is_few) {
            return Ok(None);
        }
        let (query, id, cut) = (self.query.clone(), self.id, &self.query.cutting(self.id, cut));
        Ok(match &self.query.sources[*table] {
            Source::Stored(snapshot, _) => {
                let asked = (predicates.as_slice(), filters.as_slice(), lookups.as_slice());
                let first = left_out..left_out.saturating_add(FIRST_ROWS);
                let [first, rest] = TableTasks::first_and_rest(query, id, snapshot.clone(), asked, (cut, first));
                Some((Box::new(first), Box::new(|_| Box::new(rest))))
            }
            Source::File(file) => {
                let scan = FileScan::new(&query, id, file.clone(), predicates)?;
                let (first, end) = scan.clone().first(query.clone(), id, (cut, FIRST_ROWS));
                let rest = move |cut: &Cutting| -> Box<dyn TaskSet> {
                    Box::new(scan.rest(query.clone(), id, (&query.cutting(id, cut), &end)))
                };
                Some((Box::new(first), Box::new(rest)))
            }
            Source::Routine(_) | Source::Part(_) => None,
        })
    }

    /// The source's morsels, or the first of them.
    fn begin(&self, cut: &Cutting) -> Result<Box<dyn TaskSet>> {
        let Some((first, rest)) = self.first_and_rest(cut)? else { return self.source(cut) };
        *self.lock() = Next::Rest(rest);
        Ok(self.watched(first))
    }

    /// Whether a LIMIT has all the rows that it takes.
    fn is_exhausted(&self) -> bool {
        let limits = self.query.limits_of(&self.pipeline().body);
        limits.iter().any(|&limit| self.query.context.is_exhausted(limit))
    }

    /// The states that no other pipeline fills any more.
    fn filled(&self) -> VecDeque<StateId> {
        let last = |s: &&StateId| self.query.fillers[s.index()].fetch_sub(1, Ordering::AcqRel) == 1;
        self.pipeline().fills.iter().filter(last).copied().collect()
    }
}

/// The tasks, for whoever watches the operator that they work for.
pub(super) fn watched(
    query: &Arc<Query>,
    pipeline: PipelineId,
    operator: Option<u32>,
    tasks: Box<dyn TaskSet>,
) -> Box<dyn TaskSet> {
    match operator {
        Some(operator) => Box::new(Watched { query: query.clone(), pipeline, operator, phase: None, tasks }),
        None => tasks,
    }
}

/// What is to be done before a pipeline's source is read, if it is a file that asks for it.
pub(super) fn preparation(query: &Arc<Query>, id: PipelineId, cut: &Cutting) -> Option<Box<dyn TaskSet>> {
    let pipeline = &query.program.pipelines[id];
    let IrSource::Table { table, .. } = &pipeline.source else { return None };
    match &query.sources[*table] {
        Source::File(file) if file.preparations() > 0 => {
            Some(watched(query, id, pipeline.operator_at(0), prepare_file(file.clone(), cut)))
        }
        _ => None,
    }
}

/// The morsels of a pipeline's source, if it has rows as far as that is known.
pub(super) fn source_tasks(query: &Arc<Query>, id: PipelineId, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
    let tasks = tasks_of(query, id, cut)?;
    if let IrSource::Rows { .. } = query.program.pipelines[id].source
        && tasks.total() == 0
    {
        return Ok(None);
    }
    Ok(Some(watched(query, id, query.program.pipelines[id].operator_at(0), tasks)))
}

fn tasks_of(query: &Arc<Query>, id: PipelineId, cut: &Cutting) -> Result<Box<dyn TaskSet>> {
    let (query, cut) = (query.clone(), &query.cutting(id, cut));
    Ok(match &query.program.clone().pipelines[id].source {
        IrSource::Table { table, predicates, filters, lookups, .. } => match &query.sources[*table] {
            Source::Routine(_) | Source::Part(_) => {
                return Err(base::Error::internal("the rows of a function were not computed"));
            }
            Source::Stored(snapshot, _) => {
                let asked = (predicates.as_slice(), filters.as_slice(), lookups.as_slice());
                let snapshot = snapshot.clone();
                match scan::indexed_rows(&query, id, &snapshot, asked) {
                    Some(IndexedRows { rows, is_exact }) => {
                        let memory = query.budget.reserve(size_of_val(&rows[..]), "index scan")?;
                        let rows = Rows::Table(rows);
                        Box::new(FoundTasks::new(query, id, FoundRows { snapshot, rows, is_exact, memory }, cut))
                    }
                    None => Box::new(TableTasks::new(query, id, snapshot, asked, cut)),
                }
            }
            Source::File(file) => Box::new(FileScan::new(&query, id, file.clone(), predicates)?.tasks(query, id, cut)),
        },
        IrSource::Values(chunk) => Box::new(ValueTasks::new(query, id, chunk.clone(), cut)),
        IrSource::Rows { state, rows } => {
            let rows = query.context.rows(*state, *rows);
            Box::new(RowTasks::new(query, id, rows, cut))
        }
    })
}

impl Stage for PipelineStage {
    fn name(&self) -> &str {
        &self.pipeline().name
    }

    fn start(&self, cut: &Cutting) -> Result<Box<dyn TaskSet>> {
        if let Some(tasks) = preparation(&self.query, self.id, cut) {
            *self.lock() = Next::Source;
            return Ok(tasks);
        }
        if let Some(join) = IndexJoin::of(&self.query, self.id) {
            let lookups = self.phase("look up", join.lookups(cut));
            *self.lock() = Next::Found(join);
            return Ok(lookups);
        }
        self.begin(cut)
    }

    fn finish(&self, cut: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
        let before = std::mem::replace(&mut *self.lock(), Next::Finalize);
        if let Next::Source = before {
            return self.begin(cut).map(Some);
        }
        if let Next::Found(join) = &before {
            let cut = &self.query.cutting(self.id, cut);
            return match join.rows(cut)? {
                Some(rows) => Ok(Some(self.watched(rows))),
                None => self.begin(cut).map(Some),
            };
        }
        let mut next = self.lock();
        match before {
            Next::Rest(rest) if !self.is_exhausted() => return Ok(Some(self.watched(rest(cut)))),
            Next::Source | Next::Found(_) | Next::Rest(_) | Next::Finalize => {
                *next = Next::Finalizing(self.filled(), 0)
            }
            finalizing @ Next::Finalizing(..) => *next = finalizing,
        }
        let Next::Finalizing(states, phase) = &mut *next else { unreachable!("set above") };
        while let Some(&state) = states.front() {
            if let Some(tasks) = self.query.context.finalize_phase(state, *phase, cut)? {
                *phase += 1;
                return Ok(Some(self.phase(self.query.context.phase(state), tasks)));
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
                Source::Routine(_) | Source::Part(_) => 0,
            },
            IrSource::Values(chunk) => chunk.rows() as u64,
            IrSource::Rows { .. } => 0,
        }
    }
}
