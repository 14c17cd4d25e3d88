//! Set operations (thesis 4.5.5). UNION ALL just joins the pipes of its inputs. The others group by all columns, with a
//! counter per input; INTERSECT and EXCEPT then decide by the counters, and ALL repeats rows.

use base::Result;
use plan::{ColumnId, Node, SetOperation};
use types::SqlType;

use super::aggregate::{bytes_of, combine_function, equal_function, group_row, key_layout};
use super::join::has_null_flag;
use super::pipe::{Binding, Field, Pipe};
use super::{Lowering, Needed, needed_with};
use crate::ir::{Arithmetic, Compare, GroupState, Inst, Operation, RowSet, State, Ty, Var};

impl Lowering<'_> {
    pub(super) fn set_operation(
        &mut self,
        (operation, all): (SetOperation, bool),
        inputs: &[(Node, Vec<ColumnId>)],
        columns: &[ColumnId],
        (needed, enough): (&Needed, Option<u64>),
    ) -> Result<Vec<Pipe>> {
        let union_all = operation == SetOperation::Union && all;
        let rows: f64 = inputs.iter().map(|(node, _)| node.rows).sum();
        let mut by_input = Vec::new();
        for (node, inner) in inputs {
            let kept = inner.iter().zip(columns).filter(|(_, c)| !union_all || needed.contains(c)).map(|(&i, _)| i);
            let kept: Vec<ColumnId> = kept.collect();
            let mut pipes = self.node(node, &needed_with(&Needed::new(), &kept))?;
            for pipe in &mut pipes {
                self.rename(pipe, inner, columns)?;
                pipe.ordered_by = None;
            }
            by_input.push(pipes);
        }
        if union_all {
            return Ok(by_input.into_iter().flatten().collect());
        }
        if operation == SetOperation::Union {
            return self.distinct(by_input.into_iter().flatten().collect(), columns, (rows, rows), enough);
        }
        self.counted(operation, all, by_input, columns, rows)
    }

    /// Binds the set operation's columns to the input's. Their types agree; a narrower representation is widened.
    fn rename(&mut self, pipe: &mut Pipe, from: &[ColumnId], to: &[ColumnId]) -> Result<()> {
        let mut bound = Vec::new();
        for (&from, &to) in from.iter().zip(to) {
            if !pipe.bindings.contains_key(&from) {
                continue;
            }
            let sql = pipe.column(from).ok_or_else(|| super::unbound(from))?;
            let sql = pipe.in_layout(sql, self.type_of(to));
            bound.push((to, Binding::Ready(sql)));
        }
        pipe.bindings.extend(bound);
        Ok(())
    }

    fn counted(
        &mut self,
        operation: SetOperation,
        all: bool,
        by_input: Vec<Vec<Pipe>>,
        columns: &[ColumnId],
        rows: f64,
    ) -> Result<Vec<Pipe>> {
        let types: Vec<SqlType> = columns.iter().map(|&c| self.type_of(c)).collect();
        let pipes = || by_input.iter().flatten();
        let nullable: Vec<bool> = columns.iter().map(|&c| pipes().any(|p| has_null_flag(p, c))).collect();
        let (mut layout, keys) = key_layout(&types, &nullable);
        let counters: Vec<u32> = by_input.iter().map(|_| layout.add(Ty::I64)).collect();
        let combine = combine_function(&keys, |p, into, from| {
            for &counter in &counters {
                let value = p.load(from, counter, Ty::I64, false);
                add_to(p, into, counter, value);
            }
            Ok(())
        })?;
        let bytes = bytes_of(&layout, rows, None);
        let equal = equal_function(&keys);
        let group = GroupState { layout, has_keys: true, slots: None, enough: None, equal, combine };
        let state = self.pipelines.add_state(State::Group(group));
        for (pipes, &counter) in by_input.into_iter().zip(&counters) {
            for mut pipe in pipes {
                let values = self.values_of(&mut pipe, columns)?;
                let row = group_row(&mut pipe, state, (&keys, None), &values, (bytes, None), |_, _| Ok(()))?;
                let one = pipe.int(1, Ty::I64);
                add_to(&mut pipe, row, counter, one);
                pipe.name.push("count".into());
                self.pipelines.close(pipe, state);
            }
        }
        let (mut pipe, row) = self.pipelines.read(state, RowSet::All, "counted rows");
        let bound: Vec<(ColumnId, Field)> = columns.iter().copied().zip(keys).collect();
        pipe.bind_row(row, &bound, false);
        let counts: Vec<Var> = counters.iter().map(|&c| pipe.load(row, c, Ty::I64, true)).collect();
        let zero = pipe.int(0, Ty::I64);
        let copies = match operation {
            SetOperation::Intersect => minimum(&mut pipe, &counts),
            _ => {
                let others = counts[1..].iter().fold(zero, |sum, &c| pipe.wrapping(Arithmetic::Add, sum, c));
                if all {
                    pipe.wrapping(Arithmetic::Sub, counts[0], others)
                } else {
                    let none = pipe.compare(Compare::Eq, others, zero);
                    pipe.let_(Ty::I64, Operation::Select(none, counts[0], zero))
                }
            }
        };
        if all {
            let index = pipe.var(Ty::I64);
            pipe.push(Inst::Repeat { times: copies, index, elements: Vec::new() });
        } else {
            let some = pipe.compare(Compare::Gt, copies, zero);
            pipe.push(Inst::Filter(some));
        }
        Ok(vec![pipe])
    }
}

fn add_to(pipe: &mut Pipe, row: Var, offset: u32, value: Var) {
    let old = pipe.load(row, offset, Ty::I64, false);
    let new = pipe.wrapping(Arithmetic::Add, old, value);
    pipe.store(row, offset, new);
}

fn minimum(pipe: &mut Pipe, values: &[Var]) -> Var {
    values[1..].iter().fold(values[0], |least, &v| {
        let less = pipe.compare(Compare::Lt, v, least);
        pipe.let_(Ty::I64, Operation::Select(less, v, least))
    })
}
