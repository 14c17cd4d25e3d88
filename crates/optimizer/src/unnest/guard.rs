//! Subqueries in operands that are not always evaluated: branches of CASE, later operands of AND, OR and COALESCE.
//!
//! A subquery becomes a join, which knows no branches. So where an error could come out of it (an expression that can
//! fail, a second row), the operands before it are computed as columns, and from these a *guard*: a column that is true
//! for the rows that need the subquery. Its plan reads the guard as one more correlated reference: what can fail is
//! evaluated only where the guard is true, and no row finds a second partner where it is not. Domains hold what guarded
//! rows need, so a subquery that nobody needs is evaluated for no row at all.
//!
//! Subqueries that cannot fail are joined for every row: that is cheaper than to guard them.

use base::Result;
use plan::{ColumnId, ColumnInfo, Expr, ExprKind, Node, Op, Subquery, SubqueryKind, conjunction};
use types::{SqlType, Value};

use super::Unnester;
use crate::rewrite::{at_most_one_row, column, infallible, map, not, take};

/// Whether a subquery in the expression can raise an error.
pub(super) fn can_fail(expr: &Expr) -> bool {
    expr.any(&|e| matches!(&e.kind, ExprKind::Subquery(subquery) if subquery_can_fail(subquery)))
}

fn subquery_can_fail(subquery: &Subquery) -> bool {
    let asks = match &subquery.kind {
        SubqueryKind::Scalar { .. } => !at_most_one_row(&subquery.plan),
        SubqueryKind::Exists => false,
        SubqueryKind::Quantified { comparisons, .. } => !comparisons.iter().all(|(e, _, _)| infallible(e)),
    };
    let mut evaluates = false;
    subquery.plan.walk(&mut |n| evaluates |= !n.expressions().all(infallible));
    asks || evaluates
}

/// Lets the parts of an expression that can fail be evaluated only where `guard` is true; elsewhere they are NULL.
pub(super) fn guarded(expr: &mut Expr, guard: ColumnId) {
    use ExprKind::{Call, Cast, Each, Like, Subquery};
    if matches!(expr.kind, Call(..) | Cast(_) | Like { .. } | Each(_) | Subquery(_)) {
        *expr = only_where(guard, std::mem::replace(expr, Expr::bool(true)));
    } else {
        expr.children_mut().for_each(|child| guarded(child, guard));
    }
}

/// The same for every expression of a subplan.
pub(super) fn guarded_plan(node: &mut Node, guard: ColumnId) {
    node.expressions_mut().for_each(|e| guarded(e, guard));
    node.inputs_mut().for_each(|input| guarded_plan(input, guard));
}

/// A subquery that gives its row to those rows only for which `guard` is true: the right side of a single join.
pub(super) fn guard_partner(node: &mut Node, guard: ColumnId) {
    if node.free_columns().is_empty() && !at_most_one_row(node) {
        // Two rows are as many as any number: they are compared with every row of the left side.
        let input = Box::new(take(node));
        *node = Node::new(Op::Limit { input, limit: Some(2), offset: 0 });
    }
    guarded_plan(node, guard);
}

/// `CASE WHEN guard THEN expr END`
pub(super) fn only_where(guard: ColumnId, expr: Expr) -> Expr {
    let (sql_type, position) = (expr.sql_type, expr.position);
    let otherwise = Box::new(Expr::constant(Value::Null, sql_type));
    let branches = vec![(Expr::column(guard, SqlType::Bool), expr)];
    Expr::new(ExprKind::Case { branches, otherwise }, sql_type).at(position)
}

fn or_else(expr: Expr, value: bool) -> Expr {
    Expr::new(ExprKind::Coalesce(vec![expr, Expr::bool(value)]), SqlType::Bool)
}

impl Unnester<'_> {
    /// Expands the subqueries of AND, OR, COALESCE or CASE, each under the guard of its place, if one of them can fail in
    /// an operand that may be skipped. False: it is none of these, or needs no guards.
    pub(super) fn expand_branches(
        &mut self,
        expr: &mut Expr,
        input: &mut Node,
        mut guard: Option<ColumnId>,
    ) -> Result<bool> {
        let goes_on: fn(Expr) -> Expr = match &expr.kind {
            ExprKind::And(_) => |known| or_else(known, true),
            ExprKind::Or(_) => |known| not(or_else(known, false)),
            _ => |known| Expr::new(ExprKind::IsNull(Box::new(known)), SqlType::Bool),
        };
        match &mut expr.kind {
            ExprKind::And(parts) | ExprKind::Or(parts) | ExprKind::Coalesce(parts) => {
                let Some(last) = parts.iter().rposition(can_fail).filter(|&last| last > 0) else { return Ok(false) };
                for (i, part) in parts.iter_mut().enumerate() {
                    self.expand(part, input, guard)?;
                    if i < last {
                        let known = self.computed(part, input, guard);
                        guard = Some(self.guard(goes_on(known), input, guard));
                    }
                }
            }
            ExprKind::Case { branches, otherwise } => {
                let first = branches.iter().take(1).map(|(_, value)| value);
                let later = branches.iter().skip(1).flat_map(|(condition, value)| [condition, value]);
                if !first.chain(later).chain([&**otherwise]).any(can_fail) {
                    return Ok(false);
                }
                for (condition, value) in branches {
                    self.expand(condition, input, guard)?;
                    let taken = or_else(self.computed(condition, input, guard), false);
                    let inside = self.guard(taken.clone(), input, guard);
                    self.expand(value, input, Some(inside))?;
                    guard = Some(self.guard(not(taken), input, guard));
                }
                self.expand(otherwise, input, guard)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Makes an operand a column of the input, so that it is evaluated once, and only where `guard` is true.
    pub(super) fn computed(&mut self, operand: &mut Expr, input: &mut Node, guard: Option<ColumnId>) -> Expr {
        if operand.as_column().is_none() {
            let info = ColumnInfo { name: "operand".to_owned(), sql_type: operand.sql_type, nullable: true };
            let result = self.columns.push(info);
            let value = std::mem::replace(operand, column(self.columns, result));
            let value = guard.into_iter().fold(value, |value, guard| only_where(guard, value));
            *input = map(take(input), vec![(result, value)]);
        }
        operand.clone()
    }

    /// A new guard: where `condition`, which is neither an error nor NULL, holds too.
    pub(super) fn guard(&mut self, condition: Expr, input: &mut Node, outer: Option<ColumnId>) -> ColumnId {
        let info = ColumnInfo { name: "guard".to_owned(), sql_type: SqlType::Bool, nullable: false };
        let result = self.columns.push(info);
        let outer = outer.map(|guard| column(self.columns, guard));
        *input = map(take(input), vec![(result, conjunction(outer.into_iter().chain([condition]).collect()))]);
        self.guards.insert(result);
        result
    }

    /// The call of an aggregate function, whose arguments are evaluated where its FILTER is true.
    pub(super) fn expand_call(&mut self, call: &mut plan::AggregateCall, input: &mut Node) -> Result<()> {
        let mut guard = None;
        if let Some(filter) = &mut call.filter {
            self.expand(filter, input, None)?;
            if call.arguments.iter().any(can_fail) {
                let known = self.computed(filter, input, None);
                guard = Some(self.guard(or_else(known, false), input, None));
            }
        }
        call.arguments.iter_mut().try_for_each(|argument| self.expand(argument, input, guard))
    }
}
