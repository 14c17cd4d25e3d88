//! The program's states, and the pipelines that fill them. Nothing here knows expressions or the plan.

use std::collections::HashMap;

use base::IdMap;
use plan::ColumnId;

use super::pipe::{Field, Pipe, Sql};
use crate::ir::{Callee, Inst, KeyFilter, Operation, Pipeline, PipelineId, RowSet, Source, State, StateId, Ty, Var};

/// States and ended pipelines, in the order in which they were made.
#[derive(Default)]
pub(super) struct Pipelines {
    states: IdMap<StateId, State>,
    pipelines: IdMap<PipelineId, Pipeline>,
    /// The pipelines that fill each state or mark its rows.
    fillers: HashMap<StateId, Vec<PipelineId>>,
    /// The counter of the operator that is being lowered, for EXPLAIN ANALYZE.
    pub operator: Option<u32>,
}

impl Pipelines {
    pub fn add_state(&mut self, state: State) -> StateId {
        self.states.push(state)
    }

    /// Ends a pipe in a state.
    pub fn close(&mut self, mut pipe: Pipe, state: StateId) {
        pipe.fills.push(state);
        self.end(pipe);
    }

    /// Makes a pipeline of a pipe.
    pub fn end(&mut self, mut pipe: Pipe) {
        if let Some(state) = pipe.reads_marks_of {
            self.wait_for(&mut pipe, state);
        }
        let mut body = pipe.take_body();
        let vectors = pipe.take_vectors(&mut body);
        let id = self.pipelines.push(Pipeline {
            name: pipe.name.join(", "),
            source: pipe.source,
            vectors,
            body,
            vars: pipe.vars,
            after: pipe.after,
            fills: pipe.fills.clone(),
            operator: self.operator,
        });
        for state in pipe.fills.into_iter().chain(pipe.marks) {
            self.fillers.entry(state).or_default().push(id);
        }
    }

    /// Lets a pipe run after all that have filled or marked the state so far.
    pub fn wait_for(&self, pipe: &mut Pipe, state: StateId) {
        pipe.depend_on(self.fillers.get(&state).map_or(&[], Vec::as_slice));
    }

    /// Lets the pipe's scan leave out rows whose value in a column is no key of a join, if that column is one of its table's
    /// and nothing shows for which rows the pipe has run so far.
    pub fn filter_by_keys(&mut self, pipe: &mut Pipe, column: ColumnId, join: StateId) {
        let Some(&attribute) = pipe.attributes.get(&column) else { return };
        let pure = pipe.is_pure();
        let Source::Table { filters, .. } = &mut pipe.source else { return };
        if let State::Join(state) = &mut self.states[join]
            && pure
        {
            state.filters = true;
            filters.push(KeyFilter { attribute, state: join });
        }
    }

    /// A pipe that reads the rows of a state once it is finished.
    pub fn read(&self, state: StateId, rows: RowSet, what: &str) -> (Pipe, Var) {
        let mut pipe = Pipe::new(what.to_string(), Source::Rows { state, rows });
        self.wait_for(&mut pipe, state);
        let row = pipe.let_(Ty::Ptr, Operation::Row);
        (pipe, row)
    }

    /// Ends a pipe by storing the values as a new row of the state.
    pub fn append_row(&mut self, mut pipe: Pipe, state: StateId, values: &[(Field, Sql)], name: &str) {
        let row = pipe.var(Ty::Ptr);
        pipe.push(Inst::AllocRow { state, row, hash: None });
        for &(field, sql) in values {
            pipe.store_field(row, field, sql);
        }
        pipe.name.push(name.into());
        self.close(pipe, state);
    }

    /// LIMIT without an order of its own. Where the rows come straight out of a sort, the sort takes it over, so that the
    /// first rows are meant; else any rows will do.
    pub fn limit(&mut self, mut pipes: Vec<Pipe>, limit: Option<u64>, offset: u64) -> Vec<Pipe> {
        if let [pipe] = pipes.as_slice()
            && let Some(state) = pipe.ordered_by
            && let State::Sort(sort) = &mut self.states[state]
        {
            let remaining = sort.limit.map(|l| l.saturating_sub(offset));
            sort.limit = match (remaining, limit) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            sort.offset = sort.offset.saturating_add(offset);
            return pipes;
        }
        let state = self.add_state(State::Limit { offset, limit: limit.unwrap_or(u64::MAX) });
        for pipe in &mut pipes {
            let take = pipe.call1(Callee::TakeLimit(state), Vec::new(), None);
            pipe.push(Inst::Filter(take));
        }
        pipes
    }

    /// All of them.
    pub fn into_parts(self) -> (IdMap<StateId, State>, IdMap<PipelineId, Pipeline>) {
        (self.states, self.pipelines)
    }
}
