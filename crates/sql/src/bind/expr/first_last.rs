//! `first(x)` and `last(x)` of rows of a table: the value of the row with the least or the greatest id. With an order of their own,
//! and of other rows, they are elements of an array of all values ([`functions::composed`]).

use base::Result;
use functions::AggregateFunction;
use plan::{AggregateCall, Expr, ExprKind};
use sqlparser::ast;
use types::{SqlType, Value};

use super::call::CallParts;
use crate::bind::Binder;
use crate::bind::coerce::of_some_type;
use crate::bind::input_order::InputOrder;

impl Binder<'_> {
    /// The aggregate, if the call is one of these.
    pub(super) fn first_or_last(
        &mut self,
        call: &CallParts<'_>,
        over: Option<&ast::WindowType>,
    ) -> Result<Option<Expr>> {
        let at_key = match call.name.as_str() {
            "first" => "arg_min",
            "last" => "arg_max",
            _ => return Ok(None),
        };
        let Some(function) = AggregateFunction::find(at_key) else { return Ok(None) };
        let is_plain = over.is_none() && !call.star && !call.distinct && call.filter.is_none();
        let is_of_rows = self.names.levels.last().is_some_and(|level| matches!(level.input_order, InputOrder::Rows(_)));
        let [argument] = call.arguments.as_slice() else { return Ok(None) };
        if !is_plain || !is_of_rows || !call.order.is_empty() || !call.within_group.is_empty() {
            return Ok(None);
        }
        let position = call.position;
        let bound = self.inside_aggregate(position, |b| b.expr(argument))?;
        let value = of_some_type(bound, position)?;
        let level = self.aggregate_level(std::iter::once(&value), position)?;
        let (mut keys, _) = self.input_order(level);
        let Some(key) = keys.pop().map(|key| key.expr) else { return Ok(None) };
        let mut at_key = |value: Expr| {
            let (sql_type, arguments) = (value.sql_type, vec![value, key.clone()]);
            let call = AggregateCall { function, arguments, distinct: false, filter: None, sql_type, position };
            self.push_aggregate(level, call)
        };
        let is_null = at_key(Expr::new(ExprKind::IsNull(Box::new(value.clone())), SqlType::Bool));
        let (sql_type, found) = (value.sql_type, at_key(value));
        let branches = vec![(is_null, Expr::constant(Value::Null, sql_type))];
        let otherwise = Box::new(found);
        Ok(Some(Expr::new(ExprKind::Case { branches, otherwise }, sql_type).at(position)))
    }
}
