//! Samples that are the same each time: of the rows for which a hash of them and of a seed is the smallest.

use base::Result;
use functions::{ScalarFunction, WindowFunction};
use plan::{ColumnInfo, Expr, ExprKind, Node, Op};
use types::{SqlType, Value};

use super::expr::new_call;
use super::parts::PlanBuilder;
use super::window::{Window, Windowed};
use crate::parse::samples::Sample;

impl PlanBuilder {
    /// What USING SAMPLE says.
    pub(super) fn sample_said(&mut self, node: Node, sample: Sample) -> Result<Node> {
        let of = (sample.quantity, sample.is_percent);
        match sample.seed {
            None => self.sample_of(node, of.0, of.1),
            Some(seed) => self.sample_again(node, of, seed.to_bits() as i64),
        }
    }

    /// The same, always of the same rows: by a hash of the seed and their ids, or else their values.
    pub(super) fn sample_again(&mut self, node: Node, of: (f64, bool), seed: i64) -> Result<Node> {
        let id = if let Op::Scan { table, .. } = &node.op { self.row_id(*table) } else { None };
        let (node, mut given) = match id {
            Some(id) => (node, vec![self.reference(id)]),
            None => self.with_numbers_of_equal_rows(node),
        };
        given.push(Expr::constant(Value::Int(seed), SqlType::BigInt));
        let hash = |given| Expr::new(ExprKind::Call(ScalarFunction::HASH, given), SqlType::BigInt);
        let number = hash(vec![hash(given)]);
        self.drawn(node, of, number)
    }

    /// The rows with what tells them apart: their values, and their numbers among those that are equal.
    fn with_numbers_of_equal_rows(&mut self, node: Node) -> (Node, Vec<Expr>) {
        let values: Vec<Expr> = node.columns().into_iter().map(|column| self.reference(column)).collect();
        let info = ColumnInfo { name: "number".to_owned(), sql_type: SqlType::BigInt, nullable: false };
        let column = self.columns.push(info);
        let call = new_call(WindowFunction::RowNumber, Vec::new(), SqlType::BigInt, None);
        let window = Window { partition: values.clone(), ..Window::default() };
        let node = self.windowed(node, vec![Windowed { column, call, window }]);
        let number = self.reference(column);
        (node, values.into_iter().chain([number]).collect())
    }
}
