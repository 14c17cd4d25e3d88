//! `string_agg`, and `array_agg`, which puts arrays of one element together as texts (decision 40); as an aggregate one that
//! [collects](super::collected) what a group has, or a window function over the groups below the aggregation, as
//! [ordered sets](super::ordered_set) are. Which order the texts have never depends on the schedule: without ORDER BY
//! it is that of the rows of FROM, where these have one; what is left open, the values decide, then the separators; rows equal in
//! both are interchangeable.

use base::{Error, Result, SqlState};
use functions::WindowFunction;
use plan::{Expr, ExprKind, Frame, SortKey, WindowCall};
use types::ops::cast::can_cast;
use types::{SqlType, Value};

use super::call::CallParts;
use super::window::{new_call, where_true};
use crate::bind::Binder;
use crate::bind::coerce::{cast_to, is_untyped, of_some_type};
use crate::bind::window::Window;

/// What a call is made of.
pub(super) struct Joined {
    /// The call, of texts and separators.
    pub call: WindowCall,
    /// The keys of its ORDER BY.
    pub order: Vec<SortKey>,
    /// What was written: a text, or the element of a list.
    pub value: Expr,
    pub is_list: bool,
}

impl Joined {
    /// The call as a window function, and the keys of its ORDER BY: rows that the filter leaves out must not fail. What cannot be
    /// repeated guards the value alone, whose NULLs do not count either.
    pub(super) fn guarded(self) -> (WindowCall, Vec<SortKey>) {
        let Self { mut call, mut order, .. } = self;
        let is_computed = |e: &Expr| !matches!(e.kind, ExprKind::Column(_) | ExprKind::Const(_));
        if let Some(condition) = call.filter.as_ref().filter(|f| !f.has_subquery() && !f.is_volatile()) {
            let exprs = call.arguments.iter_mut().chain(order.iter_mut().map(|key| &mut key.expr));
            exprs.filter(|e| is_computed(e)).for_each(|e| *e = where_true(condition.clone(), e.clone()));
        } else if let Some(condition) = call.filter.take_if(|_| is_computed(&call.arguments[0])) {
            call.arguments[0] = where_true(condition, call.arguments[0].clone());
        }
        (call, order)
    }
}

impl Binder<'_> {
    /// An aggregate, without OVER.
    pub(super) fn string_agg(&mut self, function: WindowFunction, call: &CallParts<'_>) -> Result<Expr> {
        let position = call.position;
        let joined = self.inside_aggregate(position, |b| b.joined_parts(function, call))?;
        let Joined { call: bound, order, .. } = &joined;
        let level = self.aggregate_level(bound.expressions().chain(order.iter().map(|key| &key.expr)), position)?;
        let ascending = |expr: &Expr| SortKey { expr: expr.clone(), descending: false, nulls_first: false };
        // Without an order of its own, that of the rows.
        let keeps_order = call.order.is_empty() && !bound.distinct;
        let (from, is_whole) = if keeps_order { self.input_order(level) } else { Default::default() };
        let keys: Vec<SortKey> = order.iter().chain(&from).cloned().collect();
        if let Some(collected) = self.as_collected(&joined, &keys) {
            return Ok(self.push_aggregate(level, collected));
        }
        let (bound, order) = joined.guarded();
        let values = bound.arguments.iter().filter(|_| !is_whole).map(ascending);
        let order = order.into_iter().chain(from).chain(values).collect();
        let window = Window { order, ..Window::default() };
        Ok(self.push_ordered_set(level, WindowCall { frame: Frame::whole(), ..bound }, window))
    }

    /// What a call is made of.
    pub(super) fn joined_parts(&mut self, function: WindowFunction, call: &CallParts<'_>) -> Result<Joined> {
        let written = call.arguments.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
        let arguments = match (function, written.as_slice()) {
            (WindowFunction::ArrayAgg, [value]) => self.elements(value.clone(), call.position)?,
            (WindowFunction::StringAgg, [_, _]) => self.texts(&written, call)?,
            // As DuckDB has it.
            (WindowFunction::StringAgg, [_]) => {
                let comma = Expr::constant(Value::str(","), SqlType::Text).at(call.position);
                self.texts(&[written[0].clone(), comma], call)?
            }
            _ => return Err(self.wrong_arguments(call)),
        };
        let value = if is_untyped(&written[0]) { &arguments[0] } else { &written[0] }.clone();
        let mut order = self.inner_order(call.order)?;
        if call.distinct && order.is_empty() && self.has_collations() {
            // Values that are different come in the order of their collation.
            order.push(SortKey { expr: value.clone(), descending: false, nulls_first: false });
        }
        let is_argument = |key: &SortKey| written.iter().chain(&arguments).any(|a| a.same(&key.expr));
        if call.distinct && !order.iter().all(is_argument) {
            let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(call.position));
        }
        let filter = self.filter_condition(call.filter)?;
        let distinct = call.distinct;
        let sql_type = arguments[0].sql_type;
        let bound = new_call(function, arguments, sql_type, call.position);
        let is_list = function == WindowFunction::ArrayAgg;
        Ok(Joined { call: WindowCall { distinct, filter, ..bound }, order, value, is_list })
    }

    /// A text, or what becomes one, as DuckDB has it, and its separator.
    fn texts(&mut self, written: &[Expr], call: &CallParts<'_>) -> Result<Vec<Expr>> {
        let is_text = |e: &Expr| e.sql_type.is_string() || is_untyped(e);
        if !written.iter().skip(1).all(is_text)
            || !is_text(&written[0]) && !can_cast(written[0].sql_type, SqlType::Text)
        {
            return Err(self.wrong_arguments(call));
        }
        written.iter().map(|e| cast_to(e.clone(), SqlType::Text)).collect()
    }

    /// The array of a value alone, and nothing as a separator.
    fn elements(&self, value: Expr, position: Option<u32>) -> Result<Vec<Expr>> {
        let alone = self.alone(of_some_type(value, position)?)?;
        let nothing = Expr::constant(Value::str(""), SqlType::Text);
        Ok(vec![alone, nothing])
    }
}
