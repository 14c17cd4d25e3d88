//! The program's states, and the pipelines that fill them. Nothing here knows expressions or the plan.

use std::collections::{BTreeSet, HashMap};

use base::{Error, IdMap, Result};
use plan::ColumnId;

use super::pipe::{Field, Pipe, Sql};
use crate::ir::{
    Callee, Inst, KeyFilter, KeyLookup, KeyPlace, LookupPart, Operation, Pipeline, PipelineId, RowSet, Source, State,
    StateId, Ty, Var,
};

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
        let rounds = match pipe.source {
            Source::Rows { state, rows: RowSet::Round } => Some(state),
            _ => None,
        };
        let id = self.pipelines.push(Pipeline {
            name: pipe.name.join(", "),
            source: pipe.source,
            vectors,
            body,
            vars: pipe.vars,
            after: pipe.after,
            fills: pipe.fills.clone(),
            rounds,
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

    /// Lets an index of the pipe's table find the rows that have a key of a join's build rows, under the same conditions. Of
    /// the keys, those count that are columns of the table.
    pub fn look_up_keys(&mut self, pipe: &mut Pipe, keys: &[(ColumnId, KeyPlace)], join: StateId) {
        let part = |(column, place): &(ColumnId, KeyPlace)| {
            Some(LookupPart { attribute: *pipe.attributes.get(column)?, place: *place })
        };
        let parts: Vec<LookupPart> = keys.iter().filter_map(part).collect();
        let pure = pipe.is_pure();
        if let Source::Table { lookups, .. } = &mut pipe.source
            && pure
            && !parts.is_empty()
        {
            lookups.push(KeyLookup { state: join, parts });
        }
    }

    /// The pipelines and states that there are, for [`repeat`](Self::repeat).
    pub fn mark(&self) -> (usize, usize) {
        (self.pipelines.len(), self.states.len())
    }

    /// Of the pipelines since the mark, which the recursive term has become, those run in each round that depend on a round or
    /// that add rows, with all that fill, mark or count for the same state. Their states are renewed for each round.
    pub fn repeat(&mut self, (pipelines, states): (usize, usize), recursion: StateId) -> Result<()> {
        let mut repeated: BTreeSet<PipelineId> = BTreeSet::new();
        let among = |list: &[PipelineId], repeated: &BTreeSet<PipelineId>| list.iter().any(|p| repeated.contains(p));
        loop {
            let limits: Vec<StateId> = repeated.iter().flat_map(|&p| limits_of(&self.pipelines[p])).collect();
            let shares = |state: &StateId| *state != recursion && among(&self.fillers[state], &repeated);
            let repeats = |p: &Pipeline| {
                p.rounds.is_some()
                    || p.fills.contains(&recursion)
                    || among(&p.after, &repeated)
                    || p.fills.iter().any(shares)
                    || limits_of(p).any(|limit| limits.contains(&limit))
            };
            let term = self.pipelines.iter().skip(pipelines).filter(|(_, p)| repeats(p));
            let found: BTreeSet<PipelineId> = term.map(|(id, _)| id).collect();
            if found == repeated {
                break;
            }
            repeated = found;
        }
        for &id in &repeated {
            let rounds = &mut self.pipelines[id].rounds;
            if rounds.is_some_and(|other| other != recursion) {
                return Err(Error::unsupported(
                    "a recursive query in the recursive term of another one that reads both",
                ));
            }
            *rounds = Some(recursion);
        }
        let is_renewed = |state: &StateId| self.fillers.get(state).is_none_or(|fillers| among(fillers, &repeated));
        let renewed = self.states.keys().skip(states).filter(is_renewed).collect();
        if let State::Recursion(state) = &mut self.states[recursion] {
            state.renewed = renewed;
        }
        Ok(())
    }

    /// A recursion's rows are mostly within these bounds.
    pub fn set_domains(&mut self, recursion: StateId, domains: Vec<(i64, i64)>) {
        if let State::Recursion(state) = &mut self.states[recursion] {
            state.domains = domains;
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

fn limits_of(pipeline: &Pipeline) -> impl Iterator<Item = StateId> {
    pipeline.body.iter().filter_map(Inst::limit)
}
