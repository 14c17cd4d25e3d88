//! `POSITIONAL JOIN` as DuckDB has it: the first row of one side meets the first of the other, and so on; where a side has no more
//! rows, its columns are NULL. Both sides number their rows, and a full join brings equal numbers together: O(n).

use base::Result;
use functions::WindowFunction;
use plan::{ColumnInfo, Compare, Expr, JoinKind};
use sqlparser::ast;
use types::SqlType;

use super::expr::new_call;
use super::from::FromItem;
use super::input_order::InputOrder;
use super::parts::PlanBuilder;
use super::window::{Window, Windowed};
use super::{Binder, unsupported};

impl Binder<'_> {
    /// Binds a positional join of two items of FROM.
    pub(super) fn positional_join(&mut self, left: FromItem, right: FromItem, join: &ast::Join) -> Result<FromItem> {
        let position = self.text.factor_position(&join.relation);
        if !right.node.free_columns().is_empty() {
            return unsupported(
                "a POSITIONAL JOIN whose right side refers to columns of the query around it",
                position,
            );
        }
        if self.names.level().lockable.is_some() {
            return unsupported("a POSITIONAL JOIN in a query that locks rows", position);
        }
        let (left, first) = self.plan.with_numbers(left);
        let (right, second) = self.plan.with_numbers(right);
        let equal = Expr::compare(Compare::Eq, first, second);
        Ok(self.plan.joining(JoinKind::Full, left, right, vec![equal]))
    }
}

impl PlanBuilder {
    /// An item of FROM with the numbers of its rows, in their order.
    fn with_numbers(&mut self, item: FromItem) -> (FromItem, Expr) {
        let info = ColumnInfo { name: "number".to_owned(), sql_type: SqlType::BigInt, nullable: false };
        let column = self.columns.push(info);
        let call = new_call(WindowFunction::RowNumber, Vec::new(), SqlType::BigInt, None);
        let (ties, _) = self.keys_of(&InputOrder::of(&item.node, self));
        let window = Window { ties, ..Window::default() };
        let node = self.windowed(item.node, vec![Windowed { column, call, window }]);
        (FromItem { node, ..item }, self.reference(column))
    }
}
