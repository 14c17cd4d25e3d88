//! Averages as quotients of other aggregates.

use functions::{AggregateFunction, ScalarFunction};
use plan::{AggregateCall, Expr, ExprKind};
use types::SqlType;

/// The functions whose results, divided, are the aggregate.
pub(crate) fn quotient_of(call: &AggregateCall) -> Option<[AggregateFunction; 2]> {
    call.function.quotient_of(call.arguments.first()?.sql_type)
}

/// The aggregate, given the results of [those](quotient_of).
pub(crate) fn quotient(call: &AggregateCall, [above, by]: [Expr; 2]) -> Expr {
    let decimal = |value, scale| cast(value, SqlType::decimal(SqlType::MAX_PRECISION, scale));
    let operands = vec![decimal(above, call.argument_type().scale()), decimal(by, 0)];
    Expr::new(ExprKind::Call(ScalarFunction::DIVIDE, operands), call.sql_type).at(call.position)
}

/// The expression, of that type.
pub(crate) fn cast(expr: Expr, to: SqlType) -> Expr {
    if expr.sql_type == to { expr } else { Expr::new(ExprKind::Cast(Box::new(expr)), to) }
}
