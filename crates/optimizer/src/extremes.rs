//! `min` and `max` of a table's columns, where an index has the rows in that order: each becomes the aggregate of the first row alone,
//! `min(a)` that of `ORDER BY a LIMIT 1` where `a` is not NULL. Then an index finds it, also for a short plan (decision 47).
//!
//! Several of them are joined, one row each. That is only done where the indexes tell all that the predicates ask: otherwise
//! each might have to read the whole table.
//!
//! `any_value` of all rows may be any of the values: of numbers and days it is the least one, which statistics, indexes and vectors know
//! how to find.
//!
//! Invariant: values that are equal are the same, as the first row may be any of those that have the first value.

use base::Result;
use functions::AggregateFunction;
use plan::indexed::{end_of, ends_by};
use plan::{AggregateCall, ColumnId, JoinKind, Node, Op, Plan, SortKey};
use types::SqlType;

use crate::rewrite::{column, each_operator, is_not_null, join};
use crate::{Check, Pass};

/// See the module.
pub struct Extremes;

impl Pass for Extremes {
    fn name(&self) -> &'static str {
        "extremes"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        each_operator(plan, check, &rewrite)
    }
}

fn rewrite(plan: &mut Plan, mut node: Node) -> Node {
    if let Op::Aggregate { groups, aggregates, .. } = &mut node.op
        && groups.is_empty()
    {
        aggregates.iter_mut().for_each(|(_, call)| least_of_any(call));
    }
    match node.op {
        Op::Aggregate { input, groups, aggregates } if groups.is_empty() && are_ends(plan, &input, &aggregates) => {
            each_alone(plan, &input, aggregates)
        }
        op => Node { op, ..node },
    }
}

/// Makes the least value of some value.
fn least_of_any(call: &mut AggregateCall) {
    let of = call.sql_type;
    let is_plain = of.is_integer() || matches!(of, SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz);
    if is_plain
        && call.function.name() == "any_value"
        && let Some(least) = AggregateFunction::named("min")
    {
        call.function = least;
    }
}

/// The column whose end an aggregate is, if equal values of it are the same, and whether that is the greatest value.
fn end(call: &AggregateCall) -> Option<(ColumnId, bool)> {
    end_of(call).filter(|_| call.arguments[0].sql_type.equality_is_identity())
}

/// Whether indexes find all of them.
fn are_ends(plan: &Plan, input: &Node, aggregates: &[(ColumnId, AggregateCall)]) -> bool {
    if !matches!(input.op, Op::Scan { .. }) || input.expressions().any(|predicate| predicate.is_volatile()) {
        return false;
    }
    let is_found = |(_, call): &(ColumnId, AggregateCall)| {
        let found = end(call).and_then(|(column, greatest)| ends_by(&plan.tables, input, column, greatest));
        found.is_some_and(|(_, tells_all)| tells_all || aggregates.len() == 1)
    };
    !aggregates.is_empty() && aggregates.iter().all(is_found)
}

fn each_alone(plan: &mut Plan, scan: &Node, aggregates: Vec<(ColumnId, AggregateCall)>) -> Node {
    let mut all: Option<Node> = None;
    for (result, mut call) in aggregates {
        let (mut input, names) = match &all {
            None => (scan.clone(), Default::default()),
            Some(_) => scan.copied(&mut plan.columns, &mut plan.tables),
        };
        call.expressions_mut().for_each(|expr| expr.rename(&names));
        call.distinct = false;
        if let (Some((of, greatest)), Op::Scan { predicates, columns, .. }) = (end(&call), &mut input.op) {
            columns.retain(|(_, c)| *c == of || predicates.iter().any(|predicate| predicate.uses(|used| used == *c)));
            let expr = column(&plan.columns, of);
            if plan.columns[of].nullable {
                predicates.push(is_not_null(expr.clone()));
            }
            let keys = vec![SortKey { expr, descending: greatest, nulls_first: false }];
            input = Node::new(Op::Sort { input: Box::new(input), keys, limit: Some(1), offset: 0 });
        }
        let alone = Op::Aggregate { input: Box::new(input), groups: Vec::new(), aggregates: vec![(result, call)] };
        all = Some(match all {
            None => Node::new(alone),
            Some(others) => join(JoinKind::Inner, others, Node::new(alone), Vec::new()),
        });
    }
    all.expect("there is an aggregate")
}
