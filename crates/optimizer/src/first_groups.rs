//! A LIMIT above groups, without an order: any groups will do, so those of the first rows are found, and only their rows are grouped.
//! `SELECT a, count(*) FROM t GROUP BY a LIMIT 10` makes ten groups of a million, and the rows of these are what a semi join with ten
//! keys leaves of the table.
//!
//! It is done for rows that come straight from a table of the database, as they are read twice (the first time as far as there are
//! new keys), where groups are expected to be many more than those that are asked for.
//!
//! Invariant: each group that leaves has all of its rows. Nothing that is evaluated for the other rows can fail, nor is another value
//! each time.

use base::Result;
use plan::{Compare, Expr, JoinKind, Node, Op, Plan};

use crate::eager::{When, is_sure};
use crate::rewrite::{Keys, column, each_operator, fresh_like, join, map, take};
use crate::{Check, Pass};

/// See the module.
pub struct FirstGroups(pub When);

/// No more groups than this are first ones.
const MOST: u64 = 1 << 10;
/// Fewer groups than this, or than so many times those that are asked for, are made all the same.
const LEAST: f64 = 1_000.0;
const TIMES: f64 = 16.0;

impl Pass for FirstGroups {
    fn name(&self) -> &'static str {
        "first_groups"
    }

    fn run(&self, plan: &mut Plan, check: Check<'_>) -> Result<()> {
        each_operator(plan, check, &|plan, node| self.rewrite(plan, node))
    }
}

impl FirstGroups {
    fn rewrite(&self, plan: &mut Plan, mut node: Node) -> Node {
        let Op::Limit { input, limit: Some(limit), offset } = &mut node.op else { return node };
        let Some(most) = limit.checked_add(*offset).filter(|most| (1..=MOST).contains(most)) else { return node };
        let mut below = &mut **input;
        while matches!(below.op, Op::Map { .. }) {
            let Op::Map { input, .. } = &mut below.op else { unreachable!("as was just seen") };
            below = input;
        }
        let groups = below.rows;
        if let Op::Aggregate { input, groups: keys, aggregates } = &mut below.op
            && !keys.is_empty()
            && (self.0 == When::Always || groups >= LEAST.max(TIMES * most as f64))
            && is_of_table(plan, input)
            && keys.iter().map(|(_, key)| key).all(|key| key.sql_type.equality_is_identity() && is_steady(key))
            && aggregates.iter().flat_map(|(_, call)| call.expressions()).all(|expr| is_steady(expr) && is_sure(expr))
        {
            below.rows = most as f64;
            **input = of_first(plan, take(input), keys, most);
        }
        node
    }
}

/// Whether rows come straight from a table of the database, and would be the same if they were read again: what a file gives may come
/// only once.
fn is_of_table(plan: &Plan, node: &Node) -> bool {
    let is_of_table = match &node.op {
        Op::Scan { table, .. } => plan.tables[*table].statistics.identity().is_some(),
        Op::Filter { input, .. } | Op::Map { input, .. } => is_of_table(plan, input),
        _ => false,
    };
    is_of_table && node.expressions().all(is_steady)
}

fn is_steady(expr: &Expr) -> bool {
    !expr.is_volatile()
}

/// The rows of the first groups by these keys, which become columns of them.
fn of_first(plan: &mut Plan, input: Node, keys: &mut Keys, most: u64) -> Node {
    let rows = input.rows;
    let (copy, names) = input.copied(&mut plan.columns, &mut plan.tables);
    let (mut own, mut first) = (Keys::new(), Keys::new());
    let (mut columns, mut condition) = (Vec::new(), Vec::new());
    for (key, expr) in keys {
        let mut copied = expr.clone();
        copied.rename(&names);
        let op = if plan.columns[*key].nullable { Compare::NotDistinct } else { Compare::Eq };
        // What is no column yet becomes one.
        let mut named = |expr: &mut Expr, computed: &mut Keys| {
            expr.as_column().unwrap_or_else(|| {
                let name = fresh_like(&mut plan.columns, *key);
                computed.push((name, std::mem::replace(expr, column(&plan.columns, name))));
                name
            })
        };
        named(expr, &mut own);
        columns.push(named(&mut copied, &mut first));
        condition.push(Expr::compare(op, expr.clone(), copied));
    }
    let with_rows = |rows: f64, node: Node| Node { rows, ..node };
    let distinct = Op::Distinct { input: Box::new(with_rows(rows, map(copy, first))), columns };
    let distinct = with_rows(most as f64, Node::new(distinct));
    let limited = Node::new(Op::Limit { input: Box::new(distinct), limit: Some(most), offset: 0 });
    let (input, limited) = (with_rows(rows, map(input, own)), with_rows(most as f64, limited));
    with_rows(most as f64, join(JoinKind::Semi, input, limited, condition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str) {
        crate::testing::check(&[&FirstGroups(When::Always)], before, after);
    }

    #[test]
    fn only_rows_of_the_first_groups_are_grouped() {
        check(
            "\
output [g = g#2, n = n#3]
  limit 3 offset 1
    aggregate [g#2:text? = b#1] [n#3:bigint = count(a#0)]
      scan t t0 [a#0:integer? = 0, b#1:text? = 1] where [a#0 > 1]
",
            "\
output [g = g#2, n = n#3]
  limit 3 offset 1
    aggregate [g#2:text? = b#1] [n#3:bigint = count(a#0)]
      join semi [b#1 is not distinct from b#5]
        scan t t0 [a#0:integer? = 0, b#1:text? = 1] where [a#0 > 1]
        limit 4
          distinct [b#5]
            scan t t1 [a#4:integer? = 0, b#5:text? = 1] where [a#4 > 1]
",
        );
        // Above a map; a key that is computed.
        check(
            "\
output [g = g#2, m = m#4]
  limit 2
    map [m#4:bigint = n#3 + 1::bigint]
      aggregate [g#2:text = upper(b#1)] [n#3:bigint = count(*)]
        scan t t0 [b#1:text = 1]
",
            "\
output [g = g#2, m = m#4]
  limit 2
    map [m#4:bigint = n#3 + 1::bigint]
      aggregate [g#2:text = g#6] [n#3:bigint = count(*)]
        join semi [g#6 = g#7]
          map [g#6:text = upper(b#1)]
            scan t t0 [b#1:text = 1]
          limit 2
            distinct [g#7]
              map [g#7:text = upper(b#5)]
                scan t t1 [b#5:text = 1]
",
        );
    }

    #[test]
    fn others_stay() {
        let scan = "scan t t0 [a#0:integer? = 0, b#1:text? = 1]";
        let plan = |top: &str, keys: &str, calls: &str, input: &str| {
            format!("output [g = g#2]\n  {top}\n    aggregate [{keys}] [{calls}]\n      {input}\n")
        };
        let (key, count) = ("g#2:text? = b#1", "n#3:bigint = count(a#0)");
        for plan in [
            plan("sort [n#3] limit 3", key, count, scan),
            plan("limit 2000", key, count, scan),
            plan("filter [n#3 > 1::bigint]", key, count, scan),
            // What fails for a row of another group would be lost.
            plan("limit 3", key, "n#3:integer? = max(a#0 + 1)", scan),
            plan("limit 3", "g#2:text? = b#1, r#4:double = random()", count, scan),
            // Read twice, it takes twice as long.
            plan("limit 3", key, count, "distinct [a#0, b#1]\n        scan t t0 [a#0:integer? = 0, b#1:text? = 1]"),
        ] {
            check(&plan, &plan);
        }
    }
}
