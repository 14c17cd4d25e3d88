//! Grouping and duplicate elimination (thesis 4.5.4): every worker updates group rows of its own; rows of one group meet
//! in `combine`. All accumulators start as zero bytes.

mod accumulator;
mod add;
mod domain;
mod fold;
mod holistic;
mod integers;
mod known;
mod shift;
mod value_at;

use std::collections::HashMap;

use base::{Error, Result};
use plan::{AggregateCall, ColumnId, Expr, Node};
use types::SqlType;

use self::accumulator::{Accumulator, accumulators_of, adds_up};
pub(super) use self::domain::Domain;
use self::known::place_by_codes;
use super::expression::compare_same;
use super::join::has_null_flag;
use super::pipe::{Field, Pipe, Sql};
use super::{Lowering, Needed, with_columns_of};
use crate::ir::{
    Compare, Function, GROUP_HEADER, GroupState, Inst, Known, Operation, RowLayout, RowSet, State, StateId, Ty, Var,
};

/// Bytes of groups that a worker's first-level cache does not hold.
const MANY_BYTES: f64 = 65_536.0;

impl Lowering<'_> {
    /// `rows`: how many groups are expected.
    pub(super) fn aggregate(
        &mut self,
        input: &Node,
        groups: &[(ColumnId, Expr)],
        aggregates: &[(ColumnId, AggregateCall)],
        rows: f64,
        (needed, enough): (&Needed, Option<u64>),
    ) -> Result<Vec<Pipe>> {
        let does_something = |call: &AggregateCall| call.expressions().any(plan::Expr::is_volatile);
        let wanted: Vec<&(ColumnId, AggregateCall)> =
            aggregates.iter().filter(|(c, call)| needed.contains(c) || does_something(call)).collect();
        if let Some((_, call)) = wanted.iter().find(|(_, a)| a.distinct && !a.function.ignores_duplicates()) {
            return Err(Error::internal("a DISTINCT aggregate was not rewritten").at(call.position));
        }
        let read = wanted.iter().flat_map(|(_, a)| a.expressions());
        let read = with_columns_of(&Needed::new(), groups.iter().map(|(_, e)| e).chain(read));
        let pipes = self.node(input, &read)?;

        // Compute keys first: they say which can be NULL. Where groups are known by codes, they go to a block of their own.
        let mut open = Vec::new();
        let (own, told) = split_keys(groups);
        let keys = || own.iter().chain(&told).copied();
        let types = || keys().map(|(_, e)| e.sql_type);
        let few = rows * types().map(|ty| ty.physical().size() as f64).sum::<f64>() < MANY_BYTES;
        for mut pipe in pipes {
            let place = few.then(|| place_by_codes(&mut pipe, own.iter().map(|(_, e)| e))).flatten();
            place.iter().for_each(|_| pipe.open_block());
            let values = own.iter().map(|(_, expr)| self.key(&mut pipe, expr)).collect::<Result<Vec<_>>>()?;
            open.push((pipe, values, place));
        }
        groups.iter().for_each(|(column, expr)| self.expressions.note_range(*column, expr));
        let own_nullable = (0..own.len()).map(|i| open.iter().any(|(_, k, _)| k[i].null.is_some()));
        let can_be_null = |e: &Expr| open.iter().any(|(p, ..)| self.expressions.can_be_null(p, e));
        let nullable: Vec<bool> = own_nullable.chain(told.iter().map(|(_, e)| can_be_null(e))).collect();
        let columns: Vec<ColumnId> = keys().map(|(c, _)| *c).collect();
        let key_types: Vec<SqlType> = types().collect();
        let (mut layout, fields) = key_layout(&key_types, &nullable);
        let (keys, more) = fields.split_at(own.len());

        let mut accumulators: Vec<Accumulator> = Vec::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        let mut parts = Vec::new();
        for (_, call) in &wanted {
            let (call, shift) = match groups {
                [] if adds_up(call) => self.expressions.without_constants(call),
                _ => (call.clone(), 0),
            };
            let mut of_call = Vec::new();
            let nullable = |e: &Expr| open.iter().any(|(p, ..)| self.expressions.can_be_null(p, e));
            let range = |e: &Expr| self.expressions.range(e);
            for accumulator in accumulators_of(&call, !groups.is_empty(), shift != 0, &nullable, &range) {
                let at = *index.entry(accumulator.key()).or_insert_with(|| {
                    accumulators.push(accumulator);
                    accumulators.len() - 1
                });
                of_call.push(at);
            }
            parts.push((of_call, shift));
        }
        accumulators.iter_mut().for_each(|a| a.place(&mut layout));

        let combine =
            combine_function(keys, |p, into, from| accumulators.iter().try_for_each(|a| a.combine(p, into, from)))?;
        let bounds = own.iter().map(|(_, e)| self.expressions.range(e));
        let domain = Domain::of(keys, bounds, (rows, input.rows));
        let bytes = bytes_of(&layout, rows, domain.as_ref());
        let state = self.pipelines.add_state(State::Group(GroupState {
            layout,
            has_keys: !groups.is_empty(),
            slots: domain.as_ref().map(|domain| domain.slots),
            enough: enough.filter(|_| !groups.is_empty() && accumulators.is_empty()),
            equal: equal_function(keys).filter(|_| domain.is_none()),
            combine,
        }));
        for (mut pipe, values, place) in open {
            let row = if groups.is_empty() {
                pipe.let_(Ty::Ptr, Operation::LocalRow(state))
            } else {
                group_row(&mut pipe, state, (keys, place), &values, (bytes, domain.as_ref()), |pipe, row| {
                    more.iter().zip(&told).try_for_each(|(&field, (_, expr))| {
                        let value = self.key(pipe, expr)?;
                        pipe.store_field(row, field, value);
                        Ok(())
                    })
                })?
            };
            for accumulator in &accumulators {
                self.expressions.update(&mut pipe, state, row, accumulator, !groups.is_empty())?;
            }
            pipe.name.push("group".into());
            self.pipelines.close(pipe, state);
        }

        let (mut pipe, row) = self.pipelines.read(state, RowSet::All, "groups");
        let bound: Vec<(ColumnId, Field)> = columns.into_iter().zip(fields).collect();
        pipe.bind_row(row, &bound, false);
        for ((column, call), (of_call, shift)) in wanted.iter().zip(&parts) {
            let of_call: Vec<&Accumulator> = of_call.iter().map(|&i| &accumulators[i]).collect();
            let sql = self.expressions.finish(&mut pipe, row, call, &of_call, *shift)?;
            pipe.bind(*column, sql);
        }
        Ok(vec![pipe])
    }

    /// How many rows are expected to be left of so many tuples.
    pub(super) fn distinct(
        &mut self,
        pipes: Vec<Pipe>,
        columns: &[ColumnId],
        (rows, tuples): (f64, f64),
        enough: Option<u64>,
    ) -> Result<Vec<Pipe>> {
        let types: Vec<SqlType> = columns.iter().map(|&c| self.type_of(c)).collect();
        let nullable: Vec<bool> = columns.iter().map(|&c| pipes.iter().any(|p| has_null_flag(p, c))).collect();
        let (layout, keys) = key_layout(&types, &nullable);
        let combine = combine_function(&keys, |_, _, _| Ok(()))?;
        let domain = Domain::of(&keys, columns.iter().map(|&c| self.expressions.range_of(c)), (rows, tuples));
        let bytes = bytes_of(&layout, rows, domain.as_ref());
        let slots = domain.as_ref().map(|domain| domain.slots);
        let equal = equal_function(&keys).filter(|_| domain.is_none());
        let state = self.pipelines.add_state(State::Group(GroupState {
            layout,
            has_keys: true,
            slots,
            enough,
            equal,
            combine,
        }));
        let few = bytes < MANY_BYTES;
        let exprs: Vec<Expr> = columns.iter().map(|&c| Expr::column(c, self.type_of(c))).collect();
        for mut pipe in pipes {
            let place = few.then(|| place_by_codes(&mut pipe, exprs.iter())).flatten();
            place.iter().for_each(|_| pipe.open_block());
            let values = self.values_of(&mut pipe, columns)?;
            group_row(&mut pipe, state, (&keys, place), &values, (bytes, domain.as_ref()), |_, _| Ok(()))?;
            pipe.name.push("distinct".into());
            self.pipelines.close(pipe, state);
        }
        let (mut pipe, row) = self.pipelines.read(state, RowSet::All, "distinct rows");
        let bound: Vec<(ColumnId, Field)> = columns.iter().copied().zip(keys).collect();
        pipe.bind_row(row, &bound, false);
        Ok(vec![pipe])
    }

    /// The value of a key, in its layout.
    fn key(&mut self, pipe: &mut Pipe, expr: &Expr) -> Result<Sql> {
        let sql = self.expressions.scalar(pipe, expr)?;
        Ok(pipe.in_layout(sql, expr.sql_type))
    }

    /// The columns' values in their layouts.
    pub(super) fn values_of(&mut self, pipe: &mut Pipe, columns: &[ColumnId]) -> Result<Vec<Sql>> {
        columns
            .iter()
            .map(|&c| {
                let sql = pipe.column(c).ok_or_else(|| super::unbound(c))?;
                Ok(pipe.in_layout(sql, self.type_of(c)))
            })
            .collect()
    }
}

/// A key and the column that it becomes.
type GroupKey = (ColumnId, Expr);

/// The keys that groups are found by, and those that say nothing beside them: these are computed for each new row of a worker,
/// so that what fails for a tuple fails for the first one that has its keys.
fn split_keys(groups: &[GroupKey]) -> (Vec<&GroupKey>, Vec<&GroupKey>) {
    let told = plan::told_by_others(groups.iter().map(|(_, e)| e));
    let (own, told): (Vec<_>, Vec<_>) = groups.iter().zip(told).partition(|(_, told)| !told);
    (own.into_iter().map(|(key, _)| key).collect(), told.into_iter().map(|(key, _)| key).collect())
}

/// A layout with the keys, wide ones first, then their flags.
pub(super) fn key_layout(types: &[SqlType], nullable: &[bool]) -> (RowLayout, Vec<Field>) {
    let mut layout = RowLayout::with_header(GROUP_HEADER);
    let mut order: Vec<usize> = (0..types.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(types[i].physical().size()));
    let mut fields = vec![Field { offset: 0, ty: Ty::Bool, null: None }; types.len()];
    for &i in &order {
        let ty = types[i].physical().into();
        fields[i] = Field { offset: layout.add(ty), ty, null: None };
    }
    for (field, _) in fields.iter_mut().zip(nullable).filter(|(_, nullable)| **nullable) {
        field.null = Some(layout.add_null_flag(field.offset));
    }
    (layout, fields)
}

/// Whether one key of at most 64 bits without NULLs, hashed one to one, is all there is.
fn exact(keys: &[Field]) -> bool {
    match keys {
        [] => true,
        [key] => key.null.is_none() && matches!(key.ty, Ty::Bool | Ty::I16 | Ty::I32 | Ty::I64),
        _ => false,
    }
}

/// What the rows of all groups are expected to take; `rows`: how many are. Where groups are numbered, all numbers may come.
pub(super) fn bytes_of(layout: &RowLayout, rows: f64, domain: Option<&Domain>) -> f64 {
    rows.max(domain.map_or(0.0, |domain| domain.slots as f64)) * f64::from(layout.stride())
}

/// Finds or makes the group's row. Without keys all rows are one group, which exists only if there is a row. `bytes`:
/// what [`bytes_of`] them says. `domain`: of the state whose groups are numbered. If there is a `place` by codes, the keys are
/// in a block that is still open. `init` writes what else a new row has.
pub(super) fn group_row(
    pipe: &mut Pipe,
    state: StateId,
    (keys, place): (&[Field], Option<Var>),
    values: &[Sql],
    (bytes, domain): (f64, Option<&Domain>),
    init: impl FnOnce(&mut Pipe, Var) -> Result<()>,
) -> Result<Var> {
    let hash = if let Some(domain) = domain {
        domain.number(pipe, keys, values)
    } else if keys.is_empty() {
        pipe.int(0, Ty::I64)
    } else {
        let values = values.iter().zip(keys).map(|(v, k)| (v.value, v.null.filter(|_| k.null.is_some()))).collect();
        pipe.let_(Ty::I64, Operation::Hash(values))
    };
    let known = place.map(|place| Known { place, keys: pipe.close_block() });
    if bytes >= MANY_BYTES && known.is_none() {
        pipe.push(Inst::Prefetch { state, hash });
    }
    let row = pipe.var(Ty::Ptr);
    pipe.open_block();
    let is_equal = if exact(keys) || domain.is_some() {
        pipe.bool(true)
    } else {
        let mut all: Option<Var> = None;
        for (&key, &value) in keys.iter().zip(values) {
            let equal = field_equals(pipe, row, key, value);
            all = Some(match all {
                Some(all) => pipe.and(all, equal),
                None => equal,
            });
        }
        all.expect("at least one key")
    };
    let equal = pipe.close_block();
    pipe.open_block();
    for (&key, &value) in keys.iter().zip(values) {
        pipe.store_field(row, key, value);
    }
    init(pipe, row)?;
    let init = pipe.close_block();
    pipe.push(Inst::Group { state, hash, row, equal, is_equal, init, known });
    for (&key, value) in keys.iter().zip(values) {
        keep_first(pipe, row, key, value.value)?;
    }
    Ok(row)
}

/// Of keys that are equal but not identical (-0 and 0, intervals) a group shows the first in the total order. What stands
/// beside a NULL is of no account. Hardly ever is that another one, and a row whose group the last one has written would wait for
/// what that has stored.
fn keep_first(pipe: &mut Pipe, row: Var, key: Field, value: Var) -> Result<()> {
    if !matches!(key.ty, Ty::F32 | Ty::F64 | Ty::Interval) {
        return Ok(());
    }
    let stored = pipe.load(row, key.offset, key.ty, false);
    let before = pipe.compare(Compare::Before, value, stored);
    pipe.when(before, |pipe| {
        pipe.store(row, key.offset, value);
        Ok(())
    })
}

/// Whether a row's key is the value; NULLs are equal.
fn field_equals(pipe: &mut Pipe, row: Var, field: Field, value: Sql) -> Var {
    let stored = pipe.load(row, field.offset, field.ty, false);
    let same = compare_same(pipe, Compare::Eq, stored, value.value);
    let Some(offset) = field.null else { return same };
    let stored_null = pipe.load(row, offset, Ty::Bool, false);
    let value_null = value.null.unwrap_or_else(|| pipe.bool(false));
    let both = pipe.and(stored_null, value_null);
    let either = pipe.or(stored_null, value_null);
    let neither = pipe.not(either);
    let same = pipe.and(neither, same);
    pipe.or(both, same)
}

/// Whether two rows have the same keys, if equal hashes do not say it already.
pub(super) fn equal_function(keys: &[Field]) -> Option<Function> {
    if exact(keys) {
        return None;
    }
    let mut pipe = Pipe::detached();
    let rows = [pipe.var(Ty::Ptr), pipe.var(Ty::Ptr)];
    let mut all: Option<Var> = None;
    for &key in keys {
        let value = pipe.load(rows[1], key.offset, key.ty, false);
        let null = key.null.map(|offset| pipe.load(rows[1], offset, Ty::Bool, false));
        let equal = field_equals(&mut pipe, rows[0], key, Sql { value, null });
        all = Some(match all {
            Some(all) => pipe.and(all, equal),
            None => equal,
        });
    }
    Some(Function { rows, result: all, body: pipe.take_body(), vars: pipe.vars })
}

/// A function that adds the second row to the first.
pub(super) fn combine_function(
    keys: &[Field],
    write: impl FnOnce(&mut Pipe, Var, Var) -> Result<()>,
) -> Result<Function> {
    let mut pipe = Pipe::detached();
    let rows = [pipe.var(Ty::Ptr), pipe.var(Ty::Ptr)];
    for &key in keys {
        let value = pipe.load(rows[1], key.offset, key.ty, false);
        keep_first(&mut pipe, rows[0], key, value)?;
    }
    write(&mut pipe, rows[0], rows[1])?;
    Ok(Function { rows, result: None, body: pipe.take_body(), vars: pipe.vars })
}
