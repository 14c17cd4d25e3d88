//! The ids of stored rows: what `ctid` and `rowid` mean, what keeps rows in their order, and which rows a statement changes.
//!
//! A scan has them behind its attributes, where no bounds, codes or indexes tell of them. So what reads them by name reads a
//! copy that is made above the scan: whatever is pushed into scans stays above it. The optimizer's pass `first_rows` knows a copy by its
//! form (`id # 0`), and the lowering makes nothing of it.

use std::collections::HashMap;

use catalog::Field;
use functions::ScalarFunction;
use plan::{ColumnId, ColumnInfo, Expr, ExprKind, Node, Op, Plan, TableId, TableInfo};
use types::{SqlType, Value};

/// The ids of a table's rows, as far as something reads them.
#[derive(Clone, Default)]
pub(super) struct RowIds {
    /// The scan's own column.
    pub own: Option<ColumnId>,
    /// A copy of it.
    pub copy: Option<ColumnId>,
}

pub(super) fn give(table: &mut TableInfo, columns: &mut Vec<(usize, ColumnId)>, own: ColumnId) {
    columns.push((table.fields.len(), own));
    table.fields.push(Field { name: "row id".to_owned(), sql_type: SqlType::BigInt, nullable: false });
}

pub(super) fn info(name: &str) -> ColumnInfo {
    ColumnInfo { name: name.to_owned(), sql_type: SqlType::BigInt, nullable: false }
}

/// The scans of a plan give the ids that something reads.
pub(super) fn scan(plan: &mut Plan, mut read: HashMap<TableId, RowIds>) {
    read.retain(|_, ids| ids.own.is_some());
    if read.is_empty() {
        return;
    }
    let mut scans = Scans { read, tables: &mut plan.tables };
    plan.ctes.iter_mut().for_each(|(_, cte)| scans.of_node(&mut cte.plan));
    scans.of_node(&mut plan.root);
}

struct Scans<'p> {
    read: HashMap<TableId, RowIds>,
    tables: &'p mut base::IdMap<TableId, TableInfo>,
}

impl Scans<'_> {
    fn of_node(&mut self, node: &mut Node) {
        node.expressions_mut().for_each(|expr| self.of_expr(expr));
        node.inputs_mut().for_each(|input| self.of_node(input));
        let Op::Scan { table, columns, .. } = &mut node.op else { return };
        let Some(RowIds { own: Some(own), copy }) = self.read.get(table) else { return };
        if columns.iter().all(|(_, column)| column != own) {
            give(&mut self.tables[*table], columns, *own);
        }
        if let Some(copy) = copy {
            let given = vec![Expr::column(*own, SqlType::BigInt), Expr::constant(Value::Int(0), SqlType::BigInt)];
            let value = Expr::new(ExprKind::Call(ScalarFunction::BIT_XOR, given), SqlType::BigInt);
            let input =
                Box::new(std::mem::replace(node, Node::new(Op::Values { columns: Vec::new(), rows: Vec::new() })));
            *node = Node::new(Op::Map { input, columns: vec![(*copy, value)] });
        }
    }

    fn of_expr(&mut self, expr: &mut Expr) {
        if let ExprKind::Subquery(subquery) = &mut expr.kind {
            self.of_node(&mut subquery.plan);
        }
        expr.children_mut().for_each(|child| self.of_expr(child));
    }
}
