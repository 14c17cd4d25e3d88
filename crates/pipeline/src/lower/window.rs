//! Window functions (thesis chapter 5): rows go into a state with their keys, arguments and distances of bounds; it adds
//! the results and gives them back.

use base::Result;
use plan::{ColumnId, Expr, ExprKind, Node, SortKey, WindowCall};

use super::pipe::{Field, Pipe};
use super::sort::sort_field;
use super::{Lowering, Needed, with_columns_of};
use crate::ir::{
    RowLayout, RowSet, SortField, State, StateId, Ty, WindowField, WindowOperand, WindowOrder, WindowState,
    WindowedFunction,
};

/// Fields of a row: those of columns, and those of what is computed for functions, each once.
struct Fields<'e> {
    layout: RowLayout,
    columns: Vec<(ColumnId, Field)>,
    computed: Vec<(Field, &'e Expr)>,
}

impl<'e> Fields<'e> {
    /// The field of an expression, made if there is none yet.
    fn of(&mut self, expr: &'e Expr) -> Field {
        let stored = expr.as_column().and_then(|c| self.columns.iter().find(|(column, _)| *column == c));
        let same = || self.computed.iter().find(|(_, e)| e.same(expr) && !e.is_volatile());
        if let Some(&(_, field)) = stored {
            return field;
        }
        if let Some(&(field, _)) = same() {
            return field;
        }
        let field = self.add(expr.sql_type.physical().into());
        self.computed.push((field, expr));
        field
    }

    fn add(&mut self, ty: Ty) -> Field {
        let offset = self.layout.add(ty);
        Field { offset, ty, null: Some(self.layout.add_null_flag(offset)) }
    }
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
        let mut fields = Fields { layout, columns, computed: Vec::new() };
        let sort_keys: Vec<SortField> = keys.iter().map(|key| sort_field(fields.of(&key.expr), key)).collect();
        let mut windowed = Vec::with_capacity(functions.len());
        let mut results = Vec::with_capacity(functions.len());
        for (column, call) in functions {
            let (result, function) = self.windowed(call, keys, &mut fields);
            results.push((*column, result));
            windowed.push(function);
        }
        let Fields { layout, columns, computed } = fields;
        let state =
            self.pipelines.add_state(State::Window(WindowState { layout, keys: sort_keys, functions: windowed }));
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

    /// A function, and where its results go.
    fn windowed<'e>(
        &mut self,
        call: &'e WindowCall,
        keys: &'e [SortKey],
        fields: &mut Fields<'e>,
    ) -> (Field, WindowedFunction) {
        let result = fields.add(call.sql_type.physical().into());
        let order = call.order.iter().map(|key| self.window_order(key, fields)).collect();
        let offsets = [call.frame.start.offset(), call.frame.end.offset()];
        let is_range = call.frame.unit == plan::FrameUnit::Range && offsets.iter().any(Option::is_some);
        let range = is_range.then(|| self.window_order(&keys[call.partition], fields));
        let function = WindowedFunction {
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
        };
        (result, function)
    }

    fn window_order<'e>(&mut self, key: &'e SortKey, fields: &mut Fields<'e>) -> WindowOrder {
        let operand = self.operand(&key.expr, fields);
        WindowOrder { operand, descending: key.descending, nulls_first: key.nulls_first }
    }

    /// Constants are no fields: they are the same for all rows.
    fn operand<'e>(&mut self, expr: &'e Expr, fields: &mut Fields<'e>) -> WindowOperand {
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
