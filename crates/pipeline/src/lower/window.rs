//! Window functions (thesis chapter 5): rows go into a state with their keys, arguments and distances of bounds; it adds
//! the results and gives them back.

use base::Result;
use plan::{ColumnId, Expr, ExprKind, Node, SortKey, WindowCall};

use super::join::has_null_flag;
use super::pipe::{Field, Pipe};
use super::sort::sort_field;
use super::{Lowering, Needed, with_columns_of};
use crate::ir::{
    RowLayout, RowSet, SortField, State, StateId, WindowField, WindowOperand, WindowOrder, WindowState,
    WindowedFunction,
};

/// What a row holds: columns that are read above, what is computed for functions, each once, and results. Large fields lie
/// first and NULL flags last, so that no room is lost between them.
#[derive(Default)]
struct Fields<'e> {
    layout: RowLayout,
    columns: Vec<(ColumnId, Field)>,
    computed: Vec<(Field, &'e Expr)>,
    results: Vec<(ColumnId, Field)>,
}

impl<'e> Fields<'e> {
    fn of(&self, expr: &Expr) -> Field {
        let stored = expr.as_column().and_then(|c| self.columns.iter().find(|(column, _)| *column == c));
        let computed = || self.computed.iter().find(|(_, e)| std::ptr::eq(*e, expr) || is_same(e, expr));
        stored.map(|(_, field)| *field).or_else(|| computed().map(|(field, _)| *field)).expect("listed before")
    }

    /// Takes an expression up that must lie in a field.
    fn list(&mut self, expr: &'e Expr) {
        let is_stored = expr.as_column().is_some_and(|c| self.columns.iter().any(|(column, _)| *column == c));
        if !is_stored && !self.computed.iter().any(|(_, e)| is_same(e, expr)) {
            let ty = expr.sql_type.physical().into();
            self.computed.push((Field { offset: 0, ty, null: None }, expr));
        }
    }

    /// Gives each its place; `nullable` says of an expression whether it may be NULL.
    fn place(&mut self, nullable: impl Fn(&Expr) -> bool, calls: &[(ColumnId, WindowCall)]) {
        let computed = self.computed.iter_mut().map(|(field, expr)| (field, nullable(expr)));
        let results = self.results.iter_mut().zip(calls);
        let results = results.map(|((_, field), (_, call))| (field, !call.function.is_never_null()));
        let mut all: Vec<(&mut Field, bool)> = computed.chain(results).collect();
        all.sort_by_key(|(field, _)| std::cmp::Reverse(field.ty.size()));
        all.iter_mut().for_each(|(field, _)| field.offset = self.layout.add(field.ty));
        for (field, _) in all.into_iter().filter(|(_, nullable)| *nullable) {
            field.null = Some(self.layout.add_null_flag(field.offset));
        }
    }
}

/// Whether two expressions are one, of whose value one field is enough.
fn is_same(a: &Expr, b: &Expr) -> bool {
    a.same(b) && !a.is_volatile()
}

impl Lowering<'_> {
    pub(super) fn window(
        &mut self,
        input: &Node,
        keys: &[SortKey],
        functions: &[(ColumnId, WindowCall)],
        read: Needed,
        needed: &Needed,
    ) -> Result<Vec<Pipe>> {
        let pipes = self.node(input, &read)?;
        let columns: Vec<ColumnId> = input.columns().into_iter().filter(|c| needed.contains(c)).collect();
        let (layout, columns) = self.row_layout(&pipes, &columns);
        let mut fields = Fields { layout, columns, ..Fields::default() };
        keys.iter().for_each(|key| fields.list(&key.expr));
        for (column, call) in functions {
            let is_constant = |e: &&Expr| matches!(e.kind, ExprKind::Const(_) | ExprKind::Argument(..));
            call.expressions().filter(|e| !is_constant(e)).for_each(|expr| fields.list(expr));
            let ty = call.sql_type.physical().into();
            fields.results.push((*column, Field { offset: 0, ty, null: None }));
        }
        let nullable = |expr: &Expr| expr.as_column().is_none_or(|c| pipes.iter().any(|p| has_null_flag(p, c)));
        fields.place(nullable, functions);
        let sort_keys: Vec<SortField> = keys.iter().map(|key| sort_field(fields.of(&key.expr), key)).collect();
        let calls = functions.iter().zip(&fields.results);
        let windowed = calls.map(|((_, call), (_, result))| self.windowed(call, keys, &fields, *result)).collect();
        let Fields { layout, columns, computed, results } = fields;
        let window = WindowState { layout, keys: sort_keys, functions: windowed };
        let state = self.pipelines.add_state(State::Window(window));
        for pipe in pipes {
            self.append(pipe, state, &columns, &computed)?;
        }
        let (mut pipe, row) = self.pipelines.read(state, RowSet::All, "windows");
        pipe.bind_row(row, &columns, false);
        pipe.bind_row(row, &results, false);
        Ok(vec![pipe])
    }

    fn append(
        &mut self,
        mut pipe: Pipe,
        state: StateId,
        columns: &[(ColumnId, Field)],
        computed: &[(Field, &Expr)],
    ) -> Result<()> {
        let mut values = Vec::with_capacity(columns.len() + computed.len());
        for (field, expr) in computed {
            values.push((*field, self.expressions.scalar(&mut pipe, expr)?));
        }
        for &(column, field) in columns {
            values.push((field, pipe.column(column).ok_or_else(|| super::unbound(column))?));
        }
        self.pipelines.append_row(pipe, state, &values, "window");
        Ok(())
    }

    fn windowed(
        &mut self,
        call: &WindowCall,
        keys: &[SortKey],
        fields: &Fields<'_>,
        result: Field,
    ) -> WindowedFunction {
        let order = call.order.iter().map(|key| self.window_order(key, fields)).collect();
        let offsets = [call.frame.start.offset(), call.frame.end.offset()];
        let is_range = call.frame.unit == plan::FrameUnit::Range && offsets.iter().any(Option::is_some);
        let range = is_range.then(|| self.window_order(&keys[call.partition], fields));
        WindowedFunction {
            function: call.function,
            arguments: call.arguments.iter().map(|e| self.operand(e, fields)).collect(),
            distinct: call.distinct,
            filter: call.filter.as_ref().map(|e| self.operand(e, fields)),
            ignore_nulls: call.ignore_nulls,
            order,
            partition: call.partition,
            peers: call.peers,
            frame: call.frame.map(|e| self.operand(e, fields)),
            range,
            result: WindowField { offset: result.offset, null: result.null, sql_type: call.sql_type },
            position: call.position,
        }
    }

    fn window_order(&mut self, key: &SortKey, fields: &Fields<'_>) -> WindowOrder {
        let operand = self.operand(&key.expr, fields);
        WindowOrder { operand, descending: key.descending, nulls_first: key.nulls_first }
    }

    /// Constants are no fields: they are the same for all rows.
    fn operand(&mut self, expr: &Expr, fields: &Fields<'_>) -> WindowOperand {
        match &expr.kind {
            ExprKind::Const(value) => WindowOperand::Param(self.expressions.param(value, expr.sql_type), expr.sql_type),
            ExprKind::Argument(argument, value) => {
                WindowOperand::Param(self.expressions.argument(*argument, value, expr.sql_type), expr.sql_type)
            }
            _ => {
                let Field { offset, null, .. } = fields.of(expr);
                WindowOperand::Field(WindowField { offset, null, sql_type: expr.sql_type })
            }
        }
    }
}

/// The columns that a window reads of its input.
pub(super) fn read(node: &Node, functions: &[(ColumnId, WindowCall)], needed: &Needed) -> Needed {
    let mut read = with_columns_of(needed, node.expressions());
    functions.iter().for_each(|(column, _)| {
        read.remove(column);
    });
    read
}
