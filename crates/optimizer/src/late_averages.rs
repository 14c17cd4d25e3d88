//! Averages behind a top-k: only those of the rows that stay are divided. A division of exact numbers takes as long as finding a
//! group does, and `GROUP BY ... ORDER BY count(*) DESC LIMIT 10` throws nearly all groups away.
//!
//! Invariant: sum and count of a group give the average (`AggregateFunction::quotient_of`), and only averages are taken apart that
//! fail for no group: of one that is thrown away, an error would be lost.

use base::{IdMap, Result};
use plan::{AggregateCall, ColumnId, ColumnInfo, Expr, Node, Op, Plan};
use types::SqlType;

use crate::rewrite::{column, each_operator};
use crate::{Check, Pass, averages};

/// See the module.
pub struct LateAverages;

impl Pass for LateAverages {
    fn name(&self) -> &'static str {
        "late_averages"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        each_operator(plan, check, &rewrite)
    }
}

fn rewrite(plan: &mut Plan, mut node: Node) -> Node {
    let Op::Sort { input, keys, limit: Some(_), .. } = &mut node.op else { return node };
    let mut asked: Vec<ColumnId> = keys.iter().flat_map(|key| key.expr.columns()).collect();
    let mut below = &mut **input;
    while matches!(below.op, Op::Filter { .. }) {
        let Op::Filter { input, predicates } = &mut below.op else { unreachable!("as was just seen") };
        asked.extend(predicates.iter().flat_map(Expr::columns));
        below = input;
    }
    let Op::Aggregate { groups, aggregates, .. } = &mut below.op else { return node };
    let is_late = |(id, call): &(ColumnId, AggregateCall)| {
        !call.distinct && !asked.contains(id) && averages::quotient_of(call).is_some() && fits(call)
    };
    if groups.is_empty() || !aggregates.iter().any(is_late) {
        return node;
    }
    let (late, stay) = std::mem::take(aggregates).into_iter().partition(is_late);
    *aggregates = stay;
    let late: Vec<(ColumnId, AggregateCall)> = late;
    let quotient = |(id, call)| (id, quotient(&mut plan.columns, aggregates, &call));
    let columns = late.into_iter().map(quotient).collect();
    let rows = node.rows;
    Node { rows, ..Node::new(Op::Map { input: Box::new(node), columns }) }
}

/// Whether the type of an average has room before the point for all of its arguments.
fn fits(call: &AggregateCall) -> bool {
    let room = |of: SqlType| of.as_decimal().map(|(precision, scale)| precision - scale);
    room(call.argument_type()).zip(room(call.sql_type)).is_some_and(|(argument, result)| argument <= result)
}

/// An average of what is among the aggregates, or comes to them.
fn quotient(
    columns: &mut IdMap<ColumnId, ColumnInfo>,
    aggregates: &mut Vec<(ColumnId, AggregateCall)>,
    call: &AggregateCall,
) -> Expr {
    let parts = averages::quotient_of(call).expect("one that is late").map(|function| {
        let sql_type = function.resolve(call.argument_type()).map_or(call.sql_type, |(_, result)| result);
        let part = AggregateCall { function, sql_type, ..call.clone() };
        let known = aggregates.iter().find(|(_, known)| known.same(&part)).map(|(id, _)| *id);
        let id = known.unwrap_or_else(|| {
            let info = ColumnInfo { name: "part".to_owned(), sql_type, nullable: !function.counts() };
            let id = columns.push(info);
            aggregates.push((id, part));
            id
        });
        column(columns, id)
    });
    averages::quotient(call, parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_that_no_key_asks_for_are_divided_behind_the_top() {
        crate::testing::check(
            &[&LateAverages],
            "\
output [g = g#2, a = a#4]
  sort [n#3] limit 3
    filter [n#3 > 1::bigint]
      aggregate [g#2:text = b#1] [n#3:bigint = count(a#0), a#4:decimal(38,16)? = avg(a#0)]
        scan t t0 [a#0:integer? = 0, b#1:text = 1]
",
            "\
output [g = g#2, a = a#4]
  map [a#4:decimal(38,16)? = (cast(part#5 as decimal(38,0)) / cast(n#3 as decimal(38,0)))::decimal(38,16)]
    sort [n#3] limit 3
      filter [n#3 > 1::bigint]
        aggregate [g#2:text = b#1] [n#3:bigint = count(a#0), part#5:bigint? = sum(a#0)]
          scan t t0 [a#0:integer? = 0, b#1:text = 1]
",
        );
    }

    #[test]
    fn others_stay() {
        let plan = |sort: &str, average: &str| {
            format!(
                "output [a = a#4]\n  sort {sort}\n    aggregate [g#2:text = b#1] [a#4:{average}]\n      \
                 scan t t0 [a#0:integer? = 0, b#1:text = 1, d#5:double? = 2, w#6:decimal(38,0)? = 3]\n"
            )
        };
        for plan in [
            plan("[a#4] limit 3", "decimal(38,16)? = avg(a#0)"),
            plan("[g#2]", "decimal(38,16)? = avg(a#0)"),
            plan("[g#2] limit 3", "decimal(38,16)? = avg(distinct a#0)"),
            plan("[g#2] limit 3", "double? = avg(d#5)"),
            // Of a group that is thrown away, it may have more digits than there is room for.
            plan("[g#2] limit 3", "decimal(38,16)? = avg(w#6)"),
        ] {
            crate::testing::check(&[&LateAverages], &plan, &plan);
        }
    }
}
