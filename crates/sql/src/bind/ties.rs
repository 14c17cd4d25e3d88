//! FETCH WITH TIES: rows by their rank; LIMIT of a percentage: rows by their number.

use std::collections::HashSet;

use functions::{AggregateFunction, ScalarFunction, WindowFunction};
use plan::{ColumnId, ColumnInfo, Compare, Expr, ExprKind, Node, Op, SortKey};
use types::{SqlType, Value};

use super::expr::new_call;
use super::window::{Window, Windowed};
use crate::bind::parts::PlanBuilder;

impl PlanBuilder {
    /// ORDER BY, OFFSET and FETCH WITH TIES: the rows behind those that are left out whose rank is at most that of the last.
    pub(super) fn with_ties(&mut self, node: Node, keys: Vec<SortKey>, limit: u64, offset: u64) -> Node {
        let (node, keys) = self.keys_as_columns(node, keys);
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

    /// ORDER BY, OFFSET and LIMIT of a percentage: the rows whose number is at most that part of how many there are.
    pub(super) fn percentage_of(&mut self, node: Node, keys: Vec<SortKey>, percent: f64, offset: u64) -> Node {
        let (node, keys) = self.keys_as_columns(node, keys);
        let number = self.numbered(WindowFunction::RowNumber, &keys);
        let info = ColumnInfo { name: "count".to_owned(), sql_type: SqlType::BigInt, nullable: false };
        let function = WindowFunction::Aggregate(AggregateFunction::ROWS);
        let call = new_call(function, Vec::new(), SqlType::BigInt, None);
        let all = Windowed { column: self.columns.push(info), call, window: Window::default() };
        let double = |column| {
            let column = Expr::column(column, SqlType::BigInt);
            Expr::new(ExprKind::Cast(Box::new(column)), SqlType::Double)
        };
        let constant = |value: f64| Expr::constant(Value::Float(value), SqlType::Double);
        let call = |function, a, b| Expr::new(ExprKind::Call(function, vec![a, b]), SqlType::Double);
        let part = call(ScalarFunction::MULTIPLY, double(all.column), constant(percent / 100.0));
        let most = call(ScalarFunction::ADD, part, constant(offset as f64));
        let mut predicates = vec![Expr::compare(Compare::Le, double(number.column), most)];
        if offset > 0 {
            predicates.push(Expr::compare(Compare::Gt, double(number.column), constant(offset as f64)));
        }
        let input = Box::new(self.windowed(node, vec![number, all]));
        let input = Node::new(Op::Filter { input, predicates });
        match keys.is_empty() {
            true => input,
            false => Node::new(Op::Sort { input: Box::new(input), keys, limit: None, offset: 0 }),
        }
    }

    /// The keys as columns of the operator.
    pub(super) fn keys_as_columns(&mut self, node: Node, mut keys: Vec<SortKey>) -> (Node, Vec<SortKey>) {
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
        (node, keys)
    }

    /// A call of a function that numbers all rows in an order.
    pub(super) fn numbered(&mut self, function: WindowFunction, order: &[SortKey]) -> Windowed {
        let info = ColumnInfo { name: "number".to_owned(), sql_type: SqlType::BigInt, nullable: false };
        let call = new_call(function, Vec::new(), SqlType::BigInt, None);
        let window = Window { order: order.to_vec(), ..Window::default() };
        Windowed { column: self.columns.push(info), call, window }
    }
}
