//! Order, limits, and materialised rows (thesis 4.5.6).

mod best;

use base::Result;
use plan::{ColumnId, ExprKind, Node, SortKey};

use super::join::has_null_flag;
use super::pipe::{Field, Pipe};
use super::{Lowering, Needed, with_columns_of};
use crate::ir::{RowLayout, RowSet, SortField, SortState, Source, State, StateId, Ty};

impl Lowering<'_> {
    /// ORDER BY with LIMIT and OFFSET, which count anew for each value of the `partition` columns if there are any: then
    /// these are ordered by first. `rows`: how many are expected to be left.
    pub(super) fn sort(
        &mut self,
        (input, rows): (&Node, f64),
        partition: &[ColumnId],
        keys: &[SortKey],
        (limit, offset): (Option<u64>, u64),
        needed: &Needed,
    ) -> Result<Vec<Pipe>> {
        let groups = partition.iter().map(|&c| {
            let expr = plan::Expr::column(c, self.type_of(c));
            SortKey { expr, descending: false, nulls_first: false }
        });
        let keys: Vec<SortKey> = groups.chain(keys.iter().cloned()).collect();
        let read = with_columns_of(needed, keys.iter().map(|k| &k.expr));
        let pipes = self.node(input, &read)?;
        let columns: Vec<ColumnId> = input.columns().into_iter().filter(|c| needed.contains(c)).collect();
        let (mut layout, fields) = self.row_layout(&pipes, &columns);
        // A key that is a stored column needs no field of its own.
        let mut sort_fields = Vec::new();
        let mut computed = Vec::new();
        for key in &keys {
            let stored = match key.expr.kind {
                ExprKind::Column(c) => fields.iter().find(|(column, _)| *column == c).map(|(_, f)| *f),
                _ => None,
            };
            let field = stored.unwrap_or_else(|| {
                let ty: Ty = key.expr.sql_type.physical().into();
                let offset = layout.add(ty);
                let field = Field { offset, ty, null: Some(layout.add_null_flag(offset)) };
                computed.push((field, &key.expr));
                field
            });
            sort_fields.push(sort_field(field, key));
        }
        let most = limit.map(|limit| limit.saturating_add(offset)).filter(|_| !partition.is_empty());
        let best = match (most, keys.get(partition.len()).zip(sort_fields.get(partition.len()))) {
            (Some(most), Some((key, field))) => {
                self.best_of_groups((input, &pipes), partition, (field.ty, key.descending), (most, rows))?
            }
            _ => None,
        };
        let state = SortState { layout, keys: sort_fields, partition: partition.len(), limit, offset };
        let state = self.pipelines.add_state(State::Sort(state));
        for mut pipe in pipes {
            let mut values = Vec::new();
            for (field, expr) in &computed {
                values.push((*field, self.expressions.scalar(&mut pipe, expr)?));
            }
            if let Some(best) = &best {
                let key = &keys[partition.len()].expr;
                let known = computed.iter().position(|(_, expr)| std::ptr::eq(*expr, key)).map(|at| values[at].1);
                let key = known.map_or_else(|| self.expressions.scalar(&mut pipe, key), Ok)?;
                self.keep_best(&mut pipe, best, key)?;
            }
            for &(column, field) in &fields {
                values.push((field, pipe.column(column).ok_or_else(|| super::unbound(column))?));
            }
            self.pipelines.append_row(pipe, state, &values, "sort");
        }
        let (mut pipe, row) = self.pipelines.read(state, RowSet::All, "sorted rows");
        pipe.bind_row(row, &fields, false);
        pipe.ordered_by = partition.is_empty().then_some(state);
        Ok(vec![pipe])
    }

    /// Stores all rows, to be read more than once.
    pub(super) fn materialize(
        &mut self,
        pipes: Vec<Pipe>,
        columns: &[ColumnId],
        name: &str,
    ) -> Result<(StateId, Vec<(ColumnId, Field)>)> {
        let (layout, fields) = self.row_layout(&pipes, columns);
        let state = self.pipelines.add_state(State::Rows(layout));
        for mut pipe in pipes {
            let mut values = Vec::new();
            for &(column, field) in &fields {
                values.push((field, pipe.column(column).ok_or_else(|| super::unbound(column))?));
            }
            self.pipelines.append_row(pipe, state, &values, name);
        }
        Ok((state, fields))
    }

    pub(super) fn row_layout(&self, pipes: &[Pipe], columns: &[ColumnId]) -> (RowLayout, Vec<(ColumnId, Field)>) {
        let mut layout = RowLayout::with_header(0);
        let mut order = columns.to_vec();
        order.sort_by_key(|&c| std::cmp::Reverse(self.type_of(c).physical().size()));
        let mut fields: Vec<(ColumnId, Field)> = Vec::new();
        for column in order {
            let ty: Ty = self.type_of(column).physical().into();
            fields.push((column, Field { offset: layout.add(ty), ty, null: None }));
        }
        for (column, field) in &mut fields {
            if pipes.iter().any(|p| has_null_flag(p, *column)) {
                field.null = Some(layout.add_null_flag(field.offset));
            }
        }
        (layout, fields)
    }
}

/// A key that lies in a field.
pub(super) fn sort_field(Field { offset, ty, null }: Field, key: &SortKey) -> SortField {
    SortField { offset, ty, null, descending: key.descending, nulls_first: key.nulls_first }
}

/// Whether a pipe's tuples come out of a sort one for one.
pub(super) fn is_ordered(pipe: &Pipe) -> bool {
    pipe.ordered_by.is_some() && matches!(pipe.source, Source::Rows { .. })
}
