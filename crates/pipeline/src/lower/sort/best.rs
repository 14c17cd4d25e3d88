//! Top-k of each group: tuples that come behind as many others of their group as are asked for become no rows.
//!
//! Each worker keeps the first key of the best tuples of each group that it has met, in a group state of its own that
//! nobody reads. A tuple whose key comes behind all of them has so many others before it, whatever else it holds; most
//! tuples are such ones once a group has been seen for a while. Tuples whose key is NULL are neither counted nor left out.
//! The sort decides between those that are left.

use base::Result;
use plan::{ColumnId, Node};

use super::super::aggregate::{Domain, bytes_of, combine_function, equal_function, group_row, key_layout};
use super::super::join::has_null_flag;
use super::super::pipe::{Field, Pipe, Sql};
use super::Lowering;
use crate::ir::{Arithmetic, Compare, GroupState, Inst, Operation, State, StateId, Ty, Var};

/// Most keys that are kept of a group, one after the other.
const MOST: u64 = 16;
/// So many tuples at least for each row that is expected to be left.
const WORTHWHILE: f64 = 4.0;

/// What is kept of groups.
pub(super) struct Best {
    state: StateId,
    partition: Vec<(ColumnId, Field)>,
    domain: Option<Domain>,
    bytes: f64,
    descending: bool,
    count: u32,
    /// The first keys, best first.
    kept: Vec<u32>,
    ty: Ty,
}

impl Lowering<'_> {
    /// What to keep of groups of which `needed` rows each are asked for; none if that would not pay. `rows`: how many are
    /// expected to be left; `key`: the first that orders a group, and whether descending.
    pub(super) fn best_of_groups(
        &mut self,
        (input, pipes): (&Node, &[Pipe]),
        partition: &[ColumnId],
        (ty, descending): (Ty, bool),
        (needed, rows): (u64, f64),
    ) -> Result<Option<Best>> {
        let is_number = matches!(ty, Ty::I16 | Ty::I32 | Ty::I64 | Ty::I128 | Ty::F32 | Ty::F64);
        if !is_number || !(1..=MOST).contains(&needed) || rows * WORTHWHILE > input.rows {
            return Ok(None);
        }
        let types: Vec<_> = partition.iter().map(|&c| self.type_of(c)).collect();
        let nullable: Vec<bool> = partition.iter().map(|&c| pipes.iter().any(|p| has_null_flag(p, c))).collect();
        let (mut layout, keys) = key_layout(&types, &nullable);
        let kept = (0..needed).map(|_| layout.add(ty)).collect();
        let count = layout.add(Ty::I32);
        let groups = rows / needed as f64;
        let domain = Domain::of(&keys, partition.iter().map(|&c| self.expressions.range_of(c)), (groups, input.rows));
        let bytes = bytes_of(&layout, groups, domain.as_ref());
        let state = self.pipelines.add_state(State::Group(GroupState {
            layout,
            has_keys: true,
            slots: domain.as_ref().map(|domain| domain.slots),
            enough: None,
            equal: equal_function(&keys).filter(|_| domain.is_none()),
            combine: combine_function(&keys, |_, _, _| Ok(()))?,
        }));
        let partition = partition.iter().copied().zip(keys).collect();
        Ok(Some(Best { state, partition, domain, bytes, descending, count, kept, ty }))
    }

    /// Lets those tuples go on that may be among the first of their group; `key` is their first key.
    pub(super) fn keep_best(&mut self, pipe: &mut Pipe, best: &Best, key: Sql) -> Result<()> {
        let (columns, keys): (Vec<_>, Vec<_>) = best.partition.iter().copied().unzip();
        let values = self.values_of(pipe, &columns)?;
        let row =
            group_row(pipe, best.state, (&keys, None), &values, (best.bytes, best.domain.as_ref()), |_, _| Ok(()))?;
        let value = if best.ty.is_integer() { pipe.widen(key.value, best.ty) } else { key.value };
        let count = pipe.load(row, best.count, Ty::I32, false);
        let most = pipe.int(best.kept.len() as i128, Ty::I32);
        let full = pipe.compare(Compare::Ge, count, most);
        let last = pipe.load(row, best.kept[best.kept.len() - 1], best.ty, false);
        let (before, behind) = match best.descending {
            true => (Compare::Gt, Compare::Lt),
            false => (Compare::Lt, Compare::Gt),
        };
        let is_behind = pipe.compare(behind, value, last);
        let out = pipe.and(full, is_behind);
        let stays = pipe.not(out);
        let stays = key.null.map_or(stays, |null| pipe.or(stays, null));
        pipe.push(Inst::Filter(stays));
        match key.null {
            None => best.insert(pipe, row, (value, before), (count, full)),
            Some(null) => {
                pipe.open_block();
                best.insert(pipe, row, (value, before), (count, full));
                let otherwise = pipe.close_block();
                pipe.push(Inst::If { condition: null, then: Vec::new(), otherwise, results: Vec::new() });
            }
        }
        Ok(())
    }
}

impl Best {
    /// Puts a value among the kept ones, of which there are `count`; places behind these may hold anything.
    fn insert(&self, pipe: &mut Pipe, row: Var, (value, before): (Var, Compare), (count, full): (Var, Var)) {
        let mut carried = value;
        for (at, &offset) in self.kept.iter().enumerate() {
            let known = pipe.load(row, offset, self.ty, false);
            let at = pipe.int(at as i128, Ty::I32);
            let is_free = pipe.compare(Compare::Le, count, at);
            let is_before = pipe.compare(before, carried, known);
            let here = pipe.or(is_free, is_before);
            let stored = pipe.let_(self.ty, Operation::Select(here, carried, known));
            carried = pipe.let_(self.ty, Operation::Select(here, known, carried));
            pipe.store(row, offset, stored);
        }
        let one = pipe.int(1, Ty::I32);
        let more = pipe.wrapping(Arithmetic::Add, count, one);
        let count = pipe.let_(Ty::I32, Operation::Select(full, count, more));
        pipe.store(row, self.count, count);
    }
}
