//! FETCH WITH TIES: rows by their rank.

use std::collections::HashSet;

use functions::WindowFunction;
use plan::{ColumnId, ColumnInfo, Compare, Expr, Node, Op, SortKey};
use types::{SqlType, Value};

use super::expr::new_call;
use super::window::{Window, Windowed};
use crate::bind::parts::PlanBuilder;

impl PlanBuilder {
    /// ORDER BY, OFFSET and FETCH WITH TIES: the rows behind those that are left out whose rank is at most that of the last.
    pub(super) fn with_ties(&mut self, node: Node, mut keys: Vec<SortKey>, limit: u64, offset: u64) -> Node {
        let own: HashSet<ColumnId> = node.columns().into_iter().collect();
        let mut computed = Vec::new();
        for key in &mut keys {
            if key.expr.as_column().is_none_or(|column| !own.contains(&column)) {
                let column = self.column_for("key", &key.expr);
                let expr = std::mem::replace(&mut key.expr, self.reference(column));
                computed.push((column, expr));
            }
        }
        let node = match computed.is_empty() {
            true => node,
            false => Node::new(Op::Map { input: Box::new(node), columns: computed }),
        };
        let count = |rows: u64| Expr::constant(Value::Int(i64::try_from(rows).unwrap_or(i64::MAX)), SqlType::BigInt);
        let rank = self.numbered(WindowFunction::Rank, &keys);
        let compare = |op, column, rows| Expr::compare(op, Expr::column(column, SqlType::BigInt), count(rows));
        let mut predicates = vec![compare(Compare::Le, rank.column, offset.saturating_add(limit))];
        let mut calls = vec![rank];
        if offset > 0 {
            let number = self.numbered(WindowFunction::RowNumber, &keys);
            predicates.push(compare(Compare::Gt, number.column, offset));
            calls.push(number);
        }
        let input = Box::new(self.windowed(node, calls));
        let input = Node::new(Op::Filter { input, predicates });
        match keys.is_empty() {
            true => input,
            false => Node::new(Op::Sort { input: Box::new(input), keys, limit: None, offset: 0 }),
        }
    }

    /// A call of a function that numbers all rows in an order.
    fn numbered(&mut self, function: WindowFunction, order: &[SortKey]) -> Windowed {
        let info = ColumnInfo { name: "number".to_owned(), sql_type: SqlType::BigInt, nullable: false };
        let call = new_call(function, Vec::new(), SqlType::BigInt, None);
        let window = Window { order: order.to_vec(), ..Window::default() };
        Windowed { column: self.columns.push(info), call, window }
    }
}
