//! WITH RECURSIVE: a state to which pipelines add rows in rounds (decision 41).
//!
//! What comes of the first term's pipes is added before the rounds begin. Of the pipelines that the recursive term becomes,
//! those that depend on the working table, or add rows themselves, run in each round; the others, the build sides of joins with
//! tables above all, run once. Where the result is read once, its reader takes the rows of each round away, so that they need
//! not be kept, and a LIMIT above ends the rounds.

use base::{Error, Result};
use plan::{ColumnId, Cte, CteId, Node, Op};
use types::SqlType;

use super::aggregate::{combine_function, equal_function, key_layout};
use super::expression::Range;
use super::pipe::{Field, Pipe, Sql};
use super::{Lowering, Needed};
use crate::ir::{
    Callee, Compare, Distinct, Inst, OUTSIDE, Operation, RecursionState, RowSet, SEEN, State, StateId, Ty, Var,
};

/// Rows of integers are told apart by a bit each, where there can be at most so many for each row of the tables that the query reads:
/// few rows would touch as many pages of bits, which the system has to clear.
const MOST_FOR_EACH: i128 = 64;
/// And so many at least, and at most.
const FEW_ROWS: i128 = 1 << 20;
const MOST_ROWS: i128 = 1 << 27;

/// The two terms of a recursion and their columns.
type Terms = [(Node, Vec<ColumnId>)];

impl Lowering<'_> {
    pub(super) fn recursion(&mut self, id: CteId, cte: &Cte, all: bool, terms: &Terms) -> Result<()> {
        let Op::Recursion { columns, .. } = &cte.plan.op else { return Err(Error::internal("no recursion")) };
        let [(first, from_first), (term, from_term)] = terms else {
            return Err(Error::internal("a recursion without its terms"));
        };
        let kept = !self.is_streamed(id);
        let (state, fields) = self.recursion_state(columns, all, kept)?;
        let counter = self.counters.get(&cte.plan);
        let add = |lowering: &mut Self, term: &Node, from: &[ColumnId]| -> Result<()> {
            let pipes = lowering.node(term, &from.iter().copied().collect::<Needed>())?;
            lowering.pipelines.operator = counter;
            pipes.into_iter().try_for_each(|pipe| lowering.add_rows(pipe, (state, all), from, &fields, counter))
        };
        add(self, first, from_first)?;
        let begin = self.pipelines.mark();
        let bound: Vec<(ColumnId, Field)> = columns.iter().copied().zip(fields.iter().copied()).collect();
        self.ctes.insert(id, (state, bound.clone(), RowSet::Round));
        let plan = self.plan;
        for (part, cte) in plan.ctes.iter() {
            if self.rounds.of(part) != Some(id) {
                continue;
            }
            if matches!(cte.plan.op, Op::Recursion { .. }) {
                return Err(Error::unsupported("a recursive query that reads the working table of another one"));
            }
            self.common_table_expression(part, cte)?;
        }
        add(self, term, from_term)?;
        if !all {
            self.pipelines.set_domains(state, self.domains(from_first, from_term));
        }
        self.pipelines.repeat(begin, state)?;
        self.ctes.insert(id, (state, bound, if kept { RowSet::All } else { RowSet::Round }));
        Ok(())
    }

    /// The bounds of most rows: those of the recursive term, and of the first one if that does not stretch them too far.
    fn domains(&self, first: &[ColumnId], term: &[ColumnId]) -> Vec<(i64, i64)> {
        let bounds =
            |columns: &[ColumnId]| columns.iter().map(|c| self.expressions.range_of(*c)).collect::<Option<Vec<_>>>();
        let read: i128 = self.plan.tables.values().map(|table| i128::from(table.statistics.rows())).sum();
        let most = (read.saturating_mul(MOST_FOR_EACH)).clamp(FEW_ROWS, MOST_ROWS);
        let is_small = |ranges: &Vec<Range>| {
            let rows =
                ranges.iter().try_fold(1i128, |rows, range| rows.checked_mul(range.high.checked_sub(range.low)? + 1));
            rows.is_some_and(|rows| rows <= most)
        };
        let has_words = |columns: &[ColumnId]| self.are_words(columns);
        let Some(of_term) = bounds(term).filter(is_small).filter(|_| has_words(term)) else { return Vec::new() };
        let both = bounds(first).map(|first| first.iter().zip(&of_term).map(|(a, b)| a.union(*b)).collect());
        let ranges = both.filter(is_small).unwrap_or(of_term);
        let words = ranges.iter().map(|range| Some((i64::try_from(range.low).ok()?, i64::try_from(range.high).ok()?)));
        words.collect::<Option<_>>().unwrap_or_default()
    }

    /// Whether rows of these columns are one integer, or two.
    fn are_words(&self, columns: &[ColumnId]) -> bool {
        let is_word = |c: &ColumnId| matches!(self.type_of(*c).physical().into(), Ty::I16 | Ty::I32 | Ty::I64);
        (1..=2).contains(&columns.len()) && columns.iter().all(is_word)
    }

    fn recursion_state(&mut self, columns: &[ColumnId], all: bool, kept: bool) -> Result<(StateId, Vec<Field>)> {
        let types: Vec<SqlType> = columns.iter().map(|&c| self.type_of(c)).collect();
        let nullable: Vec<bool> = columns.iter().map(|&c| self.plan.columns[c].nullable).collect();
        let (mut layout, fields) = key_layout(&types, &nullable);
        let mut distinct = None;
        if !all {
            // Others look at a row from when it is added: it owns its strings by then.
            layout.fields.iter_mut().for_each(|field| field.kept = field.ty == Ty::Str);
            let combine = combine_function(&fields, |_, _, _| Ok(()))?;
            distinct = Some(Distinct { equal: equal_function(&fields), combine });
        }
        let recursion = RecursionState { layout, distinct, domains: Vec::new(), kept, renewed: Vec::new() };
        Ok((self.pipelines.add_state(State::Recursion(recursion)), fields))
    }

    /// Ends a pipe of one of the terms.
    fn add_rows(
        &mut self,
        mut pipe: Pipe,
        (state, all): (StateId, bool),
        columns: &[ColumnId],
        fields: &[Field],
        counter: Option<u32>,
    ) -> Result<()> {
        let values = self.values_of(&mut pipe, columns)?;
        let seen = if !all && self.are_words(columns) { Some(first_seen(&mut pipe, state, &values)?) } else { None };
        let keys = values.iter().zip(fields).map(|(v, field)| (v.value, v.null.filter(|_| field.null.is_some())));
        let keys: Vec<_> = keys.collect();
        let hash = |pipe: &mut Pipe| pipe.let_(Ty::I64, Operation::Hash(keys.clone()));
        let early = (!all && seen.is_none()).then(|| hash(&mut pipe));
        let row = pipe.var(Ty::Ptr);
        pipe.push(Inst::AllocRow { state, row, hash: None });
        early.into_iter().for_each(|hash| pipe.store(row, 0, hash));
        for (&field, &value) in fields.iter().zip(&values) {
            // Calls of some functions have a flag that is never set, where the plan knows of no NULL.
            pipe.store_field(row, field, value);
        }
        if !all {
            let add = |pipe: &mut Pipe| pipe.call1(Callee::AddRow(state), vec![row], None);
            let is_new = match seen {
                None => add(&mut pipe),
                Some(seen) => {
                    let outside = pipe.int(OUTSIDE.into(), Ty::I64);
                    let is_outside = pipe.compare(Compare::Eq, seen, outside);
                    let by_table = |pipe: &mut Pipe| {
                        let hash = hash(pipe);
                        pipe.store(row, 0, hash);
                        Ok([add(pipe)])
                    };
                    let [is_new] = pipe.if_(is_outside, by_table, |pipe| Ok([pipe.bool(true)]))?;
                    is_new
                }
            };
            counter.iter().for_each(|_| pipe.push(Inst::Filter(is_new)));
        }
        counter.into_iter().for_each(|counter| pipe.push(Inst::Count(counter)));
        pipe.name.push("add".into());
        self.pipelines.close(pipe, state);
        Ok(())
    }

    /// How often a recursion's result is read, not counting the rounds themselves.
    pub(super) fn readers(&self, recursion: CteId) -> usize {
        let (plan, rounds) = (self.plan, &self.rounds);
        let ctes = plan.ctes.iter().filter(|&(id, _)| id != recursion && rounds.of(id) != Some(recursion));
        ctes.map(|(_, cte)| &cte.plan).chain([&plan.root]).map(|node| reads(node, recursion)).sum()
    }

    /// Whether one reader takes the rows of each round away. One that runs in rounds of its own does not.
    fn is_streamed(&self, recursion: CteId) -> bool {
        let runs_once =
            |&(id, cte): &(CteId, &Cte)| !matches!(cte.plan.op, Op::Recursion { .. }) && self.rounds.of(id).is_none();
        let once = self.plan.ctes.iter().filter(runs_once).map(|(_, cte)| &cte.plan).chain([&self.plan.root]);
        self.streams && self.readers(recursion) == 1 && once.map(|node| reads(node, recursion)).sum::<usize>() == 1
    }
}

/// What is known of a row of integers without a look at others: the rest of the body happens only if it may be new.
fn first_seen(pipe: &mut Pipe, state: StateId, values: &[Sql]) -> Result<Var> {
    let ask = |pipe: &mut Pipe| {
        let mut words: Vec<Var> = values.iter().map(|value| pipe.widen(value.value, Ty::I64)).collect();
        if words.len() == 1 {
            words.push(pipe.int(0, Ty::I64));
        }
        Ok([pipe.call1(Callee::FirstSeen(state), words, None)])
    };
    let [seen] = match pipe.any_null(values.iter().map(|value| value.null)) {
        None => ask(pipe)?,
        Some(missing) => pipe.if_(missing, |pipe| Ok([pipe.int(OUTSIDE.into(), Ty::I64)]), ask)?,
    };
    let known = pipe.int(SEEN.into(), Ty::I64);
    let may_be_new = pipe.compare(Compare::Ne, seen, known);
    pipe.push(Inst::Filter(may_be_new));
    Ok(seen)
}

fn reads(node: &Node, wanted: CteId) -> usize {
    let mut count = 0;
    node.walk(&mut |node| count += usize::from(matches!(node.op, Op::CteScan { cte, .. } if cte == wanted)));
    count
}
