//! The most frequent values, by counting: a mode is the value at the greatest count of the groups by keys and values, the least of
//! several. Collecting and sorting all values, as the aggregate itself does, takes thirty times as long where few differ.
//!
//! Invariant: types whose equal values are the same, as one of them stands for its group.

use base::Result;
use functions::AggregateFunction;
use plan::{AggregateCall, ColumnId, ColumnInfo, Expr, Node, Op, Plan};
use types::SqlType;

use crate::rewrite::{Keys, column, each_operator, keys_twice, only_where};
use crate::{Check, Pass};

/// See the module.
pub struct Modes;

impl Pass for Modes {
    fn name(&self) -> &'static str {
        "modes"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        each_operator(plan, check, &rewrite)
    }
}

fn rewrite(plan: &mut Plan, node: Node) -> Node {
    match node.op {
        Op::Aggregate { input, groups, aggregates } if let Some(value) = of_modes(&aggregates) => {
            by_counts(plan, input, groups, value, aggregates)
        }
        _ => node,
    }
}

/// The value that all aggregates are modes of, NULL for rows that they leave out; none, if some is another aggregate.
fn of_modes(aggregates: &[(ColumnId, AggregateCall)]) -> Option<Expr> {
    let (_, first) = aggregates.first().filter(|(_, first)| first.function == AggregateFunction::MODE)?;
    let value = first.arguments.first()?;
    let is_steady = value.sql_type.equality_is_identity() && !first.expressions().any(Expr::is_volatile);
    if !is_steady || !aggregates.iter().all(|(_, call)| call.same(first)) {
        return None;
    }
    Some(match &first.filter {
        Some(condition) => only_where(condition.clone(), value.clone()),
        None => value.clone(),
    })
}

fn by_counts(
    plan: &mut Plan,
    input: Box<Node>,
    groups: Keys,
    value: Expr,
    mut aggregates: Vec<(ColumnId, AggregateCall)>,
) -> Node {
    let mut new =
        |name: &str, sql_type, nullable| plan.columns.push(ColumnInfo { name: name.to_owned(), sql_type, nullable });
    let (valued, count) = (new("value", value.sql_type, true), new("count", SqlType::BigInt, false));
    let (mut inner, outer) = keys_twice(&mut plan.columns, groups);
    let of_rows = AggregateCall {
        function: AggregateFunction::ROWS,
        arguments: Vec::new(),
        distinct: false,
        filter: None,
        sql_type: SqlType::BigInt,
        position: value.position,
    };
    inner.push((valued, value));
    for (_, call) in &mut aggregates {
        let arguments = vec![column(&plan.columns, valued), column(&plan.columns, count)];
        *call = AggregateCall {
            function: AggregateFunction::AT_GREATEST,
            arguments,
            filter: None,
            distinct: false,
            ..call.clone()
        };
    }
    let counted = Node::new(Op::Aggregate { input, groups: inner, aggregates: vec![(count, of_rows)] });
    Node::new(Op::Aggregate { input: Box::new(counted), groups: outer, aggregates })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_values_at_the_greatest_count() {
        crate::testing::check(
            &[&Modes],
            "\
output [m = m#3]
  aggregate [g#2:text = b#1] [m#3:integer? = mode(a#0) filter (a#0 > 1), n#4:integer? = mode(a#0) filter (a#0 > 1)]
    scan t t0 [a#0:integer? = 0, b#1:text = 1]
",
            "\
output [m = m#3]
  aggregate [g#2:text = g#7] [m#3:integer? = arg_max(value#5, count#6), n#4:integer? = arg_max(value#5, count#6)]
    aggregate [g#7:text = b#1, value#5:integer? = case when a#0 > 1 then a#0 else null::integer end] [count#6:bigint = count_star(*)]
      scan t t0 [a#0:integer? = 0, b#1:text = 1]
",
        );
    }

    #[test]
    fn beside_other_aggregates_and_of_doubles_they_stay() {
        for aggregates in ["m#2:integer? = mode(a#0), n#3:bigint = count(*)", "m#2:double? = mode(d#1)"] {
            let plan = format!(
                "output [m = m#2]\n  aggregate [] [{aggregates}]\n    scan t t0 [a#0:integer? = 0, d#1:double? = 1]\n"
            );
            crate::testing::check(&[&Modes], &plan, &plan);
        }
    }
}
