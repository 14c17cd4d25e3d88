//! The most frequent value of each group: of the groups' values and their numbers, that with the greatest number. Both rules give
//! the least of several. What would be sorted is counted.

use functions::{AggregateFunction, WindowFunction};
use plan::{AggregateCall, ColumnId, ColumnInfo, Expr, Node, Op, SortKey, WindowCall};
use types::SqlType;

use crate::rewrite::{Context, fresh_like, take};

/// An aggregation of nothing but modes of one value within its groups, as one of counts.
pub(super) fn counted(context: &mut Context<'_>, node: Node) -> Node {
    let (Some(value), Some(most)) = (value_of(&node), AggregateFunction::named("arg_max")) else { return node };
    let (value, Op::Aggregate { mut input, groups, aggregates }) = (value.clone(), node.op) else {
        unreachable!("it was one")
    };
    let Op::Window { input: below, .. } = &mut input.op else { unreachable!("it was one") };
    let columns = &mut *context.columns;
    let mut inner: Vec<(ColumnId, Expr)> = Vec::with_capacity(groups.len() + 1);
    let mut outer = Vec::with_capacity(groups.len());
    for (column, key) in groups {
        let below = fresh_like(columns, column);
        outer.push((column, Expr::column(below, key.sql_type)));
        inner.push((below, key));
    }
    let (sql_type, nullable) = (value.sql_type, true);
    let of = columns.push(ColumnInfo { name: "value".to_owned(), sql_type, nullable });
    inner.push((of, value));
    let number = columns.push(ColumnInfo { name: "number".to_owned(), sql_type: SqlType::BigInt, nullable: false });
    let call = |function, arguments, sql_type, position| AggregateCall {
        function,
        arguments,
        distinct: false,
        filter: None,
        sql_type,
        position,
    };
    let mode = |(column, any): (ColumnId, AggregateCall)| {
        let arguments = vec![Expr::column(of, sql_type), Expr::column(number, SqlType::BigInt)];
        (column, call(most, arguments, any.sql_type, any.position))
    };
    let aggregates = aggregates.into_iter().map(mode).collect();
    let numbers = vec![(number, call(AggregateFunction::CountStar, Vec::new(), SqlType::BigInt, None))];
    let counted = Op::Aggregate { input: Box::new(take(below)), groups: inner, aggregates: numbers };
    Node::new(Op::Aggregate { input: Box::new(Node::new(counted)), groups: outer, aggregates })
}

/// The value whose modes are all that an aggregation gives, if they are of its groups.
fn value_of(node: &Node) -> Option<&Expr> {
    let Op::Aggregate { input, groups, aggregates } = &node.op else { return None };
    let Op::Window { keys, functions, .. } = &input.op else { return None };
    let (_, first) = functions.first()?;
    let value = value_of_mode(first)?;
    let of_groups = |call: &WindowCall| {
        let keys = &keys[..call.partition];
        let has = |expr: &Expr| keys.iter().any(|key: &SortKey| key.expr.same(expr));
        let is_grouped = |key: &SortKey| groups.iter().any(|(_, expr)| expr.same(&key.expr));
        groups.iter().all(|(_, expr)| has(expr)) && keys.iter().all(is_grouped)
    };
    let is_same = |call: &WindowCall| value_of_mode(call).is_some_and(|other| other.same(value)) && of_groups(call);
    let any_of = |call: &AggregateCall| {
        let is_any = call.function.name() == "any_value" && call.filter.is_none();
        let column = call.arguments.first().and_then(Expr::as_column);
        is_any && functions.iter().any(|(mode, _)| Some(*mode) == column)
    };
    let is_all = functions.iter().all(|(_, call)| is_same(call)) && aggregates.iter().all(|(_, call)| any_of(call));
    let is_plain = !aggregates.is_empty() && !groups.iter().any(|(_, expr)| expr.is_volatile());
    (is_all && is_plain).then_some(value)
}

/// The value that a call gives the most frequent one of, if equal ones are the same and the least of several is wanted.
fn value_of_mode(call: &WindowCall) -> Option<&Expr> {
    let [SortKey { expr, descending: false, .. }] = call.order.as_slice() else { return None };
    let is_plain = call.function == WindowFunction::Mode && call.filter.is_none() && !expr.is_volatile();
    let is_exact = expr.sql_type == call.sql_type && expr.sql_type.equality_is_identity();
    (is_plain && is_exact).then_some(expr)
}
